"""Trees to leaves and back, and functions of all leaves."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import wraps
from types import UnionType
from typing import Any

from .builtin_nodes import register_result
from .kinds import _get_node_type, is_result_class, warn_of_former
from .registry import SUPPORTED_NODES, NodeDef, PyTree
from .specs import _LEAF_SPEC, TreeSpec

IsLeaf = Callable[[PyTree], bool] | None


def find_node(tree: PyTree, is_leaf: IsLeaf = None) -> NodeDef | None:
    """Return the functions of a container, None for a leaf."""
    if is_leaf is not None and is_leaf(tree):
        return None
    kind = type(tree)
    if kind is tuple or not issubclass(kind, tuple):
        return SUPPORTED_NODES.get(kind)
    kind = _get_node_type(tree)
    if kind not in SUPPORTED_NODES and is_result_class(kind):
        register_result(kind)
    return SUPPORTED_NODES.get(kind)


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a value is a leaf: of a class that is not registered, or one that ``is_leaf`` takes for a leaf.

    >>> tree_is_leaf(None), tree_is_leaf([1]), tree_is_leaf((1, 2), is_leaf=lambda x: isinstance(x, tuple))
    (True, False, True)
    """
    return find_node(tree, is_leaf) is None


def _is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a value is a leaf, by torch's former name."""
    warn_of_former("torch.utils._pytree._is_leaf", "torch.utils._pytree.tree_is_leaf")
    return tree_is_leaf(tree, is_leaf)


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree and its spec; ``is_leaf`` may end the descent earlier."""
    leaves: list[Any] = []
    return leaves, _take_apart(tree, is_leaf, leaves)


def _take_apart(tree: PyTree, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    node = find_node(tree, is_leaf)
    if node is None:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    specs: list[TreeSpec] = []
    for child in children:
        kind = type(child)
        if is_leaf is None and kind not in SUPPORTED_NODES and not issubclass(kind, tuple):
            leaves.append(child)  # as `find_node` says, without the calls
            specs.append(_LEAF_SPEC)
        else:
            specs.append(_take_apart(child, is_leaf, leaves))
    return TreeSpec(node.type, context, specs)


def tree_unflatten(leaves: Any, treespec: Any) -> PyTree:
    """Return the tree of a spec with these leaves; the two may be written in either order.

    Raises ``ValueError`` where the leaves are too many or too few, and ``TypeError`` where there is no spec.
    """
    if not isinstance(treespec, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            raise TypeError(
                f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
            )
        leaves, treespec = treespec, leaves
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Return an iterator over the leaves of a tree.

    >>> list(tree_iter([1, {"a": (2, 3)}]))
    [1, 2, 3]
    """
    node = find_node(tree, is_leaf)
    if node is None:
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Return the leaves of all arguments.

    >>> arg_tree_leaves([1, 2], a=(3,))
    [1, 2, 3]
    """
    return [leaf for each in (*args, *kwargs.values()) for leaf in tree_iter(each)]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the spec of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Return a tree with each leaf replaced by ``func(leaf, …)``.

    Raises ``ValueError`` for further trees that do not have the first's structure; they may go on below its leaves.

    >>> tree_map(lambda x, y: [x, *y], [5, 6], [[7, 9], [1, 2]])
    [[5, 7, 9], [6, 1, 2]]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call ``func(leaf, …)`` for each leaf, and return the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]), maxlen=0)
    return tree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator of functions that then apply to values of some types, and return others as they are.

    Raises ``TypeError`` for an argument that is not a type, a tuple or union of types, or a function.

    >>> @map_only(int)
    ... def double(x):
    ...     return x * 2
    >>> double(2), double("a")
    (4, 'a')
    """
    wanted = _select(type_or_types_or_pred)

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @wraps(func)
        def choose(value: Any) -> Any:
            return func(value) if wanted(value) else value

        return choose

    return decorate


def _select(kinds: Any) -> Callable[[Any], bool]:
    """Return a test for one type, a tuple or union of them, or a function."""
    if isinstance(kinds, (type, tuple, UnionType)):
        return lambda leaf: isinstance(leaf, kinds)
    if callable(kinds):
        test: Callable[[Any], bool] = kinds
        return test
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return a tree with the leaves of some types replaced by ``func(leaf)``; the others stay.

    >>> tree_map_only(int, str, [1, 2.0])
    ['1', 2.0]
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call ``func(leaf)`` for each leaf of some types, and return the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a test holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a test holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a test holds for all leaves of some types."""
    return all(map(pred, filter(_select(type_or_types), tree_iter(tree, is_leaf))))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a test holds for a leaf of some types."""
    return any(map(pred, filter(_select(type_or_types), tree_iter(tree, is_leaf))))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """Return a value for each leaf of a spec from a tree that may end earlier, None where it does not fit."""
    found: list[Any] = []

    def repeat(value: Any, spec: TreeSpec) -> None:
        if find_node(value, is_leaf) is None:
            found.extend([value] * spec.num_leaves)
        else:
            deque(map(repeat, spec._match(value), spec._children), maxlen=0)

    try:
        repeat(tree, treespec)
    except ValueError:
        return None
    return found
