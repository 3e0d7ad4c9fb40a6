r"""How text becomes functions: lines, the constants in them, and code whose source tracebacks and debuggers show.

Note [Generated code has source]
    `make_function` enters the source of its functions into ``linecache``, under a name of its own that begins with
    `GENERATED`, until the last code that was made of the text is gone: a constant of that code is watched. The next text
    then gives the entry the time of a changed file, so that ``linecache`` discards it. The garbage collector must not do so
    itself: it may run while ``linecache`` looks through its entries, which fails where one goes, or where Ctrl-C falls.

Note [Constants of code]
    A function's globals can be exchanged under a call that is on its way; a constant of its code cannot.
    `quote` gives names that begin with two underscores their values in the text, as strings that represent the objects, and
    `make_function` puts the objects in their place.

>>> text = define("scaled(x)", quote(["return x * __factor"]))
>>> print(text, end="")
def scaled(x):
    __factor = "\0factor"
    return x * __factor
>>> make_function(text, "scale by three", {}, {"__factor": 3})(2)
6
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count
from types import CodeType, FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from ..forks import Order, forkable
from ..tracebacks import GENERATED

if TYPE_CHECKING:
    import ast

#: Python 3.11 fails to build a tree while another thread builds one, which the garbage collector may let it do.
_parsing: Final = forkable(Order.MEMORY)
#: How the names of constants begin that cannot be hashed, or change; see `quote`.
BOXED: Final = "__its_"
_NAMED: Final = re.compile(r"(?<![.\w])__[a-z]\w*")
#: The generated functions' own variables among the names that begin with two underscores.
_VARIABLE: Final = re.compile(r"__[bcdiprtx]\d*")
_NO_CONSTANTS: Final[Mapping[str, Any]] = MappingProxyType({})


def parse_expression(text: str) -> ast.Expression:
    """Return the tree of an expression, in any thread.

    >>> type(parse_expression("x + 1").body).__name__
    'BinOp'
    """
    import ast  # most calls need no trees

    with _parsing:
        return ast.parse(text, mode="eval")


def indent(lines: Iterable[str]) -> list[str]:
    """Return ``lines`` one level deeper."""
    return [f"    {line}" for line in lines]


def define(heading: str, body: Iterable[str]) -> str:
    """Return the source of a function; ``heading`` is its name and its parameters in brackets."""
    return "\n".join([f"def {heading}:", *indent(body)]) + "\n"


def quote(body: Sequence[str]) -> list[str]:
    r"""Return ``body`` with every constant given its value first, as a string; see Note [Constants of code].

    Constants of a branch are set there. Those that change, named ``__its_…``, stand in a box: a code object hashes its
    constants, and profilers hash code objects.

    >>> print(*quote(["if __x is None:", "    __x = __new()", "return __wrap(__x)"]), sep="\n")
    __wrap = "\0wrap"
    if __x is None:
        __new = "\0new"
        __x = __new()
    return __wrap(__x)
    """
    everywhere = dict.fromkeys(name for line in body if not line.startswith(" ") for name in _constants(line))
    lines = [quote_name(name) for name in everywhere]
    for line in body:
        space = line[: len(line) - len(line.lstrip())]
        lines += [space + quote_name(name) for name in dict.fromkeys(_constants(line)) if name not in everywhere]
        lines.append(line)
    return lines


def quote_name(name: str) -> str:
    """Return the line that gives a constant its value."""
    return f'{name} = "\\0{name[2:]}"{".value" if name.startswith(BOXED) else ""}'


def prefix_constant(name: str, prefix: str) -> str:
    """Return the name of a constant with a prefix of its own.

    >>> prefix_constant("__kernel", "other_"), prefix_constant("__its_user", "other_")
    ('__other_kernel', '__its_other_user')
    """
    start = BOXED if name.startswith(BOXED) else "__"
    return f"{start}{prefix}{name[len(start) :]}"


def rename_constants(body: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return ``body`` with constants named otherwise."""
    return [_NAMED.sub(lambda name: names.get(name[0], name[0]), line) for line in body]


def _constants(line: str) -> list[str]:
    return [name for name in _NAMED.findall(line) if not _VARIABLE.fullmatch(name)]


