"""Batches of a data set, fetched here or by other processes (source: ``torch.utils.data.dataloader``)."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Generic, TypeVar

from dispatch_core.lazy_text import repr_by_attributes
from dispatch_core.tracebacks import api_boundary

from .collation import default_collate, default_convert
from .dataset import Dataset, IterableDataset, Samples
from .fetching import _DatasetKind
from .iterators import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .worker import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)


class _InfiniteConstantSampler:
    """The indices of a stream, which has none."""

    __repr__ = repr_by_attributes()

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


def _refuse(wrong: bool, message: str) -> None:
    if wrong:
        raise ValueError(message)


class DataLoader(Generic[_T_co]):
    """Batches of a data set (source: ``torch.utils.data.DataLoader``).

    Shuffles, and seeds its workers, as torch does from the same seed. ``pin_memory`` brings batches to memory that the
    accelerator copies from by itself, ``pin_memory_device`` to that of another device; where there is none, it warns and
    changes nothing. Raises ``ValueError`` for options that exclude each other.

    >>> import torchlike
    >>> loader = DataLoader(torchlike.arange(5), batch_size=2)
    >>> [batch.tolist() for batch in loader]
    [[0, 1], [2, 3], [4]]
    """

    #: The settings that cannot be changed once the loader is made.
    _FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
    __initialized = False
    #: The length that `len` told last, where it is that of a stream.
    _IterableDataset_len_called: int | None = None

    __repr__ = repr_by_attributes("dataset", "batch_size", "sampler", "num_workers", "drop_last")

    @api_boundary
    def __init__(
        self,
        dataset: Dataset[_T_co] | Samples[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], object] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _refuse(
            num_workers < 0,
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
        )
        _refuse(timeout < 0, "timeout option should be non-negative")
        _refuse(
            num_workers == 0 and prefetch_factor is not None,
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None.",
        )
        _refuse(prefetch_factor is not None and prefetch_factor < 0, "prefetch_factor option should be non-negative")
        _refuse(persistent_workers and num_workers == 0, "persistent_workers option needs num_workers > 0")
        self.dataset: Any = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.timeout = pin_memory, pin_memory_device, timeout
        self.worker_init_fn, self.in_order, self.generator = worker_init_fn, in_order, generator
        self.multiprocessing_context = multiprocessing_context
        is_stream = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if is_stream else _DatasetKind.Map
        if is_stream:
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                _refuse(
                    value is not None,
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}",
                )
        _refuse(sampler is not None and bool(shuffle), "sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            _refuse(
                batch_size != 1 or bool(shuffle) or sampler is not None or drop_last,
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
            )
            batch_size = None
        else:
            _refuse(
                batch_size is None and drop_last,
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
            )
        order: Any = sampler
        if sampler is None:
            if is_stream:
                order = _InfiniteConstantSampler()
            else:
                order = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(order, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size,
            drop_last,
            order,
            batch_sampler,
        )
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._iterator: Any = None
        self.__initialized = True
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """The start method of workers, as a context of ``multiprocessing``; None for the default one."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        if value is not None:
            _refuse(
                self.num_workers == 0,
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={self.num_workers}",
            )
            if isinstance(value, str):
                methods = multiprocessing.get_all_start_methods()
                _refuse(
                    value not in methods,
                    f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                    f"multiprocessing_context={value!r}",
                )
                value = multiprocessing.get_context(value)
            elif not isinstance(value, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={value}"
                )
        self._context = value

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in self._FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0 or not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        """Return an iterator of one pass; loaders of libraries wrap it."""
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __len__(self) -> int:
        length = self._measure()
        if self._dataset_kind == _DatasetKind.Iterable:
            self._IterableDataset_len_called = len(self.dataset)
        return length

    def _measure(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn where there are more workers than processors."""
        if not self.num_workers:
            return
        if hasattr(os, "sched_getaffinity"):
            most, note = len(os.sched_getaffinity(0)), ""
        else:
            most, note = os.cpu_count() or self.num_workers, " (`cpuset` is not taken into account)"
        if self.num_workers > most:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of "
                f"worker in current system is {most}{note}, which is smaller than what this DataLoader is going to create. "
                "Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower the "
                "worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )
