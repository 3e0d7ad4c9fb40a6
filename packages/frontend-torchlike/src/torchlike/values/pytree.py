"""Containers in containers as trees: their leaves in order, and a spec that puts others in their place.

Source: ``torch.utils._pytree``, of which this has the names that programs use.

>>> leaves, spec = tree_flatten({"a": [1, 2], "b": (3,)})
>>> leaves, tree_unflatten([x * 2 for x in leaves], spec)
([1, 2, 3], {'a': [2, 4], 'b': (6,)})
"""

from __future__ import annotations

__name__ = "torchlike.utils.pytree"  # see Note [Public paths]

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = [
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Split = Callable[[Any], tuple[Iterable[Any], Any]]
Join = Callable[[Iterable[Any], Any], Any]


def _split_mapping(tree: Any) -> tuple[Iterable[Any], Any]:
    return list(tree.values()), list(tree)


def _join_default(children: Iterable[Any], context: Any) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, children, strict=True))


#: Type of a container → the functions that take it apart into children and a context, and put it together.
_NODES: Final[dict[type, tuple[Split, Join]]] = {
    list: (lambda tree: (tree, None), lambda children, _: list(children)),
    tuple: (lambda tree: (tree, None), lambda children, _: tuple(children)),
    dict: (_split_mapping, lambda children, keys: dict(zip(keys, children, strict=True))),
    OrderedDict: (_split_mapping, lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    defaultdict: (lambda tree: (list(tree.values()), (tree.default_factory, list(tree))), _join_default),
    deque: (lambda tree: (tree, tree.maxlen), lambda children, maxlen: deque(children, maxlen=maxlen)),
}


def register_pytree_node(cls: type, flatten_fn: Split, unflatten_fn: Join, **names: Any) -> None:
    """Register a class whose instances ``flatten_fn`` takes apart and ``unflatten_fn(children, context)`` puts together.

    Raises ``ValueError`` for a class that is registered already.
    """
    if cls in _NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _NODES[cls] = (flatten_fn, unflatten_fn)


def _kind(tree: Any) -> type | None:
    """Return the type under which a container is registered, None for a leaf."""
    kind = type(tree)
    if kind in _NODES:
        return kind
    return tuple if isinstance(tree, tuple) and hasattr(tree, "_fields") else None


sys.modules[__name__] = sys.modules[__spec__.name]  # where dataclasses look their module up


@dataclass
class TreeSpec:
    """The shape of a tree: a leaf has no type."""

    type: Any
    context: Any
    children_specs: list[TreeSpec] = field(default_factory=list)

    @property
    def num_leaves(self) -> int:
        return 1 if self.type is None else sum(each.num_leaves for each in self.children_specs)

    def is_leaf(self) -> bool:
        """Return whether the tree is one leaf."""
        return self.type is None


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree and its spec; ``is_leaf`` may end the descent earlier."""
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        return [tree], TreeSpec(None, None)
    children, context = _NODES[kind][0](tree)
    leaves: list[Any] = []
    specs: list[TreeSpec] = []
    for child in children:
        found, spec = tree_flatten(child, is_leaf)
        leaves += found
        specs.append(spec)
    return leaves, TreeSpec(type(tree), context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the tree of a spec with these leaves; raises ``ValueError`` where they are too many or too few."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
            f"holds {treespec.num_leaves} items ({treespec})."
        )
    return _build(iter(leaves), treespec)


def _build(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_build(leaves, each) for each in spec.children_specs]
    if spec.type not in _NODES:  # a named tuple
        return spec.type(*children)
    return _NODES[spec.type][1](children, spec.context)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Return the spec of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return a tree with each leaf replaced by ``func(leaf, …)``; the other trees have the shape of the first."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [_flatten_up_to(rest, spec) for rest in rests]
    return tree_unflatten([func(*row) for row in zip(leaves, *columns, strict=True)], spec)


def _flatten_up_to(tree: Any, spec: TreeSpec) -> list[Any]:
    """Return the parts of a tree that stand where the spec has leaves."""
    if spec.type is None:
        return [tree]
    kind = _kind(tree)
    if type(tree) is not spec.type or kind is None:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children = list(_NODES[kind][0](tree)[0])
    if len(children) != len(spec.children_specs):
        raise ValueError(f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(children)}.")
    if isinstance(tree, dict):
        keys = spec.context[1] if kind is defaultdict else spec.context
        children = [tree[key] for key in keys]
    return [
        leaf for child, each in zip(children, spec.children_specs, strict=True) for leaf in _flatten_up_to(child, each)
    ]


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call ``func(leaf, …)`` for each leaf, and return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _select(kinds: Any) -> Callable[[Any], bool]:
    """Return a test for one type, a tuple of them, or a function."""
    if isinstance(kinds, (type, tuple)):
        return lambda leaf: isinstance(leaf, kinds)
    return kinds  # a test


def tree_map_only(
    type_or_types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Return a tree with the leaves of some types replaced by ``func(leaf)``; the others stay."""
    wanted = _select(type_or_types)
    return tree_map(lambda leaf: func(leaf) if wanted(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a test holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a test holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Return whether a test holds for all leaves of some types."""
    return all(map(pred, filter(_select(type_or_types), tree_leaves(tree, is_leaf))))


def tree_any_only(
    type_or_types: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Return whether a test holds for a leaf of some types."""
    return any(map(pred, filter(_select(type_or_types), tree_leaves(tree, is_leaf))))
