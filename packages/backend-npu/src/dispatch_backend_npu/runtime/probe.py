"""Looking for the Ascend toolkit's runtime library, without loading anything.

``libascendcl.so`` holds the runtime of every toolkit so far, ``libacl_rt.so`` that of the newer ones. Their folder is told
by the environment (``ASCEND_TOOLKIT_HOME``, ``ASCEND_HOME_PATH``, set by the toolkit's ``set_env.sh``), else it is one of
the installer's defaults, else on the dynamic loader's path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

__all__ = ["DEFAULT_HOMES", "HOME_VARIABLES", "LIBRARIES", "find_library", "is_available", "unavailable_reason"]

HOME_VARIABLES: Final = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")
"""Environment variables that name the toolkit's folder."""

DEFAULT_HOMES: Final = (
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
    "~/Ascend/cann",
)
"""Where the toolkit's installer puts it."""

LIBRARIES: Final = ("libascendcl.so", "libacl_rt.so")
"""The runtime library's names, the older one first."""


def _folders(environment: Mapping[str, str]) -> Iterator[Path]:
    homes = [environment[name] for name in HOME_VARIABLES if environment.get(name)]
    for home in (*homes, *DEFAULT_HOMES):
        yield Path(os.path.expanduser(home)) / "lib64"  # noqa: PTH111  # an unknown home directory must not raise
    for folder in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder)


def find_library(environment: Mapping[str, str] | None = None) -> Path | None:
    """Give the path of the runtime library, or None where there is none. Raises nothing.

    >>> find_library({"ASCEND_HOME_PATH": "/nowhere"}) is None or find_library() is not None
    True
    """
    for folder in _folders(os.environ if environment is None else environment):
        for name in LIBRARIES:
            try:
                if (folder / name).is_file():
                    return folder / name
            except (OSError, ValueError):
                continue
    return None


def unavailable_reason(environment: Mapping[str, str] | None = None) -> str:
    """Say why no NPU can be opened on this machine: what was looked for, and where.

    >>> "libascendcl.so" in unavailable_reason({})
    True
    """
    environment = os.environ if environment is None else environment
    found = find_library(environment)
    if found is not None:
        return f"the Ascend runtime is at {found}, but this version has no kernels for it yet"
    variables = ", ".join(f"{name}={environment.get(name)!r}" for name in HOME_VARIABLES)
    return (
        f"the Ascend runtime was not found: looked for {' and '.join(LIBRARIES)} in lib64 of the environment's folders "
        f"({variables}) and of {', '.join(DEFAULT_HOMES)}, and on LD_LIBRARY_PATH"
    )


def is_available() -> bool:
    """Say whether an NPU can be opened on this machine. Raises nothing.

    Without kernels the answer is no on every machine; ``unavailable_reason`` says what is missing.
    """
    return False
