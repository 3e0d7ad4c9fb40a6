"""Compiled kernels hold no memory, in threads and where memory ends."""

from __future__ import annotations

import itertools
import sys
import threading
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")

import dispatch_core as dc
import torchlike
from dispatch_backend_cpu.kernels import KERNELS, SPECIALIZED
from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

if LOOPS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)

A, B, ROW = np.ones((4, 4), np.float32), np.full((4, 4), 2, np.float32), np.ones(4, np.float32)
ONE, TARGET = np.ones((), np.float32), np.arange(4)
PLACES = np.arange(16).reshape(4, 4) % 4
#: Way → a kernel of it and its arguments: of calls that are served, of one that is left, and of one that fails.
CALLS = {
    "unary": ("exp", [(A,)], (A.T,), (A, A)),
    "binary": ("mul.Tensor", [(A, B), (A, ROW), (A, np.float32(2).reshape(()))], (A, B.T), (A, "b")),
    "number": ("mul.Scalar", [(A, 2), (A, 2.5)], (A, 2**70), (A, "b")),
    "chain": ("sigmoid", [(A,)], (A.T,), (A, A)),
    "bounded": ("relu", [(A,)], (A.T,), (A, A)),
    "clamp": ("clamp", [(A, 0, None), (A, 0.5, 2)], (A, 0, 2**60), (A, "b", 1)),
    "clamp min": ("clamp_min", [(A, 0)], (A, 2**60), (A, "b")),
    "clamp max": ("clamp_max", [(A, 0.5)], (A, 2**60), (A, "b")),
    "rows": (
        "native_layer_norm",
        [(A, [4], ROW, ROW, 1e-5), (A, (4,), None, None, 1e-5)],
        (A.T, [4], None, None, 1e-5),
        (A, [5], None, None, 1e-5),
    ),
    "where": ("where.self", [(A > 0, A, B), (A > 0, A, ONE)], (A.T > 0, A, B), (A > 0, A, np.ones(3, np.float32))),
    "masked fill": ("masked_fill.Scalar", [(A, A > 0, 2.0)], (A, ROW > 0, 2.0), (A, np.ones(3, bool), 2.0)),
    "places": ("argmax", [(A,), (A, 1)], (A, 1, True), (A, 5)),
    "extremes": ("max.dim", [(A, 1)], (A, 1, True), (A, 5)),
    "nll": (
        "nll_loss_forward",
        [(A, TARGET, None, 1, -100)],
        (A, TARGET, ROW, 1, -100),
        (A, TARGET + 9, None, 1, -100),
    ),
    "nll gradient": (
        "nll_loss_backward",
        [(ONE, A, TARGET, None, 1, -100, ONE)],
        (ONE, A, TARGET, ROW, 1, -100, ONE),
        (ONE, A, TARGET + 9, None, 1, -100, ONE),
    ),
    "gate": ("threshold_backward", [(A, B, 0)], (A, B, 1), (A, B, "b")),
    "unary into": ("sqrt_", [(B.copy(),)], (B.copy().T,), ()),
    "binary into": ("mul_.Tensor", [(B.copy(), A)], (B.copy(), A.T), (B.copy(), np.ones(3, np.float32))),
    "number into": ("mul_.Scalar", [(B.copy(), 1), (B.copy(), 1.0, 1)], (B.copy(), True), (B.copy(), "b")),
    "fold": ("sum", [(A,)], (A.T,), (A, A)),
    "fold along": ("sum.dim_IntList", [(A, [0]), (A, (1,), True)], (A, [0, 1]), (A, [9])),
    "mm": ("mm", [(A, B)], (A, B[:, ::2]), (A, ROW)),
    "mv": ("mv", [(A, ROW)], (A, A[:, 0]), (A, A)),
    "addmm": ("addmm", [(ROW, A, B), (A, A, B)], (A.T, A, B), (ROW, A, ROW)),
    "view": ("view", [(A, (16,)), (A, [2, -1])], (A.T, (4, 4)), (A, (5,))),
    "alias": ("detach", [(A,)], (A[:0],), (A, A)),
    "t": ("t", [(A,)], (ROW,), (np.ones((2, 2, 2)),)),
    "transpose": ("transpose.int", [(A, 0, 1)], (A[:0], 0, 1), (A, 0, 5)),
    "permute": ("permute", [(A, (1, 0))], (A[:0], (0, 1)), (A, (0, 0))),
    "unsqueeze": ("unsqueeze", [(A, 0), (A, -1)], (A[:, ::2], 0), (A, 9)),
    "squeeze": ("squeeze", [(A,), (A[None],)], (A[:0],), (A, A)),
    "squeeze dim": ("squeeze.dim", [(A, 0), (A[None], 0)], (A[:0], 0), (A, 9)),
    "expand": ("expand", [(A, (2, 4, 4))], (A.T, (2, 4, 4)), (A, (5,))),
    "select": ("select.int", [(A, 0, 1)], (np.ones((1, 0)), 0, 0), (A, 0, 9)),
    "slice": ("slice.Tensor", [(A, 0, 1, 3)], (A, 0, 3, 1), (A, 0, 1, 3, -1)),
    "cat": ("cat", [([A, B],), ((A, B), 1)], ([A, B.T],), ([A, ROW],)),
    "stack": ("stack", [([A, B], -1)], ([A, B.T],), ([A, ROW],)),
    "gather": ("gather", [(A, 1, PLACES)], (A.T, 1, PLACES), (A, 1, PLACES + 4)),
    "index_select": ("index_select", [(A, 0, PLACES[0])], (A.T, 0, PLACES[0]), (A, 0, PLACES[0] + 4)),
    "scatter": ("scatter.src", [(A, 0, PLACES, B)], (A.T, 0, PLACES, B), (A, 0, PLACES + 4, B)),
    "scatter_add": ("scatter_add", [(A, 0, PLACES, B)], (A.T, 0, PLACES, B), (A, 0, PLACES + 4, B)),
    "index_add": ("index_add", [(A, 0, PLACES[0], B)], (A.T, 0, PLACES[0], B), (A, 0, PLACES[0] + 4, B)),
    "embedding gradient": (
        "embedding_dense_backward",
        [(A, PLACES[0], 5, -1, False)],
        (A.T, PLACES[0], 5, -1, False),
        (A, ROW, 5, -1, False),
    ),
    "running sum": ("cumsum", [(A, 0), (ROW, 0)], (A.T, 0), (A, 7)),
}


