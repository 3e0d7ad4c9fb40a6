"""Read torch's schema language: a regular expression cuts the text into tokens, a recursive descent reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NoReturn, cast

from ..device import Device
from ..errors import ArgumentError, SchemaError
from .model import (
    MISSING,
    AliasInfo,
    Argument,
    BaseType,
    ClassType,
    DictType,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    TupleType,
    Type,
    TypeVariable,
    UnionType,
    WrapperType,
    order_fault,
)

__all__ = ["SchemaSyntaxError", "parse_schema"]


class SchemaSyntaxError(SchemaError):
    """A schema's text is malformed; ``line`` and ``column`` (both from 1) say where."""

    def __init__(self, message: str, text: str, offset: int, *, hint: str | None = None) -> None:
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", start)
        shown = text[start : end if end >= 0 else len(text)]
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - start + 1
        # Tabs keep their width under the shown line, so that the caret stands where the reader looks.
        pad = "".join("\t" if c == "\t" else " " for c in shown[: self.column - 1])
        where = f"line {self.line}, column {self.column}"
        super().__init__(f"{message} ({where})\n  {shown}\n  {pad}^", hint=hint)


# Everything but blanks is a token; what no rule knows is a token of one character, which no rule of the grammar accepts.
_TOKEN = re.compile(
    r"""[A-Za-z_][A-Za-z0-9_]*
    | \.\.\. | ->
    | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?j?
    | \"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\" | '''(?:[^'\\]|\\.|'(?!''))*'''
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | \#[^\n]*
    | [^ \t\n\r\f\v]""",
    re.VERBOSE,
)
_IDENTIFIER_STARTS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_NUMBER_STARTS: Final = frozenset("0123456789.")

# torch's lexer shares its keywords with TorchScript; ``from``, ``self`` and ``lambda`` are none.
_KEYWORDS: Final = frozenset(
    "False None NoneType True Ellipsis and as assert break class continue def del elif else for global if import in "
    "is not or pass raise return while with".split()
)
_BASE_TYPES: Final = {
    name: BaseType(name)
    for name in (
        "Tensor int SymInt float bool str complex Scalar number Generator ScalarType Layout MemoryFormat Device "
        "DeviceIndex Stream Storage QScheme Any AnyEnumType AnyClassType Capsule None NoneType SymBool Quantizer "
        "ConstQuantizerPtr"
    ).split()
}
_WRAPPERS: Final = frozenset({"Future", "RRef", "Await"})
_CLASS_PREFIX: Final = ["__torch__", ".", "torch", ".", "classes", "."]

_INTEGERS: Final = frozenset("int SymInt ScalarType Layout MemoryFormat DeviceIndex ConstQuantizerPtr".split())
_NONE_DEFAULT: Final = frozenset({"Tensor", "Generator", "Quantizer"})
_CONSTANT_DEFAULT: Final = _INTEGERS | {"str", "Scalar", "number", "bool", "float", "complex"}
_WORDS: Final = {"True": True, "False": False, "None": None}
_NUMBER_WORDS: Final = {"strided": 0, "Mean": 1, "contiguous_format": 0, "long": 4, "float": 6, "complex": 9}
# The numbers are those of c10::ScalarType; they are part of torch's serialised formats and do not change.
_DTYPE_WORDS: Final = {
    word: number
    for number, words in {
        0: "uint8", 1: "int8", 2: "int16 short", 3: "int32 int", 4: "int64 long", 5: "float16 half",
        6: "float32 float", 7: "float64 double", 8: "complex32", 9: "complex64 cfloat complex",
        10: "complex128 cdouble", 11: "bool", 12: "qint8", 13: "quint8", 14: "qint32", 15: "bfloat16",
        16: "quint4x2", 17: "quint2x4", 18: "bits1x8", 19: "bits2x4", 20: "bits4x2", 21: "bits8", 22: "bits16",
        23: "float8_e5m2", 24: "float8_e4m3fn", 25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz", 27: "uint16",
        28: "uint32", 29: "uint64", 30: "uint1", 31: "uint2", 32: "uint3", 33: "uint4", 34: "uint5", 35: "uint6",
        36: "uint7", 37: "int1", 38: "int2", 39: "int3", 40: "int4", 41: "int5", 42: "int6", 43: "int7",
        44: "float8_e8m0fnu", 45: "float4_e2m1fn_x2",
    }.items()
    for word in words.split()
}  # fmt: skip

