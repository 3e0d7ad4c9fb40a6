"""Building the simulator: the system's C compiler makes a folder like the toolkit's.

The folder has ``lib64`` with ``libascendcl.so``, ``libnnopbase.so``, ``libopapi.so`` and ``libhccl.so``. Only the
environment that a caller sets refers to it, so that it is never found by accident.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from dispatch_core.files import read_checked, replace_file, write_checked
from dispatch_core.files.cache_folders import cache_folder, cache_root
from dispatch_core.surroundings.logs import Log

from ..acl import toolkit
from ..aclnn.dtypes import FILE as DTYPES
from .generate import TABLE, generate

_LOG: Final = Log("caches")
#: The part of the user's caches that is this package's.
_PART: Final = "npu"

SOURCES: Final = Path(__file__).parent / "source"

#: The kinds of the operators' kernels, a source each.
_KINDS: Final = """
reduce order loss matrix linear norm attention convolution image pooling resampling sampling embedding index count move
random optimizer
""".split()

#: Library → its sources, and the libraries that it needs.
LIBRARIES: Final = {
    "libascendcl.so": (("sim.c", "cache.c", "runtime.c", "memory.c", "stream.c", "graph.c"), ()),
    "libnnopbase.so": (("meta.c", "views.c", "executor.c"), ("libascendcl.so",)),
    "libhccl.so": (("hccl.c", "exchange.c"), ("libascendcl.so",)),
    "libopapi.so": (
        ("tensor.c", *(f"kernels_{kind}.c" for kind in _KINDS), "entries.c"),
        ("libnnopbase.so", "libascendcl.so"),
    ),
}
_FLAGS: Final = (
    "-std=gnu11",
    "-O1",
    "-fPIC",
    "-shared",
    "-pthread",
    "-fwrapv",
    "-Wall",
    "-Wextra",
    "-Werror=implicit-function-declaration",
)


class NoCompilerError(RuntimeError):
    """The simulator cannot be built, because there is no C compiler."""


def compiler() -> list[str]:
    """Return the command of the C compiler: ``CC``, else ``cc``, ``gcc`` or ``clang``. Raises NoCompilerError.

    The simulator needs GNU C (gcc 9 or clang 10, or newer), and Linux, whose libraries it stands for.
    """
    if not toolkit.is_linux():
        raise NoCompilerError(
            f"the simulator is made for Linux, and this system is {sys.platform}. Hint: use the device cpu, or Linux."
        )
    chosen = os.environ.get("CC", "").strip()
    for name, *options in (shlex.split(chosen),) if chosen else (["cc"], ["gcc"], ["clang"]):
        found = shutil.which(name)
        if found:
            return [found, *options]
    searched = f"CC={chosen}" if chosen else "cc, gcc and clang"
    raise NoCompilerError(
        f"the simulator is built with a C compiler, and there is none: looked for {searched}."
        " Hint: install gcc or clang, or set CC."
    )


def fingerprint() -> str:
    """Return a hash of the sources, so that a folder of another version is never used."""
    digest = hashlib.sha256()
    for path in (*sorted(SOURCES.iterdir()), TABLE, DTYPES, *sorted(Path(__file__).parent.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def default_folder() -> Path:
    """Return the default folder of ``build``, in the user's caches; each version of the sources has its own."""
    return cache_root() / _PART / f"simulator-{fingerprint()}"


def build(folder: str | os.PathLike[str] | None = None) -> Path:
    """Build the libraries in ``folder``/lib64, unless they are there as they were built, and return the folder.

    Raises NoCompilerError without a compiler, RuntimeError with its output where it fails, OSError where the folder cannot
    be written.
    """
    folder = cache_folder(_PART) / default_folder().name if folder is None else Path(folder).absolute()
    stamp = folder / toolkit.STAMP
    if not (_is_whole(folder) and stamp.is_file() and stamp.read_bytes() == fingerprint().encode()):
        _make(folder)
    return folder


def _make(folder: Path) -> None:
    command = compiler()
    _LOG.info("the simulator is built in %s", folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Built beside and moved into place, so that a second process never finds half of it.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="simulator-") as name:
        temporary = Path(name)
        (temporary / "lib64").mkdir()
        (temporary / "entries.c").write_text(generate(), encoding="utf-8")
        for library, (sources, needed) in LIBRARIES.items():
            paths = [temporary / source if source == "entries.c" else SOURCES / source for source in sources]
            output = temporary / "lib64" / library
            links = [f"-L{temporary / 'lib64'}", *(f"-l:{each}" for each in needed), f"-Wl,-soname,{library}"]
            _run([*command, *_FLAGS, f"-I{SOURCES}", "-o", output, *paths, *links, "-Wl,-rpath,$ORIGIN", "-lm"])
        (folder / "lib64").mkdir(parents=True, exist_ok=True)
        for library in LIBRARIES:
            write_checked(str(folder / "lib64" / library), (temporary / "lib64" / library).read_bytes())
        with replace_file(folder / toolkit.STAMP, is_synced=False) as file:
            file.write(fingerprint().encode())


def repair(folder: Path) -> None:
    """Build the simulator again where a library is not as it was built, as one loads the others; raises ``OSError``."""
    if _is_whole(folder):
        return
    try:
        _make(folder)
    except RuntimeError as error:
        raise OSError(f"it is damaged, and {error}") from error


def _is_whole(folder: Path) -> bool:
    return all(read_checked(str(folder / "lib64" / library)) is not None for library in LIBRARIES)


def _run(command: list[str | Path]) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"the simulator did not build: {shlex.join(map(str, command))} ended with {done.returncode}\n{done.stderr}"
        )
