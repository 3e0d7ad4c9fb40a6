"""Live numbers: Python numbers that a captured function asks for again at every replay, and expressions of them.

Note [Live numbers]
    While a call is recorded, ``capture.number(function)`` gives a number that remembers where it comes from. Arithmetic
    with it, by the function, by a composite or by a gradient's formula, gives numbers that remember, too: an `Expression`.
    As an argument of an operator it becomes an argument of the replay. A comparison decides which way Python goes, so its
    answer is a guard, as the number's type is. A replay computes what a decision depends on, decides, and goes on; an
    expression that raises is a miss.

Note [Live numbers are read]
    Python reads a number's value without a call of ours, in ``range``, as an index, by ``math.sqrt``, or in C code that
    knows floats. So a live number is an object that says it is an int or a float, and is none: there Python asks
    ``__index__`` or ``__float__``, and the value is a condition. So it is for all that is no arithmetic and no comparison.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dispatch_core.schema.values import SymbolicNumber

if TYPE_CHECKING:
    from .capturing import Recording


class Expression:
    """A function of other expressions and constants, or of nothing: the place that a live number is read from."""

    __slots__ = ("after", "function", "operands")

    def __init__(self, function: Callable[..., Any], operands: tuple[Any, ...] = ()) -> None:
        self.function, self.operands = function, operands
        #: What the call writes to the place that it reads, where an effect says so.
        self.after: object = None


class LiveNumber(SymbolicNumber):
    """A number that a replay asks for again; see Note [Live numbers are read]."""

    #: The type that it says it has.
    kind: ClassVar[type]

    def __init__(self, recording: Recording, value: Any, expression: Expression) -> None:
        self.recording, self.value, self.expression = recording, value, expression

    @property
    def __class__(self) -> type:
        return self.kind

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise TypeError(f"__class__ assignment: a captured number stays {self.kind.__name__}")

    def resolve(self) -> Any:
        """Return the number itself while the call is recorded, and later an ordinary one."""
        return self if self.recording.is_open else self.value

    def resolve_float(self) -> Any:
        """Return the number as a float that is live while the call is recorded."""
        found: Any = self.resolve()
        return found if self.kind is float else found * 1.0

    def __hash__(self) -> int:
        if self.recording.is_asking:
            raise TypeError(f"unhashable {self.kind.__name__}: an answer would be kept by its value")
        return hash(_read(self))

    def __reduce__(self) -> Any:
        return self.kind, (_read(self),)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if not hasattr(self.kind, name):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")
        return getattr(_read(self), name)

    # NumPy's functions take the value.

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        numpy = sys.modules["numpy"]
        return numpy.array(_read(self), dtype)

    def __array_ufunc__(self, function: object, method: str, *inputs: object, **keywords: object) -> Any:
        return getattr(function, method)(*map(_read_any, inputs), **keywords)


class LiveFloat(LiveNumber):
    """A float that a replay asks for again."""

    kind = float

    def __float__(self) -> float:
        return float(_read(self))

    def __int__(self) -> int:
        return int(_decide(self, int))

    __trunc__ = __int__

    def __ceil__(self) -> int:
        return int(_decide(self, math.ceil))

    def __floor__(self) -> int:
        return int(_decide(self, math.floor))


class LiveInt(LiveNumber):
    """An int that a replay asks for again."""

    kind = int

    def __index__(self) -> int:
        return int(_read(self))

    __int__ = __trunc__ = __ceil__ = __floor__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())


def whole(value: object) -> Any:
    """Return an int as it is, and None for any other number.

    >>> whole(3), whole(3.0)
    (3, None)
    """
    return value if type(value) is int else None


def exactly(value: object) -> Any:
    """Return a float as the text that tells it from all others, and None for any other number.

    >>> exactly(0.5), exactly(-0.0), exactly(3)
    ('0.5', '-0.0', None)
    """
    return repr(value) if type(value) is float else None


#: Type → the function by which the value of a live number is a condition.
_READERS: Final[dict[type, Callable[[Any], Any]]] = {int: whole, float: exactly}
#: What makes a condition of a value itself.
READERS: Final = frozenset(_READERS.values())


def error_of(function: Callable[..., Any], *values: object) -> Any:
    """Return the type of the error that arithmetic raises, or None.

    >>> error_of(operator.truediv, 1, 0)
    <class 'ZeroDivisionError'>
    """
    try:
        function(*values)
    except ArithmeticError as error:
        return type(error)
    return None


def _decide(live: LiveNumber, function: Callable[[Any], Any]) -> Any:
    """Return a number made of a live one on which structure may depend, so that it is a condition."""
    found = function(to_plain(live))
    live.recording.decide(Expression(function, (live.expression,)), found)
    return found


def _read(live: LiveNumber) -> Any:
    """Return the value of a live number, which is a condition from now on."""
    _decide(live, _READERS[live.kind])
    return live.value


def _read_any(value: object) -> Any:
    return _read(value) if isinstance(value, LiveNumber) else value


def to_plain(value: object) -> Any:
    """Return a live number as an ordinary one; anything else as it is.

    >>> to_plain(3)
    3
    """
    return value.value if isinstance(value, LiveNumber) else value


def make_live(recording: Recording, value: object, expression: Expression) -> Any:
    """Return a number of type float or int as a live one, and any other value as it is, which is a condition."""
    kind = {float: LiveFloat, int: LiveInt}.get(type(value))
    if kind is not None:
        return kind(recording, value, expression)
    if value is None or isinstance(value, (Number, str)):
        recording.decide(expression, value)
    return value


def operand_of(value: object) -> Any:
    """Return a value as an operand of an expression."""
    return value.expression if isinstance(value, LiveNumber) else value


def _arithmetic(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a method for live numbers on the left, and one for those on the right."""

    def compute(first: object, second: object, live: LiveNumber) -> Any:
        if not (isinstance(first, (int, float)) and isinstance(second, (int, float))):
            other = second if live is first else first
            # Of other kinds of numbers, such as complex ones, each value is recorded.
            return function(_read_any(first), _read_any(second)) if isinstance(other, Number) else NotImplemented
        operands = operand_of(first), operand_of(second)
        try:
            found = function(to_plain(first), to_plain(second))
        except ArithmeticError as error:
            # The function may catch it.
            live.recording.decide(Expression(error_of, (function, *operands)), type(error))
            raise
        if not live.recording.is_open:
            return found
        expression = Expression(function, operands)
        if function is operator.pow:
            # Of two ints it is an int or a float.
            live.recording.decide(Expression(type, (expression,)), type(found))
        return make_live(live.recording, found, expression)

    return lambda self, other: compute(self, other, self), lambda self, other: compute(other, self, self)


