"""Batches of sequences of several lengths (source: ``torch.nn.utils.rnn``)."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ...creation.factories import FACTORIES, as_tensor
from ...device_modules.absent_names import add_moved
from ...functions.operator_functions import FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):  # noqa: N801  # torch's name
    """The parts of a packed sequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences that are packed step by step (source: ``torch.nn.utils.rnn.PackedSequence``).

    ``data`` holds the first elements of all sequences, then the second ones of those that have one, and so on;
    ``batch_sizes`` says how many each step has. ``sorted_indices`` and ``unsorted_indices`` lead to the order from the
    longest sequence to the shortest, and back. Made by ``pack_padded_sequence`` and ``pack_sequence``.
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        """Check that the batch sizes are on the cpu, and find the way back where it is not given."""
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They "
                "should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the data to another dtype or device; the indices follow to the device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order, back = (
            None if each is None else each.to(data.device) for each in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, order, back)

    def cpu(self) -> Self:
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        return self._move_to_device("cuda", *args, **kwargs)

    def _move_to_device(self, name: str, *args: Any, **kwargs: Any) -> Self:
        return self.to(*(args or (name,)), **kwargs)

    def pin_memory(self) -> Self:
        order, back = (
            None if each is None else each.pin_memory() for each in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(self.data.pin_memory(), self.batch_sizes, order, back)

    def is_pinned(self) -> bool:
        return self.data.is_pinned()

    def double(self) -> Self:
        return self.to(dtype=ScalarType.Double)

    def float(self) -> Self:
        return self.to(dtype=ScalarType.Float)

    def half(self) -> Self:
        return self.to(dtype=ScalarType.Half)

    def long(self) -> Self:
        return self.to(dtype=ScalarType.Long)

    def int(self) -> Self:
        return self.to(dtype=ScalarType.Int)

    def short(self) -> Self:
        return self.to(dtype=ScalarType.Short)

    def char(self) -> Self:
        return self.to(dtype=ScalarType.Char)

    def byte(self) -> Self:
        return self.to(dtype=ScalarType.Byte)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a cuda device."""
        return self.data.device.type == "cuda"


add_moved(PackedSequence, is_asked=True)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes another one.

    >>> import torchlike
    >>> invert_permutation(torchlike.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    found: Tensor = FUNCTIONS["argsort"](permutation)
    return found


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences ``(T, B, *)``, or ``(B, T, *)`` with ``batch_first``.

    Raises ``RuntimeError`` for lengths that are not sorted, from the longest, unless not ``enforce_sorted``.
    """
    check_tensor(input, "pack_padded_sequence")
    lengths = as_tensor(lengths, dtype=ScalarType.Long, device=None if isinstance(lengths, Tensor) else "cpu")
    if not lengths.is_cpu:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} Long tensor"
        )
    order = None
    if not enforce_sorted:
        lengths, order = FUNCTIONS["sort"](lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = dc.ops.aten._pack_padded_sequence.default(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: builtins.float = 0.0,
    total_length: builtins.int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the padded sequences, in their first order, and their lengths.

    Raises ``ValueError`` where ``total_length`` is less than the longest sequence.
    """
    steps = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    padded, lengths = dc.ops.aten._pad_packed_sequence.default(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, steps
    )
    back = sequence.unsorted_indices
    if back is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: builtins.float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Return sequences of several lengths as one tensor, ``(T, B, *)`` or ``(B, T, *)``.

    >>> import torchlike
    >>> pad_sequence([torchlike.tensor([1, 2]), torchlike.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    found: Tensor = dc.ops.aten.pad_sequence.default(list(sequences), batch_first, padding_value, padding_side)
    return found


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded tensor, each in its own length."""
    check_tensor(padded_sequences, "unpad_sequence", "padded_sequences")
    check_tensor(lengths, "unpad_sequence", "lengths")
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    steps: Any = FACTORIES["arange"](padded_sequences.shape[1], device=lengths.device)
    return [each[steps < length] for each, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of several lengths, from the longest unless not ``enforce_sorted``.

    >>> import torchlike
    >>> pack_sequence([torchlike.tensor([1, 2, 3]), torchlike.tensor([4])]).data
    tensor([1, 4, 2, 3])
    """
    lengths = as_tensor([each.size(0) for each in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed sequence, each in its own length."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
