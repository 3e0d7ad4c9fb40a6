"""Reads the tables of sentences and phrases, one file for each kind of operators."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ..operators import KIND_OF, PRIMS

__all__ = ["alias_of", "base_of", "phrase_of", "result_phrase", "sentence_of"]

_BACKWARD: Final = ("_backward_data", "_double_backward", "_backward")


@cache
def _kinds() -> dict[str, str]:
    """Return the kind of each operator by its name without overload; the first one that has a row counts."""
    found = {f"prims::{operator.name}": "prims" for operator in PRIMS}
    for name, kind in KIND_OF.items():
        found.setdefault(name.partition(".")[0], kind)
    return found


@cache
def _table(file: str) -> dict[str, dict[str, str]]:
    found: dict[str, Any] = tomllib.loads(files(__package__).joinpath(f"{file}.toml").read_text(encoding="utf-8"))
    return found


def _row(name: str, table: str) -> str | None:
    kind = _kinds().get(name)
    return None if kind is None else _table(kind).get(table, {}).get(name)


def alias_of(name: str) -> str | None:
    """Return the operator that another one is a further name of, or None.

    >>> alias_of("arccos"), alias_of("acos")
    ('acos', None)
    """
    return _row(name, "aliases")


def base_of(name: str) -> str | None:
    """Return the operator that one follows from by its name, in place, as a copy, or backward, or None.

    >>> base_of("add_"), base_of("select_copy"), base_of("tanh_backward"), base_of("add")
    ('add', 'select', 'tanh', None)
    """
    for ending in ("_", "_copy", *_BACKWARD):
        base = name.removesuffix(ending)
        if base != name:
            for found in (base, f"{base}_forward"):
                if found in _kinds() and (found != "conj" or ending != "_copy"):
                    return found
    return None


def sentence_of(name: str) -> str | None:
    """Return an operator's sentence, by its name without overload; None for an unknown one.

    >>> sentence_of("relu")
    'Replace negative elements by zero.'
    """
    own = _row(name, "sentences")
    if own is not None:
        return own
    alias, base = alias_of(name), base_of(name)
    if alias is not None:
        return sentence_of(alias)
    if base is None:
        return None
    if name.endswith("__") or not name.endswith(("_", "_copy")):
        return f"Return the gradients that ``{base}`` passes back to its inputs."
    return f"In-place version of ``{base}``." if name.endswith("_") else f"Copying version of ``{base}``."


def phrase_of(name: str, argument: str) -> str | None:
    """Return the phrase for an argument of an operator; None where there is none.

    >>> phrase_of("sum", "keepdim")
    'whether to keep reduced dimensions, with size 1'
    """
    if name in _kinds():
        keys = [(_kinds()[row], f"{row}.{argument}") for row in _rows_of(name)]
        for kind, key in (*keys, (_kinds()[name], f"*.{argument}")):
            found = _table(kind).get("arguments", {}).get(key)
            if found is not None:
                return found
    common = _table("common")
    backward = common["backward"].get(argument) if name.endswith(_BACKWARD) else None
    return backward or common["arguments"].get(argument)


def _rows_of(name: str) -> list[str]:
    """Return an operator and those that it follows from, one after another."""
    found = [name]
    while (before := alias_of(found[-1]) or base_of(found[-1])) is not None:
        found.append(before)
    return found


def result_phrase(name: str, result: str) -> str | None:
    """Return the phrase for a named result of an operator; None where there is none.

    >>> result_phrase("sort", "indices"), result_phrase("linalg_lu", "U")
    ('their indices, as int64', 'the upper triangular factors')
    """
    kind = _kinds().get(name)
    own = None if kind is None else _table(kind).get("results", {}).get(f"{name}.{result}")
    return own or _table("common")["results"].get(result)
