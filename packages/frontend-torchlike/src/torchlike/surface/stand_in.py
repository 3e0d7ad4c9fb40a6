"""Lets a PyTorch program run on torchlike: imports of ``torch`` and its submodules give the modules of this package.

Note [One module, two names]
    ``torch.nn`` is the module ``torchlike.nn``, under a second name in ``sys.modules``, never a second copy of it: a class
    has one identity. Modules that torch has and torchlike lacks are there by name only (`shells`). Extensions that are
    built upon torch's machine code are refused by name.

Note [Imports before the program's]
    A program's folder is the first on its path, so a file of the program's would be found instead of those that our modules
    import after it has started. They import much at first use, so all of it is imported at once, and the cpu backend's
    package where there is one; optional libraries stay out.
    Processes that ``multiprocessing`` starts import torchlike before they have the program's path, and start with ``-P``:
    else the current folder would be theirs.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import mmap
import multiprocessing
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType
from typing import Any, Final, cast, get_type_hints

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.generator import Generator
from dispatch_core import Event, OutOfMemoryError, Stream, ops
from dispatch_core.tracebacks import hide_frames

from ..backends.libraries import LIBRARIES
from ..names import lazy_names, spelling
from ..names.public_paths import PublicLoader, keep_function
from ..names.torch_modules import MODULES
from ..shells.operators import name_absent_operators
from .companions import PREFIX, find_companion
from .completion import OWN_PACKAGES, complete, complete_loaded, name_class
from .missing_names import note_asked, note_module, note_use

__all__ = ["Finder", "install_as_torch", "load_ipython_extension"]

#: Imports of this library and those that it needs at first use; see Note [Imports before the program's].
_LATER: Final = """
argparse base64 cmath concurrent.futures.thread csv difflib dispatch_backend_meta email.message gzip hashlib html
importlib.resources importlib_metadata json logging mmap multiprocessing.connection multiprocessing.pool
multiprocessing.queues numpy.random packaging.requirements pickletools pkgutil platformdirs pluggy queue
secrets statistics string timeit tomllib traceback unicodedata zipfile email.parser
"""
_CPU: Final = "dispatch_backend_cpu"
#: The environment variable that tells workers and children of a process that torchlike stands in for torch there. Children
#: that are no workers see it where the distribution dispatch-torchlike-as-torch is installed.
MARK: Final = "TORCHLIKE_AS_TORCH"
#: The libraries of torch that an extension names when it is built upon torch.
_LIBRARIES: Final = (b"libtorch_cpu.so", b"libtorch_python.so", b"libtorch.so", b"libc10.so", b"torch_cpu.dll")


class _Loader(PublicLoader):
    """Gives a module of ours under a name of torch's; see Note [One module, two names]."""

    def __init__(self, name: str, target: str) -> None:
        super().__init__(target)
        self._name = name

    def exec_module(self, module: ModuleType) -> None:
        """Make it a package that has torch's names, and keep the function of its parent that has its name."""
        super().exec_module(module)
        complete(module, self._name)
        keep_function(self._name)


