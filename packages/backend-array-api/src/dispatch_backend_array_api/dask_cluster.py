"""Computing Dask's arrays: on the cluster of the program's client, or in threads of this process.

Note [Lineage]
    Dask's scheduler keeps, for every result that a client holds, how it was made: when a worker is lost, its results are
    computed again. Where each step of a training run is made of the one before, that is a chain without end. So after
    every `ClusterSettings.steps` computations in a row the small ones among the results that are kept are gathered, and
    become values of the graph themselves: nothing refers to their operands, and the scheduler forgets these.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, Final, TypeVar

import dask
import dask.array as da
import numpy as np

import dispatch_core as dc
from dispatch_core.tracebacks import warn_caller

from .dask_chunks import shape_of
from .dask_settings import settings
from .library import Array, Kernel

T = TypeVar("T")
#: How often a wait looks whether the scheduler is still there.
_POLL_SECONDS: Final = 0.5
#: The names of computed arrays → how many computations lie behind each.
_depths: Final[dict[str, int]] = {}
_KNOWN: Final = 1 << 16
#: The names of arrays → the operators that made them.
_operators: Final[dict[str, str]] = {}
_has_warned = False
#: Where the last cluster was that computed something.
_addresses: Final[list[str]] = []
_pool: ThreadPoolExecutor | None = None


def compute(arrays: Sequence[Array]) -> list[Array]:
    """Return arrays that are computed, or are about to be on the cluster, in one graph.

    Raises ``BackendError`` where the scheduler is gone.
    """
    client = find_client()
    if client is None:
        return _make_distinct(with_sizes(_translate_absence(arrays, lambda: _persist_here(arrays))))
    from distributed import futures_of

    depths = [_depth(array) + 1 for array in arrays]
    _check(client)
    _addresses[:] = [client.scheduler.address]
    kept = _translate_loss(client, lambda: list(client.persist(list(arrays))))
    if len(_depths) > _KNOWN:
        _depths.clear()
    _depths.update((array.name, depth) for array, depth in zip(kept, depths, strict=True))
    kept = with_sizes(kept)
    long = [
        place for place, depth in enumerate(depths) if depth >= settings.steps and kept[place].nbytes <= settings.small
    ]
    if long:
        for place, values in zip(long, gather([kept[place] for place in long]), strict=True):
            past, kept[place] = kept[place], da.from_array(values, chunks=kept[place].chunks)
            # No other array refers to these, but garbage may for a while.
            for future in futures_of(past):
                future.release()
    return _make_distinct(kept)


def _make_distinct(arrays: list[Array]) -> list[Array]:
    """Return an array of its own for each: Dask gives one for two of equal values, which are not one memory."""
    first: dict[int, int] = {}
    return [
        array if first.setdefault(id(array), place) == place else array.copy() for place, array in enumerate(arrays)
    ]


def gather(arrays: Sequence[Array]) -> list[Any]:
    """Return NumPy's arrays of the values. Raises ``BackendError`` where the scheduler is gone."""
    client = find_client()
    if client is None:
        options: dict[str, Any] = {} if _has_own_scheduler() else {"pool": _threads()}
        return [np.asarray(each) for each in _translate_absence(arrays, lambda: dask.compute(*arrays, **options))]
    from distributed import futures_of

    _check(client)
    # Chunk by chunk: Dask would join them on one worker, which may not hold the whole.
    kept = _translate_loss(client, lambda: list(client.persist(list(arrays))))
    found = []
    for array, made in zip(arrays, kept, strict=True):
        chunks = {future.key: future for future in futures_of(made)}
        join, extra = made.__dask_postcompute__()
        found.append(np.asarray(join(_read_all(client, made.__dask_keys__(), chunks, array), *extra)))
    return found


def _read_all(client: Any, keys: Any, chunks: dict[Any, Any], array: Array) -> Any:
    """Return the values of nested lists of chunks."""
    if isinstance(keys, list):
        return [_read_all(client, each, chunks, array) for each in keys]
    return _read(client, chunks[keys], array)


