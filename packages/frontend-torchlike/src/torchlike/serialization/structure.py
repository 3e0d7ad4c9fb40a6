"""A nested structure as JSON: a plain value is itself, anything else an object with its kind as the first key.

A container or tensor that is met again is ``{"ref": number}``; the first one has the number as its ``"id"``. So what was
one object is one again, also where a structure contains itself.

Note [Deep structures and long keys]
    `load` must read the files of `save`, whatever the caller's stack, so the number of levels is limited. Places in
    words, which name a tensor's entry and the culprit of an error, are cut: with whole keys they would grow by each level.
"""

from __future__ import annotations

import argparse
import base64
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..tensors.tensor import Tensor
from ..values.size import Size
from .arrays import find_dtype
from .classes import list_allowed, make_bare, set_attributes, take_apart
from .hashed_keys import check_key
from .layouts.nested import is_nested, put_nested_together, take_nested_apart
from .layouts.records import is_record, put_record_together, take_record_apart
from .layouts.sparse import SPARSE, is_sparse, put_sparse_together, take_sparse_apart
from .places import join
from .refusals import shorten

_DICTS: Final[dict[str, Any]] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_SEQUENCES: Final[dict[str, Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "size": Size}
_BYTES: Final[dict[str, Any]] = {"bytes": bytes, "bytearray": bytearray}
#: See Note [Deep structures and long keys].
_DEEPEST: Final = 200


class Encoder:
    """Turns a structure into JSON; ``describe`` is called for each tensor and array, with its place in words."""

    def __init__(self, describe: Callable[[Any, str], dict[str, Any]]) -> None:
        self._describe = describe
        self._nodes: dict[int, dict[str, Any]] = {}
        self._kept: list[Any] = []  # an id is that of one object as long as it lives
        self._count = 0
        self._depth = 0

    def encode(self, value: Any, place: str = "") -> Any:
        """Return a value as JSON; raises ``TypeError`` for values that are not data, ``ValueError`` for depth."""
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, float) and not isinstance(value, np.generic):
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        known = self._nodes.get(id(value))
        if known is not None:
            if "id" not in known:
                known["id"] = self._count
                self._count += 1
            return {"ref": known["id"]}
        self._kept.append(value)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _refuse_depth(place)
        try:
            if isinstance(value, (Tensor, np.ndarray, np.generic)) and not is_record(value):
                node = self._nodes[id(value)] = self._describe(value, place)
                node.update(self._encode_attributes(value, place))
            else:
                node = self._nodes[id(value)] = {}
                # Values inside may refer to the node, and give it a number; the kind is to be its first key.
                content = self._encode_object(value, place) | node
                node.clear()
                node.update(content)
        except RecursionError:  # the caller's own calls have taken most of the stack
            raise _refuse_depth(place) from None
        self._depth -= 1
        return node

    def _encode_object(self, value: Any, place: str) -> dict[str, Any]:
        if is_record(value):
            kinds = ((is_sparse, take_sparse_apart), (is_nested, take_nested_apart), (is_record, take_record_apart))
            take_apart_ = next(take for is_kind, take in kinds if is_kind(value))
            taken = take_apart_(value, lambda component, name: self.encode(component, join(place, name)))
            return taken | self._encode_attributes(value, place)
        for name, kind in _SEQUENCES.items():
            if type(value) is kind:
                return {name: [self.encode(each, join(place, str(number))) for number, each in enumerate(value)]}
        if type(value) is defaultdict:
            return {"dict": self._encode_items(value, place)}
        for name, made in _DICTS.items():
            if type(value) is made:
                node = {name: self._encode_items(value, place)}
                if "_metadata" in getattr(value, "__dict__", ()):
                    node["metadata"] = self.encode(value._metadata, join(place, "_metadata"))
                return node
        for name, kind in _BYTES.items():
            if type(value) is kind:
                return {name: base64.b85encode(value).decode()}
        if isinstance(value, complex):
            return {"complex": [self.encode(value.real), self.encode(value.imag)]}
        if isinstance(value, ScalarType):
            return {"dtype": value.short}
        if isinstance(value, dc.Device):
            return {"device": str(value)}
        if isinstance(value, argparse.Namespace):
            return {"namespace": self._encode_items(vars(value), place)}
        if isinstance(value, str):
            return {"str": str(value)}
        if isinstance(value, int):
            return {"int": int(value)}
        return self._encode_instance(value, place)

    def _encode_instance(self, value: Any, place: str) -> dict[str, Any]:
        """Encode an object of a class as its attributes; see Note [Objects of classes] in `.classes`."""
        parts = take_apart(value)
        if parts is None:
            raise TypeError(
                f"save() writes data and objects with attributes: {place or 'the value'} is of type {type(value).__name__}"
            )
        name, state = parts
        return {"object": name, "state": self._encode_items(state, place)}

    def _encode_attributes(self, value: Any, place: str) -> dict[str, Any]:
        """Return the part of a tensor's node for the attributes that the program has set on it."""
        attributes = vars(value) if isinstance(value, Tensor) else None
        return {"attributes": self._encode_items(attributes, place)} if attributes else {}

    def _encode_items(self, items: Any, place: str) -> list[list[Any]]:
        found = []
        for key, each in items.items():  # on Python 3.11 a comprehension is one more call on the stack
            found.append([self.encode(key, f"a key of {place}"), self.encode(each, join(place, str(key)))])
        return found


