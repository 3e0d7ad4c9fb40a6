"""The lines by which generated code checks arguments without tensors: in line for the common types, else by a call."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

from ..devices import Device
from .emit import indent
from .signature import CallSignature

_LEAST, _MOST = "-0x8000000000000000", "0x7FFFFFFFFFFFFFFF"
#: Up to it every int is a float.
_EXACT: Final = 1 << 53
#: Types of lists of ints. A list of plain ones is checked as it is, and needs no call.
INT_LIST: Final = re.compile(r"(int|SymInt)\[\d*\]\??")

#: Tests that let a value of the common type pass without a call; others go to the argument's checker.
_QUICK: Final = MappingProxyType(
    {
        "int": "type({0}) is not int or not -0x8000000000000000 <= {0} <= 0x7FFFFFFFFFFFFFFF",
        "SymInt": "type({0}) is not int or not -0x8000000000000000 <= {0} <= 0x7FFFFFFFFFFFFFFF",
        "float": "type({0}) is not float",
        "bool": "{0} is not True and {0} is not False",
        "Scalar": (
            "type({0}) is not float and (type({0}) is not int or not -0x8000000000000000 <= {0} <= 0xFFFFFFFFFFFFFFFF)"
            " and {0} is not True and {0} is not False"
        ),
        "ScalarType": "getattr(type({0}), '__schema_type__', '') != 'ScalarType'",
        "Device": "type({0}) is not __device_type",
        "Any": "",
    }
)


def _quick_test(type: str) -> str:
    """Return the text of a test that values of the common type do not pass; "True" where all go to the checker."""
    if type.endswith("?"):
        rest = _quick_test(type[:-1])
        return "{0} is not None" if rest == "True" else rest and f"{{0}} is not None and ({rest})"
    return _QUICK.get(type, "True")


def check_lines(signature: CallSignature, slow_path: str = "") -> list[str]:
    """Return lines that check the arguments without tensors, and coerce them where the schema allows it.

    With a ``slow_path`` arguments that are not of the common types go there.
    """
    lines: list[str] = []
    late: list[str] = []
    for index, parameter in enumerate(signature.parameters):
        if parameter.tensors:
            continue
        name, quick = parameter.word, _quick_test(parameter.type)
        if not quick:
            continue
        otherwise = slow_path or f"{name} = __check{index}({name})"
        if INT_LIST.fullmatch(parameter.type):
            item = f"type(__i) is not int or not {_LEAST} <= __i <= {_MOST}"
            test = [
                # A shape, which is a tuple of another type.
                f"if type({name}) is not tuple and type({name}) is not list and isinstance({name}, tuple):",
                f"    {name} = tuple({name})",
                f"if type({name}) is tuple or type({name}) is list:",
                f"    for __i in {name}:",
                f"        if {item}:",
            ]
            test += [f"            {otherwise}", "            break"]
            if slow_path and "[]" not in parameter.type:
                # Once nothing leads to the slow path any more, which gets the arguments as they are.
                late += [f"if type({name}) is int:", f"    {name} = __check{index}({name})"]
                test += [f"elif type({name}) is int:", "    pass"]
            if slow_path:
                test += [f"elif not isinstance({name}, (tuple, list)):", f"    {slow_path}"]
            test += ["else:", f"    {name} = __check{index}({name})"]
        elif parameter.type in ("float", "float?"):
            # Of an int that a float holds exactly, the float is made here.
            test = [
                f"if {quick.format(name)}:",
                f"    if type({name}) is int and {-_EXACT} <= {name} <= {_EXACT}:",
                f"        {name} = {name} * 1.0",
                "    else:",
                f"        {otherwise}",
            ]
        elif slow_path and parameter.type.startswith("Device"):
            # A name is converted here; the slow path names the fault.
            check = [f"    {name} = __check{index}({name})", "except TypeError:", f"    {slow_path}"]
            test = [f"if {quick.format(name)}:", *indent(["try:", *check])]
        else:
            test = [f"if {'True' if quick == 'True' else quick.format(name)}:", f"    {otherwise}"]
        lines += test if parameter.required else [f"if {name} is not __default{index}:", *indent(test)]
    return lines + late


def is_common(type: str, value: object) -> bool:
    """Return whether a value is of the common types of an argument, so that the generated lines take it as it is.

    >>> is_common("int[2]?", (1, 2)), is_common("int", True), is_common("Scalar?", None)
    (True, False, True)
    """
    if type.endswith("?") and value is None:
        return True
    if INT_LIST.fullmatch(type):
        return isinstance(value, (tuple, list)) and value.__class__ in (tuple, list) and all(map(_is_int, value))
    match type.rstrip("?"):
        case "int" | "SymInt":
            return _is_int(value)
        case "float":
            return value.__class__ is float
        case "bool":
            return value is True or value is False
        case "Scalar":
            return value.__class__ in (float, bool) or _is_int(value, most=2**64 - 1)
        case "Device":
            return value.__class__ is Device
        case "ScalarType":
            return getattr(value.__class__, "__schema_type__", "") == "ScalarType"
    return type.rstrip("?") == "Any"


def _is_int(value: object, most: int = 2**63 - 1) -> bool:
    return value.__class__ is int and -(2**63) <= value <= most
