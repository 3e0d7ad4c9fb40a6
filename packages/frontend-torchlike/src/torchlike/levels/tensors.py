"""Tensors of a level: ordinary tensors whose data is a record that names the tensor one level below.

Note [The data of a level's tensor]
    The record stands where a backend's array stands, and its `ArrayType` answers shape, strides and dtype as the function
    that is transformed sees them: those of a batched tensor without the batch, which is always dimension 0 of the tensor
    below. No kernel of a device sees a record: a level's tensors carry the layer's key, which outranks all that could
    read one, in and out of transforms. There is a class of records for each kind and each set of device keys, because a
    type tells the dispatcher the keys of its arrays.

Note [Versions of a level's tensor]
    A level's tensor that represents an argument, or for a captured tensor, shares the storage of the tensor below, and so
    its version, which the boundary at the bottom raises once for each write. A fresh result makes a storage of its own
    where its history needs one; then a write at the level raises that, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, ClassVar, Final

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.keys import ARRAYS, LAYOUTS

from ..history.device_keys import autograd_bit
from ..history.metadata import is_plain
from ..history.node import Leaf, Node, next_sequence
from ..history.views import View
from ..tensors.tensor import Tensor, bare, frontend
from ..values.layouts import layout, layout_of, values_of
from .stack import FRONT, TransformLevel

#: The key of nested tensors: their history is that of their values, which are a level's in their place.
NESTED: Final = dc.DispatchKey.AutogradNestedTensor.value


class LevelData:
    """The data of a level's tensor; see Note [The data of a level's tensor]."""

    __slots__ = ("__weakref__", "is_captured", "level", "value")

    #: The leading dimensions of the tensor below that the level hides.
    hidden: ClassVar[int] = 0
    #: Whether a write reaches the tensor below; else it gives the level's tensor another record.
    is_mutable: ClassVar[bool] = True
    #: The device keys of the tensor below.
    keys: ClassVar[int]
    value: Tensor
    level: TransformLevel
    #: Whether it represents a tensor from outside the function, or a view of one, which must not be written to.
    is_captured: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all dimensions, as the function sees them."""
        data = self.value._dispatch_data
        shape: tuple[int, ...] = data.shape if is_plain[type(data)] else dc.shape(data)
        return shape[self.hidden :] if self.hidden else shape

    @property
    def dtype(self) -> Any:
        """The scalar type of the elements."""
        return self.value.dtype

    @property
    def layout(self) -> layout:
        """The layout of the tensor below, asked for where its keys are a layout's."""
        return layout_of(self.value)

    def strides(self) -> tuple[int, ...]:
        """Return the strides as the function sees them."""
        return dc.strides(self.value)[self.hidden :]

    def storage_offset(self) -> int:
        """Return the offset of the first element as the function sees it."""
        return dc.storage_offset(self.value)

    def to_text(self, tensor: Tensor) -> str:
        """Return the text of the tensor."""
        return f"{type(self).__name__}(lvl={self.level.depth}, value=\n{self._indent()}\n)"

    def _indent(self) -> str:
        return "\n".join(f"    {line}" for line in repr(self.value).split("\n"))


class Batched(LevelData):
    """The data of a tensor under `vmap`: the tensor below has the batch as its dimension 0."""

    __slots__ = ()
    hidden = 1

    def to_text(self, tensor: Tensor) -> str:
        return f"BatchedTensor(lvl={self.level.depth}, bdim=0, value=\n{self._indent()}\n)"


class Tracked(LevelData):
    """The data of a tensor under a transform that differentiates."""

    __slots__ = ()

    def to_text(self, tensor: Tensor) -> str:
        # In torch's words.
        return f"GradTrackingTensor(lvl={self.level.depth}, value=\n{self._indent()}\n)"


_types: Final[dict[tuple[type[LevelData], int], type[LevelData]]] = {}


def _find_type(kind: type[LevelData], keys: int) -> type[LevelData]:
    """Return the class of records of a kind for some device keys, known to the dispatcher as a type of array."""
    found = _types.get((kind, keys))
    if found is None:
        found = _types[kind, keys] = type(kind.__name__, (kind,), {"__slots__": (), "keys": keys})
    # The dispatcher forgets the types of a backend that is taken back.
    if frontends.find_array_type(found) is None:
        _announce(found)
    return found


def make_layout_error(tensor: Tensor, fact: str) -> TypeError:
    """Return the error for a tensor of a layout whose components are a level's; ``fact`` says what that does with them."""
    return TypeError(
        f"a tensor of layout {layout_of(tensor)} is made of tensors that {fact}\n"
        "Hint: map a function of its components, or make the tensor outside of the function"
    )


def refuse_layouts(results: Iterable[Any], level: TransformLevel) -> None:
    """Refuse results of a layout whose components are the level's: a transform takes out its own tensors alone.

    Raises ``TypeError``.
    """
    for each in results:
        mask = each._dispatch_mask if isinstance(each, Tensor) else 0
        if mask & LAYOUTS and not mask & NESTED and any(map(level.owns, frontends.components_of(each))):
            raise TypeError(
                f"a result of layout {layout_of(each)} is made of tensors of the transform, which takes out its own alone\n"
                "Hint: return the components, and make the tensor outside of the function"
            )


