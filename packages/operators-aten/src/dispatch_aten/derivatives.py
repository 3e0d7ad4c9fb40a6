"""Derivative formulas as data; the engine that runs them belongs to the frontend.

They stand in the rows of ``families``: ``gradient`` has a differentiable argument and an expression, Python source, for its
gradient, or ``none`` for results that never require one; ``flows`` says which results a gradient can flow into, where these
are not all but indices, and ``refuses`` names the tensors that may not require grad. ``DERIVATIVES`` maps an operator
overload to a ``Formula``.
Names that an expression may use:

* ``grad``: the gradient of the first result, never None. Operators with several differentiable results use ``grads``, a
  tuple with None for results without a gradient (``Formula.uses_grads``);
* the operator's arguments, by name, defaults filled in;
* ``result``, or ``result0``, ``result1`` … where there are several;
* of an argument ``x`` without saving it: ``x_sizes`` (a tuple), ``x_strides``, ``x_storage_offset``, ``x_dim`` (how many
  dimensions), ``x_numel``, ``x_dtype``, ``x_device``, ``x_is_turned`` (whether a matrix lies in memory column by column).
  For a list of tensors ``xs``: ``xs_sizes``, a list of tuples;
* ``grad_input_mask``: for each of the formulas whether its gradient is wanted, as a list of bools. A call whose items
  several formulas take, ``call(…)[0]`` and ``call(…)[1]``, is made once;
* ``FUNCTIONS`` of ``dispatch_aten.gradients``, and else any aten operator by name, overloads resolved by the arguments.

An expression is written as for real numbers. Where the gradient of the result is complex, the engine conjugates it, and the
value of the expression: that is torch's gradient, ``grad`` times the conjugate of the derivative, for every function with a
complex derivative. Functions with real results from complex numbers (``abs``, ``norm``, ``var``) have theirs as it is.

The engine computes a gradient only if it is needed, then sums it to the argument's shape and converts it to the
argument's dtype; so an expression need not undo broadcasting or promotion. The gradient of a list is a list.

Where backward does not tell a forward derivative, since it treats an argument as symmetric, or leaves open which of several
elements stays, ``tangent`` has a differentiable result and an expression of its tangent. It may use the names
above but for the gradients, and ``x_t``, the tangent of an argument ``x``, which is zeros where it has none.

An in-place overload without an entry of its own takes its functional overload's formula: ``result`` is then the tensor
written to, and an expression that names ``self`` itself (not ``self_sizes`` and its kind) means the value before the
call, which the engine has to keep or to refuse. ``functional_of`` in ``variants`` returns the functional overload.

>>> DERIVATIVES["mul.Tensor"].gradients["other"]
'mul(grad, self)'
>>> sorted(names_used("select_backward(grad, self_sizes, dim, index)"))
['dim', 'grad', 'index', 'select_backward', 'self_sizes']
"""

from __future__ import annotations

import ast
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dispatch_aten.families import facts_of, overloads_with
from dispatch_core.caches import LazyTable
from dispatch_core.calls import parse_expression

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "DERIVATIVES",
    "METADATA_SUFFIXES",
    "NOT_DIFFERENTIABLE",
    "Formula",
    "find_refused",
    "find_tangents",
    "names_used",
]

METADATA_SUFFIXES: Final = (
    "_sizes",
    "_strides",
    "_storage_offset",
    "_dim",
    "_numel",
    "_dtype",
    "_device",
    "_is_turned",
)
"""What may follow an argument's name to read a property without saving the tensor."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The derivative of one operator overload.

    ``gradients`` maps an argument's name to the expression of its gradient. ``differentiable_outputs`` says for each
    result whether a gradient can flow into it; None means into all of them.
    """

    gradients: Mapping[str, str]
    differentiable_outputs: tuple[bool, ...] | None = None

    @property
    def uses_grads(self) -> bool:
        """Whether the expressions take the gradients of all results, as ``grads``."""
        return any("grads" in names_used(expression) for expression in self.gradients.values())


@cache
def names_used(expression: str) -> frozenset[str]:
    """Return the names that an expression reads, functions included."""
    return frozenset(node.id for node in ast.walk(parse_expression(expression)) if isinstance(node, ast.Name))


def _facts(name: str, fact: str) -> tuple[str, ...]:
    return facts_of(name).get(fact, ())


def _expressions(name: str, fact: str) -> dict[str, str]:
    return {to: expression for to, _, expression in (each.partition(": ") for each in _facts(name, fact))}


def _make_formula(name: str) -> Formula:
    gradients = _expressions(name, "gradient")
    if not gradients or "none" in gradients:
        raise KeyError(name)
    flows = " ".join(_facts(name, "flows")).split()
    return Formula(MappingProxyType(gradients), tuple(each == "yes" for each in flows) or None)


def _list_names(*, differentiable: bool) -> Iterator[str]:
    for name in overloads_with("gradient"):
        if (_facts(name, "gradient") != ("none",)) is differentiable:
            yield name


def find_refused(name: str) -> tuple[str, ...]:
    """Return the tensors of an overload that have no gradient though the result depends on them; composites have rows, too.

    >>> find_refused("nll_loss_forward"), find_refused("mul.Tensor")
    (('weight',), ())
    """
    return tuple(" ".join(_facts(name, "refuses")).split())


DERIVATIVES: Final = LazyTable(_make_formula, partial(_list_names, differentiable=True))
"""The derivative formula of each differentiable overload that is not an implicit composite."""


class _Never(AbstractSet[str]):
    """The operators whose row says so."""

    def __contains__(self, name: object) -> bool:
        return _facts(str(name), "gradient") == ("none",)

    def __iter__(self) -> Iterator[str]:
        return _list_names(differentiable=False)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def find_tangents(name: str) -> Mapping[str, str]:
    """Return the expressions of an overload's tangents by result; none where they follow from the gradients.

    >>> find_tangents("scatter.value"), find_tangents("mul.Tensor")
    ({'result': 'scatter(self_t, dim, index, 0)'}, {})
    """
    return _expressions(name, "tangent")


NOT_DIFFERENTIABLE: Final = _Never()
"""Overloads whose results never require a gradient."""
