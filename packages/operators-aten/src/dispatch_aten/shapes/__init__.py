"""Shape rules: the shape, strides and dtype of every operator's results, without any data.

``RULES`` maps an operator (``"add.Tensor"``) to a function of its arguments, in schema order and with ``TensorMeta`` in
place of tensors, that returns a ``TensorMeta``, or a tuple or list of them. A rule makes every check that does not depend
on values and raises torch's own exception, with the operator's name and the argument's. ``infer`` looks one up by any
spelling; in-place and ``out=`` overloads follow from the functional ones. ``cached_rule`` makes a rule for a backend whose
arrays carry their description (``HasSpec``): it looks its answers up. ``rule_key`` is for generated code that looks up
more than that under the same key, and ``memoize`` for arrays that are described in another way.

>>> from dispatch_aten.dtypes import float32, int64
>>> infer("aten::mul.Tensor", contiguous((2, 1), float32), contiguous((1, 3), int64)).shape
(2, 3)
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .dims import wrap_dim, wrap_dims
from .layout import (
    broadcast_shapes,
    check_apart,
    check_output_shape,
    check_written,
    is_expanded,
    iterator_strides,
    memory_order,
    preserve_format,
    preserved_strides,
)
from .meta import (
    TensorMeta,
    check_storage,
    contiguous,
    contiguous_strides,
    is_contiguous,
    is_non_overlapping_and_dense,
    same_places,
    storage_extent,
)

if TYPE_CHECKING:
    from dispatch_aten.families.convolution.shapes import ConvolutionGeometry, columns_grid, convolution_geometry
    from dispatch_aten.families.padding.shapes import padding_pairs
    from dispatch_aten.families.pooling.shapes import PoolWindows, pool_windows
    from dispatch_aten.families.reduction.shapes import warn_of_freedom
    from dispatch_aten.families.resampling.shapes import RESAMPLERS, ignored_scales, scale_sizes

    from .rule_cache import HasSpec, RuleKey, cached_rule, memoize, rule_key
    from .rules import RULES, RULES_ON_EXPANDED, infer
    from .sizes import view_strides

__all__ = [
    "RESAMPLERS",
    "RULES",
    "RULES_ON_EXPANDED",
    "ConvolutionGeometry",
    "HasSpec",
    "PoolWindows",
    "RuleKey",
    "TensorMeta",
    "broadcast_shapes",
    "cached_rule",
    "check_apart",
    "check_output_shape",
    "check_storage",
    "check_written",
    "columns_grid",
    "contiguous",
    "contiguous_strides",
    "convolution_geometry",
    "ignored_scales",
    "infer",
    "is_contiguous",
    "is_expanded",
    "is_non_overlapping_and_dense",
    "iterator_strides",
    "memoize",
    "memory_order",
    "padding_pairs",
    "pool_windows",
    "preserve_format",
    "preserved_strides",
    "rule_key",
    "same_places",
    "scale_sizes",
    "storage_extent",
    "view_strides",
    "warn_of_freedom",
    "wrap_dim",
    "wrap_dims",
]

#: Modules that are imported when one of their names is first used.
_NAMES: Final = {
    ".rule_cache": "HasSpec RuleKey cached_rule memoize rule_key",
    ".rules": "RULES RULES_ON_EXPANDED infer",
    ".sizes": "view_strides",
    "..families.convolution.shapes": "ConvolutionGeometry columns_grid convolution_geometry",
    "..families.padding.shapes": "padding_pairs",
    "..families.pooling.shapes": "PoolWindows pool_windows",
    "..families.reduction.shapes": "warn_of_freedom",
    "..families.resampling.shapes": "RESAMPLERS ignored_scales scale_sizes",
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}
_DEPRECATED: Final = {"Described": "HasSpec", "remembered": "cached_rule"}


def __getattr__(name: str) -> Any:
    present = _DEPRECATED.get(name, name)
    if present not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[present], __name__), present)
    if present != name:
        warnings.warn(f"{__name__}.{name} is {present} now; the old name goes in 0.2", DeprecationWarning, stacklevel=2)
        return found
    globals()[name] = found
    return found
