"""The level of a transform that differentiates: its calls run the Autograd kernels of the device, then go on below.

A transform records whatever mode it is called in, and obeys ``no_grad`` inside the function, which transforms around it
obey too. So calls below a level are recorded where recording is on both in the function and around the transform.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, ClassVar, Final

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.keys import ARRAYS, AUTOCAST, LAYOUTS, keys_of

from ..autograd.rules.forward_rules import find_forward_rule
from ..history.device_keys import autograd_bit
from ..history.grad_mode import enable_grad, is_grad_enabled
from ..tensors.tensor import Tensor, frontend
from .calls import call_in_order, shape_of, wrap_results, written_tensors
from .custom_tangents import find_call_rule, record_pushing
from .stack import TransformLevel, below
from .tensors import NESTED, LevelData, Tracked, make_layout_error, note_write, stand_for, wrap_value

_BACK: Final = dc.DispatchKey.FuncTorchDynamicLayerBackMode.value


class GradLevel(TransformLevel):
    """A level of `grad`, `vjp`, `jvp`, or of a transform made of these."""

    kind: ClassVar[str] = "grad"

    def __init__(self) -> None:
        super().__init__()
        self._outer = is_grad_enabled()

    @property
    def grad_mode(self) -> bool:
        return self._outer and is_grad_enabled()

    def open_closed(self, tensor: Any) -> Any:
        return tensor._dispatch_data.value

    def enter(self, value: Any, *, is_captured: bool = False) -> Any:
        """Return the level's tensor for one from outside; the level's own, and anything but a tensor, as it is."""
        if not isinstance(value, Tensor) or self.owns(value):
            return value
        if value._dispatch_mask & NESTED:
            # A nested tensor has as many rows as before, and a level's tensor for their elements.
            return value._dispatch_data.map_values(partial(self.enter, is_captured=is_captured))
        if value._dispatch_mask & LAYOUTS and any(map(self.owns, frontends.components_of(value))):
            raise make_layout_error(value, "a transform differentiates, whose history it does not have")
        return stand_for(Tracked, value, self, is_captured=is_captured)

    def leave(self, value: Any) -> Any:
        """Return the tensor below a tensor of the level; anything else as it is."""
        data = getattr(value, "_dispatch_data", None)
        if isinstance(data, LevelData) and data.level is self:
            return data.value
        if isinstance(value, Tensor) and value._dispatch_mask & NESTED:
            return value._dispatch_data.map_values(self.leave)
        return value

    def call(self, keyset: Any, op: Any, values: tuple[Any, ...]) -> Any:
        mask, shape = 0, shape_of(op)
        for tensor in shape.tensors_of(values):
            mask |= getattr(tensor, "_dispatch_mask", 0)
        if not mask:
            return self._make(op, values)
        if shape.writes:
            for tensor in written_tensors(op, values):
                self._check_write(op, tensor)
        autograd, casts = autograd_bit(mask & ARRAYS), keyset.mask & AUTOCAST
        composite = _find_composite(op, autograd)
        if composite is not None and casts:
            from ..amp.kernels import has_program_kernel, run_composite  # loaded, as there are kernels under these keys

            if has_program_kernel(keyset, op):
                # The parts of a composite are dispatched with the keys of their tensors.
                own_keys = autograd | casts | _BACK | mask & ARRAYS | frontend.marker
                return op.runner(own_keys)(*values)
            return run_composite(keyset, op, composite, values)
        if composite is not None:
            return composite(*values)
        entered = shape.map_tensors(partial(self.enter, is_captured=True), values)
        own_keys = (0 if self.has_own_node(op) else autograd) | casts | _BACK | frontend.marker
        return self.run_recorded(op.runner(own_keys), entered)

    def has_own_node(self, op: Any) -> bool:
        """Return whether `call_below` records calls of an operator, instead of its Autograd kernel."""
        return False

    def run_recorded(self, run: Any, values: tuple[Any, ...]) -> Any:
        """Run a call by the Autograd kernels."""
        return run(*values)

    def call_below(self, op: Any, values: tuple[Any, ...]) -> Any:
        """Run a call whose history the Autograd kernels keep."""
        shape = shape_of(op)
        inner = shape.map_tensors(self.leave, values)
        with below():
            found = call_in_order(op, inner)
        if shape.writes:
            for tensor in written_tensors(op, values):
                note_write(tensor)
        return wrap_results(op, Tracked, self, found, values)

    def _make(self, op: Any, values: tuple[Any, ...]) -> Any:
        """Run a call without tensors: one that makes a tensor makes one of the level, which may be written to."""
        with below():
            found = call_in_order(op, values)
        if frontends.call_signature(op).device_index is None or not (
            isinstance(found, Tensor) or frontends.array_type(found)
        ):
            return found
        return wrap_value(Tracked, found, self)

    def _check_write(self, op: Any, tensor: Any) -> None:
        """Refuse to write to a tensor that the function captured."""
        if not self.owns(tensor) or tensor._dispatch_data.is_captured:
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
                f"({op.name}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
                "transformed to explicitly accept the mutated Tensor(s) as inputs."
            )


class ForwardLevel(GradLevel):
    """A level of `jvp`, or of a transform made of it: it records in ``no_grad``, too, as forward mode does in torch."""

    def __init__(self) -> None:
        super().__init__()
        #: The function's own mode, while a call of it is recorded whatever that is.
        self._mode: bool | None = None
        #: Whether calls with tangents of their own record them; backward's, which are linear, record their gradients.
        self.pushes = True

    @property
    def grad_mode(self) -> bool:
        return self._outer and (is_grad_enabled() if self._mode is None else self._mode)

    def has_own_node(self, op: Any) -> bool:
        return self._find_rule(op) is not None

    def _find_rule(self, op: Any) -> Any:
        """Return the rule by which a call has tangents of its own; None where backward, differentiated, has them."""
        if not self.pushes:
            return None
        alone = self._outer and not self.grad_mode  # the transforms around record no tangents
        return find_forward_rule(op) or (find_call_rule(op, ForwardLevel) if alone else None)

    def call_below(self, op: Any, values: tuple[Any, ...]) -> Any:
        rule = self._find_rule(op)
        call = super().call_below
        return call(op, values) if rule is None else record_pushing(rule, self, op, values, call)

    def run_recorded(self, run: Any, values: tuple[Any, ...]) -> Any:
        before = self._mode
        if before is None:
            self._mode = is_grad_enabled()
        try:
            with enable_grad():
                return run(*values)
        finally:
            self._mode = before


@lru_cache(maxsize=64)
def _only_key(mask: int) -> Any:
    """Return the key of a mask that has one; a layout's own stands above its device's."""
    keys = keys_of(mask)
    return keys[0] if sum(not key.layout for key in keys) <= 1 else None


def _find_composite(op: Any, autograd: int) -> Any:
    """Return the composite that serves a device's Autograd key, or None."""
    key = _only_key(autograd)
    return None if key is None else frontends.find_composite(op, key)
