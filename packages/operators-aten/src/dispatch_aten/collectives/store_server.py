"""The server of a store: keys and values in one process, and a thread for each process that has connected.

Messages are lists in JSON over connections of ``multiprocessing``, which both sides open by proving that they know the key.
A request begins with a number, and so does its answer: one that comes too late is passed over.
A connection that belongs to a rank and ends without a word says that the rank is gone.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from time import monotonic, sleep
from typing import Any, Final

__all__ = ["StoreServer", "pack", "unpack"]

#: How long a request may wait in the server before the client is told to ask again.
SLICE: Final = 0.2
#: How long a client may take to prove that it knows the key.
_PATIENCE: Final = 30.0
#: How long it waits before it takes the next connection, where one has failed.
_PAUSE: Final = 0.01
#: How long the end waits for the thread that takes connections.
_PATIENCE_AT_END: Final = 1.0


def pack(message: list[Any]) -> bytes:
    r"""Return a message as bytes; bytes among its items become text of the same numbers.

    >>> unpack(pack(["set", "key", b"\xff"]))
    ['set', 'key', 'ÿ']
    """
    return json.dumps([each.decode("latin-1") if isinstance(each, bytes) else each for each in message]).encode()


def unpack(data: bytes) -> list[Any]:
    """Return a message."""
    found: list[Any] = json.loads(data)
    return found


class StoreServer:
    """The keys of a store, and the connections to it."""

    def __init__(self, host: str, port: int, key: bytes) -> None:
        self._key = key
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=64)  # it may follow another at once
        self.port: int = self._listener.getsockname()[1]
        self._changed = threading.Condition()
        self._values: dict[str, str] = {}
        #: The ranks that have entered, each with its connection, and those that are gone.
        self._entered: dict[int, Connection[Any, Any]] = {}
        self._lost: set[int] = set()
        self._workers = 0
        self._is_open = True
        self._sockets: set[socket.socket] = set()
        self._acceptor = threading.Thread(target=self._accept, name="store", daemon=True)
        self._acceptor.start()

    def close(self) -> None:
        """Take no more connections, and end those that there are."""
        self.stop_listening()
        with self._changed:
            for each in self._sockets:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def stop_listening(self) -> None:
        """Take no more connections; the port is free for another store."""
        self._is_open = False
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # it wakes the thread that waits for a connection
        self._listener.close()
        self._acceptor.join(_PATIENCE_AT_END)

    def _accept(self) -> None:
        while self._is_open:
            try:
                made, _ = self._listener.accept()
            except OSError:  # The listener was closed, or a client has gone again.
                sleep(_PAUSE)
                continue
            threading.Thread(target=self._serve_socket, args=(made,), name="store client", daemon=True).start()

    def _serve_socket(self, made: socket.socket) -> None:
        made.settimeout(None)
        with self._changed:
            if not self._is_open:
                made.close()
                return
            self._sockets.add(made)
        try:
            self._serve(Connection(made.dup().detach()))
        finally:
            with self._changed:
                self._sockets.discard(made)
            made.close()

    def _serve(self, connection: Connection[Any, Any]) -> None:
        rank: int | None = None
        try:
            if not _is_trusted(connection, self._key):
                return
            while True:
                number, name, *arguments = unpack(connection.recv_bytes())
                if name == "leave":
                    self._forget(rank)
                    rank = None
                    connection.send_bytes(pack([number, "done"]))
                    return
                if name == "watch":
                    self._tell_lost(connection)
                if name == "enter":
                    answer = self._enter(arguments[0], rank, connection)
                    rank = arguments[0] if answer[0] == "done" else rank
                else:
                    answer = _COMMANDS[name](self, *arguments) if name in _COMMANDS else ["unknown"]
                connection.send_bytes(pack([number, *answer]))
        except (OSError, EOFError, ValueError, TypeError):
            pass  # The process is gone, or it is none of ours.
        finally:
            connection.close()
            if rank is not None:
                with self._changed:
                    self._entered.pop(rank, None)
                    self._lost.add(rank)
                    self._changed.notify_all()

    def _tell_lost(self, connection: Connection[Any, Any]) -> None:
        """Tell a process of each rank that is gone, until it has gone itself."""
        while True:
            with self._changed:
                self._changed.wait(_PATIENCE)
                told = sorted(self._lost)
            connection.send_bytes(pack(told))

    def _wait(self, is_there: Callable[[], bool]) -> list[Any] | None:
        """Wait until something is there; return the answer to a request for which it is not."""
        deadline = monotonic() + SLICE
        while not is_there():
            if self._lost:
                return ["lost", sorted(self._lost)]
            left = deadline - monotonic()
            if left <= 0:
                return ["later"]
            self._changed.wait(left)
        return None

    def _enter(self, rank: int, before: int | None, connection: Connection[Any, Any]) -> list[Any]:
        with self._changed:
            if self._entered.get(rank, connection) is not connection:
                return ["refused", f"another process is rank {rank} already"]
            if before != rank:
                self._forget(before)
            self._entered[rank] = connection
            self._lost.discard(rank)
        return ["done"]

    def _forget(self, rank: int | None) -> None:
        with self._changed:
            self._entered.pop(-1 if rank is None else rank, None)

    def _stop_listening(self) -> list[Any]:
        self.stop_listening()
        return ["done"]

    def _join(self) -> list[Any]:
        with self._changed:
            self._workers += 1
            self._changed.notify_all()
        return ["done"]

    def _await_workers(self, count: int) -> list[Any]:
        with self._changed:
            return self._wait(lambda: self._workers >= count) or ["done"]

    def _set(self, key: str, value: str) -> list[Any]:
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()
        return ["done"]

    def _append(self, key: str, value: str) -> list[Any]:
        with self._changed:
            self._values[key] = self._values.get(key, "") + value
            self._changed.notify_all()
        return ["done"]

    def _list_keys(self) -> list[Any]:
        with self._changed:
            return ["done", sorted(self._values)]

    def _get(self, key: str) -> list[Any]:
        with self._changed:
            return self._wait(lambda: key in self._values) or ["done", self._values[key]]

    def _await_keys(self, *keys: str) -> list[Any]:
        with self._changed:
            return self._wait(lambda: all(key in self._values for key in keys)) or ["done"]

    def _add(self, key: str, amount: int) -> list[Any]:
        with self._changed:
            try:
                total = int(self._values.get(key, "0")) + amount
            except ValueError:
                return ["refused", f"the value of {key!r} is no number"]
            self._values[key] = str(total)
            self._changed.notify_all()
        return ["done", total]

    def _compare_set(self, key: str, expected: str, desired: str) -> list[Any]:
        with self._changed:
            found = self._values.get(key)
            if found == expected or (found is None and not expected):
                found = self._values[key] = desired
                self._changed.notify_all()
        return ["done", expected if found is None else found]

    def _check(self, *keys: str) -> list[Any]:
        with self._changed:
            return ["done", all(key in self._values for key in keys)]

    def _delete(self, key: str) -> list[Any]:
        with self._changed:
            return ["done", self._values.pop(key, None) is not None]

    def _count(self) -> list[Any]:
        with self._changed:
            return ["done", len(self._values)]

    def _list_lost(self) -> list[Any]:
        with self._changed:
            return ["done", sorted(self._lost)]


def _is_trusted(connection: Connection[Any, Any], key: bytes) -> bool:
    """Return whether both sides know the key."""
    try:
        deliver_challenge(connection, key)
        if not connection.poll(_PATIENCE):
            return False
        answer_challenge(connection, key)
    except (AuthenticationError, OSError, EOFError):
        return False
    return True


_COMMANDS: Final[dict[str, Callable[..., list[Any]]]] = {
    "stop_listening": StoreServer._stop_listening,
    "join": StoreServer._join,
    "await_workers": StoreServer._await_workers,
    "set": StoreServer._set,
    "append": StoreServer._append,
    "keys": StoreServer._list_keys,
    "get": StoreServer._get,
    "await_keys": StoreServer._await_keys,
    "add": StoreServer._add,
    "compare_set": StoreServer._compare_set,
    "check": StoreServer._check,
    "delete": StoreServer._delete,
    "count": StoreServer._count,
    "lost": StoreServer._list_lost,
}