def _announce(kind: type[LevelData]) -> None:
    owner = frontends.array_types(kind.keys)
    frontends.add_stand_in(
        dc.ArrayType(
            kind,
            shape=attrgetter("shape"),
            dtype=attrgetter("dtype"),
            strides=kind.strides if any(each.strides is not None for each in owner) else None,
            storage_offset=kind.storage_offset,
            # The memory of a layout's tensor is that of its components.
            storage=None if kind.keys & LAYOUTS else lambda data: dc.storage_of(data.value),
            device_index=lambda data: dc.device(data.value).index,
            mutable=kind.is_mutable,
        ),
        kind.keys | FRONT,
    )
    is_plain[kind] = True


def wrap_value(kind: type[LevelData], value: Any, level: TransformLevel, *, is_captured: bool = False) -> Tensor:
    """Return a fresh tensor of a level for the tensor one level below."""
    data = make_data(kind, value, level, is_captured)
    made = bare()
    made._dispatch_data = data
    made._dispatch_mask = data.keys | FRONT | frontend.marker
    return made


def make_data(kind: type[LevelData], value: Any, level: TransformLevel, is_captured: bool) -> LevelData:
    """Return the record for the tensor one level below; an array becomes a tensor."""
    if not isinstance(value, Tensor):
        value = frontend.wrap(value)
    mask = value._dispatch_mask
    # The rows of a nested tensor are strided.
    keys = (value._dispatch_data.values._dispatch_mask if mask & NESTED else mask) & ARRAYS
    found = _types.get((kind, keys))
    if found is None or frontends.find_array_type(found) is None:
        found = _find_type(kind, keys)
    data = found()
    data.value, data.level, data.is_captured = value, level, is_captured
    return data


def stand_for(kind: type[LevelData], value: Tensor, level: TransformLevel, *, is_captured: bool) -> Tensor:
    """Return the tensor of a level for one from outside; see Note [Versions of a level's tensor].

    Raises ``TypeError`` for anything but a tensor.
    """
    if not isinstance(value, Tensor):
        raise TypeError(
            f"a level's tensor represents a tensor, not for {type(value).__name__}\n"
            "Hint: pass other arguments to the function as they are, or make tensors of them"
        )
    made = wrap_value(kind, value, level, is_captured=is_captured)
    link(made, value)
    return made


def link(tensor: Tensor, value: Tensor) -> None:
    """Share the storage of the tensor below with a level's tensor that has no state."""
    leaf = tensor._autograd = Leaf.of(tensor)
    leaf.storage = value._state.shared_storage()


def on_values(function: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
    """Return a function's result, that of the values as a nested tensor of the same rows."""
    return tensor._dispatch_data.map_values(function) if tensor._dispatch_mask & NESTED else function(tensor)


def require_grad(tensor: Tensor) -> None:
    """Make a level's tensor, which is a leaf, one to differentiate by; of a nested tensor the values are."""
    tensor = values_of(tensor)
    tensor._state.requires_grad = True
    tensor._dispatch_mask |= autograd_bit(tensor._dispatch_mask)


def keep_histories(results: Iterable[Any], level: TransformLevel) -> None:
    """Bring the histories of a function's results up to date, while its level is open, and keep them so.

    The history of a view whose base was written to is made again when it is asked for (`View.replay_history`). Once the
    level is closed, its tensors represent their values, and nothing that is called on them is recorded there.
    """
    for each in results:
        if isinstance(each, Tensor) and each.requires_grad:
            tensor = values_of(each)
            if level.owns(tensor) and isinstance(state := tensor._state, View):
                state.keep_history()


class _Identity(Node):
    """The history of an argument that may be written to: the gradient goes on to the leaf as it is."""

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        return (grads[0],)


def make_writable(leaf: Tensor) -> Tensor:
    """Return a level's tensor with the elements of a leaf, and with a history, so that it may be written to."""
    made = bare()
    made._dispatch_data, made._dispatch_mask = leaf._dispatch_data, leaf._dispatch_mask
    node = made._autograd = _Identity()
    node.next, node.seq, node.meta = (leaf._state,), next_sequence(), leaf._shape_and_dtype()
    node.storage = leaf._state.storage
    return made


def data_of(tensor: Any) -> LevelData | None:
    """Return the record of a level's tensor; None for anything else."""
    data = getattr(tensor, "_dispatch_data", None)
    return data if isinstance(data, LevelData) else None


def note_write(tensor: Tensor) -> None:
    """Count a write to a level's tensor, unless the boundary below has; see Note [Versions of a level's tensor]."""
    state = getattr(tensor, "_autograd", None)
    if state is None:
        return
    storage = tensor._state.shared_storage()
    below = getattr(tensor._dispatch_data.value, "_autograd", None)
    if below is None or tensor._dispatch_data.value._state.storage is not storage:
        tensor._count_write()
