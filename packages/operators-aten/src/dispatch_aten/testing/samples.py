"""Samples: calls of an operator with NumPy's arrays, right ones of the tables and changes of them.

>>> for sample in op_samples("add.Tensor"):
...     if sample.change == "0-d":
...         print(sample)
add.Tensor(float64[], float64[])  0-d
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

import numpy as np

from dispatch_core import Device, exclude_keys, ops, registry
from dispatch_core.schema import FunctionSchema

from ..decompositions.aliases import TARGETS
from ..dtypes import BY_NAME
from ..families import facts_of
from ..operators import ATEN_BY_NAME, KIND_OF
from ..variants import base_name, functional_of, is_inplace, written_names
from .changes import CHANGES, LAYOUTS, arrays_in
from .drawing import MASKS, CallRow, Draw, Make

#: Part of an operator's name → changes that are no calls of it: a degree of inf is computed for ever, unsorted elements are
#: not found, gradients are floats, torch's own libraries multiply the zeros of a padded gradient by a nan or leave them out,
#: and the place of an element in memory is no matter of values.
UNFIT: Final = {
    "_polynomial_": ("nan",),
    "searchsorted": ("nan", "int64", "uint8", "bool"),
    "bucketize": ("nan", "int64", "uint8", "bool"),
    "convolution_backward": ("nan", "int64", "uint8", "bool", "int and float"),
    "conv_tbc_backward": ("nan", "int64", "uint8", "bool", "int and float"),
    "backward": ("int64", "uint8", "bool", "int and float"),
    "quantile": ("nan",),
    "polygamma_": ("int64", "uint8", "bool"),
    "_euclidean_dist": ("int64", "uint8", "bool", "int and float"),
    "as_strided": (*LAYOUTS, "0-d"),
    "set_": (*LAYOUTS, "0-d"),
    "slice_inverse": LAYOUTS,
    "affine_grid": ("int64", "uint8", "bool"),
}
#: Kind of operators → the same: no library decomposes matrices with a nan alike, torch convolves no bytes, and a
#: nan is not a probability.
UNFIT_KINDS: Final = {"linalg": ("nan",), "convolution": ("uint8", "bool"), "random": ("nan",)}
#: The seed of every sample.
SEED: Final = 4


@dataclass(frozen=True, slots=True)
class Sample:
    """One call: arguments by the schema's names; arrays are NumPy's, and ``layout`` says how they lie in memory.

    An ``out=`` argument is missing: its shape and dtype are those of the cpu's result, unless ``out`` says otherwise.
    """

    name: str
    arguments: dict[str, Any] = field(compare=False)
    change: str = ""
    layout: str = ""
    #: How the arrays lie that an ``out=`` operator writes to, or by what they do not fit: a key of `placing.OUTS`.
    out: str = ""

    @property
    def schema(self) -> FunctionSchema:
        """Return the operator's schema."""
        return schema_of(self.name)

    def __str__(self) -> str:
        shown = ", ".join(map(_show, self.arguments.values()))
        return "  ".join(
            filter(None, [f"{self.name}({shown})", self.change, self.layout, self.out and f"out: {self.out}"])
        )


def _show(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_show, value))}]"
    return str(value)


def schema_of(name: str) -> FunctionSchema:
    """Return the schema of one of aten's operators."""
    schema = registry.get(f"aten::{name}").schema
    assert schema is not None
    return schema


def op_samples(name: str, *, seed: int = SEED) -> Iterator[Sample]:
    """Yield samples of an operator of aten, named with its overload; nothing for one that has no row in the tables.

    The cpu backend decides which changes are calls at all: those that it refuses are not samples, so ask it first.
    """
    for number, (source, row) in enumerate(rows_of(name)):
        own = {each.name for each in schema_of(name).arguments}
        with exclude_keys("Pipeline", "Tracer"):  # operators compute arrays at once for a sample
            arguments = _bind(schema_of(source), row.make(Draw(seed)), row.options)
            arguments = {key: value for key, value in arguments.items() if key in own}
            if is_inplace(name) and "inplace_view" not in ATEN_BY_NAME[name].tags:
                arguments["self"] = _broadcast(source, arguments)
        yield Sample(name, arguments)
        if not any(True for _ in arrays_in(arguments)):
            continue
        unfit = unfit_changes(name)
        for layout in LAYOUTS:
            if layout not in unfit:
                yield Sample(name, arguments, layout=layout)
        for change, make in CHANGES.items():
            # The changes of an operator's further calls would mostly repeat those of the first.
            if number or change in unfit:
                continue
            if (changed := make(arguments)) is not None:
                yield Sample(name, derive(name, changed), change)


