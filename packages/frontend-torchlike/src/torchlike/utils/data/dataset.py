"""Data sets: a sample for each index, or a stream of samples (source: ``torch.utils.data.dataset``)."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from dispatch_core.lazy_text import repr_by_attributes

from ...creation.factories import FACTORIES
from ...random import Generator, default_generator
from ...tensors.tensor import Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")


class Samples(Protocol[_T_co]):
    """The protocol of a data set: a sequence, a tensor, an array."""

    def __getitem__(self, index: int, /) -> _T_co: ...
    def __len__(self) -> int: ...


class Dataset(Generic[_T_co]):
    """A sample for each index (source: ``torch.utils.data.Dataset``); a subclass defines ``__getitem__``."""

    __repr__ = repr_by_attributes()

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[_T_co]) -> Dataset[_T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """A stream of samples (source: ``torch.utils.data.IterableDataset``); a subclass defines ``__iter__``."""

    def __add__(self, other: Dataset[_T_co]) -> Dataset[_T_co]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tuples of the rows of tensors with the same first size (source: ``torch.utils.data.TensorDataset``).

    >>> import torchlike
    >>> TensorDataset(torchlike.tensor([1, 2]), torchlike.tensor([3., 4.]))[1]
    (tensor(2), tensor(4.))
    """

    __repr__ = repr_by_attributes(samples=len, tensors=lambda dataset: len(dataset.tensors))

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            sizes = [tensor.size(0) for tensor in tensors]
            raise AssertionError(f"Size mismatch between tensors\nHint: their first sizes are {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


def _fetch_all(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """Return the samples of several indices."""
    if callable(getattr(dataset, "__getitems__", None)):
        found: list[Any] = dataset.__getitems__(indices)
        return found
    return [dataset[index] for index in indices]


class StackDataset(Dataset[Any]):
    """Tuples or dicts of the samples of several data sets (source: ``torch.utils.data.StackDataset``)."""

    __repr__ = repr_by_attributes("datasets", samples=len)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types "
                "are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        parts = args or tuple(kwargs.values())
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        names = list(self.datasets) if isinstance(self.datasets, dict) else None
        columns = []
        for part in self.datasets.values() if names else self.datasets:
            column = _fetch_all(part, indices)
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        rows = zip(*columns, strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows] if names else [tuple(row) for row in rows]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """Data sets one after the other (source: ``torch.utils.data.ConcatDataset``)."""

    __repr__ = repr_by_attributes("datasets", samples=len)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return the index after the last sample of each data set."""
        return list(itertools.accumulate(len(each) for each in sequence))

    def __init__(self, datasets: Iterable[Dataset[_T_co] | Samples[_T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[number - 1] if number else 0
        return self.datasets[number][idx - before]


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other (source: ``torch.utils.data.ChainDataset``)."""

    __repr__ = repr_by_attributes("datasets")

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _each(self) -> Iterator[Any]:
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield each

    def __iter__(self) -> Iterator[Any]:
        for each in self._each():
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in self._each())


class Subset(Dataset[_T_co]):
    """The samples of some indices (source: ``torch.utils.data.Subset``)."""

    __repr__ = repr_by_attributes("dataset", samples=len)

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your custom "
                "logic. A simple implementation:\n\ndef __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[each] for each in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return _fetch_all(self.dataset, [self.indices[each] for each in indices])

    def __len__(self) -> int:
        return len(self.indices)


def _to_lengths(count: int, parts: Sequence[float]) -> list[int]:
    """Return the lengths of parts of a whole; the rest is dealt out one by one."""
    lengths = []
    for place, part in enumerate(parts):
        if part < 0 or part > 1:
            raise ValueError(f"Fraction at index {place} is not between 0 and 1")
        lengths.append(math.floor(count * part))
    for place in range(count - sum(lengths)):
        lengths[place % len(lengths)] += 1
    for place, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {place} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return lengths


def random_split(
    dataset: Dataset[_T], lengths: Sequence[float], generator: Generator | None = default_generator
) -> list[Subset[_T]]:
    """Split a data set at random into parts of given lengths, or of given fractions of it.

    Raises ``ValueError`` for lengths that do not sum up to that of the data set (source: ``torch.utils.data.random_split``).
    """
    count = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _to_lengths(count, lengths)
    if sum(lengths) != count:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset!\n"
            f"Hint: the lengths are {list(lengths)}, and the data set has {count} samples"
        )
    order = FACTORIES["randperm"](count, generator=generator).tolist()
    ends = list(itertools.accumulate(int(length) for length in lengths))
    return [Subset(dataset, order[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
