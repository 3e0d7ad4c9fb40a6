"""The checks by their names, and how one is run."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from dispatch_core.errors import BackendError
from dispatch_core.frontends import array_types
from dispatch_core.tools import examine

from ..errors import AtenError
from ..operators import ATEN, ATEN_BY_NAME
from .agreement import TestedDevice, check_operator, lacks_library
from .behaviour import BEHAVIOUR, check_behaviour
from .frontends import find_adapter
from .further import SEED
from .host_copies import CHECK as HOST_COPIES
from .host_copies import check_host_copies
from .interface import PARTS, check_part, check_place_and_memory
from .outcomes import Outcome
from .tensor_calls import check_tensor_calls

#: The check of everything that needs no call, which is several outcomes.
STATIC: Final = "static"
#: The checks that need neither samples nor a frontend.
_FIRST: Final = (STATIC, "array types", HOST_COPIES)
#: Why the parts that need tensors are not run.
NO_FRONTEND: Final = "no frontend is installed (pip install dispatch-frontend-torchlike)"


def wanted_checks(only: Sequence[str] = (), *, share: float = 1.0, seed: int = SEED) -> list[str]:
    """Return the names of all checks, or of those that the patterns ``only`` match.

    With a ``share`` below 1 that part of the checks of operators is drawn by the seed; the others are all there.
    Raises ``BackendError``, with near names, for a pattern that matches none.

    >>> wanted_checks(["aten::relu*", "fork"])
    ['aten::relu', 'aten::relu_', 'aten::relu6', 'aten::relu6_', 'fork']
    """
    names = [*_FIRST, *list_checks()]
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise BackendError(
                f"--only {pattern!r} matches none of the {len(names):,} checks", hint=_near(pattern, names)
            )
    found = [name for name in names if not only or any(fnmatchcase(name, pattern) for pattern in only)]
    return [name for name in found if not is_of_operator(name) or _lot(name, seed) < share]


def is_of_operator(check: str) -> bool:
    """Return whether a check is one of an operator.

    >>> is_of_operator("aten::exp"), is_of_operator("fork")
    (True, False)
    """
    return check.startswith(("aten::", "tensors: "))


def _lot(check: str, seed: int) -> float:
    """Return a number from 0 to 1 that belongs to a check and a seed."""
    return zlib.crc32(f"{seed} {check}".encode()) / 2**32


def _near(pattern: str, names: Sequence[str]) -> str:
    bare = pattern.strip("*?")
    near = [name for name in names if fnmatchcase(name, f"aten::{pattern}")]
    near = (near or get_close_matches(bare, names, 3, 0.7) or get_close_matches(f"aten::{bare}", names, 3, 0.7))[:3]
    told = f"near are {', '.join(map(repr, near))}; " if near else ""
    return f"{told}names are like 'aten::add.Tensor', 'tensors: add.Tensor' and {list(BEHAVIOUR)[-1]!r}"


def list_checks() -> list[str]:
    """Return the names of the checks of operators, of operators with tensors, and of programs.

    >>> [name for name in list_checks() if name.endswith(" relu") or name == "aten::relu"]
    ['aten::relu', 'tensors: relu']
    """
    names = [operator.name for operator in ATEN]
    return [*(f"aten::{name}" for name in names), *PARTS, *(f"tensors: {name}" for name in names), *BEHAVIOUR]


def run_check(device: TestedDevice, check: str, *, limit: int | None = None, seed: int = SEED) -> Outcome:
    """Run one of the checks by its name; ``limit`` is a number of samples, ``seed`` draws the further ones.

    >>> run_check(TestedDevice.find("cpu"), "tensors: relu").status
    'passed'
    """
    try:
        return _run_check(device, check, limit, seed)
    except AtenError as error:
        if not lacks_library(error):
            raise
        return Outcome(check, "not run", f"the cpu says: {str(error).splitlines()[0]}")


def _run_check(device: TestedDevice, check: str, limit: int | None, seed: int) -> Outcome:
    if check == "array types":
        return check_array_types(device)
    if check == HOST_COPIES:
        return check_host_copies(device)
    if check.startswith("aten::"):
        name = check.removeprefix("aten::")
        return check_place_and_memory(device, name, check_operator(device, name, limit=limit, seed=seed))
    if not device.has_values:
        return Outcome(check, "not run", "the device has no values")
    if check in PARTS:
        return check_part(device, check)
    adapter = find_adapter()
    if adapter is None:
        return Outcome(check, "not run", NO_FRONTEND)
    if check in BEHAVIOUR:
        return check_behaviour(device, adapter, check)
    name = check.removeprefix("tensors: ")
    if device.is_mutable and "out" in ATEN_BY_NAME[name].tags:
        return Outcome(check, "not run", "the check of the same name with arrays has it, which can be written to")
    return check_tensor_calls(device, adapter, name)


def check_array_types(device: TestedDevice) -> Outcome:
    """Check the descriptions of a device's arrays alone."""
    for found in array_types(device.key.value):
        if found.mutable and found.strides is not None and found.storage is None:
            text = f"ArrayType({found.type.__qualname__}) has strides, can be written to and has no `storage`"
            return Outcome("array types", "failed", f"{text}: a pipeline cannot see that views share memory")
    return Outcome("array types", "passed")


def check_statically(name: str, notes: list[str]) -> Iterator[Outcome]:
    """Yield the doctor's findings on names, signatures and versions, and add its notes to ``notes``."""
    try:
        findings = examine(60.0, [name])
    except BackendError as error:
        yield Outcome("static", "not run", str(error))
        return
    for finding in findings:
        notes += finding.notes
        reason = "\n".join(filter(None, [finding.reason, finding.output]))
        yield Outcome("static", "passed" if finding.fine else "failed", reason)
