"""The one table of shape rules, and the rules that follow from others."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.errors import AtenError, OperatorError, UnsupportedError
from dispatch_aten.families import facts_of
from dispatch_aten.kinds import find_function, names_with, place_of
from dispatch_aten.operators import ATEN_BY_NAME, KIND_OF
from dispatch_aten.output_dtypes import check_output_dtype
from dispatch_aten.variants import functional_of, is_inplace, written_names
from dispatch_core.caches import LazyTable

from .layout import check_output_shape, check_written
from .meta import TensorMeta

if TYPE_CHECKING:
    from collections.abc import Callable


def with_namespace(name: str) -> str:
    """Return an operator's name with its namespace, which is ``aten`` where it has none."""
    return name if "::" in name else f"aten::{name}"


def _name_operator(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Add the operator's name to a rule's errors; the rules themselves are shared and do not know it."""
    full_name = with_namespace(name)

    @wraps(rule)
    def rule_of_operator(*args: Any, **kwargs: Any) -> Any:
        try:
            return rule(*args, **kwargs)
        except AtenError as error:
            raise error.at(full_name) from None
        except OverflowError as error:
            raise OperatorError(f"value cannot be converted without overflow: {error}", operator=full_name) from None

    return rule_of_operator


def _swap_two(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda first, second: rule(second, first)


def _inplace(functional: Callable[..., Any], operator: str) -> Callable[..., Any]:
    def rule(self: TensorMeta, *args: Any, **kwargs: Any) -> TensorMeta:
        result: TensorMeta = functional(self, *args, **kwargs)
        check_output_shape(result.shape, self.shape)
        check_output_dtype(result.dtype, self.dtype, operator)
        return self

    return rule


_MAY_OVERLAP: Final = frozenset({"resize_", "index_put_"})


def _check_writes(rule: Callable[..., Any]) -> Callable[..., Any]:
    def check(self: TensorMeta, *args: Any, **kwargs: Any) -> Any:
        check_written(self)
        return rule(self, *args, **kwargs)

    return check


def _out(names: tuple[str, ...], functional: Callable[..., Any], operator: str) -> Callable[..., Any]:
    def rule(*args: Any, **kwargs: Any) -> Any:
        outputs = [kwargs.pop(name) for name in names]
        results = functional(*args, **kwargs)
        if isinstance(results, TensorMeta):
            return _write_to(results, outputs[0], operator, names[0])
        return tuple(
            _write_to(result, output, operator, name)
            for result, output, name in zip(results, outputs, names, strict=True)
        )

    return rule


def _write_to(result: TensorMeta, output: TensorMeta, operator: str, name: str) -> TensorMeta:
    """Describe ``output`` after ``result`` was written to it; of another shape, it takes the result's layout."""
    check_output_dtype(result.dtype, output.dtype, operator, name)
    return output if output.shape == result.shape else result.with_dtype(output.dtype)


_TAKE_REAL_NUMBERS: Final = frozenset(
    "addcmul addcdiv addmm baddbmm elu elu_backward index_add leaky_relu leaky_relu_backward lerp.Scalar softplus"
    " softplus_backward threshold".split()
)
"""Operators whose numbers must be real where their result is."""


def _with_real_numbers(rule: Callable[..., Any], schema: str) -> Callable[..., Any]:
    arguments = [part for part in schema[schema.index("(") + 1 : schema.rindex(") ->")].split(", ") if part != "*"]
    places = [
        (place, part.split()[1].split("=")[0]) for place, part in enumerate(arguments) if part.startswith("Scalar ")
    ]

    def check(*args: Any, **kwargs: Any) -> Any:
        found = rule(*args, **kwargs)
        for place, name in places:
            value = args[place] if place < len(args) else kwargs.get(name)
            if value.__class__ is complex and not found.dtype.is_complex:
                raise OperatorError("value cannot be converted to type double without overflow", argument=name)
        return found

    return check


def _own_rule(name: str) -> Callable[..., Any]:
    """Return the rule in an operator's kind, or raise ``KeyError``."""
    rule = find_function("shape", name)
    return _with_real_numbers(rule, ATEN_BY_NAME[name].schema) if name in _TAKE_REAL_NUMBERS else rule


def _make_rule(name: str) -> Callable[..., Any]:
    """Return an operator's rule, an in-place or ``out=`` overload's from its functional one; or raise ``KeyError``."""
    if name.startswith("prims::"):
        from dispatch_aten.families.prims.shapes import PRIMITIVES

        return _name_operator(name, PRIMITIVES[name])
    try:
        rule = _own_rule(name)
    except KeyError:
        functional = functional_of(name)
        # A tensor's view in place of it is made by composing, on every device.
        if functional is None or "inplace_view" in ATEN_BY_NAME[name].tags:
            raise
        rule = _own_rule(functional)
        made = _inplace if is_inplace(name) else partial(_out, written_names(ATEN_BY_NAME[name].schema))
        if name == "polygamma_":  # the one whose tensor comes second in the functional operator
            rule = _swap_two(rule)
        rule = made(rule, name)
    if "inplace" in ATEN_BY_NAME[name].tags and name not in _MAY_OVERLAP:
        rule = _check_writes(rule)
    return _name_operator(name, rule)


def _list_rules() -> list[str]:
    own = set(names_with("shape"))
    derived = (name for name in KIND_OF if name in own or functional_of(name) in own)
    return [name for name in derived if name in own or "inplace_view" not in ATEN_BY_NAME[name].tags]


RULES: Final[LazyTable[Callable[..., Any]]] = LazyTable(_make_rule, _list_rules)
"""The shape rule of each operator overload, made when it is first looked up.

By the overload's name without namespace; primitives are found by their name with it, and are not listed.
"""

RULES_ON_EXPANDED: Final = {
    "fill_.Scalar": "fill.Scalar",
    "zero_": "alias",
    "index_put_": "index_put",
    "masked_fill_.Scalar": "masked_fill.Scalar",
    "masked_fill_.Tensor": "masked_fill.Tensor",
}
"""Operators that torch lets write to expanded tensors → the operator whose rule makes their other checks."""

_BY_VALUE: Final = frozenset("elu_backward leaky_relu_backward masked_fill.Scalar pow.Scalar pow.Tensor_Scalar".split())
_BY_TYPE: Final = frozenset({"addmm", "baddbmm", "index_add"})


def reads_types_only(name: str) -> bool:
    """Return whether a functional operator's rule looks at the types of numbers alone, never at their values."""
    if name in _BY_TYPE or name in _BY_VALUE:
        return name in _BY_TYPE
    # The rules of ``prims`` stand in no row.
    return "shape" in facts_of(name) and place_of("shape", name)[0] == "pointwise.shapes"


def infer(operator: str, *args: Any, **kwargs: Any) -> Any:
    """Describe the results of ``operator`` on ``args``; raise the operator's errors.

    Raises ``UnsupportedError`` where no rule is known: the result's shape depends on values, or the rule is missing.
    """
    rule = RULES.get(operator if operator.startswith("prims::") else operator.rpartition("::")[2])
    if rule is None:
        raise UnsupportedError(
            "no shape rule is known, because the shape depends on values or is not written down", operator=operator
        )
    return rule(*args, **kwargs)
