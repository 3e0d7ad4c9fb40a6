"""Composes docstrings: a sentence, the arguments, the results, torch's page and an example."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dispatch_core.schema import FunctionSchema

from ..families import FAMILY_TEXTS
from ..operators import row_of
from .pages import page_of_operator
from .reader import alias_of, base_of, phrase_of, result_phrase, sentence_of

if TYPE_CHECKING:
    from dispatch_core.schema import Argument

_WRITTEN = "a tensor to write the result to"


def summary_of(name: str, prefix: str = "") -> str | None:
    """Return an operator's sentence, with that of the operator it follows from by its name below it.

    ``prefix`` goes before the names of other operators.

    >>> print(summary_of("mul_"))
    In-place version of ``mul``.
    <BLANKLINE>
    Multiply the tensor by ``other``, with broadcasting and type promotion.
    """
    sentence, alias, base = sentence_of(name), alias_of(name), base_of(name)
    if sentence is None:
        return None
    if alias is not None:
        return f"{sentence}\n\nAnother name of ``{prefix}{alias}``."
    if base is not None and sentence.endswith(f"version of ``{base}``."):
        return f"{sentence.replace(f'``{base}``', f'``{prefix}{base}``')}\n\n{sentence_of(base)}"
    return sentence


def phrase_of_argument(name: str, argument: Argument) -> str:
    """Return the phrase of an argument of a schema, that of all results for one that is written to by keyword."""
    if argument.is_write and argument.kwarg_only:
        return _WRITTEN
    return phrase_of(name, argument.name) or ""


def compose(
    summary: str,
    arguments: Mapping[str, str],
    results: Sequence[str] = (),
    calls: Iterable[str] = (),
    page: str | None = None,
    example: str = "",
) -> str:
    """Return a docstring of its parts; those that are empty are left out.

    >>> print(compose("Return the sine of each element.", {"input": "the tensor"}, ["Tensor"]))
    Return the sine of each element.
    <BLANKLINE>
    Arguments:
        input: the tensor
    <BLANKLINE>
    Returns:
        Tensor
    """
    parts = [summary]
    sections = {
        "Arguments": [f"{name}: {phrase}" for name, phrase in arguments.items()],
        "Returns": results,
        "Calls": [*calls],
        "See": [] if page is None else [page],
        "Example": example.splitlines(),
    }
    for title, lines in sections.items():
        if lines:
            parts.append("\n".join([f"{title}:", *(f"    {line}".rstrip() for line in lines)]))
    return "\n\n".join(parts)


def describe_results(name: str, schema: FunctionSchema) -> list[str]:
    """Return a line for each named result of an operator's schema."""
    return [f"{each.name}: {result_phrase(name, each.name)}" for each in schema.returns if each.name]


def document_operator(name: str, overload: str | None = None) -> str | None:
    """Return the docstring of an operator of ``aten`` or ``prims`` by its name, of one overload or of all; None for others.

    >>> print(document_operator("aten::relu"))
    Replace negative elements by zero.
    <BLANKLINE>
    Arguments:
        self: the tensor
    <BLANKLINE>
    Calls:
        relu(Tensor self) -> Tensor
    <BLANKLINE>
    See:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.relu.html
    """
    namespace, _, bare = name.rpartition("::")
    row = f"prims::{bare}" if namespace == "prims" else bare
    summary = summary_of(row)
    if summary is None:
        return None
    found = [row_of(each) for each in FAMILY_TEXTS if each.partition(".")[0] == row]
    wanted = [each for each in found if overload in (None, each.name.partition(".")[2] or "default")]
    schemas = [FunctionSchema.parse(each.schema) for each in wanted]
    arguments = {each.name: phrase_of_argument(row, each) for schema in schemas for each in schema.arguments}
    results = list(dict.fromkeys(line for schema in schemas for line in describe_results(row, schema)))
    page = None if namespace == "prims" else page_of_operator(bare)
    return compose(summary, arguments, results, [each.schema for each in wanted], page)
