"""The layouts whose compositions with layers `list_compositions` tries: torchlike's own, and two that are written here."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import dispatch_core as dc
import torchlike as torch
from dispatch_core.frontends import TensorLayout, find_layout
from torchlike.layouts import record_of, wrap
from torchlike.utils.pytree import tree_map

sys.path.append(str(Path(__file__).parent.parent / "tests"))
#: The devices of the tables of layouts: the second one is that of `tests/paired_devices.py`.
DEVICES: Final = {"cpu": "cpu", "twin": "a second device"}


class ComposedLayout(NamedTuple):
    """A layout, its tensor of an ordinary matrix, and the ordinary tensor of a result."""

    name: str
    make: Callable[[Any], Any]
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class Doubled:
    """A tensor that is stored as its double."""

    doubled: torch.Tensor


@dataclass(frozen=True)
class DoubledWithHistory(Doubled):
    """The same, whose components have the history."""


def _define(name: str, record: type, **options: Any) -> ComposedLayout:
    known = TensorLayout(
        record.__name__,
        record,
        component="doubled",
        shape=lambda each: dc.shape(each.doubled),
        dtype=lambda each: dc.dtype(each.doubled),
        strides=lambda each: dc.strides(each.doubled),
        composes=("aten::to",),
        **options,
    )

    def read(value: Any) -> Any:
        return record_of(value).doubled / 2 if find_layout(value) is known else value

    def open_record(value: Any) -> Any:
        return record_of(value).doubled if find_layout(value) is known else value

    def store(value: Any) -> Any:
        is_number = isinstance(value, torch.Tensor) and value.is_floating_point()
        return wrap(known.make(doubled=value * 2)) if is_number else value

    def run(op: Any, *args: Any, **kwargs: Any) -> Any:
        if any(each.alias and not each.is_write for each in op.schema.returns):
            found = op(
                *tree_map(lambda each: record_of(each).doubled if find_layout(each) is known else each, args), **kwargs
            )
            return tree_map(lambda each: wrap(known.make(doubled=each)), found)
        found = op(*tree_map(read, args), **tree_map(read, kwargs))
        if any(each.is_write for each in op.schema.arguments):
            record_of(args[0]).doubled.copy_(found * 2)
            return args[0]
        return tree_map(store, found)

    @known.for_each_key
    def register(key: dc.DispatchKey) -> None:
        dc.Library("_", "IMPL").fallback(run, key)

    return ComposedLayout(name, store, read)


def _make_jagged(x: Any) -> Any:
    return torch.nested.nested_tensor_from_jagged(x, torch.tensor([0, 1, x.shape[0]], device=x.device))


def _quantize(x: Any) -> Any:
    return torch.quantize_per_tensor(x, 2.0**-20, 0, torch.qint32)


COMPOSED: Final = (
    ComposedLayout("sparse_coo", lambda x: x.to_sparse(), lambda y: y.to_dense() if y.is_sparse else y),
    ComposedLayout("jagged", _make_jagged, lambda y: y.values() if y.is_nested else y),
    ComposedLayout("quantized", _quantize, lambda y: y.dequantize()),
    _define("by hand", Doubled),
    _define("by hand, components have the history", DoubledWithHistory, components_have_history=True),
)


def open_device(device: str) -> AbstractContextManager[Any]:
    """Return a block in which a device of the tables is there."""
    if device == "cpu":
        return nullcontext()
    found: AbstractContextManager[Any] = import_module("paired_devices").register()
    return found


def save(x: Any) -> Any:
    """Return a tensor that was written to a file and read again."""
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)
