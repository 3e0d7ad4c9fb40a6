"""Right calls of operators of ``resampling.rows`` that follow one pattern."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..drawing import CallRow, call


def _resamplers() -> Iterator[CallRow]:
    for count in (1, 2, 3):
        names = [f"upsample_nearest{count}d", f"_upsample_nearest_exact{count}d"]
        names += [("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")[count - 1]]
        if count == 2:
            names += [
                "upsample_bicubic2d",
                "_upsample_bilinear2d_aa",
                "_upsample_bicubic2d_aa",
                "_upsample_lanczos2d_aa",
            ]
        given, wanted, even = (2, 2, *(5, 4, 3)[:count]), [3, 7, 5][:count], [10, 8, 6][:count]
        for name in names:
            nearest = "nearest" in name
            corners = () if nearest else (count == 1,)
            yield call(name, lambda r, size=wanted, corners=corners, given=given: (r.f(*given), size, *corners))
            back, vectors = (list(given), *corners), (None, *corners, [1.5] * count)
            yield call(f"{name}_backward", lambda r, size=wanted, back=back: (r.f(2, 2, *size), size, *back))
            if nearest:
                yield call(f"{name}_backward", lambda r, size=even, back=back: (r.f(2, 2, *size), size, *back))
            yield call(f"{name}.vec", lambda r, vectors=vectors, given=given: (r.f(*given), *vectors))


def _grids(count: int) -> Iterator[CallRow]:
    sizes, points = (5, 4, 3)[:count], (3, 4, 2)[:count]
    modes = ((0, 0, False), (0, 2, True), (1, 1, False), (2, 0, True), (2, 2, False))
    for options in modes if count == 2 else modes[:2]:
        yield call(
            f"grid_sampler_{count}d",
            lambda r, options=options: (r.f(2, 3, *sizes), r.f(2, *points, count, low=-1.3, high=1.3), *options),
        )
        yield call(
            f"grid_sampler_{count}d_backward",
            lambda r, options=options: (
                *(r.f(2, 3, *points), r.f(2, 3, *sizes), r.f(2, *points, count, low=-1.3, high=1.3)),
                *(*options, [True, True]),
            ),
        )


def _list_calls() -> Iterator[CallRow]:
    for count in (2, 3):
        yield from _grids(count)
    yield call("grid_sampler", lambda r: (r.f(2, 3, 4, 4), r.f(2, 3, 3, 2), 0, 1, True))
    yield from _resamplers()
    for corners in (True, False):
        yield call("affine_grid_generator", lambda r, corners=corners: (r.f(2, 2, 3), [2, 1, 4, 3], corners))
        yield call("affine_grid_generator", lambda r, corners=corners: (r.f(2, 3, 4), [2, 1, 4, 1, 3], corners))
    yield call("pixel_shuffle", lambda r: (r.f(2, 8, 3, 4), 2))
    yield call("pixel_unshuffle", lambda r: (r.f(2, 2, 4, 6), 2))
    yield call("channel_shuffle native_channel_shuffle", lambda r: (r.f(2, 6, 3), 3))


CALLS: Final = tuple(_list_calls())
