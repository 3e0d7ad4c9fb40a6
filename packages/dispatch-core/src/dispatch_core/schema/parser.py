"""Read torch's schema language by recursive descent."""

from __future__ import annotations

from typing import Final, Literal, cast

from dispatch_core.errors import SchemaError

from .defaults import read_default
from .model import MISSING, Argument, FunctionSchema, OperatorName, Return, order_fault
from .tokens import Tokens, is_identifier
from .types import (
    AliasInfo,
    BaseType,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    TypeVariable,
    UnionType,
    WrapperType,
)

_BASE_TYPES: Final = {
    name: BaseType(name)
    for name in (
        "Tensor int SymInt float bool str complex Scalar number Generator ScalarType Layout MemoryFormat Device "
        "DeviceIndex Stream Storage QScheme Any AnyEnumType AnyClassType Capsule None NoneType SymBool Quantizer "
        "ConstQuantizerPtr"
    ).split()
}
_KEY_TYPES: Final = frozenset(
    "int SymInt ScalarType Layout MemoryFormat DeviceIndex ConstQuantizerPtr bool float complex str Tensor Device "
    "Any".split()
)
_WRAPPERS: Final = frozenset({"Future", "RRef", "Await"})
_CLASS_PREFIX: Final = ["__torch__", ".", "torch", ".", "classes", "."]

# Types nest no deeper than this. Printing, hashing and checking recurse over a type, and must not exhaust the stack.
_MAX_NESTING: Final = 32
# One element given for a whole sized list is repeated in the default; a size is a handful in every real schema.
_MAX_SIZE: Final = 65_535


def parse_schema(text: str) -> FunctionSchema:
    """Read a schema in torch's schema language; blanks, newlines and ``#`` comments between tokens do not count.

    Accepts also forms that torch prints but does not read back: ``Tensor($0! -> )`` for ``Tensor!``, ``Tensor?(a)[]`` for
    ``Tensor(a)?[]``, a device without quotes, and complex numbers with a real part.
    Raises ``SchemaSyntaxError`` for malformed text (source: ``torch/csrc/jit/frontend/function_schema_parser.cpp``).

    >>> str(parse_schema("f(Tensor(a!)self,int[2] size=1)->Tensor(a!)"))
    'f(Tensor(a!) self, int[2] size=1) -> Tensor(a!)'
    """
    if not isinstance(text, str):
        raise SchemaError(f"a schema is text, not {type(text).__name__}")
    return _Parser(text).schema()


class _Parser(Tokens):
    """The grammar, one method for each of its rules."""

    __slots__ = ()

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
            self.refuse("the end")
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
            word = self.tokens[self.at]
            if word == "...":
                self.at += 1
                if not self.take(")"):
                    self.fail("'...' must be the last argument", self.at - 1)
                return tuple(arguments), starts, True
            if word == "*":
                self.at += 1
                keyword_only = True
            else:
                starts.append(self.at)
                arguments.append(self.argument(keyword_only))
            word = self.tokens[self.at]
            self.at += 1
            if word == ")":
                return tuple(arguments), starts, False
            if word != ",":
                self.at -= 1
                self.refuse("',' or ')' after the argument")

    def argument(self, keyword_only: bool) -> Argument:
        type = self.sized_type()
        name = self.identifier("the argument's name")
        if self.tokens[self.at] != "=":
            return Argument(name, type, MISSING, keyword_only)
        self.at += 1
        value, text = read_default(self, type)
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
                self.refuse("',' or ')' after the return")

    def one_return(self) -> Return:
        type = self.sized_type()
        return Return(self.identifier("a name") if is_identifier(self.tokens[self.at]) else None, type)

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
            self.refuse("']' or the list's size")
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
            word = tokens[self.at]
            if word == "?":
                self.at += 1
                # An optional optional is the optional itself.
                if not isinstance(type, OptionalType):
                    type = OptionalType(type)
                    depth += 1
                if tokens[self.at] == "(":
                    type = self.printed_alias(type)
            elif word == "[" and tokens[self.at + 1] == "]":
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
            self.fail("an alias annotation cannot stand after '?'", start, hint="write it before, as in 'Tensor(a!)?'")
        return OptionalType(BaseType(element.name, alias))

    def compound(self, depth: int) -> Type:
        """Read a type that is not a name of ``_BASE_TYPES``."""
        word = self.tokens[self.at]
        if word == "(":
            self.at += 1
            return TupleType(self.types(depth))
        if word == "Dict":
            self.at += 1
            self.expect("(")
            start = self.at
            key = self.type(depth + 1)
            if not isinstance(key, BaseType) or key.name not in _KEY_TYPES:
                self.fail(f"a Dict cannot have keys of type {key}", start)
            self.expect(",")
            value = self.type(depth + 1)
            self.expect(")")
            return DictType(key, value, self.alias())
        if word == "Union":
            self.at += 1
            self.expect("(")
            elements = self.types(depth)
            if len(elements) < 2:
                self.fail("a Union needs two types or more", self.at - 1)
            return UnionType(elements, self.alias())
        if word in _WRAPPERS:
            self.at += 1
            self.expect("(")
            element = self.type(depth + 1)
            self.expect(")")
            return WrapperType(cast('Literal["Future", "RRef", "Await"]', word), element)
        if word == "__torch__":
            return self.class_type()
        if not is_identifier(word):
            self.refuse("a type")
        if not word[0].islower():
            self.fail(
                f"unknown type {word!r}",
                hint="common types are Tensor, int, SymInt, float, bool, str, Scalar; "
                "a lower-case name is a type variable",
            )
        self.at += 1
        return TypeVariable(word, self.alias())

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
                self.refuse("',' or ')' after the type")

    def class_type(self) -> ClassType:
        for part in _CLASS_PREFIX:
            self.expect(part)
        namespace = self.identifier("the class's namespace")
        self.expect(".")
        return ClassType(f"{''.join(_CLASS_PREFIX)}{namespace}.{self.identifier('the name of the class')}")

    def alias(self) -> AliasInfo | None:
        word = self.tokens[self.at]
        if word == "!":
            self.at += 1
            return AliasInfo(frozenset(), frozenset(), is_write=True)
        if word != "(":
            return None
        self.at += 1
        if self.take("$"):  # torch's print of ``!``: ($0! -> )
            self.at += self.next[:1].isdigit()
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
