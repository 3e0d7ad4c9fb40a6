"""The folder of the Ascend toolkit and the files of its libraries. Nothing is loaded or changed here.

The environment names the folder (the toolkit's ``set_env.sh`` sets ``ASCEND_HOME_PATH`` and ``ASCEND_TOOLKIT_HOME``); else
it is one of the installer's default folders, else on the dynamic loader's path. All libraries come from the folder of the
runtime, so that those of two installations are never mixed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

from . import releases
from .prototypes import BASE, COLLECTIVES, OPERATORS, RUNTIME

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
    # Newer toolkits keep communicators in a library of their own.
    COLLECTIVES: ("libhccl.so", "libhcomm.so"),
}
"""The files of each group of libraries, in the order of the search for a function."""

_CUSTOM_VARIABLE: Final = "ASCEND_CUSTOM_OPP_PATH"
_OPP_VARIABLE: Final = "ASCEND_OPP_PATH"
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

    Custom operators come first: those of ``ASCEND_CUSTOM_OPP_PATH``, then those of vendors in ``ASCEND_OPP_PATH``.
    """
    environment = os.environ if environment is None else environment
    paths = [path for home in _custom_homes(environment) if _is_file(path := f"{home}/{_CUSTOM_FILE}")]
    paths = list(dict.fromkeys(paths)) if library == OPERATORS else []
    present = sorted(os.listdir(folder))  # noqa: PTH208  # as in _folders
    for pattern in FILES[library]:
        paths += [f"{folder}/{name}" for name in present if fnmatchcase(name, pattern)]
    return paths


def _custom_homes(environment: Mapping[str, str]) -> Iterator[str]:
    yield from filter(None, environment.get(_CUSTOM_VARIABLE, "").split(os.pathsep))
    if opp := environment.get(_OPP_VARIABLE, ""):
        yield from (f"{opp}/vendors/{vendor}" for vendor in list_vendors(opp))


def list_vendors(opp: str) -> list[str]:
    """Return the vendors of custom operators in the operators' folder, in the order in which the toolkit asks them.

    The toolkit knows those that ``load_priority`` of ``config.ini`` lists; without that file, all are listed by name. Raises
    nothing.

    >>> list_vendors("/nowhere")
    []
    """
    try:
        with open(f"{opp}/vendors/config.ini", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # as in _folders
            lines = file.read().splitlines()
    except FileNotFoundError:
        lines = None
    except (OSError, ValueError):
        return []
    if lines is None:
        try:
            return sorted(os.listdir(f"{opp}/vendors"))  # noqa: PTH208  # as in _folders
        except OSError:
            return []
    for line in lines:
        key, sign, value = line.partition("=")
        if sign and key.strip() == "load_priority":
            return [vendor.strip() for vendor in value.split(",") if vendor.strip()]
    return []


def find_operators_folder(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the folder of the operators' kernels, which the toolkit finds by ``ASCEND_OPP_PATH``; None without one.

    Where the variable is not set, it is the folder that ``set_env.sh`` would name, if it exists. Sets no variable.

    >>> find_operators_folder({"ASCEND_OPP_PATH": "/"})
    '/'
    """
    environment = os.environ if environment is None else environment
    named = environment.get(_OPP_VARIABLE)
    folder = find_folder(environment)
    candidates = [named] if named else []
    if folder is not None:
        home = folder.removesuffix("/lib64")
        candidates += [f"{home}/opp", f"{home.rpartition('/')[0]}/opp"]
    return next((path for path in candidates if is_folder(path)), None)


def is_simulator(folder: str) -> bool:
    """Return whether the libraries of a folder are the simulator's.

    >>> is_simulator("/nowhere/lib64")
    False
    """
    return _is_file(f"{os.path.dirname(folder)}/{STAMP}")  # noqa: PTH120  # as in _folders


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


def list_releases(folder: str, environment: Mapping[str, str] | None = None) -> list[releases.Release]:
    """Return the releases that the toolkit's own files name, and those of the operators' folder. Raises nothing."""
    environment = os.environ if environment is None else environment
    opp = environment.get(_OPP_VARIABLE)
    return releases.list_releases(folder, {_OPP_VARIABLE: opp} if opp else {})


def version(folder: str) -> str:
    """Return the toolkit's release, the oldest one that its own files name; ``""`` where they name none. Raises nothing.

    >>> version("/nowhere/lib64")
    ''
    """
    found = list_releases(folder)
    oldest = releases.oldest(found)
    return oldest.name if oldest is not None else found[0].name if found else ""


def describe_age(folder: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a sentence with its release and the oldest supported one if a toolkit is too old, else ``""``.

    >>> describe_age("/nowhere/lib64")
    ''
    """
    return releases.describe_age(folder, list_releases(folder, environment))
