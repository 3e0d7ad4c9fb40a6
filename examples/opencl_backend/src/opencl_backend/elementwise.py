"""Element-wise operators, as rows of C; a chain of calls is one kernel, and a call by itself is a chain of one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import dispatch_core as dc
from dispatch_aten.shapes import TensorMeta, cached_rule

from .arrays import Array, empty
from .ctypes import C_TYPES
from .nest import Code, Operand, run

# A division by zero, or of the least number by minus one, would end the process on some processors.
_DIVIDE: Final = "if (b == 0) FAIL(2, 0, 0); T d = b == 0 ? 1 : b; const int minus = (T)-1 < 0 && d == (T)-1"
_FLOOR: Final = "T m = fmod(a, b), q = rint((a - m) / b - (m != 0 && (m < 0) != (b < 0)))"
_POWER: Final = "T r = 1, s = a; for (T n = b < 0 ? 0 : b; n; n /= 2, s *= s) if (n & 1) r *= s"
_FUNCTIONS: Final = "exp log sqrt sin cos asin acos atan sinh cosh tanh asinh acosh atanh erf"

#: Operator → C for floats, integers and bools, the last one for those that have none. ``a``, ``b`` and ``c`` are the
#: arguments, ``T`` is the type that is computed with; statements may stand before the expression.
ROWS: Final[dict[str, tuple[str, ...]]] = {
    **{name: (f"{name}(a)",) for name in _FUNCTIONS.split()},
    **{name: (f"{name}(a)", "a") for name in ("floor", "ceil", "trunc")},
    "round": ("rint(a)", "a"),
    "neg": ("-a",),
    "abs": ("fabs(a)", "a < 0 ? -a : a"),
    "reciprocal": ("1 / a",),
    "rsqrt": ("1 / sqrt(a)",),
    "sigmoid": ("1 / (1 + exp(-a))",),
    "frac": ("a - trunc(a)",),
    "relu": ("a <= 0 ? 0 : a",),
    "add": ("a + b * c",),
    "sub": ("a - b * c",),
    "mul": ("a * b",),
    "div": ("a / b",),
    "fmod": ("fmod(a, b)", f"{_DIVIDE}; minus ? 0 : a % d"),
    "floor_divide": (
        f"{_FLOOR}; b == 0 ? a / b : q == 0 ? copysign((T)0, a / b) : q",
        f"{_DIVIDE}; minus ? -a : a / d - (a % d != 0 && (a < 0) != (d < 0))",
    ),
    "pow": ("pow(a, b)", f"{_POWER}; b >= 0 || a == 1 ? r : a == (T)-1 ? (b & 1 ? -1 : 1) : 0"),
    "atan2": ("atan2(a, b)",),
    "maximum": ("a != a || a > b ? a : b",),
    "minimum": ("a != a || a < b ? a : b",),
    "where": ("a ? b : c",),
    "bitwise_and": ("a & b",),
    "bitwise_or": ("a | b",),
    "bitwise_xor": ("a ^ b",),
    "bitwise_not": ("", "~a", "!a"),
    "eq": ("a == b",),
    "ne": ("a != b",),
    "lt": ("a < b",),
    "le": ("a <= b",),
    "gt": ("a > b",),
    "ge": ("a >= b",),
    "copy": ("a",),
}
#: The arguments of a row, in the order of the schema.
NAMES: Final = ("a", "b", "c")
#: Overloads beside the one without a name.
OVERLOADS: Final = {
    **dict.fromkeys(
        ("add", "sub", "mul", "div", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor"), ("Tensor", "Scalar")
    ),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), ("Tensor", "Scalar")),
    "pow": ("Tensor_Tensor", "Tensor_Scalar", "Scalar"),
    "where": ("self",),
    "copy": (),  # no operator: a row for `moves`
}


class Call(NamedTuple):
    """A call in a chain; its arguments are texts: ``x0`` is an array, ``n0`` a number, ``v0`` the result of a call."""

    row: str
    arguments: tuple[str, ...]
    computed: str
    result: str


class Chain(NamedTuple):
    """Calls that run together, and all that their program depends on."""

    calls: tuple[Call, ...]
    #: The calls whose results are stored.
    stored: tuple[int, ...]
    #: The dtypes of the arrays.
    arrays: tuple[str, ...]


def find_computed(row: str, arguments: Sequence[Any], result: TensorMeta) -> str:
    """Return the dtype in which a call computes: its result's or, of a comparison, that of its operands together."""
    if str(result.dtype) != "bool":
        return str(result.dtype)
    operands = arguments[1:] if row == "where" else arguments[:2]
    return str(dc.promote(*((each.dtype, each.ndim) if isinstance(each, TensorMeta) else each for each in operands)))


