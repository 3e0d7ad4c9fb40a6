"""Whether two values are close, with torch's tolerances."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..creation.factories import as_tensor
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.dtypes import promote_types
from ..values.layouts import has_sparse_layout

#: dtype → relative and absolute tolerance; others must be equal.
_TOLERANCES: Final = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
#: The same for `assert_allclose`.
_OLDER_TOLERANCES: Final = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """Raise ``AssertionError`` where values, or those in containers, differ by more than their dtype's tolerances.

    ``ValueError`` where only one of ``rtol`` and ``atol`` is given.

    >>> import torchlike
    >>> assert_close(torchlike.ones(2), torchlike.ones(2) + 1e-7)
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    options: dict[str, Any] = {
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "check_device": check_device,
        "check_dtype": check_dtype,
        "check_layout": check_layout,
        "check_stride": check_stride,
        "msg": msg,
    }
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _require(set(actual) == set(expected), "The keys of the mappings do not match", msg)
        for key in actual:
            assert_close(actual[key], expected[key], **options)
        return
    if _is_sequence(actual) and _is_sequence(expected):
        _require(len(actual) == len(expected), "The length of the sequences mismatch", msg)
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other, **options)
        return
    if isinstance(actual, Tensor) != isinstance(expected, Tensor):
        _require(False, f"None of the pair types match: {type(actual)} != {type(expected)}", msg)
    _compare(as_tensor(actual), as_tensor(expected), **options)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _require(wanted: bool, message: str, msg: Any) -> None:
    if not wanted:
        raise AssertionError(msg(message) if callable(msg) else msg or message)


def _compare(
    actual: Tensor,
    expected: Tensor,
    *,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_device: bool,
    check_dtype: bool,
    check_layout: bool,
    check_stride: bool,
    msg: Any,
) -> None:
    facts = [("shape", True), ("layout", check_layout), ("device", check_device), ("dtype", check_dtype)]
    for name, is_checked in facts:
        one, other = getattr(actual, name), getattr(expected, name)
        _require(
            one == other or not is_checked, f"The values for attribute '{name}' do not match: {one} != {other}.", msg
        )
    if check_stride:
        one, other = actual.stride(), expected.stride()
        _require(one == other, f"The values for attribute 'stride()' do not match: {one} != {other}.", msg)
    if actual.is_meta:
        return
    actual, expected = _line_up(actual.detach(), expected.detach(), msg)
    dtype = promote_types(actual.dtype, expected.dtype)
    defaults = max(_TOLERANCES.get(each.dtype.short, (0.0, 0.0)) for each in (actual, expected))
    relative, absolute = defaults if rtol is None else (rtol, atol)
    left, right = actual.detach().cpu().to(dtype), expected.detach().cpu().to(dtype)
    close = FUNCTIONS["isclose"](left, right, rtol=relative, atol=absolute, equal_nan=equal_nan)
    if type(close) is Tensor:
        wrong = int(np.count_nonzero(~np.asarray(close)))
    else:  # of a class, which may have no elements to give
        wrong = int(FUNCTIONS["logical_not"](close).sum().item())
    _require(
        wrong == 0,
        f"Tensor-likes are not close!\n\nMismatched elements: {wrong} / {actual.numel()}\n"
        f"Tolerances: {relative} relative, {absolute} absolute",
        msg,
    )


def _line_up(actual: Tensor, expected: Tensor, msg: Any) -> tuple[Tensor, Tensor]:
    """Return the values of sparse tensors, whose places have to be the same; where one alone is sparse, it is made dense."""
    if actual.layout is not expected.layout:
        one, other = (each.to_dense() if has_sparse_layout(each) else each for each in (actual, expected))
        return one, other
    if not actual.is_sparse:
        return _line_up_compressed(actual, expected, msg) if has_sparse_layout(actual) else (actual, expected)
    ranks = actual.sparse_dim(), expected.sparse_dim()
    _require(
        ranks[0] == ranks[1],
        f"The number of sparse dimensions in sparse COO tensors does not match: {ranks[0]} != {ranks[1]}",
        msg,
    )
    one, other = actual.coalesce(), expected.coalesce()
    counts = one.indices().shape[1], other.indices().shape[1]
    _require(
        counts[0] == counts[1],
        f"The number of specified values in sparse COO tensors does not match: {counts[0]} != {counts[1]}",
        msg,
    )
    is_same = FUNCTIONS["equal"](one.indices().cpu(), other.indices().cpu())
    _require(is_same, "Sparse COO indices are not equal!", msg)
    return one.values(), other.values()


def _line_up_compressed(actual: Tensor, expected: Tensor, msg: Any) -> tuple[Tensor, Tensor]:
    from ..sparse.compressed.tensor import record_of  # few programs compare any

    one, other = record_of(actual), record_of(expected)
    _require(
        one.count == other.count,
        f"The number of specified values in sparse compressed tensors does not match: {one.count} != {other.count}",
        msg,
    )
    for name, left, right in zip(one.names, (one.compressed, one.plain), (other.compressed, other.plain), strict=True):
        _require(FUNCTIONS["equal"](left.cpu().long(), right.cpu().long()), f"Sparse {name} are not equal!", msg)
    return one.values, other.values


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Raise ``AssertionError`` where values differ, whatever their dtypes; `assert_close` is its successor."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    actual, expected = (each if isinstance(each, Tensor) else as_tensor(each) for each in (actual, expected))
    if rtol is None and atol is None:
        limits = [_OLDER_TOLERANCES.get(each.dtype.short, (0.0, 0.0)) for each in (actual, expected)]
        rtol, atol = max(limit[0] for limit in limits), max(limit[1] for limit in limits)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )
