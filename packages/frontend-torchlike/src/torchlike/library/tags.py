"""Tags of operators, by torch's names (source: ``torch.Tag``)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

__all__ = ["Tag", "list_tags"]


class Tag(StrEnum):
    """A property of an operator that its definition states; an operator's ``tags`` are texts that are equal to them.

    >>> import torchlike
    >>> Tag.inplace_view in torchlike.ops.aten.t_.default.tags
    True
    """

    core = "core"
    cudagraph_unsafe = "cudagraph_unsafe"
    data_dependent_output = "data_dependent_output"
    dynamic_output_shape = "dynamic_output_shape"
    flexible_layout = "flexible_layout"
    generated = "generated"
    inplace = "inplace"
    inplace_view = "inplace_view"
    maybe_aliasing_or_mutating = "maybe_aliasing_or_mutating"
    needs_contiguous_strides = "needs_contiguous_strides"
    needs_exact_strides = "needs_exact_strides"
    needs_fixed_stride_order = "needs_fixed_stride_order"
    nondeterministic_bitwise = "nondeterministic_bitwise"
    nondeterministic_seeded = "nondeterministic_seeded"
    out = "out"
    out_variant = "out_variant"
    pointwise = "pointwise"
    pt2_compliant_tag = "pt2_compliant_tag"
    reduction = "reduction"
    view_copy = "view_copy"

    def __str__(self) -> str:
        return f"Tag.{self.value}"

    def __repr__(self) -> str:
        return f"<Tag.{self.value}>"


def list_tags(tags: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return tags, or a single one, as plain texts without repetition.

    >>> list_tags([Tag.core, "pointwise", Tag.core])
    ('core', 'pointwise')
    """
    given = () if tags is None else (tags,) if isinstance(tags, str) else tags
    return tuple(dict.fromkeys(each.value if isinstance(each, Tag) else str(each) for each in given))
