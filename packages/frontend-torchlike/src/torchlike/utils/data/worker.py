"""A process that fetches samples for a `DataLoader`: its loop, its seeds, and the errors that it sends home."""

from __future__ import annotations

import os
import queue
import random
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from typing import Any, Final

import numpy as np

from ...random import manual_seed
from ..failures import ExceptionWrapper
from .fetching import _BaseDatasetFetcher

#: A process looks this often, in seconds, whether the other one lives.
INTERVAL: Final = 5.0


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's facts of itself (source: ``torch.utils.data.get_worker_info``)."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


#: Programs set it to None where a thread takes a worker's place.
_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the worker's number, the number of workers, its seed and its data set; None in the main process."""
    return _worker_info


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """Sent where a worker's stream has ended."""

    worker: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Sent where workers begin the next epoch, and back."""


def encode(value: Any, name: str) -> bytes:
    """Return a value as bytes for another process, which `decode` reads; ``name`` is its name in errors.

    The queues of ``multiprocessing`` pickle in a thread of their own, which can only print an error. Raises
    ``PicklingError``, which tells the type and the place of a value that cannot be pickled.
    """
    try:
        return bytes(ForkingPickler.dumps(value))
    except Exception as error:
        place, found = (name, value) if isinstance(error, RecursionError) else _find_unpicklable(value, name)
        raise PicklingError(
            f"{place} is a {type(found).__module__}.{type(found).__qualname__}, which another process cannot be sent: "
            f"{type(error).__name__}: {error}"
        ) from error


def _find_unpicklable(value: Any, place: str) -> tuple[str, Any]:
    """Return the place and the value of the innermost item of lists, tuples and dicts that cannot be pickled."""
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    )
    for key, each in items:
        try:
            ForkingPickler.dumps(each)
        except RecursionError:
            return place, value
        except Exception:  # noqa: BLE001  # whatever it is, it was raised for the whole
            # Not for a list in itself.
            return (place, value) if each is value else _find_unpicklable(each, f"{place}[{key!r}]")
    return place, value


def encode_answer(value: Any, where: str) -> bytes:
    """Return a batch, or a failure, as bytes; instead of a value that cannot be pickled, the failure that says so."""
    if isinstance(value, ExceptionWrapper):
        try:
            return encode(value, "the error")
        except PicklingError:  # its class is none that the parent could find
            value.exc_type = RuntimeError
            return encode(value, "the error")
    try:
        return encode(value, "batch")
    except PicklingError:
        return encode(ExceptionWrapper(where=where), "the error")


#: Read the bytes of `encode`.
decode: Final[Callable[[bytes], Any]] = ForkingPickler.loads


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return NumPy's seed of a worker: that of ``SeedSequence([worker, base % 2**32, base >> 32, 0])`` in 32-bit words."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(entropy).generate_state(4)]


def work(
    make_fetcher: Callable[[], _BaseDatasetFetcher],
    info: tuple[int, int, int, Any],
    init: Callable[[int], object] | None,
    questions: Any,
    answers: Any,
    done: Any,
) -> None:
    """Answer questions, pairs of a number and an encoded index, until None comes or the parent is gone."""
    global _worker_info
    worker, count, base, dataset = info
    try:
        seed = base + worker
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(_generate_state(base, worker))  # noqa: NPY002  # the one that programs draw from
        _worker_info = WorkerInfo(worker, count, seed, dataset)
        where = f"in DataLoader worker process {worker}"
        failure: ExceptionWrapper | None = None
        fetcher: Any = None
        try:
            if init is not None:
                init(worker)
            fetcher = make_fetcher()
        except Exception:  # noqa: BLE001  # whatever it is, it is raised in the parent
            failure = ExceptionWrapper(where=where)
        parent, is_over = os.getppid(), False
        while os.getppid() == parent:
            try:
                question = questions.get(timeout=INTERVAL)
            except queue.Empty:
                continue
            if question is None:
                break
            if isinstance(question, Resume):
                answers.put((question, None))
                is_over, fetcher = False, make_fetcher()
                continue
            if done.is_set() or is_over:
                continue
            number, index = question[0], decode(question[1])
            answer: Any
            if failure is not None:
                answer, failure = failure, None
            else:
                try:
                    answer = fetcher.fetch(index)
                except StopIteration:
                    is_over = True
                    answer = StreamEnd(worker)
                except Exception:  # noqa: BLE001  # as above
                    answer = ExceptionWrapper(where=where)
            answers.put((number, answer if isinstance(answer, StreamEnd) else encode_answer(answer, where)))
            del answer, question, number, index
    except KeyboardInterrupt:
        pass  # the parent was interrupted too, and says so
    if done.is_set():
        answers.cancel_join_thread()
        answers.close()
