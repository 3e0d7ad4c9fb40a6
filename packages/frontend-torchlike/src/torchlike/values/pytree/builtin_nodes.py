"""Python's containers, and those of torch, as nodes."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterable
from typing import Any, Final

from ..size import Size
from .keys import GetAttrKey, KeyEntry, MappingKey, SequenceKey
from .registry import (
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
    Context,
    DumpableContext,
    _private_register_pytree_node,
)

WithKeys = tuple[list[tuple[KeyEntry, Any]], Context]


def _number(values: Iterable[Any], context: Context) -> WithKeys:
    """Return values with their places as keys."""
    return [(SequenceKey(place), value) for place, value in enumerate(values)], context


def _name(keys: Iterable[Any], values: Iterable[Any], context: Context) -> WithKeys:
    """Return values with their keys in a dictionary."""
    return [(MappingKey(key), value) for key, value in zip(keys, values, strict=True)], context


def _tuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), None


def _tuple_flatten_with_keys(d: Any) -> WithKeys:
    return _number(d, None)


def _tuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return tuple(values)


def _list_flatten(d: Any) -> tuple[list[Any], Context]:
    return d, None


def _list_flatten_with_keys(d: Any) -> WithKeys:
    return _number(d, None)


def _list_unflatten(values: Iterable[Any], context: Context) -> Any:
    return list(values)


def _dict_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: Any) -> WithKeys:
    return _name(d, d.values(), list(d))


def _dict_unflatten(values: Iterable[Any], context: Context) -> Any:
    return dict(zip(context, values, strict=True))


_ordereddict_flatten = _odict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _ordereddict_unflatten(values: Iterable[Any], context: Context) -> Any:
    return OrderedDict(zip(context, values, strict=True))


_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_flatten_with_keys(d: Any) -> WithKeys:
    return _name(d, d.values(), [d.default_factory, list(d)])


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


_FACTORY: Final = ("default_factory_module", "default_factory_name", "dict_context")


def _defaultdict_serialize(context: Context) -> DumpableContext:
    factory, keys = context
    return dict(zip(_FACTORY, (factory.__module__, factory.__qualname__, keys), strict=True))


def _defaultdict_deserialize(dumpable_context: DumpableContext) -> Context:
    """Return a context from its text; the factory's module must be imported, since reading a text imports nothing."""
    assert isinstance(dumpable_context, dict), "dumpable_context must be a dict"
    assert set(dumpable_context) == {*_FACTORY}, (
        f"dumpable_context keys must be {_FACTORY}, got {set(dumpable_context)}"
    )
    module, name, keys = (dumpable_context[each] for each in _FACTORY)
    return [find_imported(module, name), keys]


def find_imported(module: Any, name: Any) -> Any:
    """Return an object of a module that is imported; raises ``NotImplementedError`` where it is not, or lacks the name."""
    found = sys.modules.get(module)
    for part in str(name).split("."):
        found = getattr(found, part, None)
    if found is None:
        raise NotImplementedError(
            f"Can't deserialize a tree's spec: it names {module}.{name}, and no imported module has it\n"
            f"Hint: import {module} before the spec is read"
        )
    return found


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> WithKeys:
    return [(GetAttrKey(name), value) for name, value in zip(d._fields, d, strict=True)], type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _namedtuple_serialize(context: Context) -> DumpableContext:
    form = SUPPORTED_SERIALIZED_TYPES.get(context)
    if form is None or form.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because it has no serialized_type_name. "
            "Please register using `_register_namedtuple`."
        )
    return form.serialized_type_name


def _namedtuple_deserialize(dumpable_context: DumpableContext) -> Context:
    if dumpable_context not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumpable_context} because no class was registered by this "
            "name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumpable_context]


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Register a class of named tuples by a name, so that specs which contain it can be written as text."""
    _private_register_pytree_node(
        cls,
        _namedtuple_flatten,
        _namedtuple_unflatten,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=_namedtuple_flatten_with_keys,
    )


def _deque_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), d.maxlen


def _deque_flatten_with_keys(d: Any) -> WithKeys:
    return _number(d, d.maxlen)


def _deque_unflatten(values: Iterable[Any], context: Context) -> Any:
    return deque(values, maxlen=context)


def register_result(cls: type) -> None:
    """Register a class of operators' named results."""
    _private_register_pytree_node(
        cls,
        _tuple_flatten,
        lambda values, _: cls(*values),
        flatten_with_keys_fn=_tuple_flatten_with_keys,
    )


#: Class → its name in texts, and the functions of its node.
_NODES: Final[dict[Any, Any]] = {
    tuple: ("builtins.tuple", _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
    list: ("builtins.list", _list_flatten, _list_unflatten, _list_flatten_with_keys),
    dict: ("builtins.dict", _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    namedtuple: (  # noqa: PYI024  # torch's key of all named tuples
        "collections.namedtuple",
        _namedtuple_flatten,
        _namedtuple_unflatten,
        _namedtuple_flatten_with_keys,
        _namedtuple_serialize,
        _namedtuple_deserialize,
    ),
    OrderedDict: (
        "collections.OrderedDict",
        _ordereddict_flatten,
        _ordereddict_unflatten,
        _ordereddict_flatten_with_keys,
    ),
    defaultdict: (
        "collections.defaultdict",
        _defaultdict_flatten,
        _defaultdict_unflatten,
        _defaultdict_flatten_with_keys,
        _defaultdict_serialize,
        _defaultdict_deserialize,
    ),
    deque: ("collections.deque", _deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
    # A tuple is put together, as in torch.
    Size: ("torch.Size", _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
}
for _class, (_text, _flatten, _unflatten, _keys, *_forms) in _NODES.items():
    _private_register_pytree_node(
        _class,
        _flatten,
        _unflatten,
        serialized_type_name=_text,
        flatten_with_keys_fn=_keys,
        **dict(zip(("to_dumpable_context", "from_dumpable_context"), _forms, strict=False)),
    )

STANDARD_DICT_TYPES: Final = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES: Final[frozenset[Any]] = frozenset({*_NODES} - {Size})