class Finder:
    """Finds ``torch`` and its submodules among the modules of this package."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """Return the spec of a module of torch, ours or a shell, of one of ours, and of one beside torch; else None."""
        top = name.partition(".")[0]
        if top == "torch":
            ours = find_ours(name)
            if ours is not None:
                return ModuleSpec(name, _Loader(name, ours), is_package=True)  # type: ignore[arg-type]  # it has a loader's methods
            from ..shells.loading import find_shell  # with a table of names, which only it needs

            spec = find_shell(name, note_use)
            if spec is None:
                note_module(name)
            return spec
        if name == "functorch":
            return ModuleSpec(name, PublicLoader("torchlike.surface.functorch"))  # type: ignore[arg-type]  # as above
        if top in OWN_PACKAGES:
            return self._find_own(name, path, target)
        return find_companion(name) if top.startswith(PREFIX) else None

    def find_distributions(self, context: Any) -> Any:
        """Return the distributions of torch that Python's metadata are asked for; others have theirs from other finders."""
        from .torch_distribution import find_distributions  # with a module that few programs need

        return find_distributions(context.name)

    def _find_own(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> Any:
        """Return the spec of a module of ours, which is completed when it has been executed."""
        others = (each for each in sys.meta_path if each is not self)
        spec = next((spec for each in others if (spec := each.find_spec(name, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_complete(module: ModuleType) -> None:
                execute(module)
                complete(module, module.__name__)

            spec.loader.exec_module = execute_and_complete  # type: ignore[method-assign]  # each spec has its own loader
        return spec


def find_ours(name: str) -> str | None:
    """Return the module of ours that a module of torch is, with an object in it after a colon; None where there is none."""
    rest = name.partition(".")[2]
    ours = MODULES.get(name) or _find_library(rest) or ("torchlike." + rest if rest else "torchlike")
    if ":" in ours or ours in sys.modules:
        return ours
    try:
        return None if importlib.util.find_spec(ours) is None else ours
    except ModuleNotFoundError:  # its parent is not a package of ours
        return None


def _find_library(name: str) -> str | None:
    """Return a library of ``torch.backends``, which is an object."""
    folder, _, library = name.partition(".")
    return f"torchlike.backends:{library}" if folder == "backends" and library in LIBRARIES else None


def _refuse_extensions() -> None:
    """Refuse extension modules that are built upon torch: they would load torch's libraries, or crash without them."""
    plain = ExtensionFileLoader.create_module

    def create_module(self: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
        with open(self.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:  # noqa: PTH123
            found = next((name for name in _LIBRARIES if content.find(name) >= 0), None)
        if found is not None:
            raise ImportError(
                f"{spec.name} is an extension that is built upon torch ({found.decode()}), which torchlike stands in for",
                name=spec.name,
                path=self.path,
            )
        return plain(self, spec)

    ExtensionFileLoader.create_module = create_module  # type: ignore[method-assign]


def _carry_over() -> None:
    """Set up processes that begin afresh to import ``torch`` in the same way; forked ones do so anyway."""
    from multiprocessing import spawn, util

    own_options = util._args_from_interpreter_flags  # type: ignore[attr-defined]  # Python's children all start by it
    util._args_from_interpreter_flags = lambda: [*own_options(), "-P"]  # type: ignore[attr-defined]  # as above
    plain = spawn.get_command_line

    def get_command_line(**kwargs: Any) -> list[str]:
        line = plain(**kwargs)
        if "-c" in line:
            at = line.index("-c") + 1
            line[at] = f"import torchlike; torchlike.install_as_torch(); {line[at]}"
        return line

    spawn.get_command_line = get_command_line
    os.environ[MARK] = "1"
    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.set_forkserver_preload(["torchlike.surface.stand_in_now"])


def install_as_torch() -> None:
    """Make imports of ``torch`` give torchlike in this process, its workers and its children; call it before any of them.

    Raises ``RuntimeError`` where torch itself is imported already.

    >>> import torchlike
    >>> torchlike.install_as_torch()  # doctest: +SKIP
    >>> import torch  # doctest: +SKIP
    """
    present = sys.modules.get("torch")
    if present is not None:
        if present is sys.modules["torchlike"]:
            return
        where = getattr(present, "__file__", None)
        raise RuntimeError(
            f"torch is imported already in this process{f', from {where}' if where else ''}, so torchlike cannot stand in"
            " for it; let it do so before anything imports torch"
        )
    if any(isinstance(each, Finder) for each in sys.meta_path):
        return
    # Modules are not garbage; a collection in the midst of their imports takes longer than what it is called for.
    collects = gc.isenabled()
    gc.disable()
    try:
        _stand_in()
    finally:
        if collects:
            gc.enable()


def _stand_in() -> None:
    cpu = [] if importlib.util.find_spec(_CPU) is None else [_CPU]
    for name in [*_LATER.split(), *cpu]:
        importlib.import_module(name)
    sys.meta_path.insert(0, Finder())
    lazy_names.observers.append(note_asked)
    lazy_names.aliases.update((f"torchlike{name.removeprefix('torch')}", name) for name in MODULES)
    spelling.choose("torch")
    hide_frames("torch")
    complete_loaded()
    # It is an object here, and a module in torch, which `import torch.ops` finds.
    sys.modules["torch.ops"] = cast("ModuleType", ops)
    _refuse_extensions()
    _carry_over()
    _take_names()
    name_absent_operators()


def load_ipython_extension(ipython: Any) -> None:
    """Make imports of ``torch`` give torchlike in a notebook that says ``%load_ext torchlike``; see `install_as_torch`."""
    install_as_torch()


def _take_names() -> None:
    """Write names as torch writes them: programs compare versions and the names of types, and print dtypes and shapes."""
    import torchlike

    from ..version import __version__

    torchlike.__version__ = __version__
    for cls, name in ((ScalarType, "dtype"), (torchlike.device, "device")):
        cls.__annotations__ = get_type_hints(cls)  # in torch, int and float are dtypes
        cls.__module__ = "torch"
        cls.__name__ = cls.__qualname__ = name
    name_class(Generator, "torch._C", Generator.__module__)
    for each in (Event, OutOfMemoryError, Stream):
        name_class(each, "torch", each.__module__)
    ScalarType.__repr__ = ScalarType.__str__ = _write_dtype  # type: ignore[method-assign]


def _write_dtype(self: ScalarType) -> str:
    return f"torch.{self.short}"