def _refuse_depth(place: str) -> ValueError:
    return ValueError(
        f"save() writes containers that lie within each other up to {_DEEPEST} levels deep: '{shorten(place)}' lies deeper"
    )


class Decoder:
    """Turns JSON into a structure; ``make`` is called for each tensor and array. Raises ``ValueError`` for other JSON."""

    def __init__(self, make: Callable[[dict[str, Any]], Any]) -> None:
        self._make = make
        self._classes = list_allowed()
        self._known: dict[int, Any] = {}

    def decode(self, node: Any) -> Any:
        """Return the value of a node."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if not isinstance(node, dict) or not node:
            raise ValueError(f"a node of the structure is of type {type(node).__name__}")
        kind, content = next(iter(node.items()))
        if kind == "ref":
            return self._known[content]
        if kind == "list":
            found: Any = self._keep(node, [])
            found.extend(map(self.decode, content))
        elif kind in _DICTS:
            found = self._keep(node, _DICTS[kind]())
            for key, each in content:
                found[check_key(self.decode(key))] = self.decode(each)
            if "metadata" in node and kind == "OrderedDict":
                found._metadata = self.decode(node["metadata"])
        elif kind == "namespace":
            found = self._keep(node, argparse.Namespace())
            vars(found).update((self._decode_name(key), self.decode(each)) for key, each in content)
        elif kind == "object":
            found = self._keep(node, make_bare(content, self._classes))
            set_attributes(found, {self._decode_name(key): self.decode(each) for key, each in node["state"]})
        else:
            found = self._keep(node, self._decode_leaf(kind, content, node))
            if "attributes" in node and isinstance(found, Tensor):
                vars(found).update((self._decode_name(key), self.decode(each)) for key, each in node["attributes"])
        return found

    def _keep(self, node: dict[str, Any], value: Any) -> Any:
        if "id" in node:
            self._known[node["id"]] = value
        return value

    def _decode_name(self, node: Any) -> str:
        name = self.decode(node)
        if not isinstance(name, str):
            raise ValueError("an attribute's name is not a text")
        return name

    def _decode_leaf(self, kind: str, content: Any, node: dict[str, Any]) -> Any:
        if kind in _SEQUENCES:
            values = map(self.decode, content)
            return _SEQUENCES[kind](map(check_key, values) if kind in ("set", "frozenset") else values)
        if kind in _BYTES:
            return _BYTES[kind](base64.b85decode(content))
        if kind == "float":
            return float(content)
        if kind == "complex":
            return complex(*map(self.decode, content))
        if kind == "dtype":
            return find_dtype(content)
        if kind == "device":
            return dc.Device.parse(content)
        if kind in SPARSE:
            return put_sparse_together(node, self.decode)
        if kind == "jagged":
            return put_nested_together(node, self.decode)
        if kind == "record":
            return put_record_together(node, self.decode)
        if kind in ("str", "int"):
            return {"str": str, "int": int}[kind](content)
        return self._make(node)
