"""Right calls of operators of ``pooling.rows`` that follow one pattern."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dispatch_core import ops

from ..drawing import CallRow, Draw, Make, call


def _indices(name: str, *args: Any) -> Any:
    """Return the results of a pooling operator, to make arguments of those that take them."""
    return getattr(ops.aten, name)(*args)


def _indexed_backward(name: str, shape: tuple[int, ...], *options: Any) -> Make:
    def make(r: Draw) -> tuple[Any, ...]:
        input = r.f(*shape)
        samples = [r.f(2, 2, len(shape) - 2, low=0.0, high=1.0)] if name.startswith("fractional") else []
        made, indices = _indices(name, input, *options, *samples)
        return r.f(*made.shape), input, *([] if name.startswith("adaptive") else options), indices

    return make


def _unpool(count: int) -> Make:
    def make(r: Draw) -> tuple[Any, ...]:
        kernel = [2] * count
        made, indices = _indices(f"max_pool{count}d_with_indices", r.f(2, 2, *[4] * count), kernel)
        rest = (kernel, [0] * count) if count == 3 else ()
        return made, indices, [4] * count, *rest

    return make


def _average_backward(count: int, *options: Any) -> Make:
    def make(r: Draw) -> tuple[Any, ...]:
        input = r.f(2, 2, *(7, 6, 5)[:count])
        made = getattr(ops.aten, f"avg_pool{count}d")(input, *options)
        return r.f(*made.shape), input, *options

    return make


def _pools(count: int) -> Iterator[CallRow]:
    sizes, wanted = (7, 6, 5)[:count], [3, 4, 2][:count]
    whole, kernel = (2, 2, *sizes), [3, 2, 2][:count]
    stride, pad = [2, 1, 2][:count], [1, 1, 0][:count]
    windows = (kernel, stride, pad, [1] * count, True)
    random = (kernel, wanted)
    yield call(f"max_pool{count}d_with_indices", lambda r: (r.f(*whole), *windows))
    yield call(
        f"max_pool{count}d_with_indices_backward", _indexed_backward(f"max_pool{count}d_with_indices", whole, *windows)
    )
    yield call(f"max_pool{count}d", lambda r: (r.f(*whole), kernel))
    averages = [(kernel, stride, pad, *rest) for rest in ((True, False, None), (False, True, 5))]
    for options in averages:
        yield call(f"avg_pool{count}d", lambda r, options=options: (r.f(*whole), *options))
        yield call(f"avg_pool{count}d_backward", _average_backward(count, *options))
    for size in (wanted, [1] * count, list(sizes)):
        yield call(f"adaptive_avg_pool{count}d", lambda r, size=size: (r.f(*whole), size))
        yield call(f"_adaptive_avg_pool{count}d", lambda r, size=size: (r.f(*whole), size))
        yield call(f"_adaptive_avg_pool{count}d_backward", lambda r, size=size: (r.f(2, 2, *size), r.f(*whole)))
    yield call(f"adaptive_max_pool{count}d", lambda r: (r.f(*whole), wanted))
    yield call(f"adaptive_max_pool{count}d_backward", _indexed_backward(f"adaptive_max_pool{count}d", whole, wanted))
    yield call(f"fractional_max_pool{count}d", lambda r: (r.f(*whole), *random, r.f(2, 2, count, low=0.0, high=1.0)))
    yield call(
        f"fractional_max_pool{count}d_backward", _indexed_backward(f"fractional_max_pool{count}d", whole, *random)
    )
    yield call(f"max_unpool{count}d", _unpool(count))


def _list_calls() -> Iterator[CallRow]:
    yield call("max_pool1d", lambda r: (r.f(2, 3, 7), [3], [2], [1]))
    yield call("max_pool1d_with_indices", lambda r: (r.f(2, 3, 7), [3], [2], [1]))
    yield call("avg_pool1d", lambda r: (r.f(2, 3, 7), [3], [2], [1]))
    yield call("adaptive_avg_pool1d", lambda r: (r.f(2, 3, 7), [3]))
    yield call("adaptive_max_pool1d", lambda r: (r.f(2, 3, 7), [3]))
    for count in (2, 3):
        yield from _pools(count)


CALLS: Final = tuple(_list_calls())
