"""The part of a tensor that autograd reads: its state, and users' methods for gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, Self
from weakref import ref

import dispatch_core as dc
from dispatch_core.forks import Order, forkable
from dispatch_core.frontends import CAPTURING, find_layout
from dispatch_core.keys import AUTOGRAD, LAYOUTS

from ..names.lazy_names import Tensor
from . import tangents
from .captures import see, see_gradient
from .device_keys import autograd_bit
from .hooks import RemovableHandle
from .metadata import Meta, is_plain
from .node import Leaf, Node
from .transforms import refuse_in_transform
from .views import View, make_state

_making: Final = forkable(Order.MEMORY)


class Differentiable:
    """The base of `Tensor`: the two attributes that the dispatcher reads, and the slot for autograd's state."""

    # The dispatcher makes a fresh result by `bare()` and two writes, so there is no __init__, and no __getattr__ either:
    # CPython reads the attributes of a class that has one several times slower.
    __slots__ = ("__dict__", "__weakref__", "_autograd", "_dispatch_data", "_dispatch_mask")
    _dispatch_data: Any
    _dispatch_mask: int
    #: A `TensorState`, or a tuple that a view's will be made of (`Late`). Unset until something needs it; set where the
    #: mask has an Autograd bit. `_state` makes it. Typed loosely because subclasses store attributes that others compute.
    _autograd: Any

    @property
    def _state(self) -> Any:
        """The state, made on first need."""
        # To catch the error of an attribute that is not set takes several times as long.
        state = self._autograd if self._dispatch_mask & AUTOGRAD else getattr(self, "_autograd", None)
        if state is None:
            state = self._make_state()
        if type(state) is tuple:
            made = make_state(state)
            with _making:
                if self._autograd is state:
                    self._autograd = made
                state = self._autograd
        return state

    def _make_state(self) -> Any:
        """Return the state of a tensor that has had none."""
        with _making:  # two threads must not each make one, and lose the other's writes to its own
            if (state := getattr(self, "_autograd", None)) is None:
                state = self._autograd = Leaf.of(self)
        return state

    def _shape_and_dtype(self) -> Meta:
        data = self._dispatch_data
        return (data.shape, data.dtype) if is_plain[type(data)] else (dc.shape(data), dc.dtype(data))

    @property
    def requires_grad(self) -> bool:
        """Whether operators on the tensor are recorded for backward."""
        if not self._dispatch_mask & AUTOGRAD:
            return False
        state = self._autograd
        return bool((self._state if type(state) is tuple else state).requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        self._require_grad(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Choose whether operators on the tensor are recorded; only for leaves, and floating-point or complex types.

        Raises ``RuntimeError`` inside of function transforms, which choose themselves.
        """
        refuse_in_transform("requires_grad_")
        return self._require_grad(requires_grad)

    def _require_grad(self, requires_grad: bool = True) -> Self:
        """Choose whether operators on the tensor are recorded, in transforms, too."""
        if CAPTURING:
            see(self)
        state = getattr(self, "_autograd", None)
        if state is None:
            state = self._make_state()
        if type(state) is tuple:
            state = self._state
        if type(state) is not Leaf and state.known_grad_fn is not None:
            if not requires_grad:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                    "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            return self
        if requires_grad:
            if not dc.dtype(self).is_differentiable:
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            if self._dispatch_mask & LAYOUTS:
                _check_layout(self)
            self._dispatch_mask |= autograd_bit(self._dispatch_mask)
        if state.is_view:
            state.tensor = ref(self)
        state.requires_grad = bool(requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, or None."""
        if CAPTURING:
            see_gradient(self)
        if not self._dispatch_mask & AUTOGRAD:  # which every tensor with a gradient has
            return None
        state = self._autograd
        if type(state) is tuple:
            state = self._state
        found: Tensor | None = state.grad
        if (
            found is None
            and type(state) is not Leaf
            and (made := state.known_grad_fn) is not None
            and made.retained is None
        ):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                "Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Differentiable):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if dc.shape(value) != dc.shape(self):
                raise RuntimeError("assigned grad has data of a different size")
            if dc.dtype(value) != dc.dtype(self):
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{dc.dtype(value)}' to a tensor with dtype "
                    f"'{dc.dtype(self)}'."
                )
        if CAPTURING:
            see(self)
        self._state.grad = value
        if value is not None:
            self._dispatch_mask |= autograd_bit(self._dispatch_mask)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    # Programs set a gradient by this name too.
    _grad = grad

    @property
    def grad_fn(self) -> Node | None:
        """The node of the graph that made the tensor, or None for a leaf."""
        if not self._dispatch_mask & AUTOGRAD:
            return None
        state = self._autograd
        found: Node | None = (self._state if type(state) is tuple else state).grad_fn
        return found

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made the tensor."""
        if not self._dispatch_mask & AUTOGRAD:
            return True
        state = self._autograd
        state = self._state if type(state) is tuple else state
        return state.known_grad_fn is None and state.grad_fn is None

    @property
    def output_nr(self) -> int:
        """Which result of its node the tensor is."""
        return int(self._state.output_nr)

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is not a leaf in ``.grad``."""
        refuse_in_transform("retain_grad")
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        state = self._state
        if state.known_grad_fn is None or self._keeps(state):
            return
        edge = state.edge
        if edge.node.retained is None:
            edge.node.retained = {}
        edge.node.retained[edge.output_nr] = self._state

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on a tensor that is not a leaf."""
        return self._keeps(self._state)

    @staticmethod
    def _keeps(state: Any) -> bool:
        made = state.known_grad_fn
        return made is not None and made.retained is not None and state.output_nr in made.retained

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` whenever a gradient of the tensor is computed; its result replaces the gradient."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        edge = self._state.edge
        return edge.node.register_result_hook(edge.output_nr, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` whenever a gradient has been accumulated into a leaf's ``.grad``."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        state = self._state
        if state.post_accumulate is None:
            state.post_accumulate = {}
        return RemovableHandle(state.post_accumulate, hook)

    def detach_(self) -> Self:
        """Cut the tensor off its history, in place."""
        if CAPTURING:
            see(self)
        state = self._state
        if state.is_view and state.base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        if isinstance(state, Leaf):
            state.requires_grad = False  # the graphs that lead to it stay as they are
        if isinstance(state, View):
            state.history = None
        elif not isinstance(state, Leaf):
            leaf = self._autograd = Leaf.of(self)
            leaf.storage, leaf.chain, leaf.grad = state.storage, state.chain, state.grad
            leaf.cut, Leaf.was_cut = ref(state.edge.node), True
        if level := tangents.dual_level.get():
            tangents.set_tangent(self, None, level)
        return self


def _check_layout(tensor: Any) -> None:
    """Refuse gradients of a tensor of a layout whose components have them."""
    known = find_layout(tensor)
    if known is not None and known.components_have_history:
        raise RuntimeError(
            f"a tensor of {known!r} cannot require gradients: its components have the history\n"
            "Hint: call requires_grad_() on a component"
        )
