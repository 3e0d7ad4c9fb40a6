"""Build the extension; everything else stands in ``pyproject.toml``."""

from __future__ import annotations

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FLAGS = {"msvc": ["/O2", "/std:c11"], "unix": ["-O2", "-std=c11", "-fvisibility=hidden"]}


class Build(build_ext):
    """Choose the flags by the compiler."""

    def build_extensions(self) -> None:
        """Build."""
        for extension in self.extensions:
            extension.extra_compile_args = FLAGS["msvc" if self.compiler.compiler_type == "msvc" else "unix"]
        super().build_extensions()


PACKAGE = "dispatch_calls_native"
setup(
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(
            f"{PACKAGE}._front",
            [
                f"src/{PACKAGE}/{name}.c"
                for name in (
                    "_front",
                    "factories",
                    "lending",
                    "recording",
                    "pipelines",
                    "modes",
                    "guards",
                    "questions",
                    "backward",
                )
            ],
            depends=[f"src/{PACKAGE}/front.h"],
        )
    ],
)
