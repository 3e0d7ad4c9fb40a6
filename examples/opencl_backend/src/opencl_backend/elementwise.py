"""Element-wise operators, as rows of C; a chain of calls is one kernel, and a call by itself is a chain of one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import dispatch_core as dc
from dispatch_aten.shapes import TensorMeta, cached_rule

from .arrays import C_TYPES, Array, empty, read, write
from .nest import Code, Operand, run

# A division by zero, or of the least number by minus one, would end the process on some processors.
_DIVIDE: Final = "if (b == 0) FAIL(2, 0, 0); T d = b == 0 ? 1 : b; const int minus = (T)-1 < 0 && d == (T)-1"
_FLOOR: Final = "T m = fmod(a, b), q = rint((a - m) / b - (m != 0 && (m < 0) != (b < 0)))"
_POWER: Final = "T r = 1, s = a; for (T n = b < 0 ? 0 : b; n; n /= 2, s *= s) if (n & 1) r *= s"
_FUNCTIONS: Final = "exp log sqrt sin cos asin acos atan sinh cosh tanh asinh acosh atanh erf"

#: Operators → C for floats, integers and bools, the last one for those that have none. ``a``, ``b`` and ``c`` are the
#: arguments, ``T`` is the type that is computed with; statements may stand before the expression.
_TABLE: Final[dict[str, tuple[str, ...]]] = {
    **{name: (f"{name}(a)",) for name in _FUNCTIONS.split()},
    **{name: (f"{name}(a)", "a") for name in ("floor", "ceil", "trunc")},
    "round": ("rint(a)", "a"),
    "neg": ("-a",),
    "abs": ("fabs(a)", "a < 0 ? -a : a"),
    "reciprocal": ("1 / a",),
    "rsqrt": ("1 / sqrt(a)",),
    "sigmoid": ("1 / (1 + exp(-a))",),
    "relu": ("a < 0 ? 0 : a",),
    "add.Tensor add.Scalar": ("a + b * c",),
    "sub.Tensor sub.Scalar": ("a - b * c",),
    "mul.Tensor mul.Scalar": ("a * b",),
    "div.Tensor div.Scalar": ("a / b",),
    "fmod.Tensor fmod.Scalar": ("fmod(a, b)", f"{_DIVIDE}; minus ? 0 : a % d"),
    "floor_divide": (
        f"{_FLOOR}; b == 0 ? a / b : q == 0 ? copysign((T)0, a / b) : q",
        f"{_DIVIDE}; minus ? -a : a / d - (a % d != 0 && (a < 0) != (d < 0))",
    ),
    "pow.Tensor_Tensor pow.Tensor_Scalar pow.Scalar": (
        "pow(a, b)",
        f"{_POWER}; b >= 0 || a == 1 ? r : a == (T)-1 ? (b & 1 ? -1 : 1) : 0",
    ),
    "atan2": ("atan2(a, b)",),
    "maximum": ("a != a || a > b ? a : b",),
    "minimum": ("a != a || a < b ? a : b",),
    "where.self": ("a ? b : c",),
    "bitwise_and.Tensor bitwise_and.Scalar": ("a & b",),
    "bitwise_or.Tensor bitwise_or.Scalar": ("a | b",),
    "bitwise_xor.Tensor bitwise_xor.Scalar": ("a ^ b",),
    "bitwise_not": ("", "~a", "!a"),
    "eq.Tensor eq.Scalar": ("a == b",),
    "ne.Tensor ne.Scalar": ("a != b",),
    "lt.Tensor lt.Scalar": ("a < b",),
    "le.Tensor le.Scalar": ("a <= b",),
    "gt.Tensor gt.Scalar": ("a > b",),
    "ge.Tensor ge.Scalar": ("a >= b",),
}
ROWS: Final = {name: row for names, row in _TABLE.items() for name in names.split()} | {"copy_": ("a",)}


class Call(NamedTuple):
    """A call in a chain; its arguments are texts: ``x0`` is an array, ``n0`` a number, ``v0`` the result of a call."""

    row: str
    arguments: tuple[str, ...]
    computed: str
    result: str


class Chain(NamedTuple):
    """Calls that run together, which of their results are stored, and the dtypes of the arrays."""

    calls: tuple[Call, ...]
    stored: tuple[int, ...]
    arrays: tuple[str, ...]


def make_call(row: str, texts: Sequence[str], arguments: Sequence[Any], result: Any) -> Call:
    """Describe a call, which computes in the dtype of its result or, for a comparison, that of its operands together."""
    computed = result.short
    if computed == "bool":
        operands = arguments[1:] if row == "where.self" else arguments[:2]
        kinds = [(each.dtype, each.ndim) if isinstance(each, TensorMeta) else each for each in operands]
        computed = dc.promote(*kinds).short
    return Call(row, tuple(texts), computed, result.short)


@functools.lru_cache(4096)
def write_chain(chain: Chain) -> Code:
    """Write the kernel of a chain, whose operands are the stored results, then the arrays."""
    lines, first = [], len(chain.stored)
    for i, dtype in enumerate(chain.arrays):
        lines.append(f"const {C_TYPES[dtype].value} x{i} = {read(dtype, first + i, f'p{first + i}')};")
    lines += [_write_call(call, f"v{i}") for i, call in enumerate(chain.calls)]
    lines += [write(chain.calls[call].result, i, f"p{i}", f"v{call}") for i, call in enumerate(chain.stored)]
    return Code(before="\n".join(f"    {line}" for line in lines))


def _write_call(call: Call, name: str) -> str:
    """Write the statements that declare a variable with the result of a call."""
    kind, result, row = C_TYPES[call.computed], C_TYPES[call.result], ROWS[call.row]
    column = 0 if call.computed.startswith("float") else 2 if call.computed == "bool" else 1
    statements, _, value = row[min(column, len(row) - 1)].rpartition("; ")
    given = [
        f"const T {each} = {kind.convert.format(text)};" for each, text in zip("abc", call.arguments, strict=False)
    ]
    if call.row == "where.self":
        given[0] = f"const int a = {call.arguments[0]};"  # the condition keeps its own type
    block = " ".join([f"typedef {kind.value} T;", *given, f"{statements};"])
    return f"{result.value} {name}; {{ {block} {name} = {result.convert.format(value)}; }}"


def broadcast(array: Array, shape: tuple[int, ...]) -> Operand:
    """Return an array as the operand of a kernel over a shape that it broadcasts to."""
    steps = [0 if size == 1 else step for size, step in zip(array.shape, array.strides, strict=True)]
    return Operand(array, (0,) * (len(shape) - len(steps)) + tuple(steps))


def compute(row: str, result: Array, arguments: Sequence[Any]) -> None:
    """Run one call, whose result is stored in an array that is there."""
    arrays = [each for each in arguments if isinstance(each, Array)]
    numbers = [each for each in arguments if not isinstance(each, Array)]
    letters = ["x" if isinstance(each, Array) else "n" for each in arguments]
    texts = [f"{letter}{letters[:i].count(letter)}" for i, letter in enumerate(letters)]
    metas = [each.spec if isinstance(each, Array) else each for each in arguments]
    call = make_call(row, texts, metas, result.dtype)
    chain = Chain((call,), (0,), tuple(each.dtype.short for each in arrays))
    operands = [broadcast(each, result.shape) for each in (result, *arrays)]
    run(write_chain(chain), operands, result.shape, numbers=numbers)


def _make_kernel(name: str) -> Callable[..., Array]:
    rule = cached_rule(name)

    def kernel(*arguments: Any, **keywords: Any) -> Array:
        index = next(each.block.index for each in arguments if isinstance(each, Array))
        result = empty(rule(*arguments, **keywords), index)
        compute(name, result, (*arguments, *keywords.values()))
        return result

    return kernel


ATEN: Final = {name: _make_kernel(name) for name in ROWS if name != "copy_"}
