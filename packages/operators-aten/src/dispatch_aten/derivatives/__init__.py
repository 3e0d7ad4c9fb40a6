"""Derivative formulas as data; the engine that runs them belongs to the frontend.

One module per kind holds ``FORMULAS``, and where they are needed ``DIFFERENTIABLE_OUTPUTS`` (which results a gradient
can flow into), ``REFUSED`` (the tensors that may not require grad) and ``NOT_DIFFERENTIABLE``. ``DERIVATIVES`` maps an
operator overload to a ``Formula``: for each differentiable argument an expression, Python source, for its gradient.
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
elements stays, ``TANGENTS`` has a row: for each differentiable result an expression of its tangent. It may use the names
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

from dispatch_aten.kinds import find, modules_of, names_in
from dispatch_core.caches import LazyTable

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
    return frozenset(node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name))


def _make_formula(name: str) -> Formula:
    gradients = find("derivatives", "FORMULAS", name)
    try:
        outputs = find("derivatives", "DIFFERENTIABLE_OUTPUTS", name)
    except KeyError:
        outputs = None
    return Formula(MappingProxyType(gradients), outputs)


def find_refused(name: str) -> tuple[str, ...]:
    """Return the tensors of an overload that have no gradient though the result depends on them; composites have rows, too.

    >>> find_refused("nll_loss_forward"), find_refused("mul.Tensor")
    (('weight',), ())
    """
    try:
        found: tuple[str, ...] = find("derivatives", "REFUSED", name)
    except KeyError:
        return ()
    return found


DERIVATIVES: Final = LazyTable(_make_formula, partial(names_in, "derivatives", "FORMULAS"))
"""The derivative formula of each differentiable overload that is no implicit composite."""

_NEVER: Final = frozenset(
    """
    greater.Tensor greater.Scalar greater_equal.Tensor greater_equal.Scalar less.Tensor less.Scalar less_equal.Tensor
    less_equal.Scalar not_equal.Tensor not_equal.Scalar
    eq.Tensor eq.Scalar ne.Tensor ne.Scalar lt.Tensor lt.Scalar le.Tensor le.Scalar gt.Tensor gt.Scalar ge.Tensor ge.Scalar
    isnan isinf logical_and logical_or logical_xor logical_not
    bitwise_and.Tensor bitwise_and.Scalar bitwise_and.Scalar_Tensor bitwise_or.Tensor bitwise_or.Scalar
    bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar bitwise_left_shift.Scalar_Tensor
    bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar bitwise_right_shift.Scalar_Tensor
    bitwise_or.Scalar_Tensor bitwise_xor.Tensor bitwise_xor.Scalar bitwise_xor.Scalar_Tensor bitwise_not
    any any.dim any.dims all all.dim all.dims argmax argmin count_nonzero count_nonzero.dim_IntList nonzero equal allclose
    empty_like zeros_like ones_like full_like new_empty new_empty_strided new_full new_zeros new_ones
    rand_like rand_like.generator randn_like randn_like.generator randint_like randint_like.generator
    randint_like.low_dtype randint_like.low_generator_dtype detach _local_scalar_dense resize_
    """.split()
)


class _Never(AbstractSet[str]):
    """The operators of ``_NEVER`` and of each kind's ``NOT_DIFFERENTIABLE``."""

    def __contains__(self, name: object) -> bool:
        return name in _NEVER or any(
            name in getattr(module, "NOT_DIFFERENTIABLE", ()) for module in modules_of("derivatives", str(name))
        )

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*_NEVER, *names_in("derivatives", "NOT_DIFFERENTIABLE")]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def find_tangents(name: str) -> Mapping[str, str]:
    """Return the expressions of an overload's tangents by result; none where they follow from the gradients.

    >>> find_tangents("scatter.value"), find_tangents("mul.Tensor")
    ({'result': 'scatter(self_t, dim, index, 0)'}, {})
    """
    try:
        found: dict[str, str] = find("derivatives", "TANGENTS", name)
    except KeyError:
        return {}
    return found


NOT_DIFFERENTIABLE: Final = _Never()
"""Overloads whose results never require a gradient."""
