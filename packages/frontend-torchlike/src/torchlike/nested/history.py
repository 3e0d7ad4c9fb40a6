"""The history of nested tensors, which is that of their values: see Note [Jagged tensors] in `tensor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ..tensors.overriding_classes import DISABLED
from ..tensors.tensor import Tensor


class HistoryOfValues(Tensor):
    """The base of nested tensors: questions about a tensor's history go to the values'."""

    __slots__ = ()
    __torch_function__ = DISABLED

    @property
    def _state(self) -> Any:
        return self._dispatch_data.values._state

    def _make_state(self) -> Any:
        return self._state

    def _count_write(self) -> None:
        self._dispatch_data.values._count_write()

    @property
    def _base(self) -> None:
        return None

    @property
    def requires_grad(self) -> bool:
        """Whether operators on the values are recorded for backward."""
        return self._dispatch_data.values.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._dispatch_data.values.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Choose whether operators on the values are recorded."""
        self._dispatch_data.values.requires_grad_(requires_grad)
        return self

    _require_grad = requires_grad_

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by the values, as a nested tensor, or None."""
        found = self._dispatch_data.values.grad
        return None if found is None else self._dispatch_data.leave_gradient(found)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and (not value.is_nested or value.shape != self.shape):
            raise RuntimeError("assigned grad must be a nested tensor of the same sizes")
        self._dispatch_data.values.grad = None if value is None else value._dispatch_data.values

    @grad.deleter
    def grad(self) -> None:
        self._dispatch_data.values.grad = None

    # Programs set a gradient by this name too.
    _grad = grad

    @property
    def grad_fn(self) -> Any:
        """The node that made the values, or None for a leaf."""
        return self._dispatch_data.values.grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made the values."""
        return self._dispatch_data.values.is_leaf

    def retain_grad(self) -> None:
        """Keep the gradient of the values in ``.grad``."""
        self._dispatch_data.values.retain_grad()

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called."""
        return self._dispatch_data.values.retains_grad

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call ``hook(grad)`` with each gradient as a nested tensor; its result replaces the gradient."""
        record = self._dispatch_data

        def call(gradient: Tensor) -> Tensor | None:
            found = hook(record.leave_gradient(gradient))
            return None if found is None else record.enter_gradient(found)

        return record.values.register_hook(call)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Any:
        """Call ``hook(tensor)`` whenever a gradient has been accumulated into a leaf's ``.grad``."""
        return self._dispatch_data.values.register_post_accumulate_grad_hook(lambda _: hook(self))

    def detach_(self) -> Self:
        """Cut the values off their history, in place."""
        self._dispatch_data.values.detach_()
        return self

    @property
    def data(self) -> Tensor:
        """The same memory without history."""
        return self._dispatch_data.leave_gradient(self._dispatch_data.values.data)

    @data.setter
    def data(self, value: Tensor) -> None:
        record = self._dispatch_data
        record.values.data = record.enter_gradient(value)
        if value.device != record.offsets.device:  # where the rows follow
            moved = value._dispatch_data
            parts = moved.offsets, moved.lengths, record.ragged, record.shortest, record.longest
            self._dispatch_data, self._dispatch_mask = type(moved)(record.values, *parts), value._dispatch_mask
