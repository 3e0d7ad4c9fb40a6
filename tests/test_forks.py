"""A forked process hangs nowhere, whatever other threads were doing at the fork."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time

import pytest

import torchlike
from dispatch_aten.generator import Generator, default_generator
from dispatch_core import forks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork"),
    # From 3.12 on, Python warns of forks beside threads, which these tests are about.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]

#: Only what hangs takes as long; a busy machine may take its time.
WAIT = 120
SHARED = torchlike.ones(64, 64)


def in_child(function):
    """Run a function in a forked process; return whether it returned there, within the time."""
    child = os.fork()
    if not child:
        status = 2
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


def draw():
    torchlike.rand(20_000)
    torchlike.randn(1000)


def seed():
    torchlike.manual_seed(7)
    default_generator("cpu").get_state()
    Generator().manual_seed(3)


def record():
    with torchlike.pipeline():
        x = (SHARED + 1) @ SHARED
        y = torchlike.rand(8, 8).sum()
        x.sum().item()
    assert y.item() >= 0


def learn():
    weight = torchlike.ones(8, 8, requires_grad=True)
    (weight * 2).sum().backward()


ACTIONS = [draw, seed, record, learn]


def everything():
    for action in ACTIONS:
        action()


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
def test_a_child_hangs_nowhere_while_other_threads_are_inside_the_library(action):
    everything()
    ended = threading.Event()

    def work():
        while not ended.is_set():
            action()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert all(in_child(everything) for _ in range(10))
    finally:
        ended.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("action", [draw, record], ids=lambda action: action.__name__)
def test_a_process_of_multiprocessing_hangs_nowhere(action):
    ended = threading.Event()

    def work():
        while not ended.is_set():
            action()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(3):
            process = multiprocessing.get_context("fork").Process(target=everything)
            process.start()
            process.join(WAIT)
            assert process.exitcode == 0
    finally:
        ended.set()
        thread.join()


def test_a_generator_that_another_thread_holds_for_long_begins_again_in_the_child():
    generator = default_generator("cpu")
    torchlike.manual_seed(5)
    first = torchlike.rand(3).tolist()
    holding, ended = threading.Event(), threading.Event()

    def hold():
        with generator.lock:
            holding.set()
            ended.wait(WAIT)

    def child():
        assert torchlike.rand(3).tolist() == first

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait(WAIT)
    started = time.monotonic()
    try:
        assert in_child(child)
    finally:
        ended.set()
        thread.join()
    assert time.monotonic() - started < forks.SECONDS + WAIT / 2


def test_a_fork_keeps_the_locks_of_its_own_thread():
    """A fork inside a lock: both processes go on holding it, and let it go once."""
    lock = forks.forkable(forks.Order.MEMORY)

    def free():
        found = []
        thread = threading.Thread(target=lambda: found.append(lock.acquire(timeout=0.05)))
        thread.start()
        thread.join()
        return found[0]

    with lock:
        assert in_child(lambda: None)
        assert not free()
    assert free()
