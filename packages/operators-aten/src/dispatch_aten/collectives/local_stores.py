"""Stores beside `TCPStore`: in this process, in a file, and a part of another one (source: ``torch.distributed``)."""

from __future__ import annotations

import json
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from .errors import CollectiveError, RankLostError, StoreTimeoutError
from .store import TCPStore
from .store_arguments import as_text, check_key, check_keys, check_number

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store"]

_DEFAULT: Final = timedelta(seconds=300)
#: How long a process waits before it looks into a file again.
_PAUSE: Final = 0.005
#: The keys under which processes tell that they are a rank.
_RANKS: Final = "\0rank "


class Store(ABC):
    """Keys and values that processes share (source: ``torch.distributed.Store``)."""

    @abstractmethod
    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""

    @abstractmethod
    def get(self, key: str, timeout: timedelta | float | None = None) -> bytes:
        """Return the value of a key; wait until it is set."""


Store.register(TCPStore)


class _DictStore(Store):
    """A store whose keys and values are a dictionary, one process's or thread's at a time."""

    def __init__(self) -> None:
        self._timeout = _DEFAULT.total_seconds()

    @contextmanager
    @abstractmethod
    def _open(self) -> Iterator[dict[str, str]]:
        """Yield the dictionary; what changes in it is kept."""

    def _pause(self, seconds: float) -> None:
        sleep(min(seconds, _PAUSE))

    @property
    def timeout(self) -> timedelta:
        """How long requests wait where they are told nothing else."""
        return timedelta(seconds=self._timeout)

    def set_timeout(self, timeout: timedelta | float) -> None:
        """Set how long requests wait where they are told nothing else."""
        self._timeout = _seconds(timeout)

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        with self._open() as values:
            values[check_key(key)] = as_text(value)

    def append(self, key: str, value: str | bytes) -> None:
        """Put a value behind that of a key."""
        with self._open() as values:
            values[check_key(key)] = values.get(key, "") + as_text(value)

    def get(self, key: str, timeout: timedelta | float | None = None) -> bytes:
        """Return the value of a key; wait until it is set."""
        self.wait([check_key(key)], timeout)
        with self._open() as values:
            return values[key].encode("latin-1")

    def wait(self, keys: Iterable[str], timeout: timedelta | float | None = None) -> None:
        """Wait until all keys are set. Raises ``StoreTimeoutError``, and ``RankLostError`` where a rank is gone."""
        keys = check_keys(keys)
        limit = self._timeout if timeout is None else _seconds(timeout)
        deadline = monotonic() + limit
        while not self.check(keys):
            names = ", ".join(map(repr, keys))
            if lost := self.lost_ranks():
                raise RankLostError(lost, f"this process waited until {names} is set")
            left = deadline - monotonic()
            if left <= 0:
                raise StoreTimeoutError(f"the timeout of {limit:g} s was over before {names} was set, in {self!r}")
            self._pause(left)

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, 0 at first, and return the sum."""
        with self._open() as values:
            try:
                total = int(values.get(check_key(key), "0")) + check_number("amount", amount)
            except ValueError:
                raise CollectiveError(f"the value of {key!r} is no number") from None
            values[key] = str(total)
            return total

    def check(self, keys: Iterable[str]) -> bool:
        """Return whether all keys are set."""
        keys = check_keys(keys)
        with self._open() as values:
            return all(each in values for each in keys)

    def delete_key(self, key: str) -> bool:
        """Take a key away; return whether it was there."""
        with self._open() as values:
            return values.pop(check_key(key), None) is not None

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set a key whose value is the expected one, or that is not set where ``""`` is expected; return its value."""
        expected, desired = as_text(expected_value), as_text(desired_value)
        with self._open() as values:
            found = values.get(check_key(key))
            if found == expected or (found is None and not expected):
                found = values[key] = desired
        return (expected if found is None else found).encode("latin-1")

    def num_keys(self) -> int:
        """Return the number of keys."""
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        """Return the keys."""
        with self._open() as values:
            return [each for each in values if not each.startswith(_RANKS)]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of keys; wait until all are set."""
        self.wait(keys)
        return [self.get(each) for each in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set the values of keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Return True: `append`, `multi_get` and `multi_set` are there."""
        return True

    def lost_ranks(self) -> tuple[int, ...]:
        """Return the ranks that are gone."""
        return ()

    def close(self) -> None:
        """Leave the store."""

    def abandon(self) -> None:
        """End as a process that has failed."""

    def stop_listening(self) -> None:
        """Do nothing: no process connects to it."""


