"""The frontend's protocol for views of tensors: one, or a list of one tensor's parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_core.frontends import ViewCode, Views, find_array_type
from dispatch_core.keys import AUTOGRAD, DispatchKey

from ..names.lazy_names import Tensor
from .device_keys import AUTOGRAD_BITS
from .grad_mode import is_grad_enabled
from .node import tick
from .view_chains import CUT_ONE_BY_ONE, describe_parts, view_kinds
from .views import ONE_OF_SEVERAL, UNRECORDED, make_alias, make_view_state, set_view

_NOT_AUTOGRAD: Final = ~AUTOGRAD
#: Without the keys that a class of tensors adds, which its views get with the class.
_OF_PLAIN: Final = ~(DispatchKey.TorchFunction | DispatchKey.Python)
#: The middle of the tuple of `Late`, as text.
_LATE: Final = "__tick(), __op, ({rest}), None if __records() else __unrecorded"


def find_view_code(op: Any, mask: int) -> list[ViewCode]:
    """Return how generated code makes views whose state is made late; none before a first view of such a tensor was."""
    if mask & AUTOGRAD:
        return []
    if view_kinds[op] < 0:
        value, made = "__alias({base}, __op, ({rest}))", {"__alias": make_alias}
        bits = dict.fromkeys((0, AUTOGRAD_BITS.get(mask, 0)))
        parts = (("made", make_alias),)
        return [ViewCode(mask | bit, "", mask, "_autograd", value, made, parts) for bit in bits]
    if mask not in AUTOGRAD_BITS:
        return []
    view = mask | AUTOGRAD_BITS[mask]
    constants = {"__tick": tick, "__records": is_grad_enabled, "__unrecorded": UNRECORDED}
    late = ("called", tick), ("operator",), ("rest",), ("choice", is_grad_enabled, None, UNRECORDED)
    first, later = (("base",), *late, ("constant", None)), (("first",), *late, ("attribute",))
    condition, value = "type(__b := {base}._autograd) is tuple", f"__b[0], {_LATE}, __b"
    state, made = "__state({base}, __op, ({rest}))", {"__state": make_view_state}
    return [
        ViewCode(mask, "", view, "_autograd", f"{{base}}, {_LATE}, None", constants, first),
        ViewCode(view, condition, view, "_autograd", value, constants, later),
        ViewCode(view, "", view, "_autograd", state, made, (("made", make_view_state),)),
    ]


def make_views(bare: Callable[[], Tensor]) -> Views:
    """Return the object that makes one view or a list of them; ``bare`` makes a tensor without data."""

    def make_view(self: Tensor, data: Any, op: Any, args: tuple[Any, ...]) -> Tensor:
        tensor = bare()
        mask = self._dispatch_mask & _OF_PLAIN
        tensor._dispatch_data = data
        known = find_array_type(type(data))
        if known is not None and known.mutable:
            # See Note [The state of a view is made late] in `history.views`.
            if view_kinds[op] < 0:
                tensor._dispatch_mask = mask & _NOT_AUTOGRAD
                tensor._autograd = make_alias(self, op, args[1:])
                return tensor
            if mask & AUTOGRAD:
                above = self._autograd
                if type(above) is tuple:
                    tensor._dispatch_mask = mask
                    tensor._autograd = above[0], tick(), op, args[1:], None if is_grad_enabled() else UNRECORDED, above
                else:
                    tensor._dispatch_mask = mask
                    tensor._autograd = make_view_state(self, op, args[1:])
                return tensor
            tensor._dispatch_mask = mask | AUTOGRAD_BITS[mask]
            tensor._autograd = self, tick(), op, args[1:], None if is_grad_enabled() else UNRECORDED, None
            return tensor
        tensor._dispatch_mask = mask | AUTOGRAD_BITS[mask]
        set_view(tensor, self, op, args[1:])
        return tensor

    def make_list(self: Tensor, parts: list[Any], op: Any, args: tuple[Any, ...]) -> list[Tensor]:
        part, steps = describe_parts(op, self, parts, args)
        mask = self._dispatch_mask & _OF_PLAIN
        above = self._autograd if mask & AUTOGRAD else None
        is_one_of_several = op.name not in CUT_ONE_BY_ONE
        views = []
        place, time, mask = 0, tick(), mask | AUTOGRAD_BITS[mask]
        if parts and (above is None or type(above) is tuple) and find_array_type(type(parts[0])).mutable:  # type: ignore[union-attr]  # as described
            base = self if above is None else above[0]
            refusal = UNRECORDED if not is_grad_enabled() else ONE_OF_SEVERAL if is_one_of_several else None
            for data in parts:
                tensor = bare()
                tensor._dispatch_data = data
                tensor._dispatch_mask = mask
                tensor._autograd = base, time, part, steps[place], refusal, above
                views.append(tensor)
                place += 1
            return views
        for data, rest in zip(parts, steps, strict=True):
            tensor = bare()
            tensor._dispatch_data = data
            tensor._dispatch_mask = mask
            set_view(tensor, self, part, rest, is_part=is_one_of_several)
            views.append(tensor)
        return views

    class TensorViews(Views):
        """Makes the views of tensors, which remember how they were made."""

        view = staticmethod(make_view)
        views = staticmethod(make_list)
        view_code = staticmethod(find_view_code)

    return TensorViews()