# Types nest no deeper than this. Printing, hashing and checking recurse over a type, and must not exhaust the stack.
_MAX_NESTING: Final = 32
# One element given for a whole sized list is repeated in the default; a size is a handful in every real schema.
_MAX_SIZE: Final = 65_535
_ESCAPE = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_UNESCAPED: Final = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "b": "\b"}


def parse_schema(text: str) -> FunctionSchema:
    """Read a schema in torch's schema language; blanks, newlines and ``#`` comments between tokens do not count.

    Accepts also what torch prints but does not read back: ``Tensor($0! -> )`` for ``Tensor!``, ``Tensor?(a)[]`` for
    ``Tensor(a)?[]``, a device without quotes, and complex numbers with a real part.
    Raises ``SchemaSyntaxError`` for malformed text (source: ``torch/csrc/jit/frontend/function_schema_parser.cpp``).

    >>> str(parse_schema("f(Tensor(a!)self,int[2] size=1)->Tensor(a!)"))
    'f(Tensor(a!) self, int[2] size=1) -> Tensor(a!)'
    """
    if not isinstance(text, str):
        raise SchemaError(f"a schema is text, not {type(text).__name__}")
    return _Parser(text).schema()


def _is_identifier(token: str) -> bool:
    return token[:1] in _IDENTIFIER_STARTS and token not in _KEYWORDS