def each_kind():
    for way, (name, served, left, failing) in CALLS.items():
        kernel = KERNELS[name]
        assert LOOPS.facts(kernel)["way"] == way
        yield kernel, served, left, failing


def test_every_way_of_a_kernel_is_tried_here():
    ways = {LOOPS.facts(kernel)["way"] for kernel in KERNELS.values() if type(kernel) is LOOPS.Kernel}
    assert ways == {*CALLS}


@pytest.mark.parametrize("way", CALLS)
def test_calls_keep_no_memory(way):
    name, served, left, failing = CALLS[way]
    kernel = KERNELS[name]

    def call(count):
        for _ in range(count):
            for args in (*served, left):
                kernel(*args)
            with suppress(Exception):  # its memory is the matter
                kernel(*failing)

    call(50)
    counted = [sys.getrefcount(each) for each in (A.dtype, A, B, ROW, kernel, None)]
    grown = []
    tracemalloc.start()
    try:
        for _ in range(4):
            before = tracemalloc.get_traced_memory()[0]
            call(1000)
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    # The kernels in Python keep descriptions and answers, up to a limit. A call that kept an object would do so each time.
    assert min(grown) < 8_000, grown
    again = [sys.getrefcount(each) for each in (A.dtype, A, B, ROW, kernel, None)]
    assert all(abs(one - two) < 60 for one, two in zip(counted, again, strict=True)), (counted, again)


