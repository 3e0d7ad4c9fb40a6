"""Backward in compiled code does as the engine in Python: in order, to the bit, with every hook and error."""

from __future__ import annotations

import gc
import os
import signal
import threading
import warnings
import weakref

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

from random_graphs import run_graph

import torchlike as T
from dispatch_core.calls.native import find_front
from torchlike.autograd import engine

pytestmark = pytest.mark.skipif(find_front() is None, reason="the compiled front is turned off")
#: Graphs of one test.
COUNT = 50
GRAPHS = int(os.environ.get("DISPATCH_NATIVE_PROGRAMS", "2000")) // 4


@pytest.fixture
def choose(monkeypatch):
    compiled = engine._find_compiled()

    def choose(is_on):
        monkeypatch.setattr(engine, "_find_compiled", lambda: compiled if is_on else None)

    return choose


@pytest.mark.parametrize("first", range(0, GRAPHS, COUNT))
def test_graphs_show_the_same(first, choose):
    for seed in range(first, first + COUNT):
        shown = {}
        for on in (True, False, True) if seed % 2 else (False, True, False):
            choose(on)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shown[on] = run_graph(seed)
        assert len(shown[False]) == len(shown[True]), f"graph {seed}"
        for without, compiled in zip(shown[False], shown[True], strict=True):
            assert without == compiled, f"graph {seed}"


def test_plain_graphs_run_compiled(monkeypatch):
    monkeypatch.setattr(engine, "_sort_nodes", None)  # the engine in Python begins with it
    x = T.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    (found,) = T.autograd.grad((x * x).sum(), x)
    assert found.tolist() == [2.0, 4.0]


def test_nothing_outlives_a_backward():
    class Holder(T.autograd.Function):
        @staticmethod
        def forward(ctx, tensor):
            return tensor * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = T.ones(3, requires_grad=True)
    made = Holder.apply(x)
    node, tensor = weakref.ref(made.grad_fn), weakref.ref(made)
    total = made.sum()
    total.backward()
    del made, total
    assert (tensor(), node()) == (None, None)
    grad = weakref.ref(x.grad)
    x.grad = None
    assert grad() is None


def test_an_error_leaves_no_graph_behind():
    x = T.ones(3, requires_grad=True)
    made = x * 2
    made.register_hook(lambda grad: 1 / 0)
    node = weakref.ref(made.grad_fn)
    with pytest.raises(ZeroDivisionError):
        made.sum().backward()
    assert T.is_grad_enabled()
    assert not engine.is_running()
    del made
    gc.collect()
    assert node() is None


def test_threads_that_add_to_one_leaf_lose_nothing():
    x = T.zeros(4, requires_grad=True)
    barrier = threading.Barrier(4)

    def work():
        for _ in range(100):
            barrier.wait()
            (x * 1.0).sum().backward()

    for _ in range(3):
        x.grad = None
        workers = [threading.Thread(target=work) for _ in range(4)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        assert x.grad.tolist() == [400.0] * 4


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_an_interrupt_ends_a_backward_as_it_does_in_python():
    class Stop(BaseException):
        pass

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    x = T.ones(8, requires_grad=True)
    try:
        for number in range(60):
            made = x
            for _ in range(200):
                made = made * 1.0
            total = made.sum()
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (number + 1))
                total.backward()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert T.is_grad_enabled()
            assert not engine.is_running()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 8