def _unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def method(self: LiveNumber) -> Any:
        found = function(to_plain(self))
        if not self.recording.is_open:
            return found
        return make_live(self.recording, found, Expression(function, (self.expression,)))

    return method


def _decision(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: LiveNumber, *others: object) -> Any:
        if not all(isinstance(other, (int, float)) for other in others):
            return function(_read(self), *others) if isinstance(others[0], Number) else NotImplemented
        found = function(to_plain(self), *map(to_plain, others))
        self.recording.decide(Expression(function, tuple(map(operand_of, (self, *others)))), found)
        return found

    return method


_BINARY: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_UNARY: Final = ("neg", "pos", "abs")
_DECISIONS: Final = ("lt", "le", "gt", "ge", "eq", "ne")
#: What else Python's numbers can do, with one number and with two; and ints alone.
_READING: Final = ("format", "repr", "round", "str")
_READING_PAIRS: Final = ("divmod", "rdivmod")
_OF_INTS: Final = (
    "invert",
    *[f"{side}{name}" for name in ("and", "lshift", "or", "rshift", "xor") for side in ("", "r")],
)


def _complete(kind: type) -> None:
    for name in _BINARY:
        left, right = _arithmetic(getattr(operator, name))
        setattr(kind, f"__{name}__", left)
        setattr(kind, f"__r{name}__", right)
    for name in _UNARY:
        setattr(kind, f"__{name}__", _unary(getattr(operator, name)))
    for name in _DECISIONS:
        setattr(kind, f"__{name}__", _decision(getattr(operator, name)))
    kind.__bool__ = _decision(operator.truth)  # type: ignore[attr-defined]


def _reading(name: str) -> Callable[..., Any]:
    """Return the method of an ordinary number, whose value is a condition."""

    def method(self: LiveNumber, *others: object) -> Any:
        return getattr(_read(self), name)(*map(_read_any, others))

    return method


_complete(LiveNumber)
for _kind, _names in ((LiveNumber, (*_READING, *_READING_PAIRS)), (LiveInt, _OF_INTS)):
    for _name in _names:
        setattr(_kind, f"__{_name}__", _reading(f"__{_name}__"))


#: Functions that have a sign in Python's text.
SIGNS: Final[dict[Any, str]] = {
    operator.add: "{} + {}",
    operator.sub: "{} - {}",
    operator.mul: "{} * {}",
    operator.truediv: "{} / {}",
    operator.floordiv: "{} // {}",
    operator.mod: "{} % {}",
    operator.pow: "{} ** {}",
    operator.neg: "-{}",
    operator.lt: "{} < {}",
    operator.le: "{} <= {}",
    operator.gt: "{} > {}",
    operator.ge: "{} >= {}",
    operator.eq: "{} == {}",
    operator.ne: "{} != {}",
    operator.truth: "bool({})",
    operator.abs: "abs({})",
    operator.pos: "+{}",
}


def describe(value: object) -> str:
    """Return the text of an expression.

    >>> describe(Expression(operator.add, (Expression(len), 1)))
    '(len() + 1)'
    """
    if not isinstance(value, Expression):
        return repr(value)
    names = [describe(each) for each in value.operands]
    if value.function in READERS:
        return names[0]
    sign = SIGNS.get(value.function)
    if sign is None:
        return f"{getattr(value.function, '__name__', 'number')}({', '.join(names)})"
    return f"({sign.format(*names)})"


def is_expression(value: object) -> bool:
    """Return whether an operand of an expression is one itself, and not a constant.

    >>> is_expression(Expression(len)), is_expression(1)
    (True, False)
    """
    return isinstance(value, Expression)


def evaluate(value: object) -> Any:
    """Return what an expression gives now.

    >>> evaluate(Expression(operator.add, (Expression(int), 1)))
    1
    """
    return value.function(*map(evaluate, value.operands)) if isinstance(value, Expression) else value


def in_order(expressions: Sequence[Expression]) -> list[Expression]:
    """Return expressions and all that they are computed of, each once and after its operands."""
    found: dict[int, Expression] = {}
    for expression in expressions:
        stack: list[tuple[Expression, bool]] = [(expression, False)]
        while stack:
            each, is_ready = stack.pop()
            if id(each) in found:
                continue
            if is_ready:
                found[id(each)] = each
                continue
            stack.append((each, True))
            stack += [(operand, False) for operand in each.operands if isinstance(operand, Expression)]
    return list(found.values())
