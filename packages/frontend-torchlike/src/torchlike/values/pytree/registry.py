"""The classes that are containers, each with the functions that take one apart and put one together.

A node's ``flatten_fn`` returns the children and a context, and ``unflatten_fn(children, context)`` gives the container back;
``flatten_with_keys_fn`` returns the children with the keys that lead to them. A context that JSON has no form for brings two
functions that write and read it.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from .keys import GetAttrKey, KeyEntry
from .kinds import warn_of_former

Context = Any
PyTree = Any
DumpableContext = Any
FlattenFn = Callable[[PyTree], tuple[Iterable[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
FlattenWithKeysFn = Callable[[PyTree], tuple[list[tuple[KeyEntry, Any]], Context]]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
#: torch's former names of the same.
FlattenFunc, UnflattenFunc, FlattenWithKeysFunc = FlattenFn, UnflattenFn, FlattenWithKeysFn

#: The name of a class that was registered without one.
NO_SERIALIZED_TYPE_NAME_FOUND: Final = "NO_SERIALIZED_TYPE_NAME_FOUND"


class NodeDef(NamedTuple):
    """The functions of a container's class."""

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: FlattenWithKeysFn | None


class TextForm(NamedTuple):
    """A container's class in texts."""

    typ: Any
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


#: A container's class → its functions.
SUPPORTED_NODES: Final[dict[Any, NodeDef]] = {}
#: A container's class → its form in texts, and the class of each name.
SUPPORTED_SERIALIZED_TYPES: Final[dict[Any, TextForm]] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: Final[dict[str, Any]] = {}
#: The classes whose instances have no leaves.
CONSTANT_NODES: Final[set[type]] = set()


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Register a class whose instances ``flatten_fn`` takes apart and ``unflatten_fn(children, context)`` puts together.

    Raises ``ValueError`` for a class that is registered already, and where one of the functions for the context's text is
    given without the other.

    Args:
        cls: The class of containers; its subclasses are not registered with it.
        flatten_fn: It returns the children and a context.
        unflatten_fn: It makes a container of children and a context.
        serialized_type_name: The name of the class in `treespec_dumps`.
        to_dumpable_context: It turns a context into a value that JSON has a form for.
        from_dumpable_context: The way back.
        flatten_with_keys_fn: It returns pairs of key and child, and a context; paths need it.

    >>> from types import SimpleNamespace
    >>> from torchlike.utils.pytree import tree_map
    >>> register_pytree_node(
    ...     SimpleNamespace, lambda x: (vars(x).values(), list(vars(x))), lambda v, k: SimpleNamespace(**dict(zip(k, v)))
    ... )
    >>> tree_map(str, SimpleNamespace(a=1, b=[2]))
    namespace(a='1', b=['2'])
    >>> _deregister_pytree_node(SimpleNamespace)
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _private_register_pytree_node(
    cls: Any,
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Register a class, in place of an earlier registration with a warning."""
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    if cls in SUPPORTED_NODES:
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous registration.", stacklevel=2
        )
    name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    SUPPORTED_SERIALIZED_TYPES[cls] = TextForm(cls, name, to_dumpable_context, from_dumpable_context)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _register_pytree_node(
    cls: type,
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    to_str_fn: Callable[..., Any] | None = None,
    maybe_from_str_fn: Callable[..., Any] | None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Register a class by torch's former name of `register_pytree_node`, which replaces an earlier registration."""
    warn_of_former("torch.utils._pytree._register_pytree_node", "torch.utils._pytree.register_pytree_node")
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warn_of_former("to_str_fn` and `maybe_from_str_fn", "to_dumpable_context` and `from_dumpable_context")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _deregister_pytree_node(cls: type) -> None:
    """Take a class's registration back; raises ``KeyError`` for one that has none."""
    del SUPPORTED_NODES[cls]
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Register a dataclass, or a class that is made of its fields by name; fields that are None are not leaves.

    Raises ``ValueError`` for another class without ``field_names``, and for names that are not the dataclass's.

    Args:
        cls: The class.
        field_names: The fields that are children; those of the dataclass that its constructor takes, where it is None.
        drop_field_names: Fields of the dataclass that ``field_names`` leaves out on purpose.
        serialized_type_name: The name of the class in `treespec_dumps`.

    >>> from dataclasses import dataclass
    >>> from torchlike.utils.pytree import tree_leaves
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> register_dataclass(Point)
    >>> tree_leaves(Point(1, 2))
    [1, 2]
    """
    names = _read_fields(cls, field_names, drop_field_names or [])

    def flatten(obj: Any) -> tuple[list[Any], Context]:
        values = {name: getattr(obj, name) for name in names}
        present = [name for name in names if values[name] is not None]
        return [values[name] for name in present], [present, [name for name in names if values[name] is None]]

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        values, (present, _) = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(present, values, strict=True)], present

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    _private_register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


def _read_fields(cls: type, given: list[str] | None, dropped: list[str]) -> list[str]:
    """Return the names of a class's children; raises ``ValueError`` where they are not the dataclass's."""
    if not dataclasses.is_dataclass(cls):
        if given is None:
            raise ValueError(
                f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
                "dataclass."
            )
        return given
    own = [each.name for each in dataclasses.fields(cls) if each.init]
    if given is None:
        return own
    wanted = set(own).difference(dropped)
    if wanted == set(given):
        return given
    text = "field_names does not include all dataclass fields.\n"
    if missing := wanted.difference(given):
        text += f"Missing fields in `field_names`: {missing}. Hint: name them there, or in `drop_field_names`.\n"
    if unexpected := set(given) - wanted:
        text += (
            f"Unexpected fields in `field_names`: {unexpected}. Hint: take them out, or out of `drop_field_names`.\n"
        )
    raise ValueError(text)


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode:
    """The context of a constant: the constant itself."""

    value: Any


def register_constant(cls: type) -> None:
    """Register a class whose instances are part of a tree's structure, and have no leaves.

    Raises ``TypeError`` for a class that compares by identity, or that cannot be hashed.

    >>> from dataclasses import dataclass
    >>> from torchlike.utils.pytree import tree_leaves
    >>> @dataclass(frozen=True)
    ... class Norm:
    ...     name: str
    >>> register_constant(Norm)
    >>> tree_leaves([1, Norm("l2")])
    [1]
    """
    if cls.__eq__ is object.__eq__:  # type: ignore[comparison-overlap]  # one is bound, for a type checker
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    _private_register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: Any) -> bool:
    """Return whether a class was registered by `register_constant`."""
    return isinstance(cls, type) and cls in CONSTANT_NODES
