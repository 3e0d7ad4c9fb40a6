"""The check that an operator does not read the memory that it writes to.

Note [Outputs that overlap inputs]
    Torch refuses most calls whose output overlaps an input, and lets some through (``_MAY_OVERLAP``). Here each result is
    computed before it is written, so no such call could give a wrong value; it is refused because torch refuses it.
    A kernel that writes at once makes the same check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.shapes.layout import are_apart, check_apart, check_output_shape, overlap_error
from dispatch_aten.variants import base_name
from dispatch_core import frontends

from ._shared import Array, meta_of

if TYPE_CHECKING:
    from collections.abc import Callable

_MAY_OVERLAP: Final = frozenset(
    (
        "_log_softmax _log_softmax_backward_data _softmax _softmax_backward_data softmax log_softmax bmm mm mv dot matmul"
        " vdot inner tensordot all any amax amin mean sum prod std var norm linalg_vector_norm logsumexp nll_loss"
        " nll_loss_backward nll_loss_forward threshold threshold_backward threshold_ tril triu tril_ triu_ max.unary_out"
        " min.unary_out"
    ).split()
)
"""Operators, or overloads, whose output may overlap an input."""

_COPIED_FIRST: Final = {"addmm": "self", "baddbmm": "self", "addmv": "self", "linear": "bias"}
"""Operators whose output may overlap every input but one, which is copied into the output first."""

ENTIRELY_APART: Final = frozenset(
    (
        "cat concat concatenate cross gather hstack index index_add index_add_ index_select kthvalue linalg_cross"
        " masked_scatter_ masked_select nonzero scatter scatter_ scatter_add scatter_add_ stack take take_along_dim vstack"
    ).split()
)
"""Operators that may not even read an element from where they write it."""

_MAY_BE: Final = {"index_add": "self", "scatter": "self", "scatter_add": "self", "gather": "index"}
"""The argument that the output of some of them may be: it is copied first, or read element by element."""


def overlap_check(name: str, tensors: tuple[tuple[int, str], ...]) -> Callable[..., None] | None:
    """Make the check of an operator's output against its other tensors, or None where it may share memory with them.

    ``tensors`` are the places and names of the arguments that are tensors, or lists of them. The check takes the output, the
    result's shape, which an output that is an input must have, and the other arguments.
    See Note [Outputs that overlap inputs].
    """
    base = base_name(name)
    if base in _MAY_OVERLAP or name in _MAY_OVERLAP:
        return None
    entirely, may_be = base in ENTIRELY_APART, _MAY_BE.get(base)
    if base in _COPIED_FIRST:
        tensors = tuple(each for each in tensors if each[1] == _COPIED_FIRST[base])

    def check(out: Array, shape: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # Arrays that cannot be written lie in no memory that another is written to: only the output itself counts.
        memory = dc.storage_of(out) if dc.is_mutable(out) else None
        for place, argument in tensors:
            value = args[place] if place < len(args) else kwargs.get(argument)
            for each in value if isinstance(value, (list, tuple)) else (value,):
                if each is not None and (each is out if memory is None else dc.storage_of(each) == memory):
                    apart = entirely and argument != may_be
                    if apart and each is out:
                        raise overlap_error(argument)
                    _check(out, each, argument, entirely=apart)
                    if each is out:
                        check_output_shape(shape, dc.shape(out), argument)

    return check


def _check(out: Array, read: Array, argument: str, *, entirely: bool) -> None:
    """Refuse an output that lies where an input is read; replays of a captured call do so where the two lie then."""
    metas = meta_of(out), meta_of(read)
    check_apart(*metas, argument, entirely=entirely)
    if out is not read and (recording := frontends.recording()) is not None:

        def holds(start: int, other: int) -> bool:
            return are_apart(*metas, other - start, entirely=entirely)

        recording.depend_on_places(holds, out, read)
