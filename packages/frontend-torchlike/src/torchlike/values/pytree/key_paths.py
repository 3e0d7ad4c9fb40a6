"""Leaves with the paths that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .keys import KeyPath
from .registry import PyTree
from .specs import TreeSpec
from .walks import IsLeaf, find_node, tree_structure


def keystr(kp: KeyPath) -> str:
    """Return a path as Python writes it.

    >>> from torchlike.utils.pytree import MappingKey, SequenceKey
    >>> keystr((MappingKey("a"), SequenceKey(1)))
    "['a'][1]"
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return the value at a path.

    >>> from torchlike.utils.pytree import MappingKey, SequenceKey
    >>> key_get({"a": [1, 2]}, (MappingKey("a"), SequenceKey(1)))
    2
    """
    for key in kp:
        obj = key.get(obj)
    return obj


def _generate_key_paths(key_path: KeyPath, tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[tuple[KeyPath, Any]]:
    """Return an iterator over paths and leaves; raises ``ValueError`` for a container whose registration has no keys."""
    node = find_node(tree, is_leaf)
    if node is None:
        yield key_path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _generate_key_paths((*key_path, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return pairs of path and leaf, and the spec of a tree; raises ``ValueError`` for a container without keys.

    >>> pairs, spec = tree_flatten_with_path({"a": [1, 2]})
    >>> [(keystr(path), leaf) for path, leaf in pairs]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return pairs of path and leaf; raises ``ValueError`` for a container without keys."""
    return list(_generate_key_paths((), tree, is_leaf))


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Return a tree with each leaf replaced by ``func(path, leaf, …)``; see `tree_map`.

    >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", [1, {"b": 2}])
    ['[0]=1', {'b': "[1]['b']=2"}]
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(path, leaf, *rest) for (path, leaf), *rest in zip(pairs, *columns, strict=True)])
