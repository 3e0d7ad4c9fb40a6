"""A reader of pickles that makes data only: no class or function but those of a table is ever called.

It knows the opcodes that data needs. Everything else, and everything that does not fit together, is a ``ValueError``.

Note [Names are no values]
    A name of a class or function is an argument: of the call that makes a tensor, a dtype, or a dict with a factory. A file
    that holds one as a value, by itself or in a container, is refused: the value would be our stand-in for it.

Note [Tuples within tuples]
    A tuple as a key is hashed, and Python does so by recursion without a limit: a million of tuples within each other, which
    take as many bytes of a file, end the process. Nothing else that nests can be hashed, so it is tuples that are counted.
"""

from __future__ import annotations

import pickletools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import IO, Any, Final, Protocol

from .hashed_keys import check_key

_MARK: Final = object()
#: Opcodes whose argument is the value.
_VALUES: Final = frozenset(
    "BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES BINBYTES8"
    " SHORT_BINSTRING".split()
)
_CONSTANTS: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_EMPTY: Final[dict[str, Callable[[], Any]]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set}
_TUPLES: Final = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
#: How many tuples may lie within each other, far more than a pickler writes.
_DEEPEST: Final = 1000


class Global:
    """A class or function that a pickle may name, with our function that is called in its place."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Callable[..., Any] | None = None) -> None:
        self.name, self.call = name, call


class Rules(Protocol):
    """What a pickle may do."""

    def find_global(self, module: str, name: str) -> Any:
        """Return a `Global`, or an object that the program allows; ``ValueError`` for other names."""

    def is_allowed(self, value: Any) -> bool:
        """Return whether the program allows a class or function to be called."""

    def load_storage(self, identity: Any) -> Any:
        """Return the value of a persistent id."""

    def set_state(self, value: Any, state: Any) -> None:
        """Give a value its state; ``ValueError`` for values that take none."""


class _Machine:
    """A stack, a memo, and the opcodes' work on them."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        #: The id of each tuple with others within → how deep they lie; an id that is given again is set again.
        self._depths: dict[int, int] = {}
        #: The id of each tuple with a name in it → the tuple; see Note [Names are no values].
        self._named: dict[int, tuple[Any, ...]] = {}

    def run(self, data: bytes | IO[bytes]) -> Any:
        """Return the value of a pickle."""
        stack = self._stack
        argument: Any
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name in _VALUES:
                stack.append(argument)
            elif name in _CONSTANTS:
                stack.append(_CONSTANTS[name])
            elif name in _EMPTY:
                stack.append(_EMPTY[name]())
            elif name in _TUPLES:
                count = _TUPLES[name]
                self._need(count)
                stack[-count:] = [self._make_tuple(stack[-count:])]
            elif name in ("BINPUT", "LONG_BINPUT"):
                self._memo[argument] = self._top()
            elif name == "MEMOIZE":
                self._memo[len(self._memo)] = self._top()
            elif name in ("BINGET", "LONG_BINGET"):
                stack.append(self._memo[argument])
            elif name == "STOP":
                if len(stack) != 1:
                    raise ValueError("the pickle ends with other values than one")
                self._refuse_names(stack)
                return self._pop()
            elif name not in ("PROTO", "FRAME"):
                step = getattr(self, f"_do_{name.lower()}", None)
                if step is None:
                    raise ValueError(f"the opcode {name} is refused")
                step(argument)
        raise ValueError("the pickle does not end")

    def _need(self, count: int) -> None:
        if len(self._stack) < count or any(each is _MARK for each in self._stack[-count:]):
            raise ValueError("the stack is too short")

    def _top(self) -> Any:
        self._need(1)
        return self._stack[-1]

    def _pop(self) -> Any:
        self._need(1)
        return self._stack.pop()

    def _pop_to_mark(self) -> list[Any]:
        """Return the values above the last mark."""
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at] is _MARK:
                values = self._stack[at + 1 :]
                del self._stack[at:]
                return values
        raise ValueError("there is no mark")

    def _do_mark(self, _: Any) -> None:
        self._stack.append(_MARK)

    def _do_tuple(self, _: Any) -> None:
        self._stack.append(self._make_tuple(self._pop_to_mark()))

    def _make_tuple(self, values: list[Any]) -> tuple[Any, ...]:
        """Return values as a tuple; see Note [Tuples within tuples]."""
        made = tuple(values)
        depth = 1 + max([self._depths[id(each)] for each in values if type(each) is tuple and each], default=0)
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} tuples lie within each other")
        self._depths[id(made)] = depth
        if self._has_names(values):
            self._named[id(made)] = made
        return made

    def _has_names(self, values: Iterable[Any]) -> bool:
        return any(type(each) is Global or (type(each) is tuple and id(each) in self._named) for each in values)

    def _refuse_names(self, values: Iterable[Any]) -> None:
        """Raise ``ValueError`` for a name among values; see Note [Names are no values]."""
        if self._has_names(values):
            raise ValueError("the name of a class or function is among the values, and is refused there")

    def _do_append(self, _: Any) -> None:
        value = self._pop()
        self._extend([value])

    def _do_appends(self, _: Any) -> None:
        self._extend(self._pop_to_mark())

    def _extend(self, values: list[Any]) -> None:
        if type(self._top()) is not list:
            raise ValueError("values are appended to what is not a list")
        self._refuse_names(values)
        self._top().extend(values)

    def _do_additems(self, _: Any) -> None:
        values = self._pop_to_mark()
        if type(self._top()) is not set:
            raise ValueError("values are added to what is not a set")
        self._refuse_names(values)
        self._top().update(map(check_key, values))

    def _do_setitem(self, _: Any) -> None:
        value, key = self._pop(), self._pop()
        self._set([key, value])

    def _do_setitems(self, _: Any) -> None:
        self._set(self._pop_to_mark())

    def _set(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) not in (dict, OrderedDict, Counter, defaultdict):
            raise ValueError("items are set in what is not a dict")
        if len(values) % 2:
            raise ValueError("a key has no value")
        self._refuse_names(values)
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[check_key(key)] = value

    def _do_global(self, argument: Any) -> None:
        module, _, name = argument.partition(" ")
        self._push_global(module, name)

    def _do_stack_global(self, _: Any) -> None:
        name, module = self._pop(), self._pop()
        self._push_global(module, name)

    def _push_global(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise ValueError("a global has no name")
        self._stack.append(self._rules.find_global(module, name))

    def _do_reduce(self, _: Any) -> None:
        arguments, function = self._pop(), self._pop()
        self._call(function, arguments)

    def _do_newobj(self, _: Any) -> None:
        arguments, kind = self._pop(), self._pop()
        is_class = isinstance(kind, type) and type(arguments) is tuple and self._rules.is_allowed(kind)
        if is_class:
            self._stack.append(kind.__new__(kind, *arguments))
        else:
            self._call(kind, arguments)

    def _call(self, function: Any, arguments: Any) -> None:
        call = function.call if isinstance(function, Global) else function if self._rules.is_allowed(function) else None
        if call is None or type(arguments) is not tuple:
            raise ValueError("something is called that is not a function")
        self._stack.append(call(*arguments))

    def _do_build(self, _: Any) -> None:
        state = self._pop()
        self._rules.set_state(self._top(), state)

    def _do_binpersid(self, _: Any) -> None:
        self._stack.append(self._rules.load_storage(self._pop()))


def unpickle_stream(file: IO[bytes], rules: Rules) -> Any:
    """Return the value of the pickle that begins where a file stands, which is left at the pickle's end."""
    return _Machine(rules).run(file)


def unpickle(data: bytes, rules: Rules) -> Any:
    """Return the value of a pickle that keeps to the rules. Other pickles are a ``ValueError``."""
    return _Machine(rules).run(data)
