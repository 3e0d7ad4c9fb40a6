"""The structure of a tree without its leaves."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from .builtin_nodes import BUILTIN_TYPES, STANDARD_DICT_TYPES
from .kinds import _get_node_type
from .registry import SUPPORTED_NODES, ConstantNode, Context, PyTree


@dataclass(init=False, frozen=True, eq=False, repr=False, slots=True)
class TreeSpec:
    """The structure of a tree: its type, its context and the specs of its children; a leaf has no type.

    >>> from torchlike.utils.pytree import tree_structure
    >>> spec = tree_structure((0, [1, 2]))
    >>> spec.num_leaves, spec.num_nodes, spec.num_children
    (3, 5, 2)
    >>> spec
    TreeSpec(tuple, None, [*,
      TreeSpec(list, None, [*,
        *])])
    """

    type: Any
    _context: Context
    _children: list[TreeSpec]
    num_nodes: int = field(init=False)
    num_leaves: int = field(init=False)
    num_children: int = field(init=False)

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        if type is None:
            assert context is None, "leaf node should not have a context"
            assert not children_specs, "leaf node should not have children"
        self._fill(type, context, children_specs)

    def _fill(self, kind: Any, context: Context, children: list[TreeSpec]) -> None:
        put = object.__setattr__
        put(self, "type", kind)
        put(self, "_context", context)
        put(self, "_children", children)
        put(self, "num_children", len(children))
        put(self, "num_nodes", 1 + sum([child.num_nodes for child in children]))
        put(self, "num_leaves", 1 if kind is None else sum([child.num_leaves for child in children]))

    @property
    def context(self) -> Context:
        """What a container has besides its children."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The specs of the children, by torch's former name."""
        warnings.warn(
            "`treespec.children_specs` is deprecated. Use `treespec.child(index)` to access a single child, or "
            "`treespec.children()` to get all children.",
            FutureWarning,
            stacklevel=2,
        )
        return self._children

    def children(self) -> list[TreeSpec]:
        """Return the specs of the children."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """Return the spec of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Return whether the tree is one leaf."""
        return self.num_nodes == 1 and self.num_leaves == 1

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Return the tree with these leaves; raises ``ValueError`` where they are too many or too few."""
        given = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(given))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        children = [next(leaves) if child.type is None else child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """Return the parts of a tree that stand where this one has leaves; raises ``ValueError`` where it does not fit."""
        if self.is_leaf():
            return [tree]
        children = self._match(tree)
        return [
            leaf for child, spec in zip(children, self._children, strict=True) for leaf in spec.flatten_up_to(child)
        ]

    def _match(self, tree: PyTree) -> Iterable[Any]:
        """Return a tree's children in the order of this one's."""
        kind = _get_node_type(tree)
        are_dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        is_builtin = self.type in BUILTIN_TYPES
        if kind != self.type and not are_dicts:
            raise ValueError(
                f"{'Node type' if is_builtin else 'Type'} mismatch; expected {self.type!r}, but got {kind!r}."
            )
        if are_dicts:
            self._check_number(len(tree))
            keys = self._context[1] if self.type is defaultdict else self._context
            _check_keys(keys, tree)
            return [tree[key] for key in keys]
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        children = list(children)
        self._check_number(len(children))
        # Deques of different lengths at most are alike.
        if kind is not deque and context != self._context:
            if is_builtin:
                raise ValueError(
                    f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got {context!r}."
                )
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return children

    def _check_number(self, found: int) -> None:
        if found != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {found}.")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec) or other.__class__ is not self.__class__:
            return NotImplemented
        return (
            str(self.type) == str(other.type) and self._context == other._context and self._children == other._children
        )

    def __hash__(self) -> int:
        context = self._context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif self.type in (dict, OrderedDict):
            context = tuple(context)
        elif isinstance(context, ConstantNode):
            context = context.value
        elif self.type is not None and self.type not in BUILTIN_TYPES:
            context = None  # it need not be hashable
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        inner = f",\n{' ' * (indent + 2)}".join(child.__repr__(indent + 2) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"


def _check_keys(expected: Iterable[Any], found: Iterable[Any]) -> None:
    wanted, given = set(expected), set(found)
    if wanted == given:
        return
    missing, extra = wanted - given, given - wanted
    text = (f"; missing key(s): {missing}" if missing else "") + (f"; extra key(s): {extra}" if extra else "")
    raise ValueError(f"Node keys mismatch{text}.")


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a leaf; `treespec_leaf` returns it, and ``spec.is_leaf()`` asks for it."""

    __slots__ = ()

    def __new__(cls) -> Self:
        """Warn, as torch does: a leaf's spec is not a class of its own in later versions."""
        warnings.warn(
            "`isinstance(treespec, LeafSpec)` is deprecated, use `isinstance(treespec, TreeSpec) and treespec.is_leaf()` "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
        return object.__new__(cls)

    def __init__(self) -> None:
        self._fill(None, None, [])

    def __reduce__(self) -> Any:
        return treespec_leaf, ()

    def __repr__(self, indent: int = 0) -> str:
        return "*"


def _make_leaf() -> LeafSpec:
    leaf = object.__new__(LeafSpec)
    leaf.__init__()  # type: ignore[misc]  # without the warning
    return leaf


#: All leaves are alike.
_LEAF_SPEC: Final = _make_leaf()


def treespec_leaf() -> LeafSpec:
    """Return the spec of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Return the spec of a tuple from its children's; raises ``ValueError`` for other values.

    >>> treespec_tuple([treespec_leaf()])
    TreeSpec(tuple, None, [*])
    """
    children = list(iterable)
    if not all(isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /, **kwargs: TreeSpec
) -> TreeSpec:
    """Return the spec of a dictionary from its children's; raises ``ValueError`` for other values.

    >>> treespec_dict(a=treespec_leaf())
    TreeSpec(dict, ['a'], [*])
    """
    children = dict(mapping, **kwargs)
    if not all(isinstance(child, TreeSpec) for child in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {children!r}.")
    return TreeSpec(dict, list(children), list(children.values()))


def _is_pytreespec_instance(obj: Any) -> bool:
    """Return whether a value is a tree's spec."""
    return isinstance(obj, TreeSpec)


def _is_constant_holder(spec: TreeSpec) -> bool:
    """Return whether a spec is that of a constant."""
    return isinstance(spec._context, ConstantNode)


def _retrieve_constant(spec: TreeSpec) -> Any:
    """Return a spec's constant."""
    assert _is_constant_holder(spec), "spec does not correspond to a registered constant pytree"
    return spec.unflatten([])
