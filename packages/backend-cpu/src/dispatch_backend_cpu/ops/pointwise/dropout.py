"""Dropout: the numbers are drawn, and the elements that stay are scaled, in one kernel."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ... import draws
from ...arrays import Array, empty_strided
from ...fp_errors import ignore_fp_errors, run
from ...kernel_table import KernelTable
from ...output_specs import output_rule
from ...random import hold_engine
from ..support.constants import NUMBERS, number
from . import kernels as pointwise

KERNELS: Final = KernelTable()

_TIMES, _SCALED = pointwise.KERNELS["mul.Tensor"], pointwise.KERNELS["mul.Scalar"]
_infer, _check = output_rule("native_dropout"), output_rule("bernoulli_.float")


@KERNELS("native_dropout")
def _native_dropout(input: Array, p: float, train: bool | None) -> Any:
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    if input.dtype in NUMBERS and input.size and train is not False and 0 <= p <= 1 and input.flags.c_contiguous:
        with hold_engine(None) as engine:
            kept = engine.uniform(input.size, _DOUBLE) < 1 - p
        kept = kept.reshape(input.shape)
        return run(_keep, input, kept, number(scale, input)), kept
    return _drop(input, p, train, scale)


@ignore_fp_errors
def _drop(input: Array, p: float, train: bool | None, scale: float) -> Any:
    if not input.size:
        return input.copy(), np.empty_like(input)
    result, mask = _infer(input, p, train)
    kept = empty_strided(mask.shape, mask.strides, mask.array_dtype)
    if train is False:
        kept[...] = True
        found = empty_strided(result.shape, result.strides, result.array_dtype)
        found[...] = input
        return found, kept
    _check(kept, 1 - p)
    with hold_engine(None) as engine:
        draws.fill_bernoulli(engine, kept, 1 - p)
    return _SCALED(_TIMES(input, kept), scale), kept


@KERNELS("native_dropout_backward")
def _native_dropout_backward(grad_output: Array, mask: Array, scale: float) -> Any:
    if (
        grad_output.dtype in NUMBERS
        and mask.dtype == np.bool_
        and mask.shape == grad_output.shape
        and mask.flags.c_contiguous
        and grad_output.flags.c_contiguous
    ):
        return run(_keep, grad_output, mask, number(scale, grad_output))
    return _SCALED(_TIMES(grad_output, mask), scale)


def _keep(a: Array, kept: Array, scale: Array) -> Any:
    found = np.multiply(a, kept)
    return np.multiply(found, scale, out=found) if found.ndim else found * scale


_DOUBLE: Final = np.dtype(np.float64)
