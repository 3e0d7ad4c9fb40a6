"""Arrays that an operator needs in one place: they are counted, said once, and refused above a limit.

Note [Collecting]
    The host computes what Dask cannot, on values that the program reads; a sort needs a dimension on one worker. Where that
    is more than the place holds, the process dies without a word of the operator. So each such operator asks here first.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable
from math import isnan
from typing import Any, Final

import dask.array as da

import dispatch_core as dc
from dispatch_aten.errors import OperatorError
from dispatch_core.tracebacks import warn_caller

from .dask_settings import settings
from .library import Array, Kernel
from .value_checks import leaves

_counts: Final[Counter[str]] = Counter()
#: Where a machine does not say how much memory it has.
_UNKNOWN: Final = 8 << 30
#: The most that needs no question to the scheduler.
_LITTLE: Final = 16 << 20


def collected_bytes() -> dict[str, int]:
    """Return how many bytes each operator has collected, in this process or on one worker.

    >>> type(collected_bytes())
    <class 'dict'>
    """
    return dict(_counts.most_common())


def size_of(arrays: Iterable[Array]) -> int:
    """Return the bytes of arrays; those of unknown size count as none."""
    return sum(0 if isnan(array.nbytes) else int(array.nbytes) for array in arrays)


def limit() -> int:
    """Return the most bytes that an operator may collect: the setting, or a quarter of the least memory of those that may.

    >>> limit() > 1 << 20
    True
    """
    if settings.collect_limit is not None:
        return settings.collect_limit
    return min([_own_memory(), *_workers_memory()]) // 4


def collect(operator: str, count: int, place: str, hint: str) -> None:
    """Count bytes that an operator needs in one place, and say so the first time.

    Raises ``OperatorError`` above the limit.
    """
    if count > _LITTLE or settings.collect_limit is not None:
        most = limit()
        if count > most:
            raise OperatorError(
                f"it needs {show(count)} of arrays of the device 'dask' {place}, and the limit is {show(most)}",
                operator=operator,
                hint=f"{hint}, or raise the limit: dispatch_backend_array_api.devices.dask.settings.collect_limit",
            )
    first = operator not in _counts
    _counts[operator] += count
    if first and count:
        warn_caller(f"The operator '{operator}' collects {show(count)} of arrays of the device 'dask' {place}.")


def collect_on_host(operator: str) -> Kernel:
    """Return the kernel that has the host compute an operator, on arrays that are counted and refused above the limit."""
    compute = dc.host_kernel(operator)

    def kernel(*args: Any, **options: Any) -> Any:
        arrays = [each for each in leaves((*args, *options.values())) if isinstance(each, da.Array)]
        hint = "choose a part of them first, or convert them with .cpu() where they fit"
        collect(operator, size_of(arrays), "in this process", hint)
        return compute(*args, **options)

    kernel.__name__ = kernel.__qualname__ = compute.__name__
    return dc.KernelTraits(on_host=True)(kernel)


@dc.KernelTraits(on_host=True)
def run_on_host(op: Any, /, *args: Any, **options: Any) -> Any:
    """Run any operator on the host (a boxed kernel, for the device's fallback)."""
    return collect_on_host(op.name)(*args, **options)


def show(count: int) -> str:
    """Return a number of bytes as text.

    >>> show(900), show(3 << 20)
    ('900 bytes', '3.0 MiB')
    """
    return f"{count / (1 << 20):,.1f} MiB" if count >= 1 << 16 else f"{count:,} bytes"


def _own_memory() -> int:
    system = sys.modules.get("distributed.system")  # it knows the limits of containers
    if system is not None and system.MEMORY_LIMIT:
        return int(system.MEMORY_LIMIT)
    if sys.platform == "win32":
        return _UNKNOWN
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _workers_memory() -> list[int]:
    """Return the memory of the workers of the program's client that have a limit."""
    from .dask_cluster import find_client

    client: Any = find_client()
    if client is None or client.status != "running":
        return []
    found = client.run_on_scheduler(_limits_of_workers)
    return [int(each) for each in found if each]


def _limits_of_workers(dask_scheduler: Any) -> list[int]:
    return [worker.memory_limit for worker in dask_scheduler.workers.values()]