def test_kernels_that_are_made_are_freed():
    freed = []

    class Python:
        def __call__(self, a):
            return a

        def __del__(self):
            freed.append(1)

    for _ in range(100):
        LOOPS.Kernel("unary", Python(), np.exp, [11], {11: (np.zeros((), np.float32),)})
        with pytest.raises(ValueError, match="99"):
            LOOPS.Kernel("unary", Python(), np.exp, [99])
    assert len(freed) == 200


def test_a_kernel_that_lies_in_a_circle_is_collected():
    import gc
    import weakref

    class Python:
        def __call__(self, a):
            return a

    python = Python()
    python.kernel = LOOPS.Kernel("unary", python, np.exp, [11])
    alive = weakref.ref(python.kernel)
    del python
    gc.collect()
    assert alive() is None


def test_threads_call_while_another_registers_and_switches():
    x, y = torchlike.ones(8, 8), torchlike.full((8, 8), 2.0)
    big = torchlike.ones(5000)
    wrong, stop = [], threading.Event()

    def work():
        while not stop.is_set():
            found = [
                (x + y).sum().item(),
                (x * 2.0)[0].sum().item(),
                torchlike.mm(x, y)[0, 0].item(),
                (big + big)[0].item(),
            ]
            if found != [192.0, 16.0, 16.0, 2.0]:
                wrong.append(found)

    def disturb():
        while not stop.is_set():
            LOOPS.serve(False)
            with pytest.warns(dc.OverwriteWarning), dc.Library("aten", "IMPL", "CPU") as library:
                library.impl("mul.Tensor", np.multiply)
            LOOPS.serve(True)

    threads = [threading.Thread(target=target) for target in (work, work, work)]
    for each in threads:
        each.start()
    timer = threading.Timer(3, stop.set)
    timer.start()
    try:
        disturb()  # in this thread, whose warnings are caught
    finally:
        stop.set()
        LOOPS.serve(True)
        for each in threads:
            each.join()
        timer.cancel()
    assert wrong == []


@pytest.mark.parametrize("way", CALLS)
def test_every_allocation_of_a_call_may_fail(way):
    failing = pytest.importorskip("_testcapi")
    name, served, _, _ = CALLS[way]
    kernel = KERNELS[name]
    for args in served:
        wanted = kernel(*args)
        for number in itertools.count(1):
            found = None
            failing.set_nomemory(number, number + 1)
            try:
                found = kernel(*args)
            except MemoryError:
                pass
            finally:
                failing.remove_mem_hooks()
            if number > 60:
                break
            if found is not None:
                for one, two in zip(
                    *(each if way in ("rows", "extremes") else (each,) for each in (found, wanted)), strict=True
                ):
                    np.testing.assert_array_equal(one, two)


def test_every_allocation_of_making_a_kernel_may_fail():
    failing = pytest.importorskip("_testcapi")
    constants, types = {11: (np.zeros((), np.float32),)}, [11, 12]
    made = 0
    for number in range(1, 40):
        failing.set_nomemory(number, number + 1)
        try:
            LOOPS.Kernel("unary", abs, np.exp, types, constants)
            made += 1
        except MemoryError:
            pass
        finally:
            failing.remove_mem_hooks()
    assert 0 < made < 39


def test_an_array_that_is_used_in_a_call_outlives_it():
    views = [KERNELS["select.int"](np.arange(1000.0).reshape(10, 100), 0, index) for index in range(10)]
    views += [KERNELS["view"](np.arange(1000.0), (10, 100))[1], KERNELS["slice.Tensor"](np.arange(1000.0), 0, 100, 200)]
    assert [float(each[0]) for each in views] == [*range(0, 1000, 100), 100, 100]


def test_specialized_kernels_are_compiled_too():
    assert {name for name, kernel in SPECIALIZED.items() if type(kernel) is LOOPS.Kernel} == {*SPECIALIZED}