class _Parser:
    """The state of one parse: the tokens, ended by two empty ones, and the place of the next one."""

    __slots__ = ("at", "text", "tokens")

    def __init__(self, text: str) -> None:
        tokens = _TOKEN.findall(text)
        if "#" in text:
            tokens = [token for token in tokens if token[0] != "#"]
        # Looking one token ahead needs no bounds check with two at the end.
        self.tokens: list[str] = [*tokens, "", ""]
        self.text = text
        self.at = 0

    def fail(self, message: str, at: int | None = None, *, hint: str | None = None) -> NoReturn:
        """Raise for the token at a place, by default the next one."""
        index = self.at if at is None else at
        # Offsets are found again here, so that the good path does not pay for them.
        starts = [found.start() for found in _TOKEN.finditer(self.text) if found[0][0] != "#"]
        offset = starts[index] if index < len(starts) else len(self.text.rstrip())
        raise SchemaSyntaxError(message, self.text, offset, hint=hint)

    def expected(self, what: str) -> NoReturn:
        token = self.tokens[self.at]
        self.fail(f"expected {what} but found {repr(token) if token else 'the end'}")

    def take(self, token: str) -> bool:
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            self.expected(repr(token))
        self.at += 1

    def identifier(self, what: str) -> str:
        token = self.tokens[self.at]
        if not _is_identifier(token):
            if token in _KEYWORDS:
                self.fail(f"expected {what} but found the keyword {token!r}")
            self.expected(what)
        self.at += 1
        return token

    # The schema as a whole.

    def schema(self) -> FunctionSchema:
        name = self.name()
        if not self.tokens[self.at]:
            self.fail("expected an argument list, but only an operator's name was given")
        self.expect("(")
        arguments, starts, is_vararg = self.arguments()
        self.expect("->")
        returns, is_varret = self.returns()
        if self.tokens[self.at]:
            self.expected("the end")
        try:
            return FunctionSchema(name, arguments, returns, is_vararg, is_varret)
        except SchemaError:
            index, message = cast("tuple[int, str]", order_fault(arguments, is_vararg))
            self.fail(message, starts[index])

    def name(self) -> OperatorName:
        namespace, name, overload = None, self.identifier("an operator's name"), ""
        if self.take(":"):
            self.expect(":")
            namespace, name = name, self.identifier("an operator's name")
        if self.take("."):
            overload = self.identifier("an overload's name")
            if overload == "default" or overload.startswith("__"):
                self.fail(
                    f"{overload!r} cannot name an overload",
                    self.at - 1,
                    hint="the overload that users see as 'default' is written without a name",
                )
        return OperatorName(namespace, name, overload)

    def arguments(self) -> tuple[tuple[Argument, ...], list[int], bool]:
        arguments: list[Argument] = []
        starts: list[int] = []
        if self.take(")"):
            return (), starts, False
        keyword_only = False
        while True:
            token = self.tokens[self.at]
            if token == "...":
                self.at += 1
                if not self.take(")"):
                    self.fail("'...' must be the last argument", self.at - 1)
                return tuple(arguments), starts, True
            if token == "*":
                self.at += 1
                keyword_only = True
            else:
                starts.append(self.at)
                arguments.append(self.argument(keyword_only))
            token = self.tokens[self.at]
            self.at += 1
            if token == ")":
                return tuple(arguments), starts, False
            if token != ",":
                self.at -= 1
                self.expected("',' or ')' after the argument")

    def argument(self, keyword_only: bool) -> Argument:
        type = self.sized_type()
        name = self.identifier("the argument's name")
        if self.tokens[self.at] != "=":
            return Argument(name, type, MISSING, keyword_only)
        self.at += 1
        value, text = self.default(type)
        return Argument(name, type, value, keyword_only, text)

    def returns(self) -> tuple[tuple[Return, ...], bool]:
        if self.take("..."):
            return (), True
        if not self.take("("):
            return (self.one_return(),), False
        returns: list[Return] = []
        if self.take(")"):
            return (), False
        while True:
            if self.take("..."):
                if not self.take(")"):
                    self.fail("'...' must be the last return", self.at - 1)
                return tuple(returns), True
            returns.append(self.one_return())
            if self.take(")"):
                return tuple(returns), False
            if not self.take(","):
                self.expected("',' or ')' after the return")

    def one_return(self) -> Return:
        type = self.sized_type()
        return Return(self.identifier("a name") if _is_identifier(self.tokens[self.at]) else None, type)

    # Types.

    def sized_type(self) -> Type:
        """Read a type that may end in a list of fixed size, as only a whole argument's or return's may."""
        type = self.type(0)
        tokens = self.tokens
        if tokens[self.at] != "[":
            return type
        size = tokens[self.at + 1]
        if not size.isdecimal() or not size.isascii():
            self.at += 1
            self.expected("']' or the list's size")
        if len(size) > 5 or int(size) > _MAX_SIZE:
            self.fail(f"a list's size is at most {_MAX_SIZE}, not {size[:20]}", self.at + 1)
        self.at += 2
        self.expect("]")
        type = ListType(type, int(size), self.alias())
        if self.take("?"):
            return OptionalType(type)
        if tokens[self.at] == "[":
            self.fail("a list of fixed size can only be the outermost list")
        return type

    def type(self, depth: int) -> Type:
        if depth > _MAX_NESTING:
            self.fail(f"types nest deeper than {_MAX_NESTING} levels")
        tokens = self.tokens
        base = _BASE_TYPES.get(tokens[self.at])
        type: Type
        if base is not None:
            self.at += 1
            alias = self.alias()
            type = base if alias is None else BaseType(base.name, alias)
        else:
            type = self.compound(depth)
        while True:
            token = tokens[self.at]
            if token == "?":
                self.at += 1
                # An optional optional is the optional itself.
                if not isinstance(type, OptionalType):
                    type = OptionalType(type)
                    depth += 1
                if tokens[self.at] == "(":
                    type = self.printed_alias(type)
            elif token == "[" and tokens[self.at + 1] == "]":
                self.at += 2
                type = ListType(type, None, self.alias())
                depth += 1
            else:
                return type
            if depth > _MAX_NESTING:
                self.fail(f"types nest deeper than {_MAX_NESTING} levels")

    def printed_alias(self, optional: OptionalType) -> Type:
        """Read ``(a)`` in ``Tensor?(a)[]``, as torch prints ``Tensor(a)?[]``."""
        start = self.at
        alias = self.alias()
        element = optional.element
        if self.tokens[self.at] != "[" or not isinstance(element, BaseType) or element.alias is not None:
            self.fail(
                "an alias annotation cannot stand after '?'", start, hint="write it before, as in 'Tensor(a!)?'"
            )
        return OptionalType(BaseType(element.name, alias))

    def compound(self, depth: int) -> Type:
        """Read a type that is no name of ``_BASE_TYPES``."""
        token = self.tokens[self.at]
        if token == "(":
            self.at += 1
            return TupleType(self.types(depth))
        if token == "Dict":
            self.at += 1
            self.expect("(")
            key = self.type(depth + 1)
            self.expect(",")
            value = self.type(depth + 1)
            self.expect(")")
            return DictType(key, value, self.alias())
        if token == "Union":
            self.at += 1
            self.expect("(")
            elements = self.types(depth)
            if len(elements) < 2:
                self.fail("a Union needs two types or more", self.at - 1)
            return UnionType(elements, self.alias())
        if token in _WRAPPERS:
            self.at += 1
            self.expect("(")
            element = self.type(depth + 1)
            self.expect(")")
            return WrapperType(cast('Literal["Future", "RRef", "Await"]', token), element)
        if token == "__torch__":
            return self.class_type()
        if not _is_identifier(token):
            self.expected("a type")
        if not token[0].islower():
            self.fail(
                f"unknown type {token!r}",
                hint="common types are Tensor, int, SymInt, float, bool, str, Scalar; "
                "a lower-case name is a type variable",
            )
        self.at += 1
        return TypeVariable(token, self.alias())

    def types(self, depth: int) -> tuple[Type, ...]:
        """Read the rest of a list of types, whose opening parenthesis has been read."""
        elements: list[Type] = []
        if self.take(")"):
            return ()
        while True:
            elements.append(self.type(depth + 1))
            if self.take(")"):
                return tuple(elements)
            if not self.take(","):
                self.expected("',' or ')' after the type")

    def class_type(self) -> ClassType:
        for part in _CLASS_PREFIX:
            self.expect(part)
        namespace = self.identifier("the class's namespace")
        self.expect(".")
        return ClassType(f"{''.join(_CLASS_PREFIX)}{namespace}.{self.identifier('the name of the class')}")

    def alias(self) -> AliasInfo | None:
        token = self.tokens[self.at]
        if token == "!":
            self.at += 1
            return AliasInfo(frozenset(), frozenset(), is_write=True)
        if token != "(":
            return None
        self.at += 1
        if self.take("$"):  # What torch prints for ``!``: ($0! -> )
            self.at += self.tokens[self.at].isdecimal()
            for part in ("!", "->", ")"):
                self.expect(part)
            return AliasInfo(frozenset(), frozenset(), is_write=True)
        before = self.alias_set()
        is_write = self.take("!")
        after = self.alias_set() if self.take("->") else before
        self.expect(")")
        return AliasInfo(before, after, is_write)

    def alias_set(self) -> frozenset[str]:
        names: list[str] = []
        while True:
            names.append("*" if self.take("*") else self.identifier("an alias set's name or '*'"))
            if not self.take("|"):
                return frozenset(names)

    # Defaults: the value that a kernel receives, and its spelling.

    def default(self, type: Type) -> tuple[object, str]:
        start = self.at
        if isinstance(type, OptionalType):
            return self.optional_default(type.element)
        if isinstance(type, ListType):
            return self.list_default(type)
        name = type.name if isinstance(type, BaseType) else ""
        if name == "Device":
            return self.device()
        if name in _CONSTANT_DEFAULT:
            return self.constant(name)
        if name not in _NONE_DEFAULT:
            self.fail(f"an argument of type {type} cannot have a default", start, hint="make the type optional")
        if not self.take("None"):
            self.expected(f"None as the default of {name}")
        return None, "None"

    def optional_default(self, element: Type) -> tuple[object, str]:
        if self.tokens[self.at] == "[":
            self.fail("an optional list's default is None or one element, not a list")
        name = element.name if isinstance(element, BaseType) else ""
        if self.tokens[self.at] == "None" or not isinstance(element, ListType):
            return self.device() if name == "Device" and self.tokens[self.at] != "None" else self.constant(name)
        return self.list_default(element)

    def list_default(self, type: ListType) -> tuple[object, str]:
        name = type.element.name if isinstance(type.element, BaseType) else ""
        convert = _ELEMENTS.get(name)
        if convert is None:
            self.fail(
                f"a list of {type.element} cannot have a default", hint="only lists of int, float, bool and complex can"
            )
        if self.tokens[self.at] != "[":
            if type.size is None:
                self.expected("'['")
            value, text = self.element(name, convert)
            return (value,) * type.size, text
        self.at += 1
        values: list[object] = []
        texts: list[str] = []
        if not self.take("]"):
            while True:
                value, text = self.element(name, convert)
                values.append(value)
                texts.append(text)
                if self.take("]"):
                    break
                if not self.take(","):
                    self.expected("',' or ']' in the list")
        return tuple(values), f"[{', '.join(texts)}]"

    def element(self, name: str, convert: Callable[[object], object]) -> tuple[object, str]:
        start = self.at
        value, text = self.constant(name)
        converted = convert(value)
        if converted is None:
            self.fail(f"{text} cannot stand in a default list of {name}", start)
        return converted, text

    def device(self) -> tuple[object, str]:
        start = self.at
        token = self.tokens[start]
        if token[:1] in ('"', "'"):
            text = self.string()
        elif _is_identifier(token):  # torch prints devices without their quotes.
            self.at += 1
            text = token
            if self.take(":"):
                text += f":{self.tokens[self.at]}"
                self.at += 1
        else:
            self.expected("a device in quotes")
        try:
            device = Device.parse(text)
        except ArgumentError:
            self.fail(f"{text!r} is not a device", start, hint="write 'type' or 'type:index'")
        return device, f'"{device}"'

    def constant(self, name: str) -> tuple[object, str]:
        token = self.tokens[self.at]
        if token in _WORDS:
            self.at += 1
            return _WORDS[token], token
        start = token[:1]
        if start in ('"', "'") and start:
            return self.string(), token
        if start in _IDENTIFIER_STARTS:
            number = _NUMBER_WORDS.get(token)
            if number is None and name == "ScalarType":
                number = _DTYPE_WORDS.get(token)
            if number is None:
                self.fail(f"{token!r} is not a default value")
            self.at += 1
            return number, token
        return self.number(name)

    def string(self) -> str:
        token = self.tokens[self.at]
        quotes = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
        if len(token) < 2 * quotes or token[-1] != token[0]:
            self.fail("the string has no end")
        self.at += 1

        def unescape(found: re.Match[str]) -> str:
            escape = found[1]
            if len(escape) == 3 and int(escape, 8) < 256:
                return chr(int(escape, 8))
            if escape not in _UNESCAPED:
                self.fail(f"unknown escape '\\{escape}'", self.at - 1, hint="octal escapes have three digits")
            return _UNESCAPED[escape]

        return _ESCAPE.sub(unescape, token[quotes:-quotes])

    def number(self, name: str) -> tuple[object, str]:
        start = self.at
        value, text = self.signed()
        # A complex number with a real part is two tokens and a sign: 0.+1.j
        if self.tokens[self.at] in ("+", "-") and not isinstance(value, complex):
            sign = self.tokens[self.at]
            self.at += sign == "+"
            imaginary, more = self.signed()
            if not isinstance(imaginary, complex):
                self.fail("only a complex number has two parts", start)
            return value + imaginary, text + (sign if sign == "+" else "") + more
        try:
            if name == "float" and isinstance(value, int):
                value = float(value)
            elif name == "complex":
                value = complex(value)
        except OverflowError:
            value = _OUT_OF_RANGE
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            self.fail(f"{_short(text)} does not fit in 64 bits", start)
        return value, text

    def signed(self) -> tuple[int | float | complex, str]:
        sign = "-" if self.take("-") else ""
        token = self.tokens[self.at]
        if token[:1] not in _NUMBER_STARTS or token in (".", "..."):
            self.expected("a number" if sign else "a default value")
        self.at += 1
        text = sign + token
        value: int | float | complex
        if token[-1] == "j":
            value = complex(0.0, float(text[:-1]))
            finite = abs(value.imag) != _INFINITY
        elif token.isdecimal():
            # int() itself refuses thousands of digits, with another error.
            value = int(text) if len(token) < 400 else _OUT_OF_RANGE
            finite = True
        else:
            value = float(text)
            finite = abs(value) != _INFINITY
        if not finite:
            self.fail(f"{_short(text)} is too large", self.at - 1)
        return value, text


_INFINITY: Final = float("inf")
_OUT_OF_RANGE: Final = 2**64


def _short(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:27]}..."


def _integer(value: object) -> object:
    return value if type(value) is int else None


def _boolean(value: object) -> object:
    return value if type(value) is bool else None


def _float(value: object) -> object:
    return value if type(value) is float else None


def _complex(value: object) -> object:
    return value if type(value) is complex else None


# What may stand in a default list, by the element's type: the value, or None where it does not fit.
_ELEMENTS: Final[dict[str, Callable[[object], object]]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    "bool": _boolean,
    "float": _float,
    "complex": _complex,
}
