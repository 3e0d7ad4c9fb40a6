"""The nodes of the autograd graph, which at the same time are the state of the tensors that they made.

A tensor has one slot beside its mask and data: its state. For the only result of an operator that is recorded, the
node *is* the state, so that recording costs one object. A tensor's history never changes inside its state: an in-place
operator sets a new one, so a node that took the old state as an edge keeps the old history.

``Node``      the result of a recorded operator (or, with several results, the point that ``Output`` states refer to)
``Output``    one of several results of a node
``Leaf``      everything else: accumulates into ``.grad`` once the tensor requires grad
``View``      an alias of another tensor, made under autograd or not; its history follows its base's
a tuple       the parts of a view's later state; see Note [The state of a view is made late] in `views`

Class attributes hold the defaults, so making a node writes only the attributes that differ.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar, Final, Self, TypeAlias
from weakref import ref

from dispatch_core.forks import Order, forkable

from ..names.lazy_names import Tensor
from .hooks import Hook, RemovableHandle
from .metadata import Meta

#: Numbers nodes in the order of their making; a node's inputs always have smaller numbers.
sequence: Final = itertools.count(1)
next_sequence: Final = sequence.__next__

#: Tells the order of writes, and of views whose state is made later.
tick: Final = itertools.count(1).__next__

_making: Final = forkable(Order.MEMORY)


class Aliases:
    """The tensors that are views of one array that cannot be written, each with the views that lead to it."""

    __slots__ = ("data", "members")

    def __init__(self, data: Any) -> None:
        #: The array that all of them are views of.
        self.data = data
        self.members: list[tuple[ref[Tensor], Any]] = []

    def add(self, tensor: Tensor, chain: Any) -> None:
        """Take in a view of the array; at times those that are no longer alive are dropped."""
        count = len(self.members)
        if count >= _MANY and not count & (count - 1):
            self.members = [each for each in self.members if each[0]() is not None]
        self.members.append((ref(tensor), chain))

    def remove(self, tensor: Tensor) -> None:
        """Remove a tensor from the array's views."""
        self.members = [each for each in self.members if each[0]() is not tensor]


#: How many aliases are looked through for living ones, and every power of two above.
_MANY: Final = 16


class Storage:
    """The state that all aliases of one piece of memory share: the version counter, and more for immutable arrays.

    ``aliases`` are for immutable arrays only (see `history.rebinding`); those of ``data`` have versions of their own, and
    the same aliases.
    """

    __slots__ = ("aliases", "version", "written")
    aliases: Aliases | None

    def __init__(self) -> None:
        self.version = 0
        #: When it was last written to; see `tick`.
        self.written = 0
        self.aliases = None


class TensorState:
    """A tensor's autograd and storage state."""

    requires_grad: bool = False
    grad: Tensor | None = None
    storage: Storage | None = None
    output_nr: int = 0
    is_view: ClassVar[bool] = False
    #: Whether some of its elements are the same place, in a view of an array without strides.
    expanded: bool = False
    #: The views that lead from the storage's own array here, innermost last: ``(before, op, arguments)`` or None.
    chain: Any = None
    #: Shape and dtype of the tensor, for the checks of gradients.
    meta: Meta
    #: The level of forward mode and the tangent in it, of a dual tensor.
    tangent: tuple[int, Tensor] | None = None

    @property
    def grad_fn(self) -> Node | None:
        """The node that made the tensor."""
        return None

    @property
    def known_grad_fn(self) -> Node | None:
        """The same, but of a view the one that is known, without a replay, which may be refused."""
        return self.grad_fn

    @property
    def edge(self) -> Edge:
        """Where a gradient for the tensor goes."""
        raise NotImplementedError

    def shared_storage(self) -> Storage:
        """Return the storage, made on first need."""
        storage = self.storage
        if storage is None:
            with _making:  # of two threads neither may make one of its own
                storage = self.storage
                if storage is None:
                    storage = self.storage = Storage()
        return storage

    @property
    def version(self) -> int:
        """The number of in-place changes so far, through any alias."""
        storage = self.storage
        return 0 if storage is None else storage.version