class _Box:
    """Holds a constant that cannot be hashed."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


@lru_cache(maxsize=1)
def _source_cache() -> dict[str, Any]:
    """Return the cache of ``linecache``, kept here because nothing can be imported while the interpreter ends."""
    from linecache import cache  # brings a tokenizer, which costs more than the rest of the core needs for its start

    return cache


#: The modification time of an entry that ``linecache`` discards, as no file has its name.
_OUTDATED: Final = 0.0


class _SourceEntry:
    """A text's place in ``linecache``, held by the code that was made of it; see Note [Generated code has source]."""

    __slots__ = ("__weakref__", "file")

    def __init__(self, label: str, lines: list[str]) -> None:
        cache = _source_cache()
        _discard_unused(cache)
        # Kept before the entry is made: Ctrl-C may fall in between.
        watch = _Watch(self, _unused.append)
        _watches[id(watch)] = watch
        self.file = f"{GENERATED}{label}>"
        for number in count(2):
            entry = len(lines), None, lines, self.file
            watch.entry = entry
            found = cache.setdefault(self.file, entry)
            if found is entry:
                break
            if found[1] == _OUTDATED:
                cache[self.file] = entry
                break
            self.file = f"{GENERATED}{label}, {number}>"


class _Watch(ref[_SourceEntry]):
    """Tells by its callback, which runs no Python code, that a text is used no more."""

    __slots__ = ("entry",)

    #: The entry in ``linecache``, whose last item is the file's name; missing where the text has come to none.
    entry: tuple[Any, ...]


_watches: Final[dict[int, _Watch]] = {}
_unused: Final[deque[Any]] = deque()


def _discard_unused(cache: dict[str, Any]) -> None:
    # Each line may be the last, where Ctrl-C falls, and another thread may do the same: so a watch goes at the end.
    while _unused:
        try:
            watch = _unused[0]
        except IndexError:  # another thread has taken it
            return
        entry: tuple[Any, ...] = getattr(watch, "entry", ("",))
        if cache.get(entry[-1]) is entry:
            cache[entry[-1]] = 0, _OUTDATED, [], entry[-1]
        _watches.pop(id(watch), None)
        with suppress(ValueError):
            _unused.remove(watch)


def _compile(source: str) -> tuple[CodeType, list[str]]:
    return compile(source, GENERATED, "exec"), source.splitlines(keepends=True)


#: Many operators have the same signature, and so the same source.
_compile_shared: Final = lru_cache(maxsize=4096)(_compile)


def make_function(
    source: str,
    label: str,
    names: dict[str, Any],
    constants: Mapping[str, Any] = _NO_CONSTANTS,
    *,
    is_shared: bool = False,
) -> FunctionType:
    """Run ``source`` with ``names`` as its globals, and return the last function that it defines.

    ``label`` is how tracebacks name its file: ``backward of aten::mul.Tensor``. ``constants`` are the objects for the names
    that `quote` has quoted. ``is_shared`` keeps the compiled text for the next function of the same text. The source must
    be made of identifiers and literals that were checked: it runs as it is.
    """
    module, lines = (_compile_shared if is_shared else _compile)(source)
    exec(module, names)  # noqa: S102  # the callers write it, of parsed schemas and tables of their own
    # Not left among its own globals: the collector does not see the constants of code, and they may refer to the globals.
    function: FunctionType = names.pop(module.co_names[-1])
    entry = _SourceEntry(label, lines)
    values: dict[str, Any] = {
        f"\0{name[2:]}": _Box(value) if name.startswith(BOXED) else value for name, value in constants.items()
    }
    code = _move_code(function.__code__, entry.file)
    found = (values.get(each, each) if type(each) is str else each for each in code.co_consts)
    function.__code__ = code.replace(co_consts=(*found, entry))
    return function


def _move_code(code: CodeType, file: str) -> CodeType:
    """Return ``code`` as code of ``file``, with the functions in it."""
    inner = (_move_code(each, file) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inner))


def is_generated(function: object) -> bool:
    """Return whether `make_function` made a function, so that no other code knows its globals."""
    return type(function) is FunctionType and isinstance((None, *function.__code__.co_consts)[-1], _SourceEntry)


def rename_parameters(function: Callable[..., Any], names: Mapping[str, str]) -> None:
    """Rename parameters, also to names that Python cannot spell: CPython compares a keyword with them as a string.

    >>> def since(start):
    ...     return start
    >>> rename_parameters(since, {"start": "from"})
    >>> since(**{"from": 1})
    1
    """
    if names and isinstance(function, FunctionType):
        code = function.__code__
        function.__code__ = code.replace(co_varnames=tuple(names.get(each, each) for each in code.co_varnames))
        given = function.__kwdefaults__
        function.__kwdefaults__ = given and {names.get(name, name): value for name, value in given.items()}
