"""Reads sentences and phrases from the rows of operators."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ..families import Family, family_of, general_facts, overload_names

_BACKWARD: Final = ("_backward_data", "_double_backward", "_backward")


@cache
def _common() -> dict[str, dict[str, str]]:
    found: dict[str, Any] = tomllib.loads(files(__package__).joinpath("common.toml").read_text(encoding="utf-8"))
    return found


def _family(name: str) -> Family | None:
    """Return the family that is named like an operator, which has texts of its own; None where there is none."""
    overload = overload_names().get(name)
    found = None if overload is None else family_of(overload)
    return found if found is not None and found.name == name.removeprefix("prims::") else None


def _phrases(family: Family | None, fact: str) -> dict[str, str]:
    facts = () if family is None else family.facts.get(fact, ())
    return {name: phrase for name, _, phrase in (each.partition(": ") for each in facts)}


def alias_of(name: str) -> str | None:
    """Return the operator that another one is a further name of, or None.

    >>> alias_of("arccos"), alias_of("acos")
    ('acos', None)
    """
    family = _family(name)
    return family.facts["alias"][0].partition(".")[0] if family is not None and "alias" in family.facts else None


def base_of(name: str) -> str | None:
    """Return the operator that one follows from by its name, in place, as a copy, or backward, or None.

    >>> base_of("add_"), base_of("select_copy"), base_of("tanh_backward"), base_of("add")
    ('add', 'select', 'tanh', None)
    """
    for ending in ("_", "_copy", *_BACKWARD):
        base = name.removesuffix(ending)
        if base != name:
            for found in (base, f"{base}_forward"):
                if found in overload_names() and (found != "conj" or ending != "_copy"):
                    return found
    return None


def sentence_of(name: str) -> str | None:
    """Return an operator's sentence, by its name without overload; None for an unknown one.

    >>> sentence_of("relu")
    'Replace negative elements by zero.'
    """
    family = _family(name)
    if family is not None and "says" in family.facts:
        return family.facts["says"][0]
    alias, base = alias_of(name), base_of(name)
    if alias is not None:
        return sentence_of(alias)
    if base is None or name not in overload_names():
        return None
    if name.endswith("__") or not name.endswith(("_", "_copy")):
        return f"Return the gradients that ``{base}`` passes back to its inputs."
    return f"In-place version of ``{base}``." if name.endswith("_") else f"Copying version of ``{base}``."


def phrase_of(name: str, argument: str) -> str | None:
    """Return the phrase for an argument of an operator; None where there is none.

    >>> phrase_of("sum", "keepdim")
    'whether to keep reduced dimensions, with size 1'
    """
    if name in overload_names():
        tables = [_phrases(_family(row), "means") for row in _rows_of(name)]
        for table in (*tables, _phrases(general_facts(family_of(overload_names()[name]).kind), "means")):
            if argument in table:
                return table[argument]
    common = _common()
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
    return _phrases(_family(name), "returns").get(result) or _common()["results"].get(result)
