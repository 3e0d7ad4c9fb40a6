"""The store by which processes meet: keys, time limits, the common key, and processes that are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from dispatch_aten.collectives import CollectiveError, ProcessGroup, RankLostError, StoreTimeoutError, TCPStore

SOON = 10.0


@pytest.fixture
def store():
    made = TCPStore("127.0.0.1", 0, is_master=True, timeout=SOON)
    yield made
    made.close()


def test_a_store_keeps_keys_and_values(store):
    other = TCPStore("127.0.0.1", store.port, timeout=SOON)
    other.set("a", b"\xff\x00")
    assert store.get("a") == b"\xff\x00" and store.check(["a"]) and not store.check(["a", "b"])
    assert (store.add("n", 2), other.add("n", 3), store.get("n")) == (2, 5, b"5")
    assert other.compare_set("c", "", "1") == b"1" == store.compare_set("c", "2", "3")
    assert store.compare_set("c", b"1", "3") == b"3" and store.compare_set("d", "1", "2") == b"1"
    assert store.num_keys() == 3 and store.delete_key("a") and not store.delete_key("a")
    with pytest.raises(CollectiveError, match="the value of 'e' is no number"):
        store.set("e", "five") or store.add("e", 1)
    other.close()
    assert store.lost_ranks() == () and repr(store) == f"TCPStore('127.0.0.1', {store.port})"


def test_a_store_waits_for_keys_and_workers(store):
    timer = threading.Timer(0.2, lambda: [store.set("x", "1"), store.set("y", "2")])
    timer.start()
    store.wait(["x", "y"])
    assert store.get("y") == b"2"
    with ThreadPoolExecutor(2) as pool:
        made = [pool.submit(TCPStore, "127.0.0.1", store.port, 3, timeout=SOON) for _ in range(2)]
        for each in made:
            each.result().close()


def test_a_thread_that_waits_leaves_the_store_to_others(store):
    ended = threading.Event()
    busy = threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(ended.is_set, True)])
    busy.start()
    try:
        for each in range(5):
            timer = threading.Timer(0.02, store.set, [f"{each}", "1"])
            timer.start()
            store.wait([f"{each}"], 5)
    finally:
        ended.set()
        busy.join()


def test_a_store_answers_in_time_or_says_so(store):
    before = time.monotonic()
    with pytest.raises(StoreTimeoutError, match=r"timeout of 0\.3 s was over before 'x' is set, in the store at 127"):
        store.get("x", 0.3)
    with pytest.raises(TimeoutError, match="'x', 'y' are set"):
        store.wait(["x", "y"], timedelta(seconds=0.1))
    with pytest.raises(StoreTimeoutError, match=r"there was no store at 127\.0\.0\.1:1 within"):
        TCPStore("127.0.0.1", 1, timeout=0.2)
    assert time.monotonic() - before < SOON
    store.set_timeout(0.1)
    assert store.timeout == timedelta(seconds=0.1)
    with pytest.raises(StoreTimeoutError, match="9 processes have connected"):
        TCPStore("127.0.0.1", store.port, 9, timeout=0.1)


def test_only_processes_with_the_key_are_let_in(store, monkeypatch):
    monkeypatch.setenv("DISPATCH_STORE_KEY", "another")
    with pytest.raises(CollectiveError, match="has another key"):
        TCPStore("127.0.0.1", store.port, timeout=SOON)
    monkeypatch.delenv("DISPATCH_STORE_KEY")
    with pytest.raises(CollectiveError, match="DISPATCH_STORE_KEY is not set"):
        TCPStore("0.0.0.0", 0, is_master=True)  # it is refused
    with pytest.raises(CollectiveError, match="cannot listen on 127"):
        TCPStore("127.0.0.1", store.port, is_master=True)


def test_a_stranger_who_says_nothing_keeps_nobody_waiting(store):
    import socket

    with socket.create_connection(("127.0.0.1", store.port)):
        TCPStore("127.0.0.1", store.port, timeout=SOON).close()


def test_another_store_takes_the_port_of_one_that_was_closed():
    first = TCPStore("127.0.0.1", 0, is_master=True, timeout=SOON)
    client = TCPStore("127.0.0.1", first.port, timeout=SOON)
    first.set("old", "1")
    first.close()
    with pytest.raises(RankLostError):
        client.get("old")
    for _ in range(3):
        again = TCPStore("127.0.0.1", first.port, is_master=True, timeout=SOON)
        other = TCPStore("127.0.0.1", first.port, timeout=SOON)
        assert not other.check(["old"])
        again.close()
        other.close()
    with pytest.raises(StoreTimeoutError, match="there was no store"):
        TCPStore("127.0.0.1", first.port, timeout=0.2)


def test_a_store_that_listens_no_more_serves_those_that_have_connected(store):
    other = TCPStore("127.0.0.1", store.port, timeout=SOON)
    other.stop_listening()
    with pytest.raises(StoreTimeoutError, match="there was no store"):
        TCPStore("127.0.0.1", store.port, timeout=0.2)
    store.set("x", "1")
    assert other.get("x") == b"1"
    other.stop_listening()
    other.close()


def test_a_rank_belongs_to_one_process(store):
    store.enter(0)
    store.enter(0)
    other = TCPStore("127.0.0.1", store.port, timeout=SOON)
    with pytest.raises(CollectiveError, match="another process is rank 0 already"):
        other.enter(0)
    other.enter(1)
    other.close()
    again = TCPStore("127.0.0.1", store.port, timeout=SOON)
    again.enter(1)
    again.close()
    assert store.lost_ranks() == ()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda store: store.set("key", 5), TypeError, "str or bytes as the value, not 5"),
        (lambda store: store.compare_set("key", "", None), TypeError, "str or bytes as the value, not None"),
        (lambda store: store.add("n", 1.5), TypeError, r"int as the amount, not 1\.5"),
        (lambda store: store.set(1, "x"), TypeError, "str as the key, not 1"),
        (lambda store: store.get(b"x"), TypeError, "str as the key, not b'x'"),
        (lambda store: store.delete_key(None), TypeError, "str as the key, not None"),
        (lambda store: store.check(["a", 2]), TypeError, "str as the key, not 2"),
        (lambda store: store.wait("ab"), TypeError, "list of keys, not 'ab'"),
        (lambda store: store.enter("x"), TypeError, "int as the rank, not 'x'"),
        (lambda store: store.enter(-1), ValueError, "the rank is -1, and not from 0"),
        (lambda _: TCPStore("127.0.0.1", 99999), ValueError, "the port is 99999, and not from 0 to 65535"),
        (lambda _: TCPStore("127.0.0.1", "1"), TypeError, "int as the port, not '1'"),
        (lambda _: TCPStore("127.0.0.1", 0, 0, True), ValueError, "the world_size is 0"),
    ],
)
def test_what_a_store_cannot_take_is_refused(store, call, error, words):
    with pytest.raises(error, match=words):
        call(store)
    assert store.num_keys() == 0 and store.lost_ranks() == ()


RANK = """
import sys, time
from dispatch_aten.collectives import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=sys.argv[2] == "0", timeout=20)
store.enter(int(sys.argv[2]))
print(store.port, flush=True)
store.set(f"ready {sys.argv[2]}", "")
time.sleep(60)
"""


@pytest.fixture
def ranks():
    """Return a function that starts a process which enters a store as a rank, and returns it with its port."""
    started = []

    def start(port, rank):
        path = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, "-c", RANK, str(port), str(rank)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path})
        started.append(process)
        return process, int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_process_is_named_to_those_who_wait(store, ranks):
    process, _ = ranks(store.port, 3)
    store.enter(0)
    store.wait(["ready 3"])
    assert store.lost_ranks() == ()
    threading.Timer(0.3, process.kill).start()
    before = time.monotonic()
    with pytest.raises(RankLostError, match="rank 3 is gone: this process waited until 'never' is set") as error:
        store.get("never")
    assert error.value.ranks == (3,) == store.lost_ranks() and time.monotonic() - before < SOON
    assert ProcessGroup(0, 4, store).find_lost() == (3,)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no signal that stops a process")
def test_a_stopped_process_is_late_and_not_gone(store, ranks):
    process, _ = ranks(store.port, 1)
    store.wait(["ready 1"])
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    with pytest.raises(StoreTimeoutError):
        store.get("never", 0.3)
    process.send_signal(signal.SIGCONT)
    assert store.lost_ranks() == ()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no signal that stops a process")
def test_a_store_whose_process_is_stopped_answers_later(ranks):
    process, port = ranks(0, 0)
    store = TCPStore("127.0.0.1", port, timeout=SOON)
    store.set("x", "1")
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    before = time.monotonic()
    with pytest.raises(StoreTimeoutError, match=r"has not answered within 0\.1 s"):
        store.get("x", 0.1)
    with pytest.raises(StoreTimeoutError, match="what listens there says nothing"):
        TCPStore("127.0.0.1", port, timeout=0.3)
    assert time.monotonic() - before < SOON and store.lost_ranks() == ()
    process.send_signal(signal.SIGCONT)
    assert store.get("x") == b"1" and store.add("n", 1) == 1
    store.close()


def test_where_the_process_that_keeps_the_store_is_killed_rank_0_is_gone(ranks):
    process, port = ranks(0, 0)
    store = TCPStore("127.0.0.1", port, timeout=SOON)
    threading.Timer(0.2, process.kill).start()
    with pytest.raises(RankLostError, match="rank 0 is gone: the store at 127") as error:
        store.get("never")
    assert error.value.ranks == (0,) == store.lost_ranks()
    store.close()


def test_ranks_share_what_rank_0_makes_and_its_errors(store):
    def run_ranks(store, size, work):
        with ThreadPoolExecutor(size) as pool:
            groups = [ProcessGroup(rank, size, store, timeout=SOON) for rank in range(size)]
            return [each.result() for each in [pool.submit(work, group) for group in groups]]

    assert run_ranks(store, 3, lambda group: group.share("it", lambda: b"made")) == [b"made"] * 3

    def fail(group):
        try:
            return group.share("more", lambda: 1 / 0)
        except (ZeroDivisionError, CollectiveError) as error:
            return str(error)

    again = TCPStore("127.0.0.1", 0, is_master=True, timeout=SOON)
    first, second = run_ranks(again, 2, fail)
    assert first == "division by zero" and second.startswith("rank 0 of group 'default' has failed: division by zero")
    again.close()
