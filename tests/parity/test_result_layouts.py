"""Strides and refusals of results beside torch's: outputs that grow, scattered copies, attention, dtypes without kernels."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

import torchlike

LAYOUTS = [
    *(order for count in (2, 3) for order in itertools.permutations(range(count))),
    *((0, 2, 3, 1), (3, 2, 1, 0), (0, 1, 3, 2), (0, 2, 1, 3)),
]


def laid_out(lib: Any, order: tuple[int, ...], dtype: str = "float32") -> Any:
    """Return numbers whose memory is in the order of ``order``."""
    shape = (2, 3, 4, 5)[: len(order)]
    start = lib.arange(int(lib.zeros(shape).numel())).reshape(shape).to(getattr(lib, dtype))
    return start.permute(order).contiguous().permute([order.index(dim) for dim in range(len(order))])


def same(ask: Any) -> None:
    assert ask(torchlike) == ask(torch)


def grow(lib: Any, compute: Any) -> Any:
    out = lib.empty(0)
    found = compute(lib, out)
    assert found is out
    return tuple(out.shape), tuple(out.stride()), out._version, out.tolist()


@pytest.mark.parametrize("order", LAYOUTS, ids=str)
def test_an_empty_output_takes_the_layout_in_one_write(order: tuple[int, ...]) -> None:
    for compute in (
        lambda lib, out: lib.add(laid_out(lib, order), 2, out=out),
        lambda lib, out: lib.neg(laid_out(lib, order), out=out),
        lambda lib, out: lib.sum(laid_out(lib, order), 0, out=out),
        lambda lib, out: lib.cumsum(laid_out(lib, order), 0, out=out),
        lambda lib, out: lib.cat([laid_out(lib, order)] * 2, out=out),
    ):
        same(lambda lib, compute=compute: grow(lib, compute))


def test_an_empty_output_in_larger_memory_is_written_there() -> None:
    def ask(lib: Any) -> Any:
        memory = lib.zeros(8)
        out = lib.add(lib.ones(2, 2), 2, out=memory[2:2])
        return memory.tolist(), tuple(out.stride()), out.storage_offset()

    same(ask)


@pytest.mark.parametrize("order", LAYOUTS, ids=str)
def test_scattered_copies_keep_the_layout(order: tuple[int, ...]) -> None:
    for change in (
        lambda lib, x: lib.index_fill(x, 1, lib.tensor([1]), 3.0),
        lambda lib, x: lib.select_scatter(x, lib.zeros(x.shape[1:]), 0, 1),
        lambda lib, x: lib.slice_scatter(x, lib.zeros(1, *x.shape[1:]), 0, 1),
        lambda lib, x: lib.diagonal_scatter(x, lib.zeros(*x.shape[2:], 2)),
    ):

        def ask(lib: Any, change: Any = change) -> Any:
            found = change(lib, laid_out(lib, order))
            return tuple(found.stride()), found.tolist()

        same(ask)


@pytest.mark.parametrize("order", [each for each in LAYOUTS if len(each) == 4], ids=str)
def test_attention_lies_as_the_query_whose_last_dimension_lies_together(order: tuple[int, ...]) -> None:
    def ask(lib: Any) -> Any:
        query, other = laid_out(lib, order), laid_out(lib, (0, 1, 2, 3))
        return tuple(lib.nn.functional.scaled_dot_product_attention(query, other, other).stride())

    same(ask)


def outcome(lib: Any, compute: Any) -> Any:
    try:
        return compute(lib).tolist()
    except NotImplementedError as error:
        return str(error).partition(" (")[0]


@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "complex64"])
def test_dtypes_without_a_kernel_are_refused(dtype: str) -> None:
    def three(lib: Any) -> Any:
        return lib.ones(3, dtype=getattr(lib, dtype))

    def places(lib: Any) -> Any:
        return lib.tensor([0, 1, 1])

    asked = [
        lambda lib, how=how: lib.scatter_reduce(three(lib), 0, places(lib), three(lib), how)
        for how in ("sum", "mean", "prod", "amax", "amin")
    ]
    asked += [
        lambda lib, how=how: lib.index_reduce(three(lib), 0, places(lib), three(lib), how)
        for how in ("mean", "prod", "amax", "amin")
    ]
    asked += [
        lambda lib, how=how, count=count: lib.nn.functional.interpolate(
            three(lib).reshape(1, 1, *[1] * count, 3), scale_factor=2, mode=how
        )
        for count, how in ((0, "linear"), (2, "trilinear"))
    ]
    if dtype != "complex64":
        asked += [
            lambda lib: three(lib).clamp(min=three(lib)),
            lambda lib: three(lib).clamp(max=three(lib)),
            lambda lib: three(lib).clamp(three(lib), three(lib)),
            lambda lib: three(lib).clamp(min=True),
            lambda lib: three(lib).clamp(max=True),
            lambda lib: three(lib).clamp_(min=three(lib)),
        ]
    for compute in asked:
        same(lambda lib, compute=compute: outcome(lib, compute))
