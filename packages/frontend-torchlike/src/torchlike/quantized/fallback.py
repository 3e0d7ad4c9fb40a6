"""Operators that torch refuses for quantized tensors: their numbers are computed with, and floating results quantized.

Note [Parameters of results]
    A floating result has the parameters of the call's first quantized tensor; it is saturated. Boolean and integer results
    stay. A result that is written to, in place or by ``out=``, is the tensor that was given, with its own parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, ClassVar, Final, NoReturn, Self

from dispatch_core import frontends
from dispatch_core.tracebacks import warn_caller

from ..tensors.tensor import Tensor
from . import numbers
from .movements import refuse_channels
from .tensor import QUANTIZED_LAYOUT, Quantized, is_quantized, record_of

_in_block: Final[ContextVar[bool | None]] = ContextVar("torchlike.quantized_fallback", default=None)
_counts: Final[Counter[str]] = Counter()


class quantized_fallback:  # noqa: N801  # as torch's switches are written
    """Switch the computation by dequantized numbers of operators that torch refuses, in a block.

    It is on; off, such a call raises ``NotImplementedError``, as in torch. ``quantized_fallback.set(False)`` switches it for
    the process. The first call of each operator warns, and ``quantized_fallback.counts()`` says how often each has been
    computed so. torch has no such switch.

    >>> import torchlike
    >>> q = torchlike.quantize_per_tensor(torchlike.ones(2), 0.1, 0, torchlike.qint8)
    >>> with quantized_fallback(False):
    ...     q + q
    Traceback (most recent call last):
        ...
    NotImplementedError: Could not run 'aten::add.Tensor' with arguments from the 'QuantizedCPU' backend...
    """

    _of_process: ClassVar[bool] = True

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = bool(enabled)
        self._saved: list[bool | None] = []

    @staticmethod
    def counts() -> dict[str, int]:
        """Return how often each operator has been computed by dequantized numbers."""
        return dict(_counts.most_common())

    @staticmethod
    def is_enabled() -> bool:
        """Return whether operators that torch refuses are computed."""
        found = _in_block.get()
        return quantized_fallback._of_process if found is None else found

    @staticmethod
    def set(enabled: bool) -> None:
        """Switch it for the process; a block still has its own choice."""
        quantized_fallback._of_process = bool(enabled)

    def __enter__(self) -> Self:
        self._saved.append(_in_block.get())
        _in_block.set(self._enabled)
        return self

    def __exit__(self, *_: object) -> None:
        _in_block.set(self._saved.pop())


def refuse(op: Any, values: tuple[Any, ...]) -> NoReturn:
    """Raise torch's error for an operator that it has no kernel for."""
    device = next(iter(quantized_in(values))).device.type.upper()
    raise NotImplementedError(
        f"Could not run '{op.name}' with arguments from the 'Quantized{device}' backend. This could be because the operator"
        " doesn't exist for this backend.\nHint: x.dequantize() has the numbers; torchlike.quantized.quantized_fallback has"
        " been switched off, by which they are computed with"
    )


def quantized_in(values: Any) -> Iterator[Tensor]:
    """Yield the quantized tensors among arguments, lists included."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from quantized_in(value)
        elif is_quantized(value):
            yield value


def compute_dequantized(op: Any, *values: Any) -> Any:
    """Compute an operator with the numbers of its quantized arguments; see Note [Parameters of results]."""
    if not quantized_fallback.is_enabled():
        refuse(op, values)
    _counts[op.name] += 1
    if _counts[op.name] == 1:
        warn_caller(
            f"The operator '{op.name}' is not supported for quantized tensors and is computed with their numbers, which are"
            " quantized again. This may have performance implications."
        )
    return compute(op, values)


def compute(op: Any, values: tuple[Any, ...], quantize: Any = None, *, in_blocks: bool = False) -> Any:
    """Compute with numbers, silently; ``quantize`` makes the results, with the parameters of the first tensor if None."""
    read = numbers.dequantize_in_blocks if in_blocks else numbers.dequantize

    moves = any(each.kind == "view" for each in frontends.call_signature(op).results)
    if moves and any(record_of(each).axis is not None for each in quantized_in(values)):
        refuse_channels()

    def make(value: Tensor, record: Quantized) -> Tensor:
        if not value.is_floating_point():
            return value
        if record.axis is not None and value.shape != record.integers.shape:
            raise RuntimeError(
                "the result of a tensor that is quantized per channel has another shape, and so no channels of its own\n"
                "Hint: x.dequantize() has the numbers"
            )
        found: Tensor = quantize(value) if quantize is not None else numbers.requantize(value, record)
        return found

    def write(tensor: Tensor, value: Tensor) -> None:
        record = record_of(tensor)
        if value.shape != record.integers.shape:  # of an `out=` that was resized
            record.integers.resize_(value.shape)
        made = numbers.requantize(value, record) if quantize is None else quantize(value)
        record.integers.copy_(record_of(made).integers)
        tensor._count_write()

    return frontends.call_converted(QUANTIZED_LAYOUT, op, values, read=read, make=make, write=write)
