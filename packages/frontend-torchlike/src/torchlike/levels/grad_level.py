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
from .calls import bind_wrapping, call_in_order, shape_of, written_tensors
from .custom_tangents import find_call_rule, record_pushing
from .front import open_closed
from .stack import TransformLevel, below, run_below
from .tensors import NESTED, LevelData, Tracked, make_layout_error, note_write, stand_for, wrap_value

_BACK: Final = dc.DispatchKey.FuncTorchDynamicLayerBackMode.value


class GradLevel(TransformLevel):
    """A level of `grad`, `vjp`, `jvp`, or of a transform made of these."""

    kind: ClassVar[str] = "grad"

    def __init__(self) -> None:
        super().__init__()
        self._outer = is_grad_enabled()
        self.has_mode = not self._outer

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

    @classmethod
    def bind(cls, op: Any, keyset: Any, general: Any) -> Any:
        shape = shape_of(op)
        if cls.call is not GradLevel.call or shape.lists or shape.writes or keyset.mask & AUTOCAST:
            return general
        singles, is_plain = shape.singles, cls is GradLevel
        ways: dict[int, tuple[Any, Any, Any]] = {}

        def run(levels: Any, values: tuple[Any, ...]) -> Any:
            level, mask = levels[-1], 0
            foreign: tuple[int, ...] = ()
            for index in singles:
                if (value := values[index]) is not None:
                    mask |= getattr(value, "_dispatch_mask", 0)
                    data = getattr(value, "_dispatch_data", None)
                    if not isinstance(data, LevelData):
                        foreign += (index,)
                    elif data.level is not level:
                        if data.level not in levels:
                            return run(levels, shape.map_tensors(open_closed, values))
                        foreign += (index,)
            if not mask or mask & LAYOUTS:
                return general(levels, values)
            way = ways.get(mask & ARRAYS)
            if way is None:
                way = ways[mask & ARRAYS] = _bind_way(op, mask)
            composite, recorded, alone = way
            if composite is not None:
                return composite(*values)
            if foreign:
                entered = list(values)
                for index in foreign:
                    entered[index] = level.enter(entered[index], is_captured=True)
                values = tuple(entered)
            if is_plain:
                return recorded(*values)
            return level.run_recorded(recorded if level.find_rule(op) is None else alone, values)

        return run

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
        own_keys = casts | _BACK | frontend.marker
        own_keys |= autograd if self.find_rule(op) is None else 0
        return self.run_recorded(op.runner(own_keys), entered)

    def find_rule(self, op: Any) -> Any:
        """Return the rule by which what goes on below records an operator itself; None where the Autograd kernels do."""
        return None

    def run_recorded(self, run: Any, values: tuple[Any, ...]) -> Any:
        """Run a call that is recorded."""
        return run(*values)

    @classmethod
    def bind_below(cls, op: Any) -> Any:
        shape, wrap = shape_of(op), bind_wrapping(op, Tracked)
        singles, lists, writes, call = shape.singles, shape.lists, shape.writes, shape.call

        def run(levels: Any, values: tuple[Any, ...]) -> Any:
            level, inner = levels[-1], list(values)
            for index in singles:
                if (value := inner[index]) is not None:
                    data: Any = getattr(value, "_dispatch_data", None)
                    is_own = isinstance(data, LevelData) and data.level is level
                    inner[index] = data.value if is_own else level.leave(value)
            for index in lists:
                inner[index] = inner[index] and [level.leave(each) for each in inner[index]]
            found = run_below(levels, call, *inner)
            if writes:
                for tensor in written_tensors(op, values):
                    note_write(tensor)
            return wrap(level, found, values)

        return run

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
        self.has_mode = True
        #: The function's own mode, while a call of it is recorded whatever that is.
        self._mode: bool | None = None
        #: Whether calls with tangents of their own record them; backward's, which are linear, record their gradients.
        self.pushes = True

    @property
    def grad_mode(self) -> bool:
        return self._outer and (is_grad_enabled() if self._mode is None else self._mode)

    def find_rule(self, op: Any) -> Any:
        """Return the rule by which a call has tangents of its own; None where backward, differentiated, has them."""
        if not self.pushes:
            return None
        alone = self._outer and not self.grad_mode  # the transforms around record no tangents
        return find_forward_rule(op) or (find_call_rule(op, ForwardLevel) if alone else None)

    @classmethod
    def bind_below(cls, op: Any) -> Any:
        call = super().bind_below(op)

        def run(levels: Any, values: tuple[Any, ...]) -> Any:
            rule = levels[-1].find_rule(op)
            if rule is None:
                return call(levels, values)
            return record_pushing(rule, levels[-1], op, values, partial(call, levels))

        return run

    def run_recorded(self, run: Any, values: tuple[Any, ...]) -> Any:
        before, is_on = self._mode, is_grad_enabled()
        if before is None:
            self._mode = is_on
        try:
            if is_on:
                return run(*values)
            with enable_grad():
                return run(*values)
        finally:
            self._mode = before


@lru_cache(maxsize=64)
def _only_key(mask: int) -> Any:
    """Return the key of a mask that has one; a layout's own stands above its device's."""
    keys = keys_of(mask)
    return keys[0] if sum(not key.layout for key in keys) <= 1 else None


def _bind_way(op: Any, mask: int) -> tuple[Any, Any, Any]:
    """Return the composite that serves calls with tensors of these keys, or None, and the calls with and without a node."""
    autograd = autograd_bit(mask & ARRAYS)
    plain = _BACK | frontend.marker
    return _find_composite(op, autograd), op.lasting_runner(autograd | plain), op.lasting_runner(plain)


def _find_composite(op: Any, autograd: int) -> Any:
    """Return the composite that serves a device's Autograd key, or None."""
    key = _only_key(autograd)
    return None if key is None else frontends.find_composite(op, key)
