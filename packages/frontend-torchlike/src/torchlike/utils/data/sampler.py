"""The order in which samples are taken (source: ``torch.utils.data.sampler``): torch's own from the same seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from dispatch_aten.dtypes import float64, int64
from dispatch_core.lazy_text import repr_by_attributes

from ...creation.factories import FACTORIES, as_tensor
from ...functions.operator_functions import FUNCTIONS
from ...random import Generator

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
    "draw_seed",
]

_T_co = TypeVar("_T_co", covariant=True)


def draw_seed(generator: Generator | None = None) -> int:
    """Draw a seed from a generator, or from the cpu's, as torch does."""
    return int(FACTORIES["empty"]((), dtype=int64).random_(generator=generator).item())


def _check_count(value: Any, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value!r}")


class Sampler(Generic[_T_co]):
    """The base of all orders (source: ``torch.utils.data.Sampler``); a subclass defines ``__iter__``."""

    __repr__ = repr_by_attributes()

    def __init__(self, data_source: Any = None) -> None:
        """Do nothing; older programs pass the data set."""

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """One index after the other (source: ``torch.utils.data.SequentialSampler``)."""

    __repr__ = repr_by_attributes("data_source")

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices at random, each once or with replacement (source: ``torch.utils.data.RandomSampler``)."""

    __repr__ = repr_by_attributes("data_source", "replacement")

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of indices; that of samples where it is not given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, generator = len(self.data_source), self.generator
        if generator is None:
            generator = Generator().manual_seed(draw_seed())
        if self.replacement:
            # In portions of 32, as torch draws them.
            for size in [32] * (self.num_samples // 32) + [self.num_samples % 32]:
                yield from FACTORIES["randint"](0, count, (size,), dtype=int64, generator=generator).tolist()
            return
        for _ in range(self.num_samples // count):
            yield from FACTORIES["randperm"](count, generator=generator).tolist()
        yield from FACTORIES["randperm"](count, generator=generator).tolist()[: self.num_samples % count]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices at random (source: ``torch.utils.data.SubsetRandomSampler``)."""

    __repr__ = repr_by_attributes(samples=len)

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for place in FACTORIES["randperm"](len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices at random by their weights (source: ``torch.utils.data.WeightedRandomSampler``)."""

    __repr__ = repr_by_attributes("num_samples", "replacement")

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count(num_samples, "num_samples")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        draw = FUNCTIONS["multinomial"]
        found = draw(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from found.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of the indices of another order (source: ``torch.utils.data.BatchSampler``).

    >>> list(BatchSampler(range(5), 2, False))
    [[0, 1], [2, 3], [4]]
    """

    __repr__ = repr_by_attributes("sampler", "batch_size", "drop_last")

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count(batch_size, "batch_size")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := [*islice(indices, self.batch_size)]:
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
