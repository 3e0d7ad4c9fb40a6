"""Calling functions of aclnn by name, for kernels that need more than a row of the table.

Note [Collecting launches]
    The launches of such a kernel depend on the descriptions of its arguments, not on their elements. So a plan collects
    them beforehand: within ``collect_launches()`` nothing is launched, and new arrays get a ``PlaceholderBlock`` in place of
    memory; the plan treats the collected launches like those of a row. A kernel that needs the host raises
    (``forbid_collecting``), and the plan runs it as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.shapes import TensorMeta
from dispatch_core.caches import keep

from .. import arrays as on_device
from ..arrays import AclArray
from .calls import CallTemplate, ScalarParameter
from .pools import clear_at_close
from .table import PROTOTYPES

if TYPE_CHECKING:
    from dispatch_aten.generator import Generator

_templates: Final = clear_at_close({})
_CAPACITY: Final = 512


class _ThreadLaunches(threading.local):
    """The launches that the thread has collected, None while it runs them, and the results that the plan expects."""

    launches: list[tuple[str, tuple[Any, ...]]] | None = None
    #: Whether they may have numbers that are drawn at each run.
    takes_draws = False
    results: tuple[TensorMeta, ...] = ()


_thread: Final = _ThreadLaunches()


class CallInteger(int):
    """An integer that each call brings, as scalars: calls that differ in it alone share their descriptors."""

    __slots__ = ()


class CallFloat(float):
    """A C double or float that each call brings, in the same way."""

    __slots__ = ()


class PlaceholderBlock:
    """The block of an array that a kernel makes while its launches are collected."""

    __slots__ = ("spec",)

    def __init__(self, spec: TensorMeta) -> None:
        self.spec = spec


class LateDraw(int):
    """The seed of a draw, or its offset, that each run of a graph brings; ``count`` numbers are drawn."""

    generator: Generator | None
    count: int


@contextmanager
def collect_launches(
    results: Sequence[TensorMeta] = (), *, takes_draws: bool = False
) -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """Collect the launches within the block, each function with its arguments, instead of running them.

    ``results`` describe what the kernel returns, which `collected_results` tells it. With ``takes_draws`` launches may draw
    random numbers, of which seed and offset are a `LateDraw`.
    """
    launches = _thread.launches = []
    _thread.results, _thread.takes_draws = tuple(results), takes_draws
    try:
        yield launches
    finally:
        _thread.launches, _thread.results = None, ()


def collected_results() -> tuple[TensorMeta, ...] | None:
    """Return the descriptions of a kernel's results while its launches are collected; None while they run.

    A number that is different in each run of a plan is not known then. Where the results depend on it, they tell of it.
    """
    return None if _thread.launches is None else _thread.results


def forbid_collecting() -> None:
    """Raise ``RuntimeError`` while launches are collected, see Note [Collecting launches]."""
    if _thread.launches is not None:
        raise RuntimeError("the launches of this kernel depend on elements")


def collect_draw(generator: Generator | None, count: int) -> tuple[LateDraw, LateDraw] | None:
    """Return seed and offset while launches are collected that take them later; None while launches run.

    Raises ``RuntimeError`` while launches are collected that do not.
    """
    if _thread.launches is None:
        return None
    if not _thread.takes_draws:
        forbid_collecting()
    pair = LateDraw(), LateDraw()
    for each in pair:
        each.generator, each.count = generator, count
    return pair


def allocate_result(spec: TensorMeta) -> AclArray:
    """Allocate an array as ``spec`` describes it, with undefined elements."""
    if _thread.launches is None:
        return on_device.allocate_array(spec)
    return on_device.array_in(PlaceholderBlock(spec), spec)


def _is_live(kind: str, value: Any) -> bool:
    """Return whether an argument is a number that is not a part of the template."""
    return (kind == "const aclScalar*" and value is not None) or value.__class__ in (CallInteger, CallFloat)


def launch(function: str, *values: Any) -> None:
    """Run a function on the current stream; ``values`` are the arguments of its first phase, results included.

    Tensors are arrays of this device, or None; scalars, lists and text are Python's. The prepared call is the same for all
    values of a scalar, see Note [Prepared calls].
    """
    if _thread.launches is not None:
        _thread.launches.append((function, values))
        return
    kinds = PROTOTYPES[function]
    arrays: list[Any] = []
    numbers: list[Any] = []
    key: list[Any] = [function]
    for kind, value in zip(kinds, values, strict=True):
        if isinstance(value, AclArray):
            arrays.append(value)
            key.append((value.spec, value.storage_offset, value.block.nbytes))
        elif _is_live(kind, value):
            key.append(value.__class__)
            numbers.append(value)
        elif isinstance(value, (list, tuple)):
            if kind.endswith("List*"):
                arrays += value
                key.append(tuple([(each.spec, each.storage_offset, each.block.nbytes) for each in value]))
            else:
                key.append(tuple(value))
        else:
            key.append(value)
    cache_key = tuple(key)
    template = _templates.get(cache_key)
    if template is None:
        indices = iter(range(len(numbers)))
        template = CallTemplate(
            function,
            [
                ScalarParameter(next(indices), value) if _is_live(kind, value) else value
                for kind, value in zip(kinds, values, strict=True)
            ],
        )
        keep(_templates, cache_key, template, _CAPACITY)
    template.launch(arrays, numbers)
