"""Trees taken apart by a spec that is known already (source: ``torch.fx._pytree``)."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, Final

from ..utils import pytree

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

#: Type of a container → the function that returns the children that a spec names.
SUPPORTED_NODES: Final[dict[Any, Callable[[Any, pytree.TreeSpec], list[Any]]]] = {
    dict: lambda tree, spec: [tree[key] for key in spec.context],
    **dict.fromkeys(
        (list, tuple, collections.namedtuple),  # noqa: PYI024  # the function, which specs have as their type
        lambda tree, spec: [tree[index] for index in range(spec.num_children)],
    ),
}


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: Callable[[Any, pytree.TreeSpec], list[Any]], *args: Any, **kwargs: Any
) -> None:
    """Register a class whose children ``flatten_fn_spec(container, spec)`` returns in the order of the spec."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree_: Any, spec: pytree.TreeSpec) -> list[Any]:
    """Return the leaves of a tree where a spec has leaves.

    Raises ``RuntimeError`` where a container of another class than Python's has another shape.

    >>> from torchlike.utils import pytree
    >>> spec = pytree.tree_structure({"a": 1, "b": [2, 3]})
    >>> tree_flatten_spec({"b": [5, 6], "a": 4}, spec)
    [4, 5, 6]
    """
    if spec.is_leaf():
        return [pytree_]
    flatten = SUPPORTED_NODES.get(spec.type)
    if flatten is not None:
        children = zip(flatten(pytree_, spec), spec.children(), strict=False)
        return [leaf for child, inner in children for leaf in tree_flatten_spec(child, inner)]
    leaves, found = pytree.tree_flatten(pytree_)
    if found != spec:
        raise RuntimeError(f"Real spec {found} of object {pytree_} is different from expected spec {spec}")
    return leaves