def get(array: Array) -> Any:
    """Return the values of an array on the host, which are not to be written to."""
    values = gather([array])[0]
    values.flags.writeable = False
    return values


def synchronize() -> None:
    """Wait for everything that the cluster computes for this client."""
    client = find_client()
    if client is None:
        return
    _check(client)
    deadline = _Deadline(client)
    while any(state.status == "pending" for state in list(client.futures.values())):
        time.sleep(_POLL_SECONDS / 25)
        deadline.check()


def find_client() -> Any:
    """Return the program's client of a cluster, or None; the library for clusters is not imported to find out."""
    distributed = sys.modules.get("distributed")
    if distributed is None or _has_own_scheduler():
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _has_own_scheduler() -> bool:
    """Return whether the program has chosen another way to compute by Dask's own setting."""
    chosen = dask.config.get("scheduler", None)
    return chosen is not None and chosen != "dask.distributed"


def _threads() -> ThreadPoolExecutor:
    """Return threads in which NumPy warns of no infinities, as on all devices."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(dask.system.CPU_COUNT, initializer=lambda: np.seterr(all="ignore"))
    return _pool


def _persist_here(arrays: Iterable[Array]) -> list[Array]:
    options: dict[str, Any] = {} if _has_own_scheduler() else {"pool": _threads()}
    return list(dask.persist(*arrays, **options))


def with_sizes(arrays: list[Array]) -> list[Array]:
    """Compute the unknown sizes of arrays, and return these."""
    unknown = [array for array in arrays if None in shape_of(array)]
    if not unknown:
        return arrays
    lengths = [_lengths(array) for array in unknown]
    found = iter(gather([each for group in lengths for each in group]))
    for array, group in zip(unknown, lengths, strict=True):
        sizes = [tuple(int(size) for size in next(found)) for _ in group]
        array._chunks = tuple(sizes)
    return arrays


def _lengths(array: Array) -> list[Array]:
    """Return for each dimension the lengths of the chunks along it, as arrays that are not computed yet."""
    found = []
    for dim in range(array.ndim):
        along = array.blocks[tuple([slice(None) if each == dim else slice(0, 1) for each in range(array.ndim)])]
        ones = along.map_blocks(
            _length,
            dim,
            dtype=np.int64,
            chunks=((1,) * along.numblocks[dim],),
            drop_axis=[each for each in range(array.ndim) if each != dim],
            meta=np.empty((0,), np.int64),
        )
        found.append(ones)
    return found


def _length(block: Any, dim: int) -> Any:
    return np.array([block.shape[dim]])


def _depth(array: Array) -> int:
    """Return the number of computations behind an array's operands."""
    return max((_depths.get(name, 0) for name in array.dask.layers), default=0)


class _Deadline:
    """Refuses to wait for a scheduler that has been out of reach for too long."""

    def __init__(self, client: Any) -> None:
        self._client, self._since = client, None if client.status == "running" else time.monotonic()

    def check(self) -> None:
        """Raise ``BackendError`` where the time is over, or the client has given up."""
        status, now = self._client.status, time.monotonic()
        if status == "running":
            self._since = None
            return
        self._since = now if self._since is None else self._since
        if status != "connecting" or now - self._since > settings.patience:
            raise _loss_error(self._client)


def _check(client: Any) -> None:
    """Wait for a scheduler that is out of reach, for as long as the settings say."""
    deadline = _Deadline(client)
    while client.status != "running":
        deadline.check()
        time.sleep(_POLL_SECONDS / 5)


def _wait(client: Any, future: Any) -> None:
    """Wait until a future is done or has failed, by no exceptions: their tracebacks would keep results alive."""
    if future.done():
        return
    is_done, deadline = threading.Event(), _Deadline(client)
    future.add_done_callback(lambda _: is_done.set())
    while not (is_done.wait(_POLL_SECONDS) or future.done()):
        deadline.check()


