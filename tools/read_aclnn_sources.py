"""Finds the scalar types that the toolkit's sources refuse, by the checks in a function's first phase.

The sources are C++ that compares types with lists, chip by chip, in functions that call each other. They are read here as
programs of a small language: conditions, calls, lists and comparisons are evaluated for one argument of one type on one
chip, and everything else is unknown. Both branches of an unknown condition are run. A type is refused where each way
through the function ends in an error.

>>> text = '''
... static const std::initializer_list<op::DataType> OLD = {op::DataType::DT_FLOAT};
... static const std::initializer_list<op::DataType> NEW = {op::DataType::DT_FLOAT, op::DataType::DT_BF16};
... static bool CheckDtypeValid(const aclTensor* x) {
...     bool isOld = GetCurrentPlatformInfo().GetSocVersion() == SocVersion::ASCEND910;
...     OP_CHECK_DTYPE_NOT_SUPPORT(x, isOld ? OLD : NEW, return false);
...     return true;
... }
... aclnnStatus aclnnTwiceGetWorkspaceSize(const aclTensor* x) {
...     CHECK_RET(CheckDtypeValid(x), ACLNN_ERR_PARAM_INVALID);
...     return ACLNN_SUCCESS;
... }
... '''
>>> sources = Sources({"aclnn_twice.cpp": text})
>>> [sources.refuses("aclnnTwiceGetWorkspaceSize", ["x"], "x", "DT_BF16", chip) for chip in ("910", "910B")]
[True, False]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_WORD: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<skip>^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|(?P<number>\d[\w.]*)|(?P<name>[A-Za-z_]\w*(?:\s*::\s*~?[A-Za-z_]\w*)*)"""
    r"""|(?P<operator>->|::|<<=|>>=|&&|\|\||==|!=|<=|>=|\+\+|--|[-+*/%&|^]=|<<|[-+*/%&|^~!<>=?:;,.(){}\[\]])""",
    re.DOTALL | re.MULTILINE,
)

#: Chip → the names of its version and of its architecture in the sources.
CHIPS: Final = {
    "910": ("ASCEND910", "DAV_1001"),
    "910B": ("ASCEND910B", "DAV_2201"),
    "910_93": ("ASCEND910_93", "DAV_2201"),
    "310P": ("ASCEND310P", "DAV_2002"),
    "310B": ("ASCEND310B", "DAV_3002"),
    "950": ("ASCEND950", "DAV_3510"),
}

#: Versions in the order of the sources' enumeration, which they compare.
_VERSIONS: Final = (
    *("ASCEND910", "ASCEND910B", "ASCEND910_93", "ASCEND950", "ASCEND910E", "ASCEND310", "ASCEND310P", "ASCEND310B"),
)

