"""Read an argument's default: the value that a kernel receives, and its spelling."""

from __future__ import annotations

import re
from math import isinf
from typing import Final

from dispatch_core.devices import Device
from dispatch_core.errors import ArgumentError

from .tokens import IDENTIFIER_STARTS, Tokens, is_identifier
from .types import BaseType, ListType, OptionalType, Type

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

_ESCAPE: Final = r"(?s)\\([0-7]{3}|.)"
_UNESCAPED: Final = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "b": "\b"}


# The Python type of a default list's elements, by the element's type.
_ELEMENTS: Final[dict[str, object]] = dict.fromkeys(_INTEGERS, int) | {"bool": bool, "float": float, "complex": complex}
_NUMBER_STARTS: Final = frozenset("0123456789.")


def read_default(tokens: Tokens, type: Type) -> tuple[object, str]:
    """Read the default of an argument of a type, from behind the ``=``: its value and its spelling.

    Raises ``SchemaSyntaxError`` where the type allows no such default. As in torch, single constants are hardly held
    against their type: ``int x=1.5`` passes.
    """
    if isinstance(type, OptionalType):
        return _optional_default(tokens, type.element)
    if isinstance(type, ListType):
        return _list_default(tokens, type)
    name = type.name if isinstance(type, BaseType) else ""
    if name == "Device":
        return _device(tokens)
    if name in _CONSTANT_DEFAULT:
        return _constant(tokens, name)
    if name not in _NONE_DEFAULT:
        tokens.fail(f"an argument of type {type} cannot have a default", hint="make the type optional")
    if not tokens.take("None"):
        tokens.refuse(f"None as the default of {name}")
    return None, "None"


def _optional_default(tokens: Tokens, element: Type) -> tuple[object, str]:
    if tokens.next == "[":
        tokens.fail("an optional list's default is None or one element, not a list")
    if tokens.next != "None":
        if isinstance(element, ListType) and element.size is not None and str(element.element) in _ELEMENTS:
            return _list_default(tokens, element)
        if isinstance(element, BaseType) and element.name == "Device":
            return _device(tokens)
    return _constant(tokens, element.name if isinstance(element, BaseType) else "")


def _list_default(tokens: Tokens, list_type: ListType) -> tuple[object, str]:
    name = list_type.element.name if isinstance(list_type.element, BaseType) else ""
    if name not in _ELEMENTS:
        tokens.fail(
            f"a list of {list_type.element} cannot have a default",
            hint="only lists of int, float, bool and complex can",
        )
    if tokens.next != "[":
        if list_type.size is None:
            tokens.refuse("'['")
        value, text = _element(tokens, name)
        return (value,) * list_type.size, text
    tokens.at += 1
    values: list[object] = []
    texts: list[str] = []
    if not tokens.take("]"):
        while True:
            value, text = _element(tokens, name)
            values.append(value)
            texts.append(text)
            if tokens.take("]"):
                break
            if not tokens.take(","):
                tokens.refuse("',' or ']' in the list")
    return tuple(values), f"[{', '.join(texts)}]"


def _element(tokens: Tokens, name: str) -> tuple[object, str]:
    start = tokens.at
    value, text = _constant(tokens, name)
    # bool is a subclass of int, so the types are compared and not the instance tested.
    if type(value) is not _ELEMENTS[name]:
        tokens.fail(f"{text} cannot stand in a default list of {name}", start)
    return value, text


def _device(tokens: Tokens) -> tuple[object, str]:
    start = tokens.at
    token = tokens.tokens[start]
    if token[:1] in ('"', "'"):
        text = _string(tokens)
    elif is_identifier(token):  # torch prints devices without their quotes.
        tokens.at += 1
        text = token
        if tokens.take(":"):
            text += f":{tokens.next}"
            tokens.at += 1
    else:
        tokens.refuse("a device in quotes")
    try:
        device = Device.parse(text)
    except ArgumentError:
        tokens.fail(f"{text!r} is not a device", start, hint="write 'type' or 'type:index'")
    return device, f'"{device}"'


def _constant(tokens: Tokens, name: str) -> tuple[object, str]:
    token = tokens.next
    if token in _WORDS:
        tokens.at += 1
        return _WORDS[token], token
    start = token[:1]
    if start in ('"', "'") and start:
        return _string(tokens), token
    if start in IDENTIFIER_STARTS:
        number = _NUMBER_WORDS.get(token)
        if number is None and name == "ScalarType":
            number = _DTYPE_WORDS.get(token)
        if number is None:
            tokens.fail(f"{token!r} is not a default value")
        tokens.at += 1
        return number, token
    return _number(tokens, name)


def _string(tokens: Tokens) -> str:
    token = tokens.next
    quotes = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
    if len(token) < 2 * quotes or token[-1] != token[0]:
        tokens.fail("the string has no end")
    tokens.at += 1

    def unescape(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) == 3 and int(escape, 8) < 256:
            return chr(int(escape, 8))
        if escape not in _UNESCAPED:
            tokens.fail(f"unknown escape '\\{escape}'", tokens.at - 1, hint="octal escapes have three digits")
        return _UNESCAPED[escape]

    return re.sub(_ESCAPE, unescape, token[quotes:-quotes])


def _number(tokens: Tokens, name: str) -> tuple[object, str]:
    start = tokens.at
    value, text = _read_signed(tokens)
    # A complex number with a real part is two numbers with a sign between them: 0.+1.j
    if tokens.next in ("+", "-") and not isinstance(value, complex):
        plus = "+" if tokens.take("+") else ""
        imaginary, more = _read_signed(tokens)
        if not isinstance(imaginary, complex):
            tokens.fail("only a complex number has two parts", start)
        return value + imaginary, f"{text}{plus}{more}"
    if name == "complex":
        return complex(value), text
    if isinstance(value, int):
        if name == "float":
            return float(value), text
        if not -(2**63) <= value < 2**63:
            tokens.fail(f"{_short(text)} does not fit in 64 bits", start)
    return value, text


def _read_signed(tokens: Tokens) -> tuple[int | float | complex, str]:
    sign = "-" if tokens.take("-") else ""
    token = tokens.next
    if token[:1] not in _NUMBER_STARTS or token in {".", "..."}:
        tokens.refuse("a number" if sign else "a default value")
    text = sign + token
    # Checking the size as a float first keeps int() from digits by the thousand, which it refuses in its own words.
    size = float(text.rstrip("j"))
    if isinf(size):
        tokens.fail(f"{_short(text)} is too large")
    tokens.at += 1
    if token[-1] == "j":
        return complex(0.0, size), text
    return int(text) if token.isdecimal() else size, text


def _short(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:27]}..."
