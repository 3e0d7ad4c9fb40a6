"""Processes that work on one mesh of JAX: how one leaves, and what the others are told.

Note [A rank that leaves]
    A process that ends by an error waits in JAX for all others, up to five minutes, while they wait for it in a
    collective. So an error that no code catches ends the process at once, without JAX's barrier.

    Gloo tells a part of the waiting processes that a connection is closed, and lets others wait until JAX's coordinator
    misses a sign of life, and ends them. So process 0 listens at the coordinator's address, on a port that the
    coordinator's store has, and each other one keeps a connection to it: a connection that ends without a farewell is a
    rank that is gone, whose number process 0 hands on. It waits for the others when it fails itself: with the coordinator
    JAX ends them, as it does where process 0 is killed. An error of JAX then becomes a `RankLostError`. Where the main
    thread has stood still in JAX for `PATIENCE` seconds since, no error will reach it: the watch writes where it stands,
    and the error, and ends the process.
"""

from __future__ import annotations

import atexit
import os
import re
import socket
import sys
import threading
import traceback
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from time import monotonic, sleep
from types import FrameType
from typing import Any, Final

import jax

from dispatch_aten.collectives import RankLostError

__all__ = ["PATIENCE", "explain", "start"]

PATIENCE: Final = 5.0
#: What a process sends that ends as it should, above all numbers of ranks.
_FAREWELL: Final = (1 << 32) - 1
_BYTES: Final = 4
_KEY: Final = "dispatch/watch"
_MILLISECONDS: Final = 60_000
_BROKEN: Final = re.compile(
    "gloo|connection (closed|reset)|coordination|heartbeat|broken pipe|socket closed", re.IGNORECASE
)

_lost: Final[set[int]] = set()
_heard: Final = threading.Event()
#: The connections: of process 0 to each other one, of these to it.
_ends: Final[list[socket.socket]] = []


def start() -> None:
    """Watch the other processes, and leave at once when this one fails; see Note [A rank that leaves]."""
    if jax.process_count() == 1:
        return
    before = sys.excepthook

    def leave(*error: Any) -> None:
        try:
            before(*error)
            sys.stdout.flush()
        finally:
            sys.stderr.flush()
            _tell()
            os._exit(1)

    sys.excepthook = leave
    with suppress(Exception):  # without a watch JAX's own sign of life remains
        _connect()


def explain(name: str, error: Exception) -> Exception | None:
    """Return an error with the numbers of the ranks that are gone for JAX's of a broken connection; None for another."""
    if not _BROKEN.search(str(error)):
        return None
    _heard.wait(PATIENCE)
    return RankLostError(_lost, name) if _lost else None


def _connect() -> None:
    from jax._src.distributed import global_state  # JAX has no public name for its store

    number, total, client = jax.process_index(), jax.process_count(), global_state.client
    if number == 0:
        host = str(global_state.coordinator_address).rpartition(":")[0].strip("[]")
        server = socket.create_server((host, 0))
        client.key_value_set(_KEY, f"{host} {server.getsockname()[1]}")
        threading.Thread(target=_serve, args=(server, total - 1), daemon=True, name="ranks").start()
    else:
        threading.Thread(target=_join, args=(number, client), daemon=True, name="ranks").start()
    atexit.register(_part)


def _join(number: int, client: Any) -> None:
    """Connect to process 0, which may come here later, and listen."""
    with suppress(Exception):  # as in `start`
        host, port = client.blocking_key_value_get(_KEY, _MILLISECONDS).split()
        end = socket.create_connection((host, int(port)), timeout=PATIENCE)
        end.settimeout(None)
        end.sendall(number.to_bytes(_BYTES))
        _ends.append(end)
        _listen(end)


def _tell() -> None:
    """Tell the others that this process leaves, and wait for them, where it keeps the coordinator."""
    if jax.process_index() == 0:
        for each in [*_ends]:
            with suppress(OSError):
                each.sendall((0).to_bytes(_BYTES))
        until = monotonic() + 3 * PATIENCE
        while _ends and monotonic() < until:
            sleep(0.05)


def _part() -> None:
    """Say that this process ends as it should."""
    for each in [*_ends]:
        with suppress(OSError):
            each.sendall(_FAREWELL.to_bytes(_BYTES))


def _receive(end: socket.socket) -> int | None:
    """Return the number that is sent; None where the connection ends."""
    found = b""
    with suppress(OSError):
        while len(found) < _BYTES:
            part = end.recv(_BYTES - len(found))
            if not part:
                return None
            found += part
        return int.from_bytes(found)
    return None


def _serve(server: socket.socket, count: int) -> None:
    """Wait for the other processes, and hand on the numbers of those that are gone."""
    with server, DefaultSelector() as selector:
        for _ in range(count):
            made, _ = server.accept()
            _ends.append(made)
            selector.register(made, EVENT_READ, _receive(made))
        while selector.get_map():
            for key, _ in selector.select():
                end: Any = key.fileobj
                selector.unregister(end)
                _ends.remove(end)
                found = _receive(end)
                end.close()
                if found is None and key.data is not None:
                    for each in [*_ends]:
                        with suppress(OSError):
                            each.sendall(key.data.to_bytes(_BYTES))
                    _note(key.data)


def _listen(end: socket.socket) -> None:
    """Wait for the numbers of ranks that are gone; the end of the connection is that of rank 0."""
    while True:
        found = _receive(end)
        if found == _FAREWELL:
            return
        _note(0 if found is None else found)
        if found is None:
            return


def _note(rank: int) -> None:
    _lost.add(rank)
    if not _heard.is_set():
        _heard.set()
        threading.Thread(target=_watch_main, daemon=True, name="ranks").start()


def _watch_main() -> None:
    """End the process where its main thread stands still in JAX."""
    while True:
        before = _where()
        sleep(PATIENCE)
        frame, at = _where()
        if frame is None or (frame, at) != before or not _is_in_jax(frame):
            continue
        shown = [each for each, _ in traceback.walk_stack(frame) if not _is_in_library(each)] or [frame]
        stack = [line for each in reversed(shown) for line in traceback.format_stack(each, limit=1)]
        text = f"{type(error := RankLostError(_lost, _name_of(frame))).__qualname__}: {error}"
        sys.stderr.write(f"Traceback (most recent call last):\n{''.join(stack)}{text}\n")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _where() -> tuple[FrameType | None, int]:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return frame, -1 if frame is None else frame.f_lasti


def _is_in_library(frame: FrameType) -> bool:
    """Return whether a frame is not the program's, as tracebacks leave out."""
    root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return root.startswith("dispatch_") or root in ("jax", "torchlike") or frame.f_code.co_filename.startswith("<")


def _is_in_jax(frame: FrameType) -> bool:
    """Return whether a frame is JAX's, or one of ours that calls it."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("jax", "jaxlib", __name__.partition(".")[0])


def _name_of(frame: FrameType | None) -> str:
    """Return the operator that a frame works for."""
    while frame is not None:
        if frame.f_globals.get("__name__") == f"{__package__}.refusals" and "name" in frame.f_locals:
            name = str(frame.f_locals["name"])
            return name if "::" in name else f"aten::{name}"
        frame = frame.f_back
    return "a program"
