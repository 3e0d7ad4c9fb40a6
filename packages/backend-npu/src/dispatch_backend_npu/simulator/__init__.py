"""A simulator of the toolkit's libraries, in C, with the real names and the real ABI, on host memory.

``python -m dispatch_backend_npu simulator`` builds it with the system's compiler and prints the environment that uses it.
It is used in no other environment, and ``device_name()`` says that it is a simulator.
"""

from .compilation import NoCompilerError, build, compiler
from .control import Simulator

__all__ = ["NoCompilerError", "Simulator", "build", "compiler"]
