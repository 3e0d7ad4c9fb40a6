"""Nodes: the steps of a graph, each a call, an input or an output (source: ``torch.fx.node``).

Note [Order of nodes]
    The nodes of a graph are a ring, linked both ways, that begins and ends at its root. Each has a sort key, a tuple of
    integers between the keys of its neighbours, so that two nodes can be compared without a walk along the ring.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dispatch_core.devices import Device

from ..names.lazy_names import import_lazily
from ..tensors.tensor import Tensor
from ..values.dtype_abbreviations import ABBREVIATIONS
from ..values.dtypes import dtype, memory_format
from ..values.layouts import layout, sparse_csc, sparse_csr
from .effects import SIDE_EFFECTFUL_FUNCTIONS as _side_effectful_functions  # noqa: N811  # torch's name
from .effects import has_side_effect, is_impure
from .immutable_collections import immutable_dict, immutable_list
from .operator_schemas import ArgsKwargsPair, normalize_function, normalize_module
from .targets import print_target
from .targets import qualified_name as _get_qualified_name
from .targets import type_text as _type_repr

if TYPE_CHECKING:
    from .graph import Graph
else:
    Graph = import_lazily("torchlike.fx.graph", "Graph")

__all__ = [
    "LEGAL_OPS",
    "Argument",
    "BaseArgumentTypes",
    "Node",
    "Target",
    "_get_qualified_name",
    "_side_effectful_functions",
    "_type_repr",
    "base_types",
    "has_side_effect",
    "map_aggregate",
    "map_arg",
]

Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any
BaseArgumentTypes: TypeAlias = str | int | float | bool | complex | dtype | Tensor | Device | memory_format | layout
#: The types of values that are arguments of nodes as they are.
base_types: Final = (str, int, float, bool, complex, dtype, Tensor, Device, memory_format, layout)

#: The kinds of nodes; besides, a graph has one of the kind ``root``.
LEGAL_OPS: Final = frozenset("call_function call_method call_module get_attr output placeholder".split())


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Return an argument with ``fn`` of each value in its tuples, lists, dicts and slices.

    Lists and dicts become immutable ones.

    >>> map_aggregate((1, [2, {"a": 3}]), lambda value: value * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(each, fn) for each in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(each, fn) for key, each in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Return an argument with ``fn`` of each node in it (source: ``torch.fx.map_arg``).

    >>> import torchlike
    >>> graph = torchlike.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> map_arg((x, [x, 1]), lambda node: node.name)
    ('x', ['x', 1])
    """
    assert callable(fn), "torch.fx.map_arg(a, fn): fn must be a callable"
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


