"""Docstrings of functions and methods: composed of the signature, the operator's texts, torch's page and an example."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from typing import Any, Final

from dispatch_aten.texts import compose, describe_results, page_of, page_of_operator, summary_of
from dispatch_aten.texts import phrase_of as phrase_of_operator
from dispatch_core.schema import FunctionSchema
from dispatch_core.signatures import signatures

from ..operator_table import OPERATORS
from .examples import example_of


@cache
def _read(name: str) -> dict[str, dict[str, str]]:
    found: dict[str, Any] = tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return found


_OUTS: Final = "tensors to write the results to"
#: Functions whose arguments are those of another operator than that of their name.
_OPERATORS: Final = {
    "cross_entropy": "cross_entropy_loss",
    "linear_cross_entropy": "cross_entropy_loss",
    "triplet_margin_with_distance_loss": "triplet_margin_loss",
}


def phrase_of(name: str, parameter: str) -> str | None:
    """Return the phrase of a parameter, by the name of the function or of its operator; None where there is none.

    >>> phrase_of("add", "input"), phrase_of("nn.functional.relu", "inplace")
    ('the tensor', 'whether to write the result to the input')
    """
    namespace, _, bare = name.rpartition(".")
    table = _read("arguments").get(namespace)
    if table is not None:
        return table.get(f"{bare}.{parameter}") or table.get(parameter)
    operator = _OPERATORS.get(bare, bare)
    phrases = _read("phrases")
    own = phrases["functions"].get(f"{bare}.{parameter}")
    if own is None and "." in name:
        own = phrases["namespaces"].get(f"{namespace}.*.{parameter}")
    if own is not None:
        return own
    return phrase_of_operator(operator, parameter.rstrip("_")) or phrases["arguments"].get(parameter)


def phrase_of_class(namespace: str, cls: type, parameter: str) -> str | None:
    """Return the phrase of a parameter of a class's constructor; None where there is none.

    >>> from torchlike import nn
    >>> phrase_of_class("nn", nn.Linear, "in_features")
    "the size of the input's last dimension"
    """
    own = _read("arguments").get(namespace, {})
    for each in cls.__mro__:
        if f"{each.__name__}.{parameter}" in own:
            return own[f"{each.__name__}.{parameter}"]
    shared = f"nn.functional.*.{parameter}"
    return own.get(parameter) or _read("phrases")["namespaces"].get(shared) or phrase_of("", parameter)


def _arguments(forms: tuple[inspect.Signature, ...], find: Callable[[str], str | None]) -> dict[str, str]:
    """Return the phrase of each parameter of a function's signatures, in their order, but for ``self``."""
    found: dict[str, str] = {}
    for form in forms:
        for each in form.parameters.values():
            stars = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
            if each.name not in found and each.name != "self" and not each.name.startswith("_"):
                phrase = _OUTS if each.name == "out" and "Sequence" in str(each.annotation) else find(each.name)
                if phrase is not None and f"*{each.name}" not in found:
                    found[f"{stars}{each.name}"] = phrase
    return found


def compose_of_operator(function: Any, operator: str) -> str:
    """Return the docstring of the function, or the method, of an operator."""
    schemas = [FunctionSchema.parse(each) for each in OPERATORS[operator].schemas]
    has_self = any(each.name == "self" for schema in schemas for each in schema.arguments)

    def find(parameter: str) -> str | None:
        return phrase_of(operator, "self" if parameter == "input" and has_self else parameter)

    forms = signatures(function)
    results = dict.fromkeys(line for schema in schemas for line in describe_results(operator, schema))
    name = function.__name__
    full = f"{function.__module__}.{name}".partition(".")[2]
    page = page_of_operator(operator)
    is_method = page is not None and "torch.Tensor." in page
    calls = [f"{name}{form}" for form in forms] if len(forms) > 1 else []
    example = example_of(full) or example_of(f"Tensor.{name}" if is_method else f"nn.functional.{name}")
    return compose(
        summary_of(operator, "torchlike.") or "", _arguments(forms, find), list(results), calls, page, example
    )


def complete_text(function: Any, own: str, namespace: str, bare: str) -> str:
    """Return the docstring of a function or a class with arguments, torch's page and an example, as far as it has none."""
    summary = inspect.cleandoc(own)
    find: Callable[[str], str | None] = partial(phrase_of, f"{namespace}.{bare}")
    called = function
    if isinstance(function, type):
        find, called = partial(phrase_of_class, namespace, function), vars(function).get("__init__", function)
        shape = _read("arguments").get(f"{namespace}.shapes", {}).get(bare)
        summary += f"\n\nShapes:\n    {shape}" if shape and "Shapes" not in own else ""
    arguments = {} if "Arguments:" in own else _arguments(signatures(called), find)
    example = "" if ">>>" in own else example_of(f"{namespace}.{bare}")
    page = page_of(namespace, bare) or page_of(function.__module__.partition(".")[2], bare)
    return compose(summary, arguments, page=page, example=example)
