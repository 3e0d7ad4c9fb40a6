"""Schemas in the words of users, for error messages: ``int`` for ``SymInt``, the dtypes' own name for ``ScalarType``."""

from __future__ import annotations

import re
from typing import Final

from .declared_dtypes import spoken_name
from .model import FunctionSchema

_WORDS: Final = {"Scalar": "Number", "number": "Number", "SymInt": "int", "SymBool": "bool", "NoneType": "None"}
#: The types that are known to schemas alone.
_TYPE: Final = re.compile(r"\b(?:SymInt|SymBool|ScalarType)\b")


def spell_for_users(name: str) -> str:
    """Return a schema's type in the words of users.

    >>> spell_for_users("SymInt"), spell_for_users("str")
    ('int', 'str')
    """
    return spoken_name() if name == "ScalarType" else _WORDS.get(name, name)


def in_words(text: str) -> str:
    """Return the text of a schema or a type in the words of users.

    >>> in_words("(SymInt, SymBool?)")
    '(int, bool?)'
    """
    return re.sub(_TYPE, lambda found: spell_for_users(found[0]), text)


def declaration(schema: FunctionSchema) -> str:
    """Return a schema in the words of users.

    >>> declaration(FunctionSchema.parse("f(Tensor self, SymInt[] size) -> Tensor"))
    'f(Tensor self, int[] size) -> Tensor'
    """
    text: str | None = schema._cache.get("declaration")  # the model keeps it for the whole folder
    if text is None:
        text = schema._cache["declaration"] = in_words(str(schema))
    return text