def derive(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a changed call whose arguments that follow from others do so again."""
    for argument, function in _DERIVED.get(base_name(name), {}).items():
        with exclude_keys("Pipeline", "Tracer"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = {**arguments, argument: function(arguments)}
    return arguments


#: Operator → its arguments that follow from others, of which a device reads the ones or the others.
_DERIVED: Final[dict[str, dict[str, Callable[[dict[str, Any]], Any]]]] = {
    "log_sigmoid_backward": {"buffer": lambda arguments: ops.aten.log_sigmoid_forward(arguments["self"])[1]},
}


def unfit_changes(name: str) -> tuple[str, ...]:
    """Return the changes and layouts that an operator cannot take."""
    found = next((changes for part, changes in UNFIT.items() if part in name), ())
    return (*found, *UNFIT_KINDS.get(KIND_OF[name], ()))


def has_samples(name: str) -> bool:
    """Return whether the tables have a call of an operator.

    >>> has_samples("add_.Tensor"), has_samples("mkldnn_rnn_layer")
    (True, False)
    """
    return bool(rows_of(name))


def rows_of(name: str) -> tuple[tuple[str, CallRow], ...]:
    """Return the rows for an operator, each with the operator that it is for.

    They are its own, or those of the functional operator or of the operator that it is an alias of.
    """
    seen: list[str] = []
    todo = [name]
    while todo:
        each = todo.pop(0)
        if each in seen or each not in ATEN_BY_NAME:
            continue
        seen.append(each)
        if found := _calls_of(each):
            return tuple((each, row) for row in sorted(found, key=lambda row: len(row.options)))  # the plainest first
        todo += [other for other in (functional_of(each), TARGETS.get(each)) if other]
    return ()


@cache
def _calls_of(name: str) -> tuple[CallRow, ...]:
    """Return the calls of an operator's row, and those that a module of its kind makes for many operators at once."""
    module = _module(KIND_OF[name])
    names = _NAMES if module is None else {**_NAMES, **vars(module)}
    made = (row for row in getattr(module, "CALLS", ()) if name in row.names)
    return (*(_read_call(name, text, names) for text in facts_of(name).get("sample", ())), *made)


#: What the text of a call may read beside ``r`` and the functions of ``calls/KIND.py``.
_NAMES: Final[dict[str, Any]] = {
    "np": np,
    "ops": ops,
    "math": math,
    "BY_NAME": BY_NAME,
    "Device": Device,
    "MASKS": MASKS,
}


@cache
def _module(kind: str) -> ModuleType | None:
    return import_module(f"{__package__}.calls.{kind}") if find_spec(f"{__package__}.calls.{kind}") else None


def _read_call(name: str, text: str, names: dict[str, Any]) -> CallRow:
    """Read the arguments of a call, those by keyword as options."""
    tree = ast.parse(f"call({text})", name, "eval").body
    assert isinstance(tree, ast.Call)
    options = {each.arg or "": eval(ast.unparse(each.value), names) for each in tree.keywords}  # noqa: S307  # our text
    arguments = ast.unparse(ast.Tuple(tree.args, ast.Load()))
    make: Make = eval(f"lambda r: {arguments}", names)  # noqa: S307  # our text
    return CallRow((name,), make, options)


def _broadcast(source: str, arguments: dict[str, Any]) -> Any:
    """Return ``self`` in the shape of the result, which an in-place operator cannot change."""
    given = arguments["self"]
    if is_inplace(source):
        return given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = registry.get(f"aten::{source}").op(**arguments)
    is_larger = isinstance(result, np.ndarray) and result.shape != given.shape and result.ndim >= given.ndim
    return np.broadcast_to(given, result.shape).copy() if is_larger else given


def _bind(schema: FunctionSchema, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    names = [each.name for each in schema.arguments if not (each.is_write and each.kwarg_only)]
    known = {each.name for each in schema.arguments}
    return dict(zip(names, args, strict=False)) | {key: value for key, value in options.items() if key in known}


def names_written(name: str) -> tuple[str, ...]:
    """Return the names of the arguments that an operator writes to."""
    return written_names(ATEN_BY_NAME[name].schema)