@functools.lru_cache(4096)
def write(chain: Chain) -> Code:
    """Write the kernel of a chain, whose operands are the stored results, then the arrays."""
    lines = []
    for i, dtype in enumerate(chain.arrays):
        place, kind = len(chain.stored) + i, C_TYPES[dtype]
        lines.append(f"const {kind.value} x{i} = {kind.load.format(m=f'm{place}', p=f'p{place}')};")
    lines += [_write_call(call, f"v{i}") for i, call in enumerate(chain.calls)]
    for place, call in enumerate(chain.stored):
        kind = C_TYPES[chain.calls[call].result]
        lines.append(kind.write_store(f"m{place}", f"p{place}", f"v{call}"))
    return Code(before="\n".join(f"    {line}" for line in lines))


def _write_call(call: Call, name: str) -> str:
    """Write the statements that declare a variable with the result of a call."""
    kind, result = C_TYPES[call.computed], C_TYPES[call.result]
    statements, _, value = _choose(ROWS[call.row], call.computed).rpartition("; ")
    given = [
        f"const T {each} = {kind.convert.format(x=text)};" for each, text in zip(NAMES, call.arguments, strict=False)
    ]
    if call.row == "where":
        given[0] = f"const int a = {call.arguments[0]};"  # the condition keeps its own type
    block = " ".join([f"typedef {kind.value} T;", *given, f"{statements};"])
    return f"{result.value} {name}; {{ {block} {name} = {result.convert.format(x=value)}; }}"


def _choose(row: tuple[str, ...], dtype: str) -> str:
    kind = 0 if dtype.startswith("float") else 2 if dtype == "bool" else 1
    return row[min(kind, len(row) - 1)]


def broadcast(array: Array, shape: tuple[int, ...]) -> Operand:
    """Return an array as the operand of a kernel over a shape that it broadcasts to."""
    steps = [0 if size == 1 else step for size, step in zip(array.shape, array.strides, strict=True)]
    return Operand(array, (0,) * (len(shape) - len(steps)) + tuple(steps))


def make_kernel(name: str) -> Callable[..., Array]:
    """Return the kernel of an operator by its row."""
    rule = cached_rule(name)

    def kernel(*arguments: Any, **keywords: Any) -> Array:
        result = empty(
            rule(*arguments, **keywords), next(each.block.index for each in arguments if isinstance(each, Array))
        )
        compute(name, result, (*arguments, *keywords.values()))
        return result

    return kernel


def compute(name: str, result: Array, arguments: Sequence[Any]) -> None:
    """Run one call, whose result is stored in an array that is there."""
    arrays = [each for each in arguments if isinstance(each, Array)]
    numbers = [each for each in arguments if not isinstance(each, Array)]
    letters = ["x" if isinstance(each, Array) else "n" for each in arguments]
    texts = tuple(f"{letter}{letters[:i].count(letter)}" for i, letter in enumerate(letters))
    row = name.partition(".")[0]
    computed = find_computed(row, [each.spec if isinstance(each, Array) else each for each in arguments], result.spec)
    chain = Chain((Call(row, texts, computed, str(result.dtype)),), (0,), tuple(str(each.dtype) for each in arrays))
    operands = [broadcast(each, result.shape) for each in (result, *arrays)]
    run(write(chain), operands, result.shape, numbers=numbers)


_NAMES: Final = [f"{row}.{overload}" if overload else row for row in ROWS for overload in OVERLOADS.get(row, ("",))]
ATEN: Final = {name: make_kernel(name) for name in _NAMES}
