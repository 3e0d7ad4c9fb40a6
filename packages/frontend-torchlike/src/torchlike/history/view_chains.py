"""The chains of operators and arguments that lead to views, by which these can be made again.

A view keeps the operators and arguments that lead to it. Replayed on its base they give the view's history after the
base was changed in place (`View.replay_history`), the part of a gradient that belongs to the view (`CopySlices`), and,
for backends whose arrays cannot be written, the view's new array (`rebinding`). A chain is a linked list,
``(chain before, operator, arguments after the first)``, so that views of views share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import find_array_type

from ..names.lazy_names import Tensor
from .captures import current_part
from .metadata import is_plain

Chain = Any


@cache
def _count_positional(op: Any) -> int:
    """Return the number of arguments after the first that an operator takes by position."""
    return sum(not argument.kwarg_only for argument in op.schema.arguments) - 1


def _apply(op: Any, base: Any, args: Sequence[Any]) -> Any:
    count = _count_positional(op)
    names = [argument.name for argument in op.schema.arguments[count + 1 :]]
    return op(base, *args[:count], **dict(zip(names, args[count:], strict=True)))


def replay(base: Any, chain: Chain, stop: Chain = None) -> Any:
    """Make the view that ``chain`` leads to, from ``stop`` on, of another base: a tensor or a raw array."""
    for op, args in list_views(chain, stop):
        base = _apply(op, base, args)
    return base


def list_views(chain: Chain, stop: Chain = None) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the operators of a chain from ``stop`` on, in the order of the calls, each with its further arguments."""
    part = current_part()
    steps = []
    while chain is not stop and chain is not None:
        if part is not None:
            part.chains.append(chain)
        chain, op, args = chain
        steps.append((op, args))
    return steps[::-1]


class _ViewKinds(dict[Any, int]):
    """Operator → the kind of the views that it makes, computed at the first look-up.

    0 for most, -1 for aliases that no gradient follows, and for parts in a list the place of ``dim`` among the arguments.
    """

    def __missing__(self, op: Any) -> int:
        kinds = {
            "aten::detach": -1,
            "aten::view.dtype": -1,
            "aten::split.Tensor": 2,
            "aten::split_with_sizes": 2,
            "aten::split.sizes": 2,
            "aten::chunk": 2,
            "aten::tensor_split.sections": 2,
            "aten::tensor_split.indices": 2,
            "aten::unbind.int": 1,
        }
        found = self[op] = kinds.get(op.name, 0)
        return found


view_kinds: Final = _ViewKinds()

#: Functions of several views that make each of them alone, so that all may be changed in place.
CUT_ONE_BY_ONE: Final = frozenset({"aten::tensor_split.sections", "aten::tensor_split.indices"})


def describe_parts(
    op: Any, base: Tensor, parts: Sequence[Any], args: tuple[Any, ...]
) -> tuple[Any, list[tuple[Any, ...]]]:
    """Return the operator that makes each part in a list of views alone, and the arguments after the first for each.

    Raises ``KernelResultError`` where the parts, made by the device's own kernel, do not tell where in the base they begin.
    """
    if not parts:
        return op, []
    kind = type(parts[0])
    known = find_array_type(kind)
    if known is None or (known.strides is None and not known.mutable):
        raise dc.KernelResultError(
            f"{op.name}: the kernel of device {dc.device(base)} returned arrays without strides, which do not tell where in"
            " the tensor they begin",
            hint="leave the kernel out: slices are composed in its place",
        )
    place = view_kinds[op]
    if place <= 0:
        return op, [args[1:]] * len(parts)
    dim = args[place]
    if place == 1:  # unbind takes the dimension away
        dim = dim if dim >= 0 else dim + len(dc.shape(base))
        return dc.ops.aten.select.int, [(dim, index) for index in range(len(parts))]
    plain, start, steps = is_plain[kind], 0, []
    for each in parts:
        shape = each.shape if plain else dc.shape(each)
        if dim < 0:
            dim += len(shape)
        stop = start + shape[dim]
        steps.append((dim, start, stop, 1))
        start = stop
    return dc.ops.aten.slice.Tensor, steps
