"""The formulas of this backend's kernels, and the dtypes in which they compute, for `tape` to trace.

A rule has the meaning of the kernel of the same name in `ops`; a node that has another kernel is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import NOT_IN_NUMPY
from dispatch_aten.promotion import Promotion, computation_type, result_of, result_type, rule_for
from dispatch_aten.shapes import TensorMeta
from dispatch_aten.variants import functional_of
from dispatch_core.planning import Node, Value

from ..arrays import numpy_dtype
from ..kernels import KERNELS, SPECIALIZED
from ..ops.pointwise import numpy_formulas, table
from ..ops.support.tape import Symbol, Tape, Untraceable
from ..output_specs import half_as_float

DType = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """An element-wise formula, and how its operands are prepared."""

    arity: int
    fn: Callable[..., Any]
    opmath: bool = False
    promotion: Promotion | None = None
    #: The ufunc that is called at once on operands of one dtype, and for which dtypes (None: any).
    direct: Callable[..., Any] | None = None
    dtypes: frozenset[DType] | None = None


#: The formulas, which symbols go through as arrays do.
f: Any = numpy_formulas
_where: Any = np.where


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for name, (ufunc, kinds) in table.UNARY.items():
        fn = table.GENERAL.get(name, ufunc)
        rules[name] = Rule(1, fn, direct=ufunc, dtypes=table.dtypes_of_kinds(kinds))
    for name, (ufunc, some) in table.BINARY.items():
        dtypes = None if some is None else table.dtypes_of_kinds(some)
        rules[name] = Rule(2, table.GENERAL.get(name, ufunc), direct=ufunc, dtypes=dtypes)
    for name, (ufunc, _) in table.WITH_NUMBER.items():
        rules[name] = Rule(2, ufunc, opmath=name.startswith(("mul", "div")))
    for name, (arity, formula, opmath) in table.FORMULAS.items():
        rules[name] = Rule(arity, formula, opmath)
    rules["relu"] = Rule(1, f.relu)
    rules["add.Tensor"] = Rule(2, _with_factor(np.add), opmath=True, direct=np.add)
    rules["sub.Tensor"] = Rule(2, _with_factor(np.subtract), opmath=True, direct=np.subtract)
    rules["div.Tensor_mode"] = rules["div.Scalar_mode"] = Rule(2, f.div_mode, promotion=Promotion.SAME)
    return rules


def _with_factor(ufunc: Any) -> Callable[..., Any]:
    """Make ``add`` or ``sub``; times 1.0 is the same as nothing, so a factor need not be known."""

    def combine(a: Any, b: Any, alpha: Any = 1) -> Any:
        return ufunc(a, b if type(alpha) is int and alpha == 1 else f.number(alpha, b) * b)

    return combine


_RULES: Final = _rules()


def lower(tape: Tape, node: Node, read: Callable[[Value], Symbol]) -> Symbol | None:
    """Put the computation of a node onto ``tape`` and return its result, or None where that is not possible.

    ``read`` returns the symbol of a value. The result of a node that writes has the dtype of its target.
    """
    name = node.name.removeprefix("aten::")
    if "pointwise" not in node.tags or not _is_ours(name, node.kernel):
        return None
    if len(node.written) > 1 or (node.written and node.written[0] is not node.arguments[0]):
        return None
    if any(isinstance(each, Value) and each.dtype in NOT_IN_NUMPY for each in (*node.arguments, *node.outputs)):
        return None  # Chains compute in the dtypes that NumPy has.
    target = node.written[0] if node.written else node.outputs[0]
    if target is None or len(node.outputs) != (0 if node.written else 1):
        return None
    functional = functional_of(name) or name
    special = _SPECIAL.get(name) or _SPECIAL.get(functional)
    rule = _RULES.get(functional)
    made, tape.size = len(tape.operations), math.prod(target.shape)
    try:
        if special is not None:
            found = special(tape, node, read)
        elif rule is not None:
            found = _by_rule(tape, functional, rule, node, read)
        else:
            return None
        found = tape.cast(found, numpy_dtype(target.dtype))
        if not any(each.out is found for each in tape.operations[made:]):
            found = found.copy()
    except (Untraceable, AttributeError, TypeError, ValueError, dc.DispatchError):
        del tape.operations[made:]
        return None
    return found


def _is_ours(name: str, kernel: Any) -> bool:
    return kernel is not None and (kernel is KERNELS.get(name) or kernel is SPECIALIZED.get(name))


def _by_rule(tape: Tape, name: str, rule: Rule, node: Node, read: Callable[[Value], Symbol]) -> Any:
    by_position, by_keyword = node.split()
    operands, options = by_position[: rule.arity], by_position[rule.arity :]
    if name.endswith("_mode") and by_keyword["rounding_mode"] is None:
        rule = Rule(rule.arity, rule.fn)
    symbols = [read(each) if isinstance(each, Value) else each for each in operands]
    taken = [each for each in operands if each is not None]
    options = [read(each) if isinstance(each, Value) else each for each in options]
    by_keyword = {key: read(each) if isinstance(each, Value) else each for key, each in by_keyword.items()}
    arrays = [each for each in taken if isinstance(each, Value) and each.number is None]
    if rule.direct is not None and len(arrays) == len(operands) and len({each.dtype for each in arrays}) == 1:
        dtype = symbols[0].dtype
        plain = by_keyword.get("alpha", 1)
        if (rule.dtypes is None or dtype in rule.dtypes) and type(plain) is int and plain == 1:
            return rule.direct(*symbols)
    dtype = _computed_in(name, rule, taken, node)
    found = [None if each is None else tape.cast(each, dtype) for each in symbols]
    result = rule.fn(*found, *options, **by_keyword)
    if not isinstance(result, Symbol):
        raise Untraceable(name)
    if node.written:
        # The functional kernel comes first, with a dtype of its own.
        promotion = rule_for(name) if rule.promotion is None else rule.promotion
        result = tape.cast(result, numpy_dtype(result_of(promotion, _common(taken))))
    return result


_NUMBERS: Final[dict[type, Any]] = {float: 0.5, complex: 0.5j}


def _common(operands: list[Any]) -> Any:
    return result_type(*[_describe(each) for each in operands])


def _describe(value: Any) -> Any:
    if not isinstance(value, Value):
        return value
    if value.number is not None:
        return _NUMBERS[value.number]
    return TensorMeta(value.shape, value.strides, value.dtype)


def _computed_in(name: str, rule: Rule, operands: list[Any], node: Node) -> DType:
    """Return the dtype to compute in, as ``promoting_rule`` does."""
    promotion = rule_for(name) if rule.promotion is None else rule.promotion
    common = _common(operands)
    made = result_of(promotion, common)
    if node.outputs and node.outputs[0] is not None and made != node.outputs[0].dtype:
        raise Untraceable("the default dtype has changed")
    computed = computation_type(promotion, common)
    own = [each.dtype for each in operands if isinstance(each, Value) and each.number is None]
    if computed.is_floating_point and made != computed and not any(each.is_floating_point for each in own):
        raise Untraceable("the default dtype decides, and the result does not show which it was")
    dtype = numpy_dtype(computed)
    return half_as_float(dtype) if rule.opmath else dtype


def _operand(tape: Tape, value: Any, read: Callable[[Value], Symbol], dtype: DType) -> Symbol:
    return tape.cast(read(value) if isinstance(value, Value) else value, dtype)


def _where_self(tape: Tape, node: Node, read: Callable[[Value], Symbol]) -> Any:
    condition, a, b = node.arguments
    output = node.outputs[0]
    assert output is not None
    dtype = numpy_dtype(output.dtype)
    return f.where(read(condition), _operand(tape, a, read, dtype), _operand(tape, b, read, dtype))


def _masked_fill(tape: Tape, node: Node, read: Callable[[Value], Symbol]) -> Any:
    target, mask, value = node.arguments
    old = read(target)
    return _where(read(mask), _operand(tape, value, read, old.dtype), old)


def _lerp_inplace(tape: Tape, node: Node, read: Callable[[Value], Symbol]) -> Any:
    """Interpolate from the nearer end, as the kernel does for arrays of one shape and dtype."""
    target, end, weight = node.arguments
    plain = target.dtype == end.dtype and target.shape == end.shape
    if not plain or not isinstance(weight, Value) or read(target).dtype.char not in "fd":
        raise Untraceable("the general kernel computes it in another way")
    a, b, w = read(target), read(end), read(weight)
    near = np.absolute(w) < 0.5
    # Taking away a product is adding the product with the other sign, to the last bit.
    factor = _where(near, f.number(w, a), f.number(-(1 - w), a))
    return tape.choose(near, a, b) + (b - a) * factor


_SPECIAL: Final[dict[str, Callable[..., Any]]] = {
    "where.self": _where_self,
    "masked_fill.Scalar": _masked_fill,
    "lerp_.Scalar": _lerp_inplace,
}
