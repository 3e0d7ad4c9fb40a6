"""The argument ``layout`` of factories: which make sparse tensors, and the refusal of other layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.keys import LAYOUTS

from ..tensors.tensor import Tensor, wrap
from ..values.layouts import jagged, layout, layout_of, sparse_coo, strided

#: Layout → a function of size, dtype and device that makes a tensor without elements; `methods` fills it.
EMPTY: Final[dict[layout, Callable[[Sequence[int], Any, Any], Tensor]]] = {}
#: The factories that have a result of the sparse layout: one without elements.
SPARSE: Final = frozenset({"empty", "zeros"})
_SPARSE_FROM_STRIDED: Final = frozenset({"new_empty", "new_zeros", "zeros_like"})


def read_layout(name: str, wanted: Any) -> layout | None:
    """Return the layout that a call of a factory gives, None for the usual one; ``TypeError`` for another object."""
    if wanted is None or wanted is strided:
        return None
    if not isinstance(wanted, layout):
        raise TypeError(f"{name}(): argument 'layout' must be torchlike.layout, not {type(wanted).__name__}")
    return wanted


def refuse_layout_of(name: str, wanted: layout) -> NotImplementedError:
    """Return the error for a layout in which a factory makes nothing."""
    if wanted is jagged:
        hint = f"torchlike.nested.nested_tensor(rows, layout={jagged}) makes one of its rows"
    elif wanted is sparse_coo:
        hint = f"{name}(...).to_sparse() makes one of a strided tensor; zeros and empty take layout={sparse_coo}"
    else:
        hint = f"{name}(...).to_sparse(layout={wanted}) makes one of a strided tensor; zeros and empty take sparse_csr, too"
    return NotImplementedError(f"{name}(): makes no tensors of layout {wanted}\nHint: {hint}")


def find_template(name: str, template: Tensor, given: Any) -> Tensor:
    """Return a tensor of the wanted layout in place of the one that a result is to be like; raises as `read_layout` does.

    ``given`` is the argument ``layout``, which may be `strided`; None is the template's own.
    """
    wanted = read_layout(name, given)
    own = layout_of(template)
    if given is None or (wanted or strided) is own:
        return template
    if wanted is None and own is sparse_coo:
        made: Tensor = wrap(
            dc.ops.aten.empty.memory_format(template.shape, dtype=template.dtype, device=template.device)
        )
        return made
    if wanted is sparse_coo and name in _SPARSE_FROM_STRIDED and not template._dispatch_mask & LAYOUTS:
        return EMPTY[sparse_coo](template.shape, template.dtype, template.device)
    if wanted is None:
        raise NotImplementedError(
            f"{name}(): makes no strided tensor like one of layout {own}\n"
            "Hint: x.to_padded_tensor(0.0) is a strided tensor, and so is x.values()"
        )
    raise refuse_layout_of(name, wanted)
