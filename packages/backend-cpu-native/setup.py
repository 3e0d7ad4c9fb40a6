"""Build the extensions; everything else stands in ``pyproject.toml``."""

from __future__ import annotations

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

#: Arithmetic as it is written: a product and a sum that a compiler contracts to one instruction are rounded once, not twice.
EXACT = {"msvc": ["/O2", "/fp:precise"], "unix": ["-O3", "-ffp-contract=off", "-fno-fast-math", "-std=c11", "-g0"]}


class Build(build_ext):
    """Choose the flags by the compiler, and write them into the module."""

    def build_extensions(self) -> None:
        """Build."""
        flags = EXACT["msvc" if self.compiler.compiler_type == "msvc" else "unix"]
        for extension in self.extensions:
            extension.extra_compile_args = flags
            extension.define_macros = [("LOOPS_FLAGS", '"{}"'.format(" ".join(flags)))]
        super().build_extensions()


PACKAGE = "dispatch_backend_cpu_native"
FOLDER = f"src/{PACKAGE}"
#: The parts of the one file that is compiled.
PARTS = [f"{FOLDER}/_{name}.h" for name in ("columns", "halves", "losses", "optimizers", "places", "rows")]
setup(
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(f"{PACKAGE}.{name}", [f"{FOLDER}/{name}.c"], include_dirs=[np.get_include()], depends=parts)
        for name, parts in (("_loops", PARTS), ("_draws", []))
    ],
)
