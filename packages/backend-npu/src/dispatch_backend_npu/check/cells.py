"""Operators by dtypes: each cell compares an operator's samples in one dtype with the cpu, by the conformance kit.

A cell tells which functions of aclnn it launched: the one of its row, others where the operator was composed, none where the
host computed it or nothing had to be launched.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

import dispatch_core as dc
from dispatch_aten.testing.agreement import TestedDevice, compare_sample, lacking_dtypes, run_on_cpu
from dispatch_aten.testing.changes import with_dtype
from dispatch_aten.testing.outcomes import Outcome
from dispatch_aten.testing.samples import Sample, derive, has_samples, op_samples, unfit_changes

from ..aclnn.dtypes import doubtful
from ..aclnn.table import OPERATORS
from ..kernels import KERNELS

if TYPE_CHECKING:
    from .watch import FunctionWatch

DTYPES: Final = ("float32", "float16", "bfloat16", "int64", "bool", "int32", "float64", "int16", "int8", "uint8")
"""The dtypes of cells, those of a quick run first."""
_QUICK: Final = 5

#: Functions that fail on chips by other programs' lists, where their descriptors may be at fault.
_DOUBTFUL: Final = frozenset({"aclnnIm2col", "aclnnAvgPool2d", "aclnnStd"})
#: Operators whose kernels are written out → the function that each is about.
_BY_HAND: Final = {"std.correction": "aclnnStd"}
#: Function → dtype → the dtype by whose tolerance it is compared: CANN has convolutions of floats in HF32 alone.
_PRECISIONS: Final = {
    "aclnnConvolution": {"float32": "float16"},
    "aclnnConvolutionBackward": {"float32": "float16"},
}


def function_of(operator: str) -> str:
    """Return the function of an operator's row, ``""`` for one that is written out.

    >>> function_of("add.Scalar"), function_of("cat")
    ('aclnnAdds', '')
    """
    return OPERATORS[operator][0] if operator in OPERATORS else _BY_HAND.get(operator, "")


def list_cells(family: str, *, is_quick: bool = False) -> list[tuple[str, str]]:
    """Return the cells, each an operator and a dtype: the doubtful ones of a family of chips first.

    >>> cells = list_cells("910B")
    >>> "aclnnIm2col" in {function_of(operator) for operator, _ in cells[:60]}, ("cat", "int64") in cells
    (True, True)
    """
    operators = [name for name in KERNELS if has_samples(name)]
    dtypes = DTYPES[:_QUICK] if is_quick else DTYPES
    cells = [(name, dtype) for dtype in dtypes for name in operators if _is_fit(name, dtype)]
    return sorted(cells, key=lambda cell: not _is_doubtful(cell[0], cell[1], family))


def _is_fit(operator: str, dtype: str) -> bool:
    """Return whether calls in a dtype have a meaning: gradients of integers have none."""
    kind = "bool" if dtype == "bool" else "int64" if "int" in dtype else ""
    return kind not in unfit_changes(operator)


def _is_doubtful(operator: str, dtype: str, family: str) -> bool:
    function = function_of(operator)
    if function in _DOUBTFUL:
        return True
    return operator in OPERATORS and dtype in _doubtful_dtypes(function, family)


@cache
def _doubtful_dtypes(function: str, family: str) -> frozenset[str]:
    """Return the dtypes of a function's inputs about which the toolkit's pages and sources disagree."""
    found = doubtful(function, family).items()
    return frozenset(str(dtype) for argument, dtypes in found if argument != "out" for dtype in dtypes)


def check_cell(
    device: TestedDevice, operator: str, dtype: str, watch: FunctionWatch, *, is_quick: bool = False
) -> Outcome:
    """Compare an operator's samples in a dtype with the cpu; a quick run takes the first one alone."""
    check, functions, compared = f"operators: {operator} {dtype}", dict[str, None](), 0
    precision = _PRECISIONS.get(function_of(operator), {}).get(dtype, "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in _samples_of(operator, dtype):
            expected = run_on_cpu(sample)
            if expected is None:
                continue
            with watch.watching() as launched:
                try:
                    compare_sample(device, sample, expected, precision=precision)
                except Exception as error:
                    if lacking_dtypes(device, operator, error):
                        continue
                    error.add_note(f"Sample: {sample}")
                    raise
                finally:
                    functions |= dict.fromkeys(launched)
            compared += 1
            if is_quick:
                break
    if not compared:
        return Outcome(check, "not run", "no sample in this dtype is a call")
    return Outcome(check, "passed", "", device.kernel_of(operator), compared, kernels=tuple(functions))


def _samples_of(operator: str, dtype: str) -> Iterator[Sample]:
    """Yield an operator's calls and their layouts with floats of a dtype; those without floats with float32 alone."""
    for sample in op_samples(operator):
        if sample.change:
            continue
        changed = with_dtype(sample.arguments, dtype)
        if changed is not None:
            yield replace(sample, arguments=derive(operator, changed), change=dtype)
        elif dtype == DTYPES[0]:
            yield sample


@cache
def find_device() -> TestedDevice:
    """Return the device as the kit sees it; it is opened, and arrays of every dtype go there and back."""
    return TestedDevice.find("npu")


def computed_on_host() -> int:
    """Return how often the host has computed an operator in this process."""
    return sum(dc.computed_on_host("npu").values())
