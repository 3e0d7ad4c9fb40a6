"""A simulator of the toolkit's libraries, in C that the system's compiler builds: the real names, the real ABI, host memory.

``python -m dispatch_backend_npu simulator`` builds it and prints the environment that uses it. Nothing finds it by itself,
and ``device_name()`` says what it is.
"""

from .build import NoCompilerError, build, compiler
from .control import Simulator

__all__ = ["NoCompilerError", "Simulator", "build", "compiler"]
