"""The functions that rows name: an operator's shape rule and its composites, each in a module of its kind.

An operator's kind is the folder of ``families/`` that has its row. Beside the row stand the modules ``shapes``,
``composites`` and ``gradients`` of the kind, and further ones. A row names a function of ``shapes`` or ``composites`` by an
expression; one of another module has the module's name before it, or kind and module, ``view.splitting:_chunk``. So no more
modules are imported than the operators of a program need.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .expressions import read_expression
from .families import fact_of, facts_of, line_of
from .operators import KIND_OF, row_of
from .variants import written_names

if TYPE_CHECKING:
    from collections.abc import Callable

MODULES: Final = {"shape": "shapes", "formula": "composites", "composite": "composites"}
"""The facts that name functions, and the module of each kind that has these."""

_SHARED: Final = {"shapes": "shapes.elementwise", "composites": "decompositions._shared"}
"""The modules whose names every expression may read."""

_ELSEWHERE: Final = re.compile(r"([\w.]+):(?=\S)(.*)")


def kind_of(name: str) -> str | None:
    """Return an operator's kind, by its name with overload and perhaps namespace; None for an unknown one.

    >>> kind_of("aten::mul.Tensor")
    'pointwise'
    """
    return KIND_OF.get(name.removeprefix("aten::"))


@cache
def _packets() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in KIND_OF)


def is_operator(name: str) -> bool:
    """Return whether an operator has that name, without an overload."""
    return name in _packets()


def place_of(fact: str, name: str) -> tuple[str, str]:
    """Return the module below ``families`` and the expression by which a row names a function.

    Raises ``KeyError`` where the row of the operator has no such fact.

    >>> place_of("formula", "hypot")
    ('pointwise.composites', 'check_by_rule(name, _hypot)')
    >>> place_of("composite", "einsum"), place_of("shape", "relu")
    (('matmul.einsum', '_einsum'), ('pointwise.shapes', 'elementwise_rule(name, 1)'))
    """
    (text,) = facts_of(name)[fact]
    elsewhere = _ELSEWHERE.fullmatch(text)
    module, expression = (MODULES[fact], text) if elsewhere is None else elsewhere.groups()
    return module if "." in module else f"{KIND_OF[name]}.{module}", expression


def find_function(fact: str, name: str) -> Callable[..., Any]:
    """Return the function that an operator's row names; raise ``KeyError`` where it names none.

    The expression may read ``name``, the operator's.

    >>> find_function("shape", "hypot").__module__
    'dispatch_aten.families.pointwise.shapes'
    """
    module, expression = place_of(fact, name)
    names = names_for(fact, module)
    source = None if fact == "shape" else read_expression(row_of(name).schema, expression, names)
    file, line = line_of(name, fact, expression)
    code = compile("\n" * (line - 1) + (source or expression), file, "eval")  # so that tracebacks show the row
    found: Callable[..., Any] = eval(code, names, {"name": name})  # noqa: S307  # our text
    is_checked = expression.startswith("check_by_rule(")
    if source is not None:
        found.__name__ = found.__qualname__ = name
        facts = facts_of(name)
        if "opmath" in facts:
            found = names["compute_in_float"](found)
        # The parts of an element-wise expression refuse what the operator refuses, if that lacks no dtype that they have.
        if fact == "formula" and (fact_of(name, "lacks") or "elementwise_rule(" not in facts.get("shape", ("",))[0]):
            found, is_checked = names["check_by_rule"](name, found), True
    return (
        names["keep_layout"](name, found) if fact == "formula" and not is_checked and _makes_elements(name) else found
    )


def _makes_elements(name: str) -> bool:
    """Return whether an operator makes new tensors element by element."""
    _, schema, tags = row_of(name)
    return "pointwise" in tags and "Tensor" in schema.rpartition(" -> ")[2] and not written_names(schema)


@cache
def names_for(fact: str, module: str) -> dict[str, Any]:
    """Return the names that an expression may read: those of its module, and those that all expressions share."""
    shared = import_module(f"{__package__}.{_SHARED[MODULES[fact]]}")
    return {**vars(shared), **vars(import_module(f"{__package__}.families.{module}"))}


def names_with(fact: str) -> list[str]:
    """Return the operators whose rows have a fact, in the order of the operators."""
    return [name for name in KIND_OF if fact in facts_of(name)]
