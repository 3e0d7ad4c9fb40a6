"""Faults of a toolkit's installation, by its files alone: missing libraries, kernels and variables, an old release.

Nothing is loaded. A fault that keeps every operator from running makes the device unavailable; the others are named by the
doctor, by ``python -m dispatch_backend_npu check``, and by the errors that they cause.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from . import toolkit
from .prototypes import BASE, OPERATORS

_KERNELS: Final = "built-in/op_impl/ai_core/tbe/kernel"
_INSTALL: Final = "install the package Ascend-cann-toolkit as a whole, and source its set_env.sh"
_SOURCE: Final = "source the toolkit's set_env.sh before the program starts"


class Fault(NamedTuple):
    """A fault in a sentence, the hint to its remedy, and whether no operator can run with it."""

    text: str
    hint: str
    is_fatal: bool

    def __str__(self) -> str:
        """Return the sentence, and the hint on a line of its own, as errors have it."""
        return f"{self.text}\nHint: {self.hint}"


def find_faults(
    folder: str, environment: Mapping[str, str] | None = None, *, chip: str = "", family: str = ""
) -> list[Fault]:
    """Return the faults of the toolkit whose libraries are in a folder.

    ``chip`` is the device's own name and ``family`` that of its family (``910B``), by which its kernels are found. The
    simulator has no kernels and no release, and needs none. Raises nothing.

    >>> [fault.is_fatal for fault in find_faults("/nowhere/lib64", {})]
    [True, False]
    """
    environment = os.environ if environment is None else environment
    if toolkit.is_simulator(folder):
        return [fault for fault in (_find_missing(folder),) if fault is not None]
    found = []
    if age := toolkit.describe_age(folder, environment):
        found.append(Fault(age, "install a newer toolkit, and source its set_env.sh", is_fatal=True))
    if missing := _find_missing(folder):
        found.append(missing)
    if lacking := _find_lacking_kernels(folder, environment, chip, family):
        found.append(lacking)
    return found


def describe_missing(folder: str) -> str:
    """Return a sentence about libraries that a toolkit lacks, ``""`` where it has them. Raises nothing.

    >>> describe_missing("/nowhere/lib64").partition(" has ")[2]
    'the runtime alone: neither libnnopbase.so nor operators (libopapi.so, libopapi_*.so)'
    """
    fault = _find_missing(folder)
    return "" if fault is None else fault.text


def list_kernels(operators: str) -> dict[str, int]:
    """Return the chips that the operators' folder has kernels for, with the number of the files that describe them.

    >>> list_kernels("/nowhere/opp")
    {}
    """
    config = f"{operators}/{_KERNELS}/config"
    found = {chip: _count(f"{config}/{chip}", ".json") for chip in _list(config)}
    return {chip: count for chip, count in found.items() if count}


def _find_missing(folder: str) -> Fault | None:
    try:
        has_base = os.path.isfile(f"{folder}/{BASE}")  # noqa: PTH113  # as in toolkit
        has_operators = bool(toolkit.find_files(folder, OPERATORS, {}))
    except (OSError, ValueError):
        has_base = has_operators = False
    if has_base and has_operators:
        return None
    operators = f"operators ({OPERATORS}, libopapi_*.so)"
    if not has_base and not has_operators:
        return Fault(
            f"the toolkit in {folder} has the runtime alone: neither {BASE} nor {operators}", _INSTALL, is_fatal=True
        )
    lacking = f"no {operators}" if has_base else f"no {BASE}, which every operator needs"
    return Fault(f"the toolkit in {folder} has {lacking}", _INSTALL, is_fatal=True)


def _find_lacking_kernels(folder: str, environment: Mapping[str, str], chip: str, family: str) -> Fault | None:
    named, operators = environment.get("ASCEND_OPP_PATH"), toolkit.find_operators_folder(environment)
    if named and not toolkit.is_folder(named):
        text = f"ASCEND_OPP_PATH names {named}, which is not a folder"
        return Fault(f"{text}: the operators have no kernels", _SOURCE, is_fatal=False)
    package = f"Ascend-cann-kernels-{family.lower() or '...'}"
    package = f"install the package of kernels for this chip, {package}, and source the toolkit's set_env.sh"
    if operators is None:
        text = (
            f"the toolkit in {folder} has no folder opp, and ASCEND_OPP_PATH is not set: the operators have no kernels"
        )
        return Fault(text, package, is_fatal=False)
    there = list_kernels(operators)
    wanted = f"ascend{family.lower()}" if family else ""
    if not there:
        return Fault(f"the operators' folder {operators} has no kernels for any chip", package, is_fatal=False)
    if wanted and wanted not in there:
        text = f"the operators' folder {operators} has kernels for {', '.join(there)}, and none for this chip, {chip}"
        return Fault(text, package, is_fatal=False)
    if not named:
        text = f"ASCEND_OPP_PATH is not set, by which the toolkit finds its kernels (they are in {operators})"
        return Fault(text, _SOURCE, is_fatal=False)
    return None


def _list(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  # as in toolkit
    except (OSError, ValueError):
        return []


def _count(folder: str, suffix: str) -> int:
    """Count the files of a folder, and of the folders in it, into which newer toolkits sort them."""
    entries = _list(folder)
    inner = sum(name.endswith(suffix) for entry in entries for name in _list(f"{folder}/{entry}"))
    return sum(name.endswith(suffix) for name in entries) + inner