_FLOATING: Final = frozenset({"DT_DOUBLE", "DT_FLOAT", "DT_BF16", "DT_FLOAT16"})
_INTEGRAL: Final = frozenset({f"DT_{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)})
_COMPLEX: Final = frozenset({"DT_COMPLEX32", "DT_COMPLEX64", "DT_COMPLEX128"})

_BINARY: Final = {
    operator: level
    for level, operators in enumerate(("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<<", "+ -", "* / %"), 1)
    for operator in operators.split()
}
_BUILTIN: Final = frozenset(
    "CheckType PromoteType BinaryOpTypePromote CanCast IsFloatingType IsIntegralType IsComplexType find".split()
)
_CONSTANT: Final = re.compile(r"DT_(?!.*(?:LIST|SUPPORT))[A-Z0-9_]+|DAV_\d+|ACLNN_(?:ERR_\w+|SUCCESS)|FORMAT_\w+")
_LEFT_OUT: Final = {
    "tests",
    "test",
    "examples",
    "example",
    "experimental",
    "stub",
    "op_kernel",
    "op_tiling",
    "op_graph",
}
_CASTS: Final = {"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"}
_CHANGES: Final = {"push_back", "insert", "emplace_back", "emplace", "clear", "erase", "assign"}


class _Unknown:
    """A value of which nothing is known."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN: Final = _Unknown()
_NULL: Final = "nullptr"


@dataclass(frozen=True)
class _Tensor:
    """A tensor, or a list of tensors, of a type."""

    kind: Any


@dataclass(frozen=True)
class _Found:
    """An iterator: of an element that was found or not, or at an end of a list; ``second`` is a map's value."""

    value: Any
    second: Any = None


@dataclass(eq=False)
class _Function:
    """A function of the sources: names of parameters, those that the function may change, defaults, and its body."""

    names: list[str]
    changed: list[bool]
    needed: int
    words: list[str]
    place: _File
    body: list[Any] | None = None


@dataclass(eq=False)
class _File:
    """What a file defines, and the files that it includes by name."""

    functions: dict[str, list[_Function]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)
    path: str = ""


class _UnreadableError(Exception):
    """A text that is not in the language."""


def _words(text: str) -> list[str]:
    found = []
    for match in _WORD.finditer(text):
        if match.lastgroup == "name":
            found.append(re.sub(r"\s", "", match[0]))
        elif match.lastgroup and match.lastgroup != "skip":
            found.append(match[0])
    return found


_OPEN: Final = {"(": ")", "{": "}", "[": "]"}


def _close(words: list[str], start: int) -> int:
    """Return the index of the bracket that closes the one at ``start``."""
    depth = 0
    for index in range(start, len(words)):
        depth += words[index] in _OPEN
        depth -= words[index] in (")", "}", "]")
        if not depth:
            return index
    raise _UnreadableError


def _close_angle(words: list[str], start: int) -> int:
    """Return the index after the template's arguments that begin at ``start``; ``start`` where there are none."""
    depth = 0
    for index in range(start, min(len(words), start + 40)):
        depth += words[index] == "<"
        depth -= words[index] == ">"
        if not depth:
            return index + 1
        if words[index] in (";", "{", "}", "&&", "||", "("):
            break
    return start


def _split(words: list[str], separator: str = ",") -> list[list[str]]:
    """Split at the separators outside of brackets."""
    found: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += word in _OPEN
        depth -= word in (")", "}", "]")
        if word == separator and not depth:
            found.append([])
        else:
            found[-1].append(word)
    return found if found != [[]] else []


class _Expression:
    """Reads an expression: tuples of a kind and its parts."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.index = words, 0

    @property
    def next(self) -> str:
        return self.words[self.index] if self.index < len(self.words) else ""

    def take(self) -> str:
        word = self.next
        self.index += 1
        return word

    def whole(self) -> Any:
        found = self.ternary()
        if self.next:
            raise _UnreadableError
        return found

    def ternary(self) -> Any:
        condition = self.binary(1)
        if self.next != "?":
            return condition
        self.take()
        one = self.ternary()
        if self.take() != ":":
            raise _UnreadableError
        return ("choose", condition, one, self.ternary())

    def binary(self, level: int) -> Any:
        left = self.unary()
        while _BINARY.get(self.next, 0) >= level:
            operator = self.take()
            left = ("binary", operator, left, self.binary(_BINARY[operator] + 1))
        return left

    def unary(self) -> Any:
        if self.next in ("!", "-", "*", "&", "+", "~", "++", "--"):
            operator = self.take()
            return ("unary", operator, self.unary())
        return self.postfix(self.primary())

    def primary(self) -> Any:
        word = self.take()
        if word == "(":
            inner = self.words[self.index : _close(self.words, self.index - 1)]
            self.index += len(inner) + 1
            follows = self.next
            if inner and follows and (follows[0].isalnum() or follows[0] in "_("):
                return self.unary()  # a cast
            return _Expression(inner).whole()
        if word == "{":
            inner = self.words[self.index : _close(self.words, self.index - 1)]
            self.index += len(inner) + 1
            return ("list", [_Expression(each).whole() for each in _split(inner) if each])
        if word == "[":
            while self.next and self.next != "{":
                self.take()
            self.index = _close(self.words, self.index) + 1
            return ("value", UNKNOWN)
        if word in _CASTS:
            self.index = _close_angle(self.words, self.index)
            inner = self.words[self.index + 1 : _close(self.words, self.index)]
            self.index += len(inner) + 2
            return _Expression(inner).whole()
        if word[:1] in "\"'" or not word:
            if not word:
                raise _UnreadableError
            while self.next[:1] == '"':
                self.take()
            return ("value", UNKNOWN)
        if word[0].isdigit():
            digits = re.match(r"(?:0x[0-9a-fA-F]+|\d+)(?=[uUlL]*$)", word)
            return ("value", int(digits[0], 0) if digits else UNKNOWN)
        if re.match(r"[A-Za-z_]", word):
            return ("name", word)
        raise _UnreadableError

    def postfix(self, found: Any) -> Any:
        while True:
            if self.next in (".", "->"):
                self.take()
                found = ("member", found, self.take())
            elif self.next in ("(", "[") or (self.next == "{" and found[0] == "name"):
                end = _close(self.words, self.index)
                kind, inner = self.next, self.words[self.index + 1 : end]
                self.index = end + 1
                arguments = [_safely(each) for each in _split(inner)]
                call = ("call" if kind == "(" else "item", found, arguments)
                found = ("list", arguments) if kind == "{" else call
            elif self.next in ("++", "--"):
                self.take()
            elif self.next == "<" and found[0] == "name":
                end = _close_angle(self.words, self.index)
                if end == self.index or self.words[end : end + 1] not in (["("], ["{"]):
                    return found
                self.index = end
            else:
                return found


def _safely(words: list[str]) -> Any:
    try:
        return _Expression(words).whole()
    except (_UnreadableError, IndexError):
        return ("value", UNKNOWN)


class _Statements:
    """Reads statements: tuples of a kind and its parts."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.index = words, 0

    def all(self) -> list[Any]:
        found = []
        while self.index < len(self.words):
            found.append(self.one())
        return found

    def bracket(self) -> list[str]:
        end = _close(self.words, self.index)
        inner = self.words[self.index + 1 : end]
        self.index = end + 1
        return inner

    def simple(self) -> list[str]:
        """Take the words to the next semicolon outside of brackets."""
        depth, start = 0, self.index
        while self.index < len(self.words):
            word = self.words[self.index]
            depth += word in _OPEN
            depth -= word in (")", "}", "]")
            self.index += 1
            if word == ";" and not depth:
                return self.words[start : self.index - 1]
        return self.words[start:]

    def one(self) -> Any:
        word = self.words[self.index]
        following = self.words[self.index + 1] if self.index + 1 < len(self.words) else ""
        if word == "{":
            return ("block", _Statements(self.bracket()).all())
        if word == "if":
            self.index += 1 + (following == "constexpr")
            condition = _safely(_split(self.bracket(), ";")[-1])
            yes = self.one()
            no = None
            if self.index < len(self.words) and self.words[self.index] == "else":
                self.index += 1
                no = self.one()
            return ("if", condition, yes, no)
        if word in ("for", "while"):
            self.index += 1
            head = self.bracket()
            body = self.one()
            parts = _split(head, ":")
            if word == "for" and len(parts) == 2 and len(_split(head, ";")) == 1:
                return ("each", parts[0][-1], _safely(parts[1]), body)
            return ("loop", head, body)
        if word == "do":
            self.index += 1
            body = self.one()
            self.simple()
            return ("loop", [], body)
        if word == "switch":
            self.index += 1
            subject = _safely(self.bracket())
            return ("switch", subject, self.cases(self.bracket()))
        if word in ("break", "continue"):
            self.simple()
            return (word,)
        if word == "return":
            self.index += 1
            rest = self.simple()
            return ("return", _safely(rest) if rest else ("value", None))
        return _simple(self.simple(), word)

    @staticmethod
    def cases(words: list[str]) -> list[tuple[list[Any], list[Any]]]:
        """Return the labels and statements of each case; the label of the default is None."""
        found: list[tuple[list[Any], list[Any]]] = []
        reader = _Statements(words)
        while reader.index < len(words):
            word = words[reader.index]
            if word in ("case", "default"):
                end = words.index(":", reader.index)
                label = None if word == "default" else _safely(words[reader.index + 1 : end])
                reader.index = end + 1
                if found and not found[-1][1]:
                    found[-1][0].append(label)
                else:
                    found.append(([label], []))
            else:
                found[-1][1].append(reader.one())
        return found


def _simple(words: list[str], word: str) -> Any:
    """Return a statement without a body: a check, a declaration, an assignment or a call."""
    if re.match(r"(OP_)?CHECK(_|$)", word) and words[1:2] == ["("]:
        return ("check", word, _split(words[2 : _close(words, 1)]))
    parts = _split(words, "=")
    if len(parts) == 2 and parts[0] and parts[1]:
        names = [each for each in parts[0] if re.match(r"[A-Za-z_]\w*$", each)]
        if names and parts[0][-1] == names[-1]:
            return ("set", names[-1], _safely(parts[1]))
        return ("call", ("value", UNKNOWN))
    if words and words[-1] == "}" and "(" not in words[: words.index("{")]:
        opening = words.index("{")
        if opening and re.match(r"[A-Za-z_]\w*$", words[opening - 1]):
            return ("set", words[opening - 1], _safely(words[opening:]))
    if len(words) >= 2 and all(re.match(r"[\w:]+$|[*&<>]$", each) for each in words):
        return ("set", words[-1], ("value", UNKNOWN))
    return ("call", _safely(words))


def _parameters(words: list[str]) -> tuple[list[str], list[bool], int]:
    names, changed, needed = [], [], 0
    for each in _split(words if words != ["void"] else []):
        declared = _split(each, "=")[0]
        found = [name for name in declared if re.match(r"[A-Za-z_]\w*$", name)]
        names.append(found[-1] if len(found) > 1 else "")
        changed.append("&" in declared and "const" not in declared)
        needed += "=" not in each
    return names, changed, needed


def _read(text: str, path: str) -> _File:
    """Read what a file defines outside of classes."""
    found = _File(path=path)
    found.includes = re.findall(r'#include\s+"([^"]+)"', text)
    for name, value in re.findall(r"^[ \t]*#define[ \t]+(\w+)[ \t]+(\w+)[ \t]*$", text, re.MULTILINE):
        found.values[name] = _safely([value])
    words = _words(text)
    start = index = 0
    while index < len(words):
        word = words[index]
        if word == ";":
            _global(words[start:index], found)
            start = index = index + 1
        elif word == "}":
            start = index = index + 1
        elif word == "{":
            head = words[start:index]
            if head[:1] in (["namespace"], ["extern"], ["inline"]) and "(" not in head and "=" not in head:
                start = index = index + 1
            elif set(head) & {"class", "struct", "enum", "union"} and "(" not in head:
                index = _close(words, index) + 1
            elif "(" in head and "=" not in head[: head.index("(")]:
                end = _close(words, index)
                _define(head, words[index + 1 : end], found)
                start = index = end + 1
            else:
                index = _close(words, index) + 1
        elif word in ("(", "["):
            index = _close(words, index) + 1
        else:
            index += 1
    return found


def _global(words: list[str], found: _File) -> None:
    statement = _simple(words, "") if words else None
    if statement and statement[0] == "set":
        found.values[statement[1]] = statement[2]


def _define(head: list[str], body: list[str], found: _File) -> None:
    opening = head.index("(")
    name = head[opening - 1].rpartition("::")[2] if opening else ""
    names, changed, needed = _parameters(head[opening + 1 : _close(head, opening)])
    found.functions.setdefault(name, []).append(_Function(names, changed, needed, body, found))


class Sources:
    """Sources by path: ``refuses`` returns whether a function refuses a type."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._files: dict[str, _File] = {}
        for path, text in texts.items():
            try:
                self._files[path] = _read(text, path)
            except (_UnreadableError, IndexError):
                self._files[path] = _File(path=path)
        self._by_name: dict[str, list[_File]] = {}
        for path, file in self._files.items():
            self._by_name.setdefault(path.rpartition("/")[2], []).append(file)
        self._phases = {
            name: functions
            for file in self._files.values()
            for name, functions in file.functions.items()
            if name.startswith("aclnn")
        }
        self._version, self._architecture = "", ""
        self._depth = 0
        self._place = _File()
        #: Path → the files that are seen from it; path, name and version → value.
        self._seen: dict[str, list[_File]] = {}
        self._values: dict[tuple[str, str, str], Any] = {}

    @classmethod
    def of(cls, folders: Iterable[Path]) -> Sources:
        """Return those in folders, without tests and examples."""
        found = {}
        for folder in folders:
            for path in sorted([*folder.rglob("*.cpp"), *folder.rglob("*.h")]):
                inside = path.relative_to(folder).parts
                if not _LEFT_OUT & set(inside) and (path.suffix == ".h" or "aclnn" in path.name or "op_api" in inside):
                    found[str(path)] = path.read_text(encoding="utf-8", errors="replace")
        return cls(found)

    def has(self, function: str) -> bool:
        """Return whether a function is written out in the sources."""
        return function in self._phases

    def parameters(self, function: str) -> list[str]:
        """Return the names of a function's parameters."""
        if function not in self._phases:
            raise ValueError(f"the sources do not have {function}")
        return self._phases[function][-1].names

    def refuses(self, function: str, names: Iterable[str], argument: str, kind: str, chip: str) -> bool:
        """Return whether each way through a function ends in an error where an argument has a type on a chip.

        ``names`` are the arguments of tensors.
        """
        self._version, self._architecture = CHIPS[chip]
        self._depth = 0
        phase = self._phases[function][-1]
        tensors = set(names)
        environment = {
            name: _Tensor(kind if name == argument else UNKNOWN) if name in tensors else UNKNOWN for name in phase.names
        }
        returned = self._run_function(phase, environment)
        return bool(returned) and all(isinstance(each, str) and each.startswith("ACLNN_ERR") for each in returned)

    # Statements: each returns the values that may be returned, and the environment afterwards, None where there is none.

    def _run_function(self, function: _Function, environment: dict[str, Any]) -> list[Any]:
        if function.body is None:
            try:
                function.body = _Statements(function.words).all()
            except (_UnreadableError, IndexError, ValueError):
                function.body = [("return", ("value", UNKNOWN))]
        outer, self._place = self._place, function.place
        self._depth += 1
        try:
            returned, after = self._run(function.body, environment)
        finally:
            self._depth -= 1
            self._place = outer
        environment.update(after or {})
        return [*returned, None] if after is not None else returned

    def _run(self, statements: list[Any], environment: dict[str, Any]) -> tuple[list[Any], dict[str, Any] | None]:
        returned: list[Any] = []
        current: dict[str, Any] | None = environment
        for statement in statements:
            if statement[0] in ("break", "continue"):
                return returned, current
            more, current = self._step(statement, current)
            returned += more
            if current is None:
                return returned, None
        return returned, current

    def _step(self, statement: Any, environment: Any) -> tuple[list[Any], dict[str, Any] | None]:
        kind = statement[0]
        if kind == "set":
            environment[statement[1]] = self._value(statement[2], environment)
        elif kind == "call":
            self._value(statement[1], environment)
        elif kind == "return":
            return [self._value(statement[1], environment)], None
        elif kind == "block":
            return self._run(statement[1], environment)
        elif kind == "check":
            return self._check(statement[1], statement[2], environment)
        elif kind == "if":
            return self._if(statement, environment)
        elif kind in ("loop", "each"):
            listed = [environment.get(name) for name in statement[1]]
            if kind == "each":
                listed = [self._value(statement[2], environment)]
                environment[statement[1]] = listed[0] if isinstance(listed[0], _Tensor) else UNKNOWN
            # Once: a loop goes over the tensors of a list, which is not empty, or over dimensions.
            certain = any(isinstance(each, _Tensor) for each in listed)
            returned, after = self._step(statement[-1], dict(environment))
            return returned, after if after is None and certain else _join(environment, after)
        elif kind == "switch":
            return self._switch(statement, environment)
        return [], environment

    def _if(self, statement: Any, environment: dict[str, Any]) -> tuple[list[Any], dict[str, Any] | None]:
        condition = _truth(self._value(statement[1], environment))
        if condition is True:
            return self._step(statement[2], environment)
        if condition is False:
            return self._step(statement[3], environment) if statement[3] else ([], environment)
        returned, after = self._step(statement[2], dict(environment))
        others, rest = self._step(statement[3], dict(environment)) if statement[3] else ([], environment)
        if after is None:
            return returned + others, rest
        return returned + others, after if rest is None else _join(rest, after)

    def _switch(self, statement: Any, environment: dict[str, Any]) -> tuple[list[Any], dict[str, Any] | None]:
        subject = self._value(statement[1], environment)
        cases = statement[2]
        if not isinstance(subject, str | int):
            returned: list[Any] = []
            after: dict[str, Any] | None = dict(environment)
            for _, body in cases:
                more, rest = self._run(body, dict(environment))
                returned += more
                after = _join(after or environment, rest) if rest is not None else after
            return returned, after
        chosen = next(
            (
                index
                for index, (labels, _) in enumerate(cases)
                if any(each is not None and self._value(each, environment) == subject for each in labels)
            ),
            next((index for index, (labels, _) in enumerate(cases) if None in labels), None),
        )
        if chosen is None:
            return [], environment
        for _, body in cases[chosen:]:
            returned, rest = self._run(body, environment)
            if returned or rest is None or _breaks(body):
                return returned, rest
        return [], environment

    def _check(self, name: str, parts: list[list[str]], environment: dict[str, Any]) -> tuple[list[Any], Any]:
        """Run a macro that returns where a condition fails; one that is unknown holds."""
        if name in ("OP_CHECK_DTYPE_NOT_SUPPORT", "OP_CHECK_DTYPE_NOT_SUPPORT_WITH_REASON"):
            tensor, listed = [self._text(each, environment) for each in parts[-3:-1]]
            holds = _contains(listed, tensor.kind if isinstance(tensor, _Tensor) else UNKNOWN)
        elif name == "OP_CHECK_DTYPE_NOT_MATCH":
            tensor, expected = [self._text(each, environment) for each in parts[:2]]
            holds = _equal(tensor.kind if isinstance(tensor, _Tensor) else UNKNOWN, expected)
        elif name == "OP_CHECK_DTYPE_NOT_SAME":
            kinds = [getattr(self._text(each, environment), "kind", UNKNOWN) for each in parts[:2]]
            holds = _equal(*kinds)
        elif name == "OP_CHECK_RESULT_DTYPE_CAST_FAILED":
            holds = _can_cast(*[self._text(each, environment) for each in parts[:2]])
        elif name in ("OP_CHECK", "CHECK_RET", "CHECK_COND") or name.startswith("CHECK_"):
            holds = _truth(self._text(parts[0], environment)) if len(parts) >= 2 else True
        else:
            holds = True
        if holds is not False:
            return [], environment
        last = parts[1] if name.startswith("CHECK_") else parts[-1]
        return [self._text(last[1:] if last[:1] == ["return"] else last, environment)], None

    # Expressions.

    def _text(self, words: list[str], environment: dict[str, Any]) -> Any:
        return self._value(_safely(words), environment)

    def _value(self, node: Any, environment: dict[str, Any]) -> Any:
        kind = node[0]
        if kind == "value":
            return node[1]
        if kind == "name":
            return self._name(node[1], environment)
        if kind == "list":
            pairs = [each[1] for each in node[1] if each[0] == "list" and len(each[1]) == 2]
            if pairs and len(pairs) == len(node[1]) and all(one[0] == "name" for one, _ in pairs):
                return {self._value(one, environment): self._value(two, environment) for one, two in pairs}
            return _make_list([self._value(each, environment) for each in node[1]])
        if kind == "choose":
            condition = _truth(self._value(node[1], environment))
            if condition in (True, False):
                return self._value(node[2] if condition else node[3], environment)
            one, two = self._value(node[2], environment), self._value(node[3], environment)
            return one if _same(one, two) else UNKNOWN
        if kind == "unary":
            value = self._value(node[2], environment)
            if node[1] == "!":
                truth = _truth(value)
                return UNKNOWN if truth is UNKNOWN else not truth
            return value if node[1] in ("*", "&") else UNKNOWN
        if kind == "binary":
            return self._binary(node, environment)
        if kind == "item":
            value = self._value(node[1], environment)
            if isinstance(value, dict) and len(node[2]) == 1:
                return value.get(self._value(node[2][0], environment), UNKNOWN)
            return value if isinstance(value, _Tensor) else UNKNOWN
        if kind == "member":
            value = self._value(node[1], environment)
            return value.second if isinstance(value, _Found) and node[2] == "second" else UNKNOWN
        return self._call(node, environment)

    def _name(self, name: str, environment: dict[str, Any]) -> Any:
        if name in environment:
            return environment[name]
        short = name.rpartition("::")[2]
        if short in ("true", "false"):
            return short == "true"
        if short == "nullptr":
            return _NULL
        if short == "ASCEND910_95":
            return "ASCEND950"
        if short in _VERSIONS or _CONSTANT.fullmatch(short):
            return short
        for file in self._visible():
            if short in file.values:
                key = file.path, short, self._version
                if key not in self._values:
                    place, self._place = self._place, file
                    self._values[key] = self._value(file.values[short], {})
                    self._place = place
                return self._values[key]
        return UNKNOWN

    def _visible(self) -> list[_File]:
        """Return the file that runs, and those that it includes."""
        if self._place.path in self._seen:
            return self._seen[self._place.path]
        found: list[_File] = []
        waiting = [self._place]
        while waiting:
            file = waiting.pop(0)
            if file not in found:
                found.append(file)
                for include in file.includes:
                    candidates = self._by_name.get(include.rpartition("/")[2], [])
                    waiting += sorted(candidates, key=lambda each: -_shared(each.path, file.path))[:1]
        self._seen[self._place.path] = found
        return found

    def _binary(self, node: Any, environment: dict[str, Any]) -> Any:
        operator = node[1]
        one = self._value(node[2], environment)
        if operator in ("&&", "||"):
            left = _truth(one)
            if left is (operator == "||"):
                return left
            right = _truth(self._value(node[3], environment))
            if right is (operator == "||"):
                return right
            return UNKNOWN if UNKNOWN in (left, right) else right
        two = self._value(node[3], environment)
        if operator in ("==", "!="):
            equal = _equal(one, two)
            return equal if equal is UNKNOWN else equal is (operator == "==")
        if operator in ("<", ">", "<=", ">=") and one in _VERSIONS and two in _VERSIONS:
            left, right = _VERSIONS.index(one), _VERSIONS.index(two)
            return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator]
        return UNKNOWN

    def _call(self, node: Any, environment: dict[str, Any]) -> Any:
        target, nodes = node[1], node[2]
        if target[0] == "member":
            return self._method(target, nodes, environment)
        if target[0] != "name":
            return UNKNOWN
        name = target[1].rpartition("::")[2]
        values = [self._value(each, environment) for each in nodes]
        if name == "GetCurrentPlatformInfo":
            return name
        if name in (
            "CheckType",
            "PromoteType",
            "BinaryOpTypePromote",
            "CanCast",
            "IsFloatingType",
            "IsIntegralType",
            "IsComplexType",
            "find",
        ):
            return _builtin(name, values)
        if name in ("vector", "initializer_list", "set"):
            return values[0] if len(values) == 1 else UNKNOWN
        if target[1].startswith("l0op::") or self._depth > 25:
            return UNKNOWN
        for functions in (*[file.functions.get(name, ()) for file in self._visible()], self._phases.get(name, ())):
            for function in functions:
                if function.needed <= len(values) <= len(function.names):
                    return self._result(function, nodes, values, environment)
        return UNKNOWN

    def _result(self, function: _Function, nodes: list[Any], values: list[Any], environment: dict[str, Any]) -> Any:
        inner = dict.fromkeys(function.names, UNKNOWN) | dict(zip(function.names, values, strict=False))
        returned = self._run_function(function, inner)
        for node, name, changed in zip(nodes, function.names, function.changed, strict=False):
            if changed and node[0] == "name" and node[1] in environment:
                environment[node[1]] = inner.get(name, UNKNOWN)
        return returned[0] if returned and all(_same(returned[0], each) for each in returned) else UNKNOWN

    def _method(self, target: Any, nodes: list[Any], environment: dict[str, Any]) -> Any:
        value, name = self._value(target[1], environment), target[2]
        values = [self._value(each, environment) for each in nodes]
        if name in _CHANGES and target[1][0] == "name" and target[1][1] in environment:
            environment[target[1][1]] = UNKNOWN
        if name == "GetSocVersion":
            return self._version
        if name == "GetCurNpuArch":
            return self._architecture
        if isinstance(value, _Tensor):
            return value.kind if name == "GetDataType" else False if name == "IsEmpty" else UNKNOWN
        if isinstance(value, frozenset | dict) and name in ("size", "empty"):
            return len(value) if name == "size" else not value
        if isinstance(value, dict):
            if name == "end":
                return _Found(False)
            if name in ("find", "at", "count") and isinstance(values[0], str):
                second, contained = value.get(values[0], UNKNOWN), values[0] in value
                return second if name == "at" else _Found(contained, second) if name == "find" else contained
        if isinstance(value, frozenset):
            if name in ("begin", "end"):
                return _Found(value if name == "begin" else False)
            if name in ("find", "count"):
                contained = _contains(value, values[0])
                return _Found(contained) if name == "find" else contained
        return UNKNOWN


def _shared(one: str, two: str) -> int:
    """Return how many characters two paths have in common at their beginning."""
    return next((index for index, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _breaks(body: list[Any]) -> bool:
    return any(each[0] == "break" or (each[0] == "block" and _breaks(each[1])) for each in body)


def _same(one: Any, two: Any) -> bool:
    return one is two or (one.__class__ is two.__class__ and one is not UNKNOWN and one == two)


def _join(one: dict[str, Any], two: dict[str, Any] | None) -> dict[str, Any]:
    """Return what is known after both of two ways."""
    if two is None:
        return one
    return {name: value if name in two and _same(value, two[name]) else UNKNOWN for name, value in one.items()}


def _truth(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, _Tensor):
        return True
    return bool(value) if isinstance(value, int) else UNKNOWN


def _equal(one: Any, two: Any) -> Any:
    if isinstance(one, _Found) and isinstance(two, _Found):
        # One of them is the end.
        found = one.value if two.value is False else two.value
        return UNKNOWN if found is UNKNOWN or not isinstance(found, bool) else not found
    if _NULL in (one, two):
        other = two if one == _NULL else one
        return True if other == _NULL else False if isinstance(other, _Tensor) else UNKNOWN
    if isinstance(one, str | int) and isinstance(two, str | int):
        return one == two
    return UNKNOWN


def _make_list(values: list[Any]) -> Any:
    if any(isinstance(each, frozenset) for each in values):
        return values[0] if len(values) == 1 else UNKNOWN
    return frozenset(values) if all(isinstance(each, str | int) for each in values) else UNKNOWN


def _contains(listed: Any, kind: Any) -> Any:
    return kind in listed if isinstance(listed, frozenset) and isinstance(kind, str) else UNKNOWN


def _can_cast(one: Any, two: Any) -> Any:
    if not (isinstance(one, str) and isinstance(two, str)):
        return UNKNOWN
    if one in _COMPLEX and two not in _COMPLEX:
        return False
    return not (one in _FLOATING and two in _INTEGRAL) and not (one != "DT_BOOL" and two == "DT_BOOL")


def _builtin(name: str, values: list[Any]) -> Any:
    if name == "CheckType":
        return _contains(values[1], values[0]) if len(values) == 2 else UNKNOWN
    if name == "CanCast":
        return _can_cast(*values[:2])
    if name == "find":
        begin = values[0].value if values and isinstance(values[0], _Found) else UNKNOWN
        return _Found(_contains(begin, values[2])) if len(values) == 3 else UNKNOWN
    if name in ("PromoteType", "BinaryOpTypePromote"):
        # The common call has tensors of one type.
        known = {each.kind if isinstance(each, _Tensor) else each for each in values[:2]} - {UNKNOWN}
        return known.pop() if len(known) == 1 else UNKNOWN
    if not isinstance(values[0], str):
        return UNKNOWN
    if name == "IsIntegralType":
        with_bool = values[1] if len(values) > 1 else False
        return UNKNOWN if with_bool is UNKNOWN else values[0] in _INTEGRAL or (with_bool and values[0] == "DT_BOOL")
    return values[0] in (_FLOATING if name == "IsFloatingType" else _COMPLEX)
