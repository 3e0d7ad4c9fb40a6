"""One pass over a data set: in this process, or by workers whose answers are put in order."""

from __future__ import annotations

import multiprocessing
import os
import queue
import warnings
import weakref
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import dispatch_core as dc
from dispatch_core import runtime
from dispatch_core.display import begin_report
from dispatch_core.lazy_text import repr_by_attributes
from dispatch_core.tracebacks import warn_caller

from ...names.lazy_names import import_lazily
from ..failures import ExceptionWrapper
from .fetching import _DatasetKind
from .pinning import pin_memory
from .sampler import draw_seed
from .worker import INTERVAL, Resume, StreamEnd, decode, encode, work

if TYPE_CHECKING:
    from .dataloader import DataLoader

    _Loader: TypeAlias = DataLoader[Any]
else:
    _Loader = import_lazily("torchlike.utils.data.dataloader", "DataLoader")

_NONE: Final = object()


def _count(loader: Any) -> int | None:
    """Return how many batches there will be, None where a sampler, a stream or a loader of another class does not tell."""
    try:
        return int(loader._measure())
    except (AttributeError, TypeError, NotImplementedError):
        return None


def _find_pin_device(loader: Any) -> str | None:
    """Return the type of the device that batches are pinned for; None, after a warning, where there is none."""
    if not getattr(loader, "pin_memory", False):
        return None
    if loader.pin_memory_device:
        return str(loader.pin_memory_device)
    found = dc.current_accelerator()
    if found is None:
        fault = "no accelerator is found"
    elif runtime.find_interface(found.type).host_allocator is None:
        fault = f"not supported on {found.type}"
    else:
        return found.type
    warn_caller(f"'pin_memory' argument is set as true but {fault}, then device pinned memory won't be used.")
    return None


