"""Records: values with named fields that never change, compared, hashed and shown by their fields.

Note [Records are not dataclasses]
    A `Record` is like a frozen and slotted dataclass, and type checkers take it for one. With `dataclasses`, importing
    the core would take nearly twice as long: it imports `inspect`, makes each class twice, and compiles six functions for
    it. Here a class is made once, and only its ``__init__`` is compiled, when the first record of it is made: most programs
    make records of few classes.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Self, TypeVar, dataclass_transform

_REQUIRED: Final = object()


@dataclass_transform(frozen_default=True)
class _RecordType(type):
    """Make classes with a slot for every annotated name, which is a field; the assigned value is its default."""

    #: Every field, inherited ones first, with its default or ``_REQUIRED``.
    _fields: dict[str, Any]
    #: The names of those that are compared and shown, as a dictionary for its order.
    _shown: dict[str, None]
    #: The values by which records are compared and hashed.
    _compared: attrgetter[Any]

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, aside: tuple[str, ...] = ()
    ) -> _RecordType:
        """Make a class; fields named in ``aside`` do not count in comparing and are not shown."""
        own = {field: namespace.pop(field, _REQUIRED) for field in namespace.get("__annotations__", ())}
        fields: dict[str, Any] = {}
        shown: dict[str, None] = {}
        for base in bases:
            fields |= getattr(base, "_fields", {})
            shown |= getattr(base, "_shown", {})
        fields |= own
        shown |= dict.fromkeys(field for field in own if field not in aside)
        names = {"__slots__": tuple(own), "__match_args__": tuple(fields)}
        made = super().__new__(cls, name, bases, namespace | names)
        made._fields, made._shown, made._compared = fields, shown, attrgetter(*(shown or ("__class__",)))
        if own:
            made.__init__ = _first_initializer(made)  # type: ignore[misc]  # a class is open until it is handed out
        return made

    @property
    def __signature__(cls) -> None:
        """Compile what ``inspect.signature`` is about to read; it goes on to ``__init__``."""
        for each in cls.__mro__:
            if isinstance(each, _RecordType) and "__init__" in vars(each):
                each.__init__ = _compile_initializer(each)  # type: ignore[misc]


def _first_initializer(cls: _RecordType) -> object:
    """Return the ``__init__`` of a class until its first record is made, which compiles the class's own."""

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807  # it takes the place of one
        initialize: Any = _compile_initializer(cls)
        cls.__init__ = initialize  # type: ignore[misc]
        initialize(self, *values, **named)

    return __init__


def _compile_initializer(cls: _RecordType) -> object:
    """Compile the ``__init__`` that takes the fields of ``cls``; it writes to the slots past the lock on attributes."""
    scope: dict[str, Any] = {f"__set_{field}": getattr(cls, field).__set__ for field in cls._fields}
    scope |= {f"__default_{field}": default for field, default in cls._fields.items()}
    parameters = (
        field if default is _REQUIRED else f"{field}=__default_{field}" for field, default in cls._fields.items()
    )
    lines = [f"def __init__(self, {', '.join(parameters)}):", *(f" __set_{name}(self, {name})" for name in cls._fields)]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join(lines), scope)  # noqa: S102  # names of fields are all that goes into the text
    made = scope["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


class Record(metaclass=_RecordType):
    """The base of records: annotated names become fields, as in a dataclass; see Note [Records are not dataclasses].

    ``__post_init__`` runs once the fields are set. Raises ``AttributeError`` when a field is assigned to.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1) == Point(1, 0), Point(1)
    (True, Point(x=1, y=0))
    >>> Point(1).x = 2
    Traceback (most recent call last):
    AttributeError: cannot set 'x': a Point does not change
    Hint: replace(point, x=...) makes another one
    """

    if TYPE_CHECKING:
        _compared: ClassVar[attrgetter[Any]]  # the class's own, see `_RecordType`

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        read = self._compared
        return read(self) == read(other)

    def __hash__(self) -> int:
        return hash(self._compared(self))

    def __repr__(self) -> str:
        fields = (f"{name}={getattr(self, name)!r}" for name in type(self)._shown)
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        kind = type(self).__name__
        raise AttributeError(
            f"cannot set {name!r}: a {kind} does not change\nHint: replace({kind.lower()}, {name}=...) makes another one"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete {name!r}: a {type(self).__name__} does not change")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, name) for name in type(self)._fields)

    def __replace__(self, **changes: object) -> Self:
        """Serve ``copy.replace`` of Python 3.13."""
        return type(self)(**{name: getattr(self, name) for name in type(self)._fields} | changes)


R = TypeVar("R", bound=Record)


def replace(record: R, **changes: object) -> R:
    """Return a record like ``record`` but for the fields in ``changes``.

    >>> from dispatch_core import Device
    >>> replace(Device("cpu"), index=1)
    device(type='cpu', index=1)
    """
    return record.__replace__(**changes)