def _key_between(left: tuple[int, ...], right: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return a sort key between two; without a right one, after the left one. See Note [Order of nodes]."""
    if right is None:
        return (left[0] + 1,) if left else (0,)
    following = (*left[:-1], left[-1] + 1) if left else right
    if following < right:
        return following
    if right[: len(left)] == left:
        return (*left, right[len(left)] - 1)
    return (*left, 0)


def _format_arg(value: Any, limit: float = float("inf")) -> str:
    """Return an argument as printed graphs have it; lists and tuples end after ``limit`` items."""
    if hasattr(value, "_custom_fx_repr_fn"):
        return str(value._custom_fx_repr_fn())
    if isinstance(value, (list, tuple)):
        items = ", ".join(_format_arg(each) for index, each in enumerate(value) if index < limit)
        rest = f", ...[total_len={len(value)}]" if len(value) > limit else ""
        if isinstance(value, list):
            return f"[{items}{rest}]"
        return f"({items}{',' if len(value) == 1 else ''}{rest})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(each)}" for key, each in value.items()) + "}"
    return f"%{value}" if isinstance(value, Node) else str(value)


class Node:
    """One step of a `Graph` (source: ``torch.fx.Node``).

    ``op`` says which:

    * ``placeholder``: an input; ``target`` is the argument's name, ``args`` its default, if there is one
    * ``get_attr``: a parameter, buffer or other attribute of the module at the path ``target``
    * ``call_function``: ``target(*args, **kwargs)``
    * ``call_method``: the method named ``target`` of ``args[0]``, with the other arguments
    * ``call_module``: a call of the submodule at the path ``target``
    * ``output``: the result, ``args[0]``

    >>> import torchlike
    >>> graph = torchlike.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torchlike.relu, (x,))
    >>> y.op, y.name, y.args, list(x.users)
    ('call_function', 'relu', (x,), [relu])
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        assert op in LEGAL_OPS or op == "root", f"op '{op}' is not one of {', '.join(sorted(LEGAL_OPS))}, root"
        wanted = "Callable" if op == "call_function" else "str"
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {_type_name(target)} but a {wanted} is "
                "expected"
            )
        self.graph = graph
        self._name, self._op, self._target = name, op, target
        self.type = return_type
        self._args: tuple[Any, ...] = ()
        self._kwargs: Mapping[str, Any] = immutable_dict()
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev: Node = self
        self._next: Node = self
        self._sort_key: tuple[int, ...] = ()
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._update_args_kwargs(args, kwargs)

    def _replace_key(self, name: str, value: Any) -> None:
        """Set what the graph finds nodes by."""
        table = getattr(self.graph, "_find_nodes_lookup_table", None)
        if table is None or self not in table:
            setattr(self, name, value)
            return
        table.remove(self)
        setattr(self, name, value)
        table.insert(self)

    @property
    def name(self) -> str:
        """The name of the value that the node computes, unique in its graph."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        for hook in self._replace_hooks():
            for user in self.users:
                hook(old=self, new=value, user=user)
        self._name = value

    @property
    def op(self) -> str:
        """The kind of step."""
        return self._op

    @op.setter
    def op(self, value: str) -> None:
        self._replace_key("_op", value)

    @property
    def target(self) -> Any:
        """The function, or the name of an argument, an attribute, a method or a submodule."""
        return self._target

    @target.setter
    def target(self, value: Target) -> None:
        self._replace_key("_target", value)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; assign a tuple to change them."""
        return self._args

    @args.setter
    def args(self, value: tuple[Any, ...]) -> None:
        self._update_args_kwargs(value, self._kwargs)

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """The arguments given by name; assign a dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: Mapping[str, Any]) -> None:
        self._update_args_kwargs(self._args, value)

    @property
    def next(self) -> Node:
        """The node after this one; after the last one it is the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; before the first one it is the graph's root."""
        return self._prev

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in the order of their first use."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """The lines of Python by which the node was traced, where they were recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def _update_args_kwargs(self, args: Any, kwargs: Any) -> None:
        """Replace the arguments, and tell the nodes among the old and the new ones."""
        for old in self._input_nodes:
            old.users.pop(self, None)
        inputs: dict[Node, None] = {}

        def note(value: Any) -> Any:
            if isinstance(value, Node):
                inputs[value] = None
                value.users[self] = None
            return value

        self._args = map_aggregate(args, note)
        self._kwargs = map_aggregate(kwargs, note)
        self._input_nodes = inputs

    def _replace_hooks(self) -> Sequence[Callable[..., object]]:
        """Return the hooks that the graph's module calls when an input is replaced."""
        module: Any = getattr(self.graph, "_owning_module", None)
        return () if module is None else getattr(module, "_replace_hooks", None) or ()

    def _replace_input_with(self, old_input: Node, new_input: Node) -> None:
        self._update_args_kwargs(
            *(
                map_arg(each, lambda node: new_input if node is old_input else node)
                for each in (self._args, self._kwargs)
            )
        )

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to the place before this one.

        >>> import torchlike
        >>> graph = torchlike.fx.Graph()
        >>> x, y = graph.placeholder("x"), graph.placeholder("y")
        >>> x.prepend(y)
        >>> list(graph.nodes)
        [y, x]
        """
        assert self.graph == x.graph, "Attempting to move a Node into a different Graph"
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        x._sort_key = _key_between(before._sort_key, None if self.op == "root" else self._sort_key)

    def append(self, x: Node) -> None:
        """Move a node of the same graph to the place after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __le__(self, other: Node) -> bool:
        return self._sort_key <= other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __ge__(self, other: Node) -> bool:
        return self._sort_key >= other._sort_key

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace the positional argument at an index.

        >>> import torchlike
        >>> graph = torchlike.fx.Graph()
        >>> y = graph.call_function(torchlike.add, (graph.placeholder("x"), 1))
        >>> y.update_arg(1, 2)
        >>> y.args
        (x, 2)
        """
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert a positional argument before an index."""
        assert 0 <= idx <= len(self.args), f"insert_args index must be between 0 and len(self.args), got {idx}"
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace an argument that is given by name, or add one."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace a node wherever it is among the arguments."""
        for hook in self._replace_hooks():
            hook(old=old_input, new=new_input.name, user=self)
        self._replace_input_with(old_input, new_input)

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Replace this node by another one in all its users, and return them (source: ``Node.replace_all_uses_with``).

        ``delete_user_cb(user)`` says whether a user takes the other one; ``propagate_meta`` copies ``meta``, too.

        >>> import torchlike
        >>> graph = torchlike.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(torchlike.relu, (x,))
        >>> z = graph.output(y)
        >>> y.replace_all_uses_with(x), z.args
        ([output], (x,))
        """
        if propagate_meta:
            assert not replace_with.meta, (
                "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has "
                ".meta keys"
            )
            replace_with.meta.update(self.meta)
        chosen = [user for user in [*self.users] if delete_user_cb is None or delete_user_cb(user)]
        for user in chosen:
            for hook in self._replace_hooks():
                hook(old=self, new=replace_with.name, user=user)
            user._replace_input_with(self, replace_with)
        return chosen

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether the step does something besides computing its result; such nodes are never dead code.

        It knows placeholders and outputs, modules with ``_is_impure``, operators that write to an argument, functions that
        draw random numbers, unless ``impure_random`` is False, and those given to `has_side_effect`.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            module = self.graph.owning_module
            assert module is not None, "self.graph.owning_module not set for purity check"
            return bool(getattr(module.get_submodule(self.target), "_is_impure", False))
        return self.op == "call_function" and is_impure(self.target, impure_random)

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:
        """Return the arguments with all defaults, bound to the parameters of what is called; see `normalize_function`.

        ``root`` is the module whose submodules are called; None comes back for other steps, and where parameters are not
        known.
        """
        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, dict(self.kwargs), arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, dict(self.kwargs), normalize_to_only_use_kwargs)
        return None

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        return print_target(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Return the node as a line of the printed graph.

        With a list that is not empty, the name of a placeholder is added to it and None comes back.

        >>> import torchlike
        >>> graph = torchlike.fx.Graph()
        >>> graph.call_function(torchlike.relu, (graph.placeholder("x"),)).format_node()
        '%relu : [num_users=0] = call_function[target=torchlike.relu](args = (%x,), kwargs = {})'
        """
        kind = "" if self.type is None else f"{_type_repr(self.type)} "
        target = self._pretty_print_target(self.target)
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(f"{self.target}: {_type_repr(self.type)}" if self.type else self.target)
                return None
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        if include_tensor_metadata:
            value: Any = self.meta.get("val", self.meta.get("tensor_meta", self.meta.get("example_value")))
            if isinstance(value, Tensor) and value.layout not in (sparse_csc, sparse_csr):
                sizes = f"{ABBREVIATIONS[value.dtype]}{list(value.shape)}{list(value.stride())}{value.device}"
                head = f'%{self.name} : Tensor "{sizes}"{head.partition(" : ")[2].removeprefix(kind)}'
        return f"{head}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def _rename(self, candidate: str) -> None:
        """Name the node, by the candidate with a number where the name is taken."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __repr__(self) -> str:
        return self._name if self._repr_fn is None else self._repr_fn(self)


def _type_name(value: Any) -> str:
    """Return the name of a value's type, with its module unless that is Python's own."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
