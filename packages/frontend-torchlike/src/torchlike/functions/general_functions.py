"""Functions of operators for any call: arguments named as torch or NumPy name them, sizes one by one, named results."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core.tracebacks import trim_traceback

from ..creation.factories import wrap_result
from ..creation.factory_layouts import find_template
from ..creation.factory_memory import check_pinning, pin_made
from ..names import operator_table as table
from ..signatures.overload_choice import takes_sizes, takes_tensor_alone
from ..tensors.arguments import replace_none
from ..tensors.tensor import Tensor
from ..values.devices import as_device
from ..values.layouts import layout_of, strided
from .result_classes import RESULT_CLASSES

#: NumPy's names for arguments, which torch takes too, and the one that its ``numpy.std(tensor)`` calls the method with.
_ALIASES: Final = {"axis": "dim", "keepdims": "keepdim", "x2": "other", "ddof": "correction"}
#: The names of the first tensor: torch's, and NumPy's.
_FIRST: Final = ("input", "a", "x", "x1")
_WRITTEN: Final = re.compile(r"Tensor\([a-z]!\) (\w+)(?=[,)])")
_ONLY_INT: Final = {int}


def _pack_sizes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gather sizes that are written one by one: ``(t, 2, 3)`` to ``(t, (2, 3))``."""
    if len(args) > 1 and (len(args) > 2 or isinstance(args[1], (int, Tensor, np.integer))):
        return (args[0], args[1:])
    return args


def _make_empty_on(template: Tensor, device: dc.Device) -> Tensor:
    """Make a tensor of the same layout and dtype on another device, with uninitialized data."""
    in_parts = getattr(template._dispatch_data, "make_empty", None)
    if in_parts is not None:
        return in_parts(device)
    if layout_of(template) is not strided:
        return wrap_result(dc.ops.aten.empty_like.default(template, device=device), False)
    made = dc.ops.aten.empty_strided.default(template.shape, template.stride(), dtype=template.dtype, device=device)
    return wrap_result(made, False)


def _make_general(operator: table.OverloadGroup) -> Callable[..., Any]:
    """Make a function that binds its arguments as torch does and leaves the choice of overload to the dispatcher."""
    name = operator.name
    sizes = name in table.WITH_SIZES
    results = None if operator.names is None else RESULT_CLASSES[name]
    packet = getattr(dc.ops.aten, name)
    overloads = [getattr(packet, each) for each in packet.overloads()]
    # The overloads of a call without keywords on a tensor alone, or on a tensor and sizes; no other is looked for.
    alone = next(filter(takes_tensor_alone, overloads), packet)
    sized = next(filter(takes_sizes, overloads), None) if sizes else None
    names_both = {"self", "input"} <= {each.name for overload in overloads for each in overload.schema.arguments}
    own_keywords, read_keywords = _make_keyword_reader(operator)
    like = operator.is_like
    empty = {
        argument.name: place
        for overload in overloads
        for place, argument in enumerate(overload.schema.arguments)
        if argument.has_default and argument.default in ([], ())
    }

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            requires_grad = pins = False
            if not kwargs:
                if len(args) == 1 and results is None:
                    return alone(*args)
                if sized is not None:
                    given = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
                    if {*map(type, given)} == _ONLY_INT:
                        return sized(args[0], given)
            elif not own_keywords.isdisjoint(kwargs):
                pins = "pin_memory" in kwargs and like and check_pinning(name, kwargs.pop("pin_memory"))
                args, requires_grad = read_keywords(args, kwargs)
            if sizes:
                args = _pack_sizes(args)
            try:
                found = packet(*args, **kwargs)
            except dc.DispatchError:
                if (
                    names_both and "input" in kwargs
                ):  # one overload has the name, and another is called the schema's way
                    kwargs["self"] = kwargs.pop("input")
                changed = (args, kwargs) if "self" in kwargs and names_both else replace_none(empty, args, kwargs)
                if changed is None:
                    raise
                found = packet(*changed[0], **changed[1])
            if pins:
                found = pin_made(wrap_result(found, False))
            if requires_grad:
                return wrap_result(found, requires_grad)
            return results(*found) if results is not None and type(found) is tuple else found
        except Exception as error:
            trim_traceback(error)
            raise

    function.__name__ = function.__qualname__ = name
    return function


general_function: Final = cache(_make_general)
"""Return the general function of an operator, made when a call first needs it."""


def _make_keyword_reader(operator: table.OverloadGroup) -> tuple[frozenset[str], Callable[..., Any]]:
    """Return the keywords that torch takes beside the schema's, and the function that replaces them.

    The function changes the keywords in place, and returns the arguments and whether the result is to require grad.
    """
    taken = " ".join(operator.schemas)
    aliases = {alias: real for alias, real in _ALIASES.items() if f" {alias}" not in taken and f" {real}" in taken}
    lists = (_WRITTEN.findall(schema.partition(" -> ")[0]) for schema in operator.schemas)
    written = next((found for found in lists if len(found) > 1), [])
    has_input, like = operator.first == "self", operator.is_like
    first = tuple(name for name in _FIRST if f" {name}" not in taken)
    later_input = not has_input and " self" in taken
    takes_no_dtype = " dtype" not in taken
    keywords = (
        {*aliases, "out"}
        | ({*first} if has_input or later_input else set())
        | ({"device", "layout", "pin_memory", "requires_grad"} if like else set())
    )

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], bool]:
        requires_grad = False
        name = next((each for each in first if each in kwargs), None) if later_input or not args else None
        if name is not None and has_input:
            args = (kwargs.pop(name),)
        elif name is not None and later_input:
            kwargs["self"] = kwargs.pop(name)
        for alias, real in aliases.items():
            if alias in kwargs and (value := kwargs.pop(alias)) is not None:  # None is NumPy's for all dimensions
                kwargs[real] = value
        if takes_no_dtype and kwargs.get("dtype", 0) is None:  # as NumPy's functions pass it
            del kwargs["dtype"]
        if like:
            requires_grad = kwargs.pop("requires_grad", False)
            if "layout" in kwargs and args and isinstance(args[0], Tensor):
                args = (find_template(operator.name, args[0], kwargs.pop("layout")), *args[1:])
            device = as_device(kwargs.pop("device", None))
            if device is not None and args and isinstance(args[0], Tensor) and device != args[0].device:
                args = (_make_empty_on(args[0], device), *args[1:])
        if "out" in kwargs:
            out = kwargs.pop("out")
            if isinstance(out, (list, tuple)):
                if len(out) != len(written):
                    wanted = f"tuple of {len(written)} Tensors" if written else "Tensor"
                    name = type(out).__name__
                    raise TypeError(f"{operator.name}(): argument 'out' must be {wanted}, not {name} of {len(out)}")
                kwargs.update(zip(written, out, strict=True))
            elif out is not None:
                kwargs["out"] = out
        return args, requires_grad

    return frozenset(keywords), read
