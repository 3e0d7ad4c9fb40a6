"""NumPy arrays beside tensors: Python's operators and NumPy's ufuncs on both.

An array beside a tensor represents ``from_numpy`` of itself: on the cpu, with torch's promotion (for ``@`` too), the
tensor's gradient kept, and a tensor as the result, whichever comes first. (torch takes an array on the right of some
operators alone, and computes by NumPy's promotion without a gradient.) A ufunc that is not an operator of ours, or of one
operand, is NumPy's own on the elements, and returns tensors; as that is not recorded, it refuses tensors that require
grad. A write into an array by ``out=`` or by an in-place operator of the array's is NumPy's as a whole.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_core.tracebacks import api_boundary, trim_traceback

from ..functions.operator_functions import FUNCTIONS
from ..tensors.arrays import from_numpy, is_recording, put, to_array
from ..tensors.tensor import Tensor
from ..values.dtypes import result_type

#: The ufuncs of two operands that Python's operators stand for.
_OPERATORS: Final[dict[Any, Callable[[Any, Any], Any]]] = {
    np.add: operator.add,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.divide: operator.truediv,
    np.equal: operator.eq,
    np.floor_divide: operator.floordiv,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.left_shift: operator.lshift,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.multiply: operator.mul,
    np.not_equal: operator.ne,
    np.power: operator.pow,
    np.remainder: operator.mod,
    np.right_shift: operator.rshift,
    np.subtract: operator.sub,
}
#: The others of two operands: their functions' names.
_FUNCTIONS: Final = {
    np.arctan2: "atan2",
    np.fmod: "fmod",
    np.logical_and: "logical_and",
    np.logical_or: "logical_or",
    np.logical_xor: "logical_xor",
    np.maximum: "maximum",
    np.minimum: "minimum",
}


_NUMBERS: Final = (bool, int, float, complex)
_TAKEN: Final = (Tensor, *_NUMBERS, np.generic, list, tuple)


def _is_plain(value: Any) -> bool:
    """Return whether a value is an array with NumPy's operators; those of masks, matrices and units mean something else."""
    kind = type(value)
    return kind is np.ndarray or (
        isinstance(value, np.ndarray)
        and kind.__array_ufunc__ is np.ndarray.__array_ufunc__
        # A class that answers operators itself has a higher priority than NumPy's own, which has 0.
        and value.__array_priority__ <= 0
    )


def as_operand(value: Any) -> Any:
    """Return the tensor that an array beside a tensor stands for, and anything else as it is.

    Raises ``TypeError`` for an array of a dtype that tensors do not have.
    """
    if not _is_plain(value):
        return value
    value = value.view(np.ndarray)
    is_strided = all(stride >= 0 and stride % value.itemsize == 0 for stride in value.strides)
    # A recorded call waits, and the user may write to the array meanwhile: a copy, which is not lent, can be recorded.
    return from_numpy(value if is_strided and not is_recording() else value.copy())


def call_with_array(function: Callable[[Any, Any], Any], tensor: Tensor, array: Any) -> Any:
    """Call a function of two tensors for an array on the right; any other value is left to its own operator."""
    try:
        other = as_operand(array)
        if other is array:
            return NotImplemented
        return _call_matmul(tensor, other) if function is FUNCTIONS["matmul"] else function(tensor, other)
    except Exception as error:
        trim_traceback(error)
        raise


def _call_matmul(left: Tensor, right: Tensor) -> Tensor:
    dtype = result_type(left, right)
    return FUNCTIONS["matmul"](left.to(dtype), right.to(dtype))


@api_boundary
def call_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Answer a ufunc that was called with tensors among its operands (source: ``numpy.ndarray.__array_ufunc__``)."""
    out = [each for each in kwargs.get("out", ()) if each is not None]
    if not all(isinstance(each, _TAKEN) or _is_plain(each) for each in (*inputs, *out)):
        return NotImplemented
    if method == "at":
        return _write_at(ufunc, *inputs)
    if method == "__call__" and not kwargs:
        if ufunc is np.matmul:
            return _call_matmul(*map(_to_tensor, inputs))
        if ufunc in _OPERATORS:
            return _OPERATORS[ufunc](*map(_to_operand, inputs))
        if ufunc in _FUNCTIONS:
            return FUNCTIONS[_FUNCTIONS[ufunc]](*map(_to_tensor, inputs))
    if any(isinstance(each, Tensor) for each in out):
        raise TypeError(
            f"numpy.{ufunc.__name__}: out= must be a NumPy array, not a tensor\n"
            "Hint: use the torchlike function of that name, or the operator in place"
        )
    arrays = [to_array(each) if isinstance(each, Tensor) else each for each in inputs]
    found = getattr(ufunc, method)(*arrays, **kwargs)
    if out:
        return found
    return tuple(map(_wrap, found)) if isinstance(found, tuple) else _wrap(found)


@api_boundary
def wrap_array(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """Return the result of a function of NumPy's, called with a tensor, as a tensor (source: ``torch``).

    >>> import torchlike
    >>> np.transpose(torchlike.zeros(1, 2, 3), (2, 0, 1)).shape
    torchlike.Size([3, 1, 2])
    """
    return _wrap(array)


def _write_at(ufunc: Any, target: Any, *inputs: Any) -> None:
    """Answer ``ufunc.at(array, indices, values)``, a write into NumPy's array."""
    if isinstance(target, Tensor):
        raise TypeError(
            f"numpy.{ufunc.__name__}.at: the first operand must be a NumPy array, not a tensor\n"
            "Hint: use index_put_(indices, values, accumulate=True), index_add_ or index_reduce_"
        )
    ufunc.at(target, *(to_array(each) if isinstance(each, Tensor) else each for each in inputs))


def _to_operand(value: Any) -> Any:
    """Return an operand of one of Python's operators, to which NumPy's numbers are Python's."""
    if isinstance(value, np.generic):  # asked first: some are Python's floats and complex numbers too
        return value.item()
    return value if isinstance(value, _NUMBERS) else _to_tensor(value)


def _to_tensor(value: Any) -> Any:
    """Return an operand as a tensor, a number as one without dimensions."""
    return value if isinstance(value, Tensor) else as_operand(np.asarray(value))


def _wrap(result: Any) -> Tensor:
    return put(np.asarray(result))
