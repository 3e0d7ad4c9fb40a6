"""Lists and dicts that are never changed: the arguments of nodes (source: ``torch.fx.immutable_collections``).

>>> arguments = immutable_list([1, 2])
>>> arguments == [1, 2], hash(arguments) == hash((1, 2))
(True, True)
>>> arguments.append(3)
Traceback (most recent call last):
    ...
TypeError: 'immutable_list' object does not support mutation. Arguments of a node are replaced as a whole:
<BLANKLINE>
    changed = [*node.args[0], another]
    node.args = (changed, *node.args[1:])
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from ..utils import pytree

__all__ = ["immutable_dict", "immutable_list"]

_T = TypeVar("_T")
_K = TypeVar("_K")

_HINT = """Arguments of a node are replaced as a whole:

    changed = [*node.args[0], another]
    node.args = (changed, *node.args[1:])"""


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise ``TypeError``: the container belongs to a node, which would not know of the change."""
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_HINT}")


class immutable_list(list[_T]):  # noqa: N801  # torch's name
    """A list that cannot be changed and has a hash."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # its content never changes
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


class immutable_dict(dict[_K, _T]):  # noqa: N801  # torch's name
    """A dict that cannot be changed and has a hash."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # its content never changes
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self.items()),)


pytree.register_pytree_node(
    immutable_list,
    lambda tree: (list(tree), None),
    lambda children, _: immutable_list(children),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=lambda tree: ([(pytree.SequenceKey(place), each) for place, each in enumerate(tree)], None),
)
pytree.register_pytree_node(
    immutable_dict,
    lambda tree: (list(tree.values()), list(tree)),
    lambda children, keys: immutable_dict(zip(keys, children, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=lambda tree: ([(pytree.MappingKey(key), each) for key, each in tree.items()], list(tree)),
)
