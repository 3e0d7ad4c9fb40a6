"""``TCPStore``: keys and values that processes share, by which they find each other (source: ``torch.distributed``)."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from time import monotonic, sleep
from typing import Any, Final

from .errors import CollectiveError, RankLostError, StoreTimeoutError
from .store_arguments import as_text, check_key, check_keys, check_number
from .store_server import StoreServer, pack, unpack

__all__ = ["KEY_VARIABLE", "TCPStore", "find_port"]

KEY_VARIABLE: Final = "DISPATCH_STORE_KEY"
"""The environment variable with the key that the processes of a store have in common."""

#: Without a key, for addresses that no other machine reaches.
_LOCAL_KEY: Final = b"dispatch"
_DEFAULT: Final = timedelta(seconds=300)
_RETRY: Final = 0.05
#: The pause of a request that waits, in which another thread has the connection: a lock alone gives it to the same one.
_TURN: Final = 0.001
#: How many seconds an answer may take beyond the time for which a request waits.
_SLACK: Final = 2.0


def find_port(host: str) -> int:
    """Return a port of this machine's address that nothing listens at.

    >>> 0 < find_port("127.0.0.1") < 2**16
    True
    """
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as made:
        return int(made.getsockname()[1])


class TCPStore:
    """Keys and values in the process that is the master, for all processes that connect to it.

    ``port`` 0 asks the system for one. The master listens on the address that it is told; the processes prove to each other
    that they know the key in ``DISPATCH_STORE_KEY``, without which only this machine's own addresses are taken. With
    ``wait_for_workers`` each process waits until ``world_size`` of them have connected.

    Raises ``StoreTimeoutError`` where something takes longer than ``timeout``, ``RankLostError`` where a process has entered
    as a rank and ended before the others had what they wait for, and ``CollectiveError`` for another key.

    >>> store = TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.set("answer", "42")
    >>> store.get("answer"), store.add("count", 2), store.check(["other"])
    (b'42', 2, False)
    >>> store.close()
    """

    def __init__(
        self,
        host_name: str = "127.0.0.1",
        port: int = 0,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta | float = _DEFAULT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        port = check_number("port", port, range(2**16))
        if world_size is not None:
            world_size = check_number("world_size", world_size, range(1, 2**31))
        self.host, self._timeout = host_name, _seconds(timeout)
        key = _find_key(host_name)
        self._lock = threading.Lock()
        self._server: StoreServer | None = None
        if is_master:
            try:
                self._server = StoreServer(host_name, port, key)
            except OSError as error:
                raise CollectiveError(
                    f"a store cannot listen on {host_name}:{port}: {error}",
                    hint="one process is rank 0; a store that was closed there no longer listens",
                ) from error
            port = self._server.port
        self.port = port
        self._connection: Any = self._connect(key)
        self._watched: Any = None
        self._process = os.getpid()
        #: The ranks that the server has told to be gone, at once, as it may be gone itself at the next question.
        self._lost: set[int] = set()
        self._number = 0
        self._ask(["join"])
        if wait_for_workers and world_size is not None:
            self._ask_until(["await_workers", world_size], self._timeout, f"{world_size} processes have connected")

    @property
    def timeout(self) -> timedelta:
        """How long requests wait where they are told nothing else."""
        return timedelta(seconds=self._timeout)

    def set_timeout(self, timeout: timedelta | float) -> None:
        """Set how long requests wait where they are told nothing else."""
        self._timeout = _seconds(timeout)

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        self._ask(["set", check_key(key), as_text(value)])

    def get(self, key: str, timeout: timedelta | float | None = None) -> bytes:
        """Return the value of a key; wait until it is set."""
        found: str = self._ask_until(["get", check_key(key)], self._limit(timeout), f"{key!r} is set")
        return found.encode("latin-1")

    def wait(self, keys: Iterable[str], timeout: timedelta | float | None = None) -> None:
        """Wait until all keys are set."""
        keys = check_keys(keys)
        self._ask_until(
            ["await_keys", *keys],
            self._limit(timeout),
            f"{', '.join(map(repr, keys))} {'is' if len(keys) == 1 else 'are'} set",
        )

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, 0 at first, and return the sum."""
        return int(self._ask(["add", check_key(key), check_number("amount", amount)]))

    def check(self, keys: Iterable[str]) -> bool:
        """Return whether all keys are set."""
        return bool(self._ask(["check", *check_keys(keys)]))

    def delete_key(self, key: str) -> bool:
        """Take a key away; return whether it was there."""
        return bool(self._ask(["delete", check_key(key)]))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set a key whose value is the expected one, or that is not set where ``""`` is expected; return its value."""
        found: str = self._ask(["compare_set", check_key(key), as_text(expected_value), as_text(desired_value)])
        return found.encode("latin-1")

    def append(self, key: str, value: str | bytes) -> None:
        """Put a value behind that of a key."""
        self._ask(["append", check_key(key), as_text(value)])

    def multi_get(self, keys: Iterable[str]) -> list[bytes]:
        """Return the values of keys; wait until all are set."""
        return [self.get(each) for each in check_keys(keys)]

    def multi_set(self, keys: Iterable[str], values: Iterable[str | bytes]) -> None:
        """Set the values of keys."""
        for key, value in zip(check_keys(keys), values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Return True: `append`, `multi_get` and `multi_set` are there."""
        return True

    def list_keys(self) -> list[str]:
        """Return the keys."""
        return list(self._ask(["keys"]))

    def num_keys(self) -> int:
        """Return the number of keys."""
        return int(self._ask(["count"]))

    def enter(self, rank: int) -> None:
        """Tell that this process is a rank, so that the others are told when it ends."""
        self._ask(["enter", check_number("rank", rank, range(2**31))])
        self._watched = self._connect(_find_key(self.host))
        threading.Thread(target=self._watch, args=(self._watched,), name="store watch", daemon=True).start()

    def lost_ranks(self) -> tuple[int, ...]:
        """Return the ranks that are gone, rank 0 among them where the master does not answer."""
        try:
            return tuple(sorted({*self._lost, *self._ask(["lost"], 0)}))
        except RankLostError as error:
            return error.ranks
        except StoreTimeoutError:
            return tuple(sorted(self._lost))

    def _watch(self, connection: Any) -> None:
        """Keep the ranks that the server tells to be gone, for as long as it is there."""
        with suppress(OSError, EOFError, ValueError):
            connection.send_bytes(pack([0, "watch"]))
            while True:
                self._lost.update(unpack(connection.recv_bytes()))

    def stop_listening(self) -> None:
        """Take no more processes: those that come find the next store at this address, once there is one."""
        self._ask(["stop_listening"])

    def close(self) -> None:
        """Leave the store; the master's is gone for all."""
        if self._process == os.getpid():
            with suppress(CollectiveError):
                self._ask(["leave"], 0)
            self._connection.close()
        if self._server is not None:
            self._server.close()

    def abandon(self) -> None:
        """End as a process that has failed: the others are told that its rank is gone."""
        for each in (self._connection, self._watched):
            if each is not None and self._process == os.getpid():
                with suppress(OSError), socket.socket(fileno=os.dup(each.fileno())) as made:
                    made.shutdown(socket.SHUT_RDWR)
        if self._server is not None:
            self._server.close()

    def _connect(self, key: bytes) -> Any:
        deadline = monotonic() + self._timeout
        while True:
            try:
                return self._open(key, deadline)
            except AuthenticationError as error:
                raise CollectiveError(
                    f"the store at {self.host}:{self.port} has another key",
                    hint=f"set {KEY_VARIABLE} to the same text in all processes",
                ) from error
            except (OSError, EOFError) as error:
                if monotonic() >= deadline:
                    raise StoreTimeoutError(
                        f"there was no store at {self.host}:{self.port} within {self._timeout:g} s: {error}",
                        hint="rank 0 makes it, by MASTER_ADDR and MASTER_PORT",
                    ) from error
                sleep(_RETRY)

    def _open(self, key: bytes, deadline: float) -> Any:
        """Return a connection to the server; both sides prove that they know the key."""
        left = max(deadline - monotonic(), _RETRY)
        made = socket.create_connection((self.host, self.port), timeout=left)
        made.settimeout(None)
        connection = Connection(made.detach())
        try:
            if not connection.poll(left):
                raise TimeoutError("what listens there says nothing")
            answer_challenge(connection, key)
            deliver_challenge(connection, key)
        except BaseException:
            connection.close()
            raise
        return connection

    def _limit(self, timeout: timedelta | float | None) -> float:
        return self._timeout if timeout is None else _seconds(timeout)

    def _ask_until(self, message: list[Any], limit: float, what: str) -> Any:
        deadline = monotonic() + limit
        while True:
            answer = self._request(message, limit)
            if answer[0] == "lost":
                raise RankLostError(answer[1], f"this process waited until {what}")
            if answer[0] != "later":
                return _result(answer)
            if monotonic() >= deadline:
                raise StoreTimeoutError(
                    f"the timeout of {limit:g} s was over before {what}, in the store at {self.host}:{self.port}"
                )
            sleep(_TURN)

    def _ask(self, message: list[Any], limit: float | None = None) -> Any:
        return _result(self._request(message, self._timeout if limit is None else limit))

    def _request(self, message: list[Any], limit: float) -> list[Any]:
        if self._process_changed():
            raise CollectiveError("a store cannot be used in a forked process", hint="make a store there")
        try:
            with self._lock:
                self._number += 1
                self._connection.send_bytes(pack([self._number, *message]))
                deadline = monotonic() + limit + _SLACK
                while self._connection.poll(max(deadline - monotonic(), 0)):
                    number, *answer = unpack(self._connection.recv_bytes())
                    if number == self._number:
                        return answer
            raise StoreTimeoutError(f"the store at {self.host}:{self.port} has not answered within {limit:g} s")
        except StoreTimeoutError:
            raise
        except (OSError, EOFError) as error:
            raise RankLostError(
                {0, *self._lost}, f"the store at {self.host}:{self.port}, which rank 0 kept, does not answer"
            ) from error

    def _process_changed(self) -> bool:
        return getattr(self, "_process", os.getpid()) != os.getpid()

    def __repr__(self) -> str:
        return f"TCPStore({self.host!r}, {self.port})"


def _result(answer: list[Any]) -> Any:
    if answer[0] == "done":
        return answer[1] if len(answer) > 1 else None
    raise CollectiveError(f"the store refuses this: {' '.join(map(str, answer[1:]))}")


def _seconds(timeout: timedelta | float) -> float:
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def _find_key(host: str) -> bytes:
    text = os.environ.get(KEY_VARIABLE, "")
    if text:
        return text.encode()
    if not _is_local(host):
        raise CollectiveError(
            f"a store at {host} can be reached from other machines, and {KEY_VARIABLE} is not set",
            hint=f"set {KEY_VARIABLE} to the same secret text in all processes, or use 127.0.0.1 on one machine",
        )
    return _LOCAL_KEY


def _is_local(host: str) -> bool:
    try:
        return all(ipaddress.ip_address(str(each[4][0])).is_loopback for each in socket.getaddrinfo(host, None))
    except (OSError, ValueError):
        return False
