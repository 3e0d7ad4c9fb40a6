"""Writing a file whole: into a draft beside it, which is renamed when all of it is on the disk.

Note [Files that are not replaced]
    A rename makes another file. Files that are more than a name for bytes are written in place, as by ``open``: pipes,
    devices, the file behind ``/dev/stdout``, a file that has other names, and one in a folder where nothing can be made or
    renamed. A log line says so where a file was there that an interrupted write would lose.

Why no library: of those that replace files none keeps the old file's owner and group, or writes to the files above,
or deletes the drafts of processes that were killed.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final, TypeAlias

from ..surroundings.logs import Log
from .drafts import Draft

#: The names that ``open`` takes.
Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_LOG: Final = Log("files")
#: The errors of a folder in which nothing can be made or renamed, or only names that are shorter.
_REFUSALS: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.ENAMETOOLONG, errno.EOPNOTSUPP}
)
#: How many links are followed, as by Linux.
_LINKS: Final = 40
#: For how many seconds Windows is asked to replace a file that another process reads.
_PATIENCE: Final = 2.0
_CHUNK: Final = 1 << 20


@contextmanager
def replace_file(
    path: Path, *, is_synced: bool = True, may_overwrite: Callable[[os.stat_result], None] = lambda status: None
) -> Iterator[IO[bytes]]:
    """Open a file to be written: it takes the place of the old one at the end of the block, or never.

    After an error in the block the old file is as it was. Links are followed; the old file's mode, owner and group stay.
    See Note [Files that are not replaced]; ``may_overwrite`` gets the status of one of them before it is touched, and may
    raise. ``is_synced=False`` is for files that are checked when they are read: it does not wait for
    the disk. Raises ``OSError``, as ``open`` does.
    """
    target = _follow(path)
    if target is None:
        with _open_in_place(path, may_overwrite) as file:
            yield file
        return
    try:
        old = os.stat(target)  # noqa: PTH116
    except FileNotFoundError:
        old = None
    if old is not None and old.st_nlink > 1:
        _warn(target, f"it has {old.st_nlink} names")
        draft = None
    else:
        draft = _make_draft(path, target, old)
    if draft is None:
        with _open_in_place(path, may_overwrite) as file:
            yield file
        return
    try:
        yield draft.file
        draft.file.flush()
        if old is not None:
            draft.take_after(old)
        if is_synced:
            _sync(draft.file.fileno())
        _move(draft, target, may_overwrite)
    except OSError as error:
        if error.errno is not None and error.filename in (None, draft.name):
            error.filename = os.fspath(path)
            if error.filename2 is not None:
                del error.filename2
        raise
    finally:
        draft.discard()
    if is_synced:
        _sync_folder(os.path.dirname(target))  # noqa: PTH120


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8; see `replace_file`."""
    with replace_file(path) as file:
        file.write(text.encode())


def _follow(path: Path) -> str | None:
    """Return the name of the file that a path leads to; None for one that ``open`` refuses, or that is not replaced."""
    found = os.fsdecode(path)
    try:
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.stat(found).st_mode):  # noqa: PTH116
                return None
            # A file that cannot be written to stays, though its folder may let it be replaced.
            with open(found, "r+b", buffering=0):  # noqa: PTH123
                pass
        for _ in range(_LINKS):
            head, tail = os.path.split(found)
            folder = os.path.realpath(head or os.curdir, strict=True)
            # Links in there are a process's open files.
            if folder.startswith("/proc/") or tail in ("", os.curdir, os.pardir):
                return None
            found = os.path.join(folder, tail)  # noqa: PTH118
            if not os.path.islink(found):  # noqa: PTH114
                return found
            found = os.path.join(folder, os.readlink(found))  # noqa: PTH115, PTH118
    except OSError:
        pass
    return None


def _make_draft(path: Path, target: str, old: os.stat_result | None) -> Draft | None:
    """Return a draft; None where the folder lets none be made."""
    try:
        return Draft(target, old)
    except OSError as error:
        if error.errno not in _REFUSALS:
            error.filename = os.fspath(path)
            raise
        if old is not None:
            _warn(target, error.strerror)
    return None


def _open_in_place(path: Path, may_overwrite: Callable[[os.stat_result], None]) -> IO[bytes]:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        pass  # a new file, or one that `open` refuses
    else:
        may_overwrite(status)
    return open(path, "wb")  # noqa: PTH123


def _move(draft: Draft, target: str, may_overwrite: Callable[[os.stat_result], None]) -> None:
    """Move a draft to its place; where the folder refuses, write its content there."""
    try:
        _rename(draft, target)
    except OSError as error:
        if sys.platform == "win32" or error.errno not in _REFUSALS:
            raise
        _warn(target, error.strerror)
        draft.file.seek(0)
        with _open_in_place(target, may_overwrite) as file:
            while chunk := draft.file.read(_CHUNK):
                file.write(chunk)


def _rename(draft: Draft, target: str) -> None:
    end, is_windows = time.monotonic() + _PATIENCE, sys.platform == "win32"
    if is_windows:
        draft.file.close()
    while True:
        try:
            os.replace(draft.name, target)  # noqa: PTH105
        except PermissionError:
            if not is_windows or time.monotonic() > end:
                raise
        else:
            return
        time.sleep(0.02)


def _sync(number: int) -> None:
    """Wait until a file is on the disk, where its file system can tell."""
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise


def _sync_folder(folder: str) -> None:
    """Wait until a folder's names are on the disk; some systems open no folders, and one need not be readable."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        _sync(number)
    finally:
        os.close(number)


def _warn(target: str, reason: str | None) -> None:
    _LOG.warning("%s is written in place, so that an interruption loses it: %s", target, reason)
