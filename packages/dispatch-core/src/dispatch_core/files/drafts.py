"""Drafts: the files beside a file in which its next content is written.

A process that is killed leaves its draft. The next writer of the same file knows it by its name, which is made of
the file's, and is short whatever that one's length, and deletes it where nothing holds its lock. A number tells the
drafts of writers at the same time apart. One that a writer has made and not yet locked may be deleted, too: so a writer
looks, once it has the lock, whether the name still is its draft's, and otherwise makes another.

Where there are no such locks, a draft is left alone for `_AGE` seconds after it was last written to.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from contextlib import suppress
from typing import IO, Any, Final

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

#: After so many numbers that no draft has, none is looked for.
_GAP: Final = 8
#: After so many seconds a draft that no lock can be asked for is one that was left.
_AGE: Final = 60
_BUSY: Final = frozenset({errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK})


class Draft:
    """A new file beside another one, with a lock on it, deleted when it is let go of; ``OSError`` where none can be made.

    Beside an old file, whose status is given, it is readable for its owner alone until `take_after`; otherwise it is made as
    a file by ``open``.
    """

    _status: os.stat_result | None = None

    def __init__(self, target: str, old: os.stat_result | None) -> None:
        folder, name = os.path.split(target)
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
        prefix = os.path.join(folder, f".dispatch-{digest}-")  # noqa: PTH118
        _remove_abandoned(prefix)
        mode = 0o666 if old is None else 0o600
        try:
            number = 0
            while not self._make(f"{prefix}{number}.tmp", mode):
                number += 1
        except BaseException:
            _remove_abandoned(prefix)
            raise

    def _make(self, name: str, mode: int) -> bool:
        """Make and lock a file; return False where another writer has one of this name."""
        try:
            file = open(name, "x+b", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
        except FileExistsError:
            return False
        try:
            status = os.fstat(file.fileno())
            if _lock(file) is not False and _is_name_of(name, status):
                self.name, self.file, self._status, self._process = name, file, status, os.getpid()
                return True
        except BaseException:
            file.close()
            raise
        file.close()
        return False

    def __del__(self) -> None:
        self.discard()

    def take_after(self, old: os.stat_result) -> None:
        """Take the old file's owner and group, as far as that is allowed, and its mode."""
        if not hasattr(os, "fchown"):
            return
        number = self.file.fileno()
        for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
            with suppress(OSError):
                os.fchown(number, owner, group)
        with suppress(OSError):
            os.chmod(number, stat.S_IMODE(old.st_mode))  # noqa: PTH101

    def discard(self) -> None:
        """Delete the draft, unless it has gone into its place."""
        if self._status is None:
            return
        with suppress(OSError):
            # A forked process has the object, too.
            is_here = self._process == os.getpid() and _is_name_of(self.name, self._status)
            if fcntl is None:
                self.file.close()  # Windows deletes no open file
            if is_here:
                os.unlink(self.name)  # noqa: PTH108
        with suppress(OSError):
            self.file.close()  # the rest of its buffer may not fit on the disk
        self._status = None


def _remove_abandoned(prefix: str) -> None:
    """Delete the drafts of a file that no writer holds."""
    missing = number = 0
    while missing < _GAP:
        missing = 0 if _remove_if_abandoned(f"{prefix}{number}.tmp") else missing + 1
        number += 1


def _remove_if_abandoned(name: str) -> bool:
    """Delete a draft that no writer holds; return whether there was a file of this name."""
    try:
        with open(name, "r+b", buffering=0, opener=_open_itself) as file:
            status = os.fstat(file.fileno())
            is_locked = _lock(file) if stat.S_ISREG(status.st_mode) else False
            if is_locked is None:
                is_locked = time.time() - status.st_mtime > _AGE
            is_abandoned = is_locked and _is_name_of(name, status)
            if is_abandoned and fcntl is not None:
                os.unlink(name)  # noqa: PTH108  # while the lock is held
        if is_abandoned and fcntl is None:
            os.unlink(name)  # noqa: PTH108  # Windows deletes no open file
    except FileNotFoundError:
        return False
    except OSError:
        return True  # another user's, or no file
    return True


def _open_itself(name: str, flags: int) -> int:
    """Open a file, not one that a link leads to, and wait for none."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _lock(file: IO[bytes]) -> bool | None:
    """Take a file's lock; return False where another one has it, None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _BUSY else None
    return True


def _is_name_of(name: str, status: os.stat_result) -> bool:
    """Return whether a name is still that of a file that was opened by it."""
    try:
        return os.path.samestat(status, os.stat(name, follow_symlinks=False))  # noqa: PTH116
    except OSError:
        return False