class Node(TensorState):
    """One recorded call; ``apply`` turns gradients of its results into gradients of its inputs."""

    requires_grad = True
    #: Where the gradients of the inputs go, in the order that ``apply`` returns them; None where no gradient is needed.
    next: tuple[Edge | None, ...] = ()
    #: The place in the order of making.
    seq: float = 0
    is_leaf: ClassVar[bool] = False
    #: Whether it represents several nodes; see `autograd.rules.short_nodes`.
    is_short: ClassVar[bool] = False
    #: Shape and dtype of each result, if there are several.
    metas: tuple[Meta | None, ...] | None = None
    #: Hooks on results by number, on the node before it runs, and after.
    tensor_hooks: dict[int, dict[int, Hook]] | None = None
    pre_hooks: dict[int, Hook] | None = None
    post_hooks: dict[int, Hook] | None = None
    #: The states of results whose gradients are to be kept, by number.
    retained: dict[int, TensorState] | None = None
    metadata_store: dict[str, Any] | None = None
    #: Whether the observers of new nodes have seen it.
    was_observed: bool = False
    #: The stream that its call ran on; None for the device's default stream.
    stream: Any = None

    @property
    def grad_fn(self) -> Node | None:
        return self

    @property
    def edge(self) -> Edge:
        return self

    @property
    def node(self) -> Node:
        """The node of the edge: itself."""
        return self

    @property
    def outputs(self) -> int:
        """The number of results."""
        return 1 if self.metas is None else len(self.metas)

    def get_meta(self, number: int) -> Meta | None:
        """Return shape and dtype of one result."""
        return self.meta if self.metas is None else self.metas[number]

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        """Return the gradients of the inputs, one for each entry of ``next``."""
        raise NotImplementedError

    def __call__(self, *grads: Tensor | None) -> Any:
        """Return the gradients of the inputs for gradients of the results; a single one alone."""
        if len(grads) != self.outputs:
            raise TypeError(f"{self.name()} expected {self.outputs} arguments, got {len(grads)} instead")
        found = self.apply(list(grads))
        return found[0] if len(found) == 1 else found

    def is_current(self) -> bool:
        """Return whether its operator's calls would still make such a node."""
        return True

    def take_apart(self) -> Node:
        """Return the node as users see it, with the nodes that lead to it."""
        return self

    def release(self) -> None:
        """Free the saved tensors; a second backward through the node then fails."""

    def name(self) -> str:
        """Return the node's name in torch's manner: ``AddBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of the result that it made."""
        return tuple((None, 0) if edge is None else (edge.node.take_apart(), edge.output_nr) for edge in self.next)

    @property
    def metadata(self) -> dict[str, Any]:
        """A place for users' notes."""
        if self.metadata_store is None:
            self.metadata_store = {}
        return self.metadata_store

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run; its result replaces ``grad_inputs``."""
        if self.post_hooks is None:
            self.post_hooks = {}
        return RemovableHandle(self.post_hooks, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; its result replaces ``grad_outputs``."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return RemovableHandle(self.pre_hooks, hook)

    def register_result_hook(self, number: int, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad)`` with the gradient of one result."""
        if self.tensor_hooks is None:
            self.tensor_hooks = {}
        return RemovableHandle(self.tensor_hooks.setdefault(number, {}), hook)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class Leaf(Node):
    """The state of a tensor that no recorded call made; as a node it accumulates into ``.grad``."""

    requires_grad = False
    is_leaf = True
    #: Called with the tensor after a gradient was accumulated.
    post_accumulate: dict[int, Hook] | None = None

    #: A weak reference to the tensor.
    tensor: Callable[[], Tensor | None]
    #: A weak reference to the node that ``detach_`` has cut the tensor off, and whether that has happened to any.
    cut: Callable[[], Node | None] | None = None
    was_cut: ClassVar[bool] = False

    @classmethod
    def of(cls, tensor: Any) -> Self:
        """Make the state of a tensor; no __init__, which views would pay for too."""
        leaf = cls()
        leaf.tensor = ref(tensor)
        return leaf

    @property
    def grad_fn(self) -> Node | None:
        return None

    @property
    def accumulates(self) -> bool:
        """Whether gradients that arrive are kept."""
        return self.requires_grad

    @property
    def variable(self) -> Tensor | None:
        """The tensor, while it lives."""
        return self.tensor()

    def get_meta(self, number: int) -> Meta | None:
        tensor = self.tensor()
        return None if tensor is None or not self.requires_grad else tensor._shape_and_dtype()

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        return ()

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


# By this name libraries find the leaves of a graph.
Leaf.__name__ = Leaf.__qualname__ = "AccumulateGrad"


class Output(TensorState):
    """One of several results of a node."""

    requires_grad = True

    def __init__(self, node: Node, number: int) -> None:
        self.node = node
        self.output_nr = number

    @property
    def grad_fn(self) -> Node | None:
        return self.node

    @property
    def edge(self) -> Edge:
        return self

    def get_meta(self, number: int) -> Meta | None:
        """Return shape and dtype of one of the node's results."""
        return self.node.get_meta(number)


Edge: TypeAlias = Node | Output