def _read(client: Any, future: Any, array: Array) -> Any:
    """Return the value of a future, of a chunk of an array, and let go of it."""
    _wait(client, future)
    try:
        return _translate_loss(client, lambda: future.result(timeout=settings.patience))
    except dc.DispatchError:
        raise
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise _death_error(error, array) from error
        raise dc.BackendError(
            f"device 'dask': an array could not be computed: {type(error).__name__}: {error}",
            hint="a worker raised the error above",
        ) from error
    finally:
        future.release()


def _translate_loss(client: Any, call: Callable[[], T]) -> T:
    """Return the result of ``call``; where Dask gives up, say whether the scheduler is gone."""
    try:
        return call()
    except TimeoutError:
        raise
    except (asyncio.CancelledError, futures.CancelledError) as error:
        fault = (
            _loss_error(client)
            if client.status != "running"
            else dc.BackendError(
                f"device 'dask': Dask has cancelled a computation: {error}",
                hint="it does so where the program cancels a future or restarts the client, and where a worker is lost too"
                " often; make the tensors again",
            )
        )
        fault.__cause__ = error
    except (OSError, RuntimeError) as error:
        if client.status == "running":
            raise
        fault = _loss_error(client)
        fault.__cause__ = error
    raise fault


def _translate_absence(arrays: Sequence[Array], call: Callable[[], T]) -> T:
    """Return the result of ``call``; where it fails for arrays that a cluster held, say that there is none now."""
    try:
        return call()
    except ValueError as error:
        if not _addresses or not any(map(_depth, arrays)):
            raise
        raise dc.BackendError(
            f"device 'dask': the program has no client now, and the cluster at {_addresses[0]} held these arrays",
            hint="start a cluster and a new client, and make the tensors again: what its workers held is lost",
        ) from error


def name_results(operator: str, kernel: Kernel) -> Kernel:
    """Make a kernel remember which arrays are results of its operator, for errors of workers that name tasks."""

    @wraps(kernel)
    def run(*args: Any, **options: Any) -> Any:
        found = kernel(*args, **options)
        if len(_operators) > _KNOWN:
            _operators.clear()
        for each in found if isinstance(found, tuple) else (found,):
            if isinstance(each, da.Array):
                _operators[each.name] = operator
                if len(each.dask.layers) > settings.depth:
                    _warn_of_depth(len(each.dask.layers))
        return found

    return run


def _warn_of_depth(count: int) -> None:
    """Say once that a graph grows without end."""
    global _has_warned
    if not _has_warned:
        _has_warned = True
        warn_caller(
            f"An array of the device 'dask' waits for {count:,} layers of operators, as where the steps of a training are"
            " eager: put each step into a pipeline, or read a value now and then."
        )


def _find_operator(task: Any, array: Array) -> str | None:
    """Return the operator that a task belongs to: that of its layer, or of the nearest one that is made of it."""
    layers, later = [task[0] if isinstance(task, tuple) else task], array.dask.dependents
    for layer in layers:
        if layer in _operators:
            return _operators[layer]
        layers += [each for each in later.get(layer, ()) if each not in layers]
    return _operators.get(array.name)


def _death_error(error: Any, array: Array) -> dc.BackendError:
    operator = _find_operator(error.task, array)
    what = f"the task {error.task!r}" if operator is None else f"{operator} (task {error.task!r})"
    return dc.BackendError(
        f"device 'dask': {error.allowed_failures + 1} workers died while they computed {what}",
        hint="a worker that takes more memory than its limit is killed: choose smaller chunks, or give workers more",
    )


def _loss_error(client: Any) -> dc.BackendError:
    address = getattr(client.scheduler, "address", None) or getattr(client, "_start_arg", None) or "an unknown address"
    return dc.BackendError(
        f"device 'dask': the scheduler at {address} is gone (the client is {client.status}), so nothing can be computed",
        hint="start a cluster and a new client, and make the tensors again: what its workers held is lost",
    )