class _BaseDataLoaderIter:
    """The part that both have in common: the indices, and a seed that the workers' are made from."""

    __repr__ = repr_by_attributes("_loader", "_num_yielded")

    def __init__(self, loader: _Loader) -> None:
        self._loader = loader
        self._sampler_iter = iter(loader._index_sampler)
        self._pin_device = _find_pin_device(loader)
        self._base_seed = draw_seed(loader.generator)
        self._num_yielded = 0
        self._dataset, self._dataset_kind, self._num_workers = loader.dataset, loader._dataset_kind, loader.num_workers
        self._auto_collation, self._collate_fn = loader._auto_collation, loader.collate_fn
        self._make_fetcher = partial(
            _DatasetKind.create_fetcher,
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            loader.drop_last,
        )
        self._begin_report()

    def _begin_report(self) -> None:
        """Begin to report progress, if a block of `dispatch_core.show_progress` is open."""
        unit = "batches" if self._loader._auto_collation else "samples"
        self._report = begin_report("DataLoader", unit, partial(_count, self._loader))

    def _end_report(self) -> None:
        if self._report is not None:
            self._report.end()
            self._report = None

    def __iter__(self) -> Self:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __next__(self) -> Any:
        try:
            data = self._next_data()
            if self._pin_device is not None:
                data = pin_memory(data, self._pin_device)
        except BaseException:
            self._end_report()
            raise
        self._num_yielded += 1
        if self._report is not None:
            self._report(self._num_yielded)
        is_stream = self._dataset_kind == _DatasetKind.Iterable
        told = self._loader._IterableDataset_len_called if is_stream else None
        if told is not None and self._num_yielded > told:
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {told}(when accessing "
                f"len(dataloader)), but {self._num_yielded} samples have been fetched. ",
                stacklevel=2,
            )
        return data

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Fetches each batch when it is asked for."""

    def __init__(self, loader: _Loader) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = self._make_fetcher()

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


class _Pool:
    """Workers with their queues, which end with the iterator."""

    def __init__(self, iterator: _MultiProcessingDataLoaderIter, loader: _Loader) -> None:
        context = loader.multiprocessing_context or multiprocessing
        self._process = os.getpid()
        self.answers = context.Queue()
        self.done = context.Event()
        self.questions: list[Any] = []
        self.workers: list[Any] = []
        for number in range(loader.num_workers):
            questions = context.Queue()
            questions.cancel_join_thread()
            info = number, loader.num_workers, iterator._base_seed, loader.dataset
            arguments = iterator._make_fetcher, info, loader.worker_init_fn, questions, self.answers, self.done
            worker = context.Process(target=work, args=arguments, daemon=True)
            worker.start()
            self.questions.append(questions)
            self.workers.append(worker)

    def close(self) -> None:
        """End the workers; nothing in a process that was forked from theirs, where the iterator may go, too."""
        if os.getpid() != self._process:
            return
        self.done.set()
        for questions in self.questions:
            questions.put(None)
        for worker in self.workers:
            worker.join(timeout=1.0)
            if worker.is_alive():
                worker.terminate()
                worker.join()
        for each in (*self.questions, self.answers):
            each.cancel_join_thread()
            each.close()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Lets workers fetch batches ahead, and gives them out in order."""

    def __init__(self, loader: _Loader) -> None:
        super().__init__(loader)
        if not loader.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._limit = loader.prefetch_factor * loader.num_workers
        self._pool = _Pool(self, loader)
        self._close = weakref.finalize(self, self._pool.close)
        self._start()

    @property
    def _workers(self) -> list[Any]:
        return self._pool.workers

    def _shutdown_workers(self) -> None:
        """End the workers, as the iterator's own end does; a second time it does nothing."""
        self._close()

    def __del__(self) -> None:
        """End the workers; programs call it by name."""
        close = getattr(self, "_close", None)  # None where the workers were never made
        if close is not None:
            close()

    def _reset(self, loader: _Loader) -> None:
        """Begin the next pass with the same workers."""
        self._end_report()
        self._sampler_iter = iter(loader._index_sampler)
        self._num_yielded = 0
        self._begin_report()
        for questions in self._pool.questions:
            questions.put(Resume())
        missing = len(self._pool.workers)
        while missing:
            # Answers to earlier questions are dropped.
            missing -= isinstance(self._receive()[0], Resume)
        self._start()

    def _start(self) -> None:
        self._sent = self._expected = 0
        #: Number of a question → its worker, and the answer once it came.
        self._tasks: dict[int, tuple[int, Any]] = {}
        self._is_active = [True] * len(self._pool.workers)
        self._turn = cycle(range(len(self._pool.workers)))
        for _ in range(self._limit):
            self._ask()

    def _ask(self) -> None:
        """Send the next index to the next worker whose stream goes on."""
        if not any(self._is_active):
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        question = self._sent, encode(index, "the sampler's index")
        worker = next(number for number in self._turn if self._is_active[number])
        self._pool.questions[worker].put(question)
        self._tasks[self._sent] = (worker, _NONE)
        self._sent += 1

    def _receive(self) -> tuple[Any, Any]:
        """Wait for an answer; raises ``RuntimeError`` when a worker died or the time is over."""
        timeout = self._loader.timeout
        while True:
            try:
                answer: tuple[Any, Any] = self._pool.answers.get(timeout=timeout or INTERVAL)
            except queue.Empty:
                gone = [
                    str(worker.pid)
                    for worker, is_active in zip(self._pool.workers, self._is_active, strict=True)
                    if is_active and not worker.is_alive()
                ]
                if gone:
                    pids = ", ".join(gone)
                    self._close()
                    raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from None
                if timeout:
                    raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
            else:
                return answer

    def _next_data(self) -> Any:
        while self._tasks:
            if self._loader.in_order:
                worker, answer = self._tasks.get(self._expected, (None, _NONE))
                if worker is None:
                    self._expected += 1
                    continue
                if answer is not _NONE:
                    del self._tasks[self._expected]
                    self._expected += 1
                    return self._give(answer)
                if not self._is_active[worker]:
                    # Its stream has ended: it will not answer.
                    del self._tasks[self._expected]
                    continue
            elif not any(self._is_active[worker] for worker, _ in self._tasks.values()):
                self._tasks.clear()
                break
            number, answer = self._receive()
            worker = self._tasks[number][0]
            if isinstance(answer, StreamEnd):
                self._is_active[worker] = False
                del self._tasks[number]
                self._ask()
            elif self._loader.in_order:
                self._tasks[number] = (worker, answer)
            else:
                del self._tasks[number]
                return self._give(answer)
        if not self._loader.persistent_workers:
            self._close()
        raise StopIteration

    def _give(self, found: Any) -> Any:
        self._ask()
        answer = decode(found)
        if isinstance(answer, ExceptionWrapper):
            answer.reraise()
        return answer