class HashStore(_DictStore):
    """Keys and values of the threads of one process (source: ``torch.distributed.HashStore``).

    >>> store = HashStore()
    >>> store.set("answer", "42")
    >>> store.get("answer"), store.add("count", 2), store.num_keys()
    (b'42', 2, 2)
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, str] = {}
        self._changed = threading.Condition()

    @contextmanager
    def _open(self) -> Iterator[dict[str, str]]:
        with self._changed:
            yield self._values
            self._changed.notify_all()

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait(min(seconds, 10 * _PAUSE))

    def __repr__(self) -> str:
        return "HashStore()"


class FileStore(_DictStore):
    """Keys and values in a file, of the processes of one machine (source: ``torch.distributed.FileStore``).

    A process that is killed is an error of those that wait. ``world_size`` is the number of processes, after the last of
    which the file is removed; without it the file stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FileStore(folder + "/store", 1).set("answer", "42")
    ...     print(FileStore(folder + "/store", 1).get("answer"))
    b'42'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path, self._size = str(file_name), check_number("world_size", world_size)
        self._rank: int | None = None
        with self._open():
            pass

    @contextmanager
    def _open(self) -> Iterator[dict[str, str]]:
        with Path(self.path).open("a+b") as file, _lock(file.fileno()):
            file.seek(0)
            text = file.read()
            try:
                values: dict[str, str] = json.loads(text) if text else {}
            except ValueError as error:
                raise CollectiveError(f"{self.path!r} is no file of a store: {error}") from error
            yield values
            made = json.dumps(values).encode()
            if made != text:
                file.truncate(0)
                file.write(made)
                file.flush()  # before another process may read it

    def enter(self, rank: int) -> None:
        """Tell that this process is a rank, so that the others are told when it ends."""
        key = f"{_RANKS}{check_number('rank', rank, range(2**31))}"
        with self._open() as values:
            before = values.get(key)
            if before is not None and before != str(os.getpid()) and _is_alive(int(before)):
                raise CollectiveError(f"the store refuses this: another process is rank {rank} already")
            values[key] = str(os.getpid())
        self._rank = rank

    def lost_ranks(self) -> tuple[int, ...]:
        """Return the ranks that are gone: their processes have ended without leaving the store."""
        with self._open() as values:
            entered = [(int(each[len(_RANKS) :]), int(pid)) for each, pid in values.items() if each.startswith(_RANKS)]
        return tuple(sorted(rank for rank, pid in entered if not _is_alive(pid)))

    def close(self) -> None:
        """Leave the store; the last of its processes removes the file."""
        if self._rank is None:
            return
        with suppress(OSError), self._open() as values:
            values.pop(f"{_RANKS}{self._rank}", None)
            left = int(values.get("\0left", "0")) + 1
            values["\0left"] = str(left)
            if left == self._size:
                Path(self.path).unlink()
        self._rank = None

    def list_keys(self) -> list[str]:
        """Return the keys."""
        return [each for each in super().list_keys() if not each.startswith("\0")]

    def __repr__(self) -> str:
        return f"FileStore({self.path!r})"


class PrefixStore(Store):
    """The keys of another store that begin with a prefix (source: ``torch.distributed.PrefixStore``).

    >>> whole = HashStore()
    >>> PrefixStore("first", whole).set("answer", "42")
    >>> whole.get("first/answer")
    b'42'
    """

    def __init__(self, prefix: str, store: Any) -> None:
        self.prefix, self.underlying_store = check_key(prefix), store

    def _name(self, key: str) -> str:
        return f"{self.prefix}/{check_key(key)}"

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        self.underlying_store.set(self._name(key), value)

    def get(self, key: str, timeout: timedelta | float | None = None) -> bytes:
        """Return the value of a key; wait until it is set."""
        found: bytes = self.underlying_store.get(self._name(key), *([] if timeout is None else [timeout]))
        return found

    def wait(self, keys: Iterable[str], timeout: timedelta | float | None = None) -> None:
        """Wait until all keys are set."""
        names = [self._name(each) for each in check_keys(keys)]
        self.underlying_store.wait(names, *([] if timeout is None else [timeout]))

    def check(self, keys: Iterable[str]) -> bool:
        """Return whether all keys are set."""
        return bool(self.underlying_store.check([self._name(each) for each in check_keys(keys)]))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of keys; wait until all are set."""
        return [self.get(each) for each in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set the values of keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "underlying_store":
            raise AttributeError(name)
        found = getattr(self.underlying_store, name)
        return _of_key(self, found) if name in ("add", "append", "compare_set", "delete_key") else found

    def __repr__(self) -> str:
        return f"PrefixStore({self.prefix!r}, {self.underlying_store!r})"


def _of_key(store: PrefixStore, method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda key, *args, **kwargs: method(store._name(key), *args, **kwargs)


@contextmanager
def _lock(file: int) -> Iterator[None]:
    """Keep other processes out of a file."""
    if sys.platform == "win32":
        raise CollectiveError("FileStore needs a system with file locks", hint="TCPStore works on every one")
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _is_alive(process: int) -> bool:
    """Return whether a process of this machine runs; one that has ended and is not yet collected does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    with suppress(OSError):
        return ") Z" not in Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    return True


def _seconds(timeout: timedelta | float) -> float:
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
