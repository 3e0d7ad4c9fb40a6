"""The folder of the Ascend toolkit and the files of its libraries. Nothing is loaded or changed here.

The environment names the folder (the toolkit's ``set_env.sh`` sets ``ASCEND_HOME_PATH`` and ``ASCEND_TOOLKIT_HOME``); else
it is one of the installer's default folders, else on the dynamic loader's path. All libraries come from the folder of the
runtime, so that those of two installations are never mixed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

from .prototypes import BASE, OPERATORS, RUNTIME

OLDEST: Final = (8, 1)
"""The oldest release of CANN that the backend supports."""

#: A release, such as ``8.1.RC1``. The toolkit's parts have versions of five numbers (``7.6.0.1.220``).
_RELEASE: Final = re.compile(r"(\d+)\.(\d+)(?!(?:\.\d+){3})(?!\d)")

HOME_VARIABLES: Final = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "CANN_INSTALL_DIR")
"""Environment variables that name the toolkit's folder; the first that is set wins."""

DEFAULT_HOMES: Final = (
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
    "~/Ascend/cann",
)
"""The default folders of the toolkit's installer."""

STAMP: Final = "simulator.txt"
"""The file beside ``lib64`` that tells the simulator, and its version, from a toolkit."""

_FEATURES: Final = ("ops_infer", "ops_train", "math", "sparse", "fft", "rand")

FILES: Final[dict[str, tuple[str, ...]]] = {
    # Newer toolkits also have libacl_rt.so, which may replace libascendcl.so.
    RUNTIME: ("libascendcl.so", "libacl_rt.so"),
    BASE: ("libnnopbase.so", "libopapi.so"),
    # Newer toolkits split the operators; older ones had libraries of their own for some features.
    OPERATORS: ("libopapi_*.so", "libopapi.so", *(f"libaclnn_{feature}.so" for feature in _FEATURES)),
}
"""The files of each group of libraries, in the order of the search for a function."""

_CUSTOM_VARIABLE: Final = "ASCEND_CUSTOM_OPP_PATH"
_CUSTOM_FILE: Final = "op_api/lib/libcust_opapi.so"


def is_linux() -> bool:
    """Return whether the program runs on Linux, the only system that the toolkit is made for."""
    return sys.platform.startswith("linux")


def _folders(environment: Mapping[str, str]) -> Iterator[str]:
    machine = "aarch64" if sys.platform != "win32" and os.uname().machine == "aarch64" else "x86_64"
    homes = [environment[name] for name in HOME_VARIABLES if environment.get(name)]
    for home in (*homes, *map(os.path.expanduser, DEFAULT_HOMES)):
        yield os.path.join(home, "lib64")  # noqa: PTH118  # importing pathlib would take a good part of this module's import
        yield os.path.join(home, f"{machine}-linux", "lib64")  # noqa: PTH118  # as above
    yield from filter(None, environment.get("LD_LIBRARY_PATH", "").split(os.pathsep))


def _is_file(path: str) -> bool:
    try:
        return os.path.isfile(path)  # noqa: PTH113  # as in _folders
    except ValueError:  # A path with a null character.
        return False


def is_folder(path: str) -> bool:
    """Return whether a folder exists. Raises nothing."""
    try:
        return os.path.isdir(path)  # noqa: PTH112  # as in _folders
    except ValueError:
        return False


def find_folder(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the folder of the runtime library, or None where there is none. Raises nothing.

    >>> find_folder({"ASCEND_HOME_PATH": "/nowhere"}) in (None, find_folder({}))
    True
    """
    if not is_linux():
        return None
    for folder in _folders(os.environ if environment is None else environment):
        if any(_is_file(f"{folder}/{name}") for name in FILES[RUNTIME]):
            return folder
    return None


def find_files(folder: str, library: str, environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the paths of a group's existing files, in the order of the search for a function.

    Custom operators, which the environment names, come first.
    """
    environment = os.environ if environment is None else environment
    custom = environment.get(_CUSTOM_VARIABLE, "") if library == OPERATORS else ""
    paths = [path for home in custom.split(os.pathsep) if home and _is_file(path := f"{home}/{_CUSTOM_FILE}")]
    present = sorted(os.listdir(folder))  # noqa: PTH208  # as in _folders
    for pattern in FILES[library]:
        paths += [f"{folder}/{name}" for name in present if fnmatchcase(name, pattern)]
    return paths


def describe_search(environment: Mapping[str, str] | None = None) -> str:
    """Return a sentence with the files and folders of the search; elsewhere than on Linux, that there is none.

    >>> "libascendcl.so" in describe_search({}) or not is_linux()
    True
    """
    if not is_linux():
        return f"the Ascend toolkit is made for Linux, and this system is {sys.platform}"
    environment = os.environ if environment is None else environment
    variables = ", ".join(f"{name}={environment.get(name)!r}" for name in HOME_VARIABLES)
    return (
        f"the Ascend runtime was not found: looked for {' and '.join(FILES[RUNTIME])} in lib64 of the environment's folders "
        f"({variables}) and of {', '.join(DEFAULT_HOMES)}, and on LD_LIBRARY_PATH"
    )


def version(folder: str) -> str:
    """Return the toolkit's version from its own files, ``""`` where they do not have it. Raises nothing."""
    home = folder.removesuffix("/lib64")
    for name in ("version.cfg", "ascend_toolkit_install.info", "runtime/version.info"):
        try:
            with open(f"{home}/{name}", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # as in _folders
                lines = file.read().splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            key, equals, value = line.partition("=")
            if equals and key.strip().lower() in ("version", "toolkit_running_version", "runtime_running_version"):
                return value.strip(" []\"'").rpartition(":")[2]
    return ""


def describe_age(folder: str) -> str:
    """Return a sentence with its release and the oldest supported one if a toolkit is too old, else ``""``.

    >>> describe_age("/nowhere/lib64")
    ''
    """
    release_name = version(folder)
    release = _RELEASE.match(release_name)
    if release is None or (int(release[1]), int(release[2])) >= OLDEST:
        return ""
    return (
        f"the toolkit in {folder} is CANN {release_name}, and this backend needs CANN {OLDEST[0]}.{OLDEST[1]} or newer"
    )
