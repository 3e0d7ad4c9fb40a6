"""The dtype in which arrays are computed together, for kernels in other languages."""

from __future__ import annotations

from typing import Any

from ..arrays import access
from ..arrays.owners import is_tensor
from ..errors import OperatorNotFoundError
from ..schema.declared_dtypes import PROMOTIONS

__all__ = ["promote"]


def promote(*operands: Any) -> Any:
    """Return the dtype in which an element-wise operator computes on arrays, tensors and numbers.

    An array that is not there yet, as in a plan, may be a pair of its dtype and its number of dimensions, or the operator
    library's description of it.
    It is a dtype of the operator library; the operator's result may have another one, as that of a comparison has (source:
    ``torch.result_type``). Raises ``OperatorNotFoundError`` where no operator library has declared its dtypes.

    >>> from dispatch_core.schema import declare_promotion
    >>> declare_promotion(lambda *operands: "float64" if float in map(type, operands) else "int64")
    >>> promote(1, 2.5), PROMOTIONS.pop() is not None
    ('float64', True)
    """
    found = [(access.dtype(each), len(access.shape(each))) if is_tensor(each) else each for each in operands]
    if not PROMOTIONS:
        from ..operators.registries import registry

        _ = registry.ops.aten.add.Tensor.schema  # an operator that is defined brings its library's dtypes
    if not PROMOTIONS:
        raise OperatorNotFoundError(
            "no operator library has declared its dtypes", hint="install dispatch-operators-aten, or import yours"
        )
    return PROMOTIONS[-1](*found)
