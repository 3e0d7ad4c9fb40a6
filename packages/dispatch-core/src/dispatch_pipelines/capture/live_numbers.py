"""Live numbers: Python numbers that a captured function asks for again at every replay, and expressions of them.

Note [Live numbers]
    While a call is recorded, ``capture.number(function)`` gives a number that remembers where it comes from. Arithmetic
    with it gives numbers that remember, too: an `Expression`. As an argument of an operator it becomes an argument of the
    replay. A comparison decides which way Python goes, so its answer is a guard, as the number's type is. A replay computes
    what a decision depends on, decides, and goes on; an expression that raises is a miss. Whatever else is done with a
    float, by ``math.sqrt``, gives an ordinary number, which the comparison of two recordings finds out if it changes.

Note [Live ints]
    Python reads an int's value without a call of ours, in ``range``, as an index or a count of repetitions. So a live int is
    an object that says it is an int, and is none: there Python asks ``__index__``, and the value is a condition. So it is
    for all that is no arithmetic and no comparison.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .capturing import Recording


class Expression:
    """A function of other expressions and constants, or of nothing: the place that a live number is read from."""

    __slots__ = ("function", "operands")

    def __init__(self, function: Callable[..., Any], operands: tuple[Any, ...] = ()) -> None:
        self.function, self.operands = function, operands


class LiveNumber:
    """The manners of live numbers, `LiveFloat` and `LiveInt`."""

    #: Who records, and where the number comes from.
    recording: Recording
    expression: Expression

    # Copies and pickles are ordinary numbers.
    def __reduce__(self) -> Any:
        return type(to_plain(self)), (to_plain(self),)


class LiveFloat(LiveNumber, float):
    """A float that a replay asks for again.

    ``plain`` is the ordinary float that operators get in its place, which the recording knows by its identity.
    """

    plain: float

    def __float__(self) -> float:
        return self.plain

    def __int__(self) -> int:
        return int(_decide(self, int))


class LiveInt(LiveNumber):
    """An int that a replay asks for again; see Note [Live ints]."""

    def __init__(self, value: int) -> None:
        self.value = value

    @property
    def __class__(self) -> type:
        return int

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise TypeError("__class__ assignment: a captured number stays an int")

    def __index__(self) -> int:
        return int(_decide(self, whole))

    __int__ = __trunc__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __hash__(self) -> int:
        return hash(self.__index__())

    def __getattr__(self, name: str) -> Any:
        if not hasattr(int, name):
            raise AttributeError(f"'int' object has no attribute {name!r}")
        return getattr(self.__index__(), name)


def whole(value: Any) -> Any:
    """Return an int as it is, and None for any other number.

    >>> whole(3), whole(3.0)
    (3, None)
    """
    return value if type(value) is int else None


def error_of(function: Callable[..., Any], *values: Any) -> Any:
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


def to_plain(value: Any) -> Any:
    """Return a live number as an ordinary one; anything else as it is.

    >>> to_plain(3)
    3
    """
    if isinstance(value, LiveFloat):
        return float.__float__(value)
    return value.value if isinstance(value, LiveInt) else value


def make_live(recording: Recording, value: Any, expression: Expression) -> Any:
    """Return a number of type float or int as a live one, and any other value as it is, which is a condition."""
    kind: Any = {float: LiveFloat, int: LiveInt}.get(type(value))
    if kind is None:
        if value is None or isinstance(value, (Number, str)):
            recording.decide(expression, value)
        return value
    made = kind(value)
    made.recording, made.expression = recording, expression
    if kind is LiveFloat:
        # An object of its own.
        made.plain = value * 1.0
        recording.live[id(made.plain)] = made.plain, expression
    return made


def operand_of(value: Any) -> Any:
    """Return a value as an operand of an expression."""
    return value.expression if isinstance(value, LiveNumber) else value


def _arithmetic(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a method for live numbers on the left, and one for those on the right."""

    def compute(first: Any, second: Any, live: LiveNumber) -> Any:
        if not (isinstance(first, (int, float)) and isinstance(second, (int, float))):
            return NotImplemented
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
    def method(self: LiveNumber, *others: Any) -> Any:
        if not all(isinstance(other, (int, float)) for other in others):
            return NotImplemented
        found = function(to_plain(self), *map(to_plain, others))
        self.recording.decide(Expression(function, tuple(map(operand_of, (self, *others)))), found)
        return found

    return method


_BINARY: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_UNARY: Final = ("neg", "pos", "abs")
_DECISIONS: Final = ("lt", "le", "gt", "ge", "eq", "ne")
#: Further operations of Python's ints, with one number and with two.
_READING: Final = ("ceil", "floor", "format", "invert", "repr", "round", "str")
_READING_PAIRS: Final = ("and", "divmod", "lshift", "or", "rshift", "xor")


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
    """Return the method of an ordinary int, whose value is a condition."""

    def method(self: LiveInt, *others: Any) -> Any:
        return getattr(self.__index__(), name)(*map(to_plain, others))

    return method


for _kind in (LiveFloat, LiveInt):
    _complete(_kind)
LiveFloat.__hash__ = float.__hash__  # type: ignore[method-assign]
for _name in (*_READING, *[f"{side}{name}" for name in _READING_PAIRS for side in ("", "r")]):
    setattr(LiveInt, f"__{_name}__", _reading(f"__{_name}__"))


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


def describe(value: Any) -> str:
    """Return the text of an expression.

    >>> describe(Expression(operator.add, (Expression(len), 1)))
    '(len() + 1)'
    """
    if not isinstance(value, Expression):
        return repr(value)
    names = [describe(each) for each in value.operands]
    sign = SIGNS.get(value.function)
    if sign is None:
        return f"{getattr(value.function, '__name__', 'number')}({', '.join(names)})"
    return f"({sign.format(*names)})"


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
