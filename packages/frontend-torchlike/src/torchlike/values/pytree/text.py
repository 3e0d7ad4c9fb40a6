"""Specs as text: JSON that another process reads."""

from __future__ import annotations

import json
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from .builtin_nodes import find_imported
from .kinds import warn_of_former
from .registry import (
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
    TextForm,
)
from .specs import _LEAF_SPEC, TreeSpec

#: The number of the form that is written and read.
DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL: Final = 1


class EnumEncoder(json.JSONEncoder):
    """Writes members of enumerations by the names of their classes, which `enum_object_hook` reads."""

    def default(self, obj: object) -> Any:
        """Return the form of a member; raises ``TypeError`` for other values."""
        if isinstance(obj, Enum):
            kind = type(obj)
            return {"__enum__": True, "fqn": f"{kind.__module__}:{kind.__qualname__}", "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj: dict[str, Any]) -> Any:
    """Return a member of an enumeration from its form, other dictionaries as they are.

    Raises ``NotImplementedError`` where no imported module has an enumeration of the name.
    """
    if "__enum__" not in obj:
        return obj
    module, _, name = obj["fqn"].partition(":")
    found = find_imported(module, name)
    if not (isinstance(found, type) and issubclass(found, Enum)):
        raise NotImplementedError(f"Can't deserialize a tree's spec: {module}.{name} is not an enumeration")
    return found[obj["name"]]


def _check_protocol(protocol: int) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: {[DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL]}"
        )


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a spec as text.

    Raises ``NotImplementedError`` for a class that has no name in texts, ``TypeError`` for a context without a form and for
    values that are not specs, and ``ValueError`` for a protocol that is not there.

    >>> from torchlike.utils.pytree import tree_structure
    >>> spec = tree_structure([1, {"a": 2}])
    >>> treespec_loads(treespec_dumps(spec)) == spec
    True
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps((protocol, _to_schema(treespec)), cls=EnumEncoder)


def _to_schema(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    form = _read_form(spec.type)
    if form.to_dumpable_context is None:
        try:
            context = json.dumps(spec._context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer using "
                "_register_pytree_node."
            ) from error
    else:
        context = form.to_dumpable_context(spec._context)
    children = [_to_schema(child) for child in spec._children]
    return {"type": form.serialized_type_name, "context": context, "children_spec": children}


def _read_form(kind: Any) -> TextForm:
    form = SUPPORTED_SERIALIZED_TYPES.get(kind)
    if form is None:
        raise NotImplementedError(f"Serializing {kind} in pytree is not registered.")
    if form.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {kind} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    return form


@lru_cache(maxsize=128)
def treespec_loads(serialized: str) -> TreeSpec:
    """Return a spec from its text; modules that it names must be imported, since reading a text imports nothing.

    Raises ``NotImplementedError`` for names that are not there, and ``ValueError`` for a protocol that is not there.
    """
    protocol, schema = json.loads(serialized)
    _check_protocol(protocol)
    return _to_spec(schema)


def _to_spec(schema: Any) -> TreeSpec:
    name, context, children = schema["type"], schema["context"], schema["children_spec"]
    if name is None and context is None and not children:
        return _LEAF_SPEC
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name)
    if kind is None:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    read = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    if read is not None:
        context = read(context)
    else:
        try:
            context = json.loads(context, object_hook=enum_object_hook)
        except TypeError as error:
            raise TypeError(
                "Unable to deserialize context. Please make the context json load-able, or register a custom serializer "
                "using _register_pytree_node."
            ) from error
    return TreeSpec(kind, context, [_to_spec(child) for child in children])


class _Asterisk(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a spec as its tree is written, with asterisks for leaves.

    >>> from torchlike.utils.pytree import tree_structure
    >>> treespec_pprint(tree_structure([1, {"a": (2, 3)}]))
    "[*, {'a': (*, *)}]"
    """
    return repr(treespec.unflatten([_Asterisk("*")] * treespec.num_leaves))


def pytree_to_str(treespec: TreeSpec) -> str:
    """Return a spec as text, by torch's former name of `treespec_dumps`."""
    warn_of_former("pytree_to_str", "treespec_dumps")
    return treespec_dumps(treespec)


def str_to_pytree(json: str) -> TreeSpec:
    """Return a spec from its text, by torch's former name of `treespec_loads`."""
    warn_of_former("str_to_pytree", "treespec_loads")
    return treespec_loads(json)
