"""The folder of the user's caches: compiled loops, machine code, the simulator.

It is platformdirs' folder for ``dispatch``, or the one that ``DISPATCH_CACHE_DIR`` names, or, for one part, another
variable. Each part has a folder in it.
Everything in it can be deleted at any time. Files come into place by a rename, so that another process never finds half of
one. Where the folder cannot be used, a process has a private one, which goes with it.

Note [Folders that others may write to]
    A user who can write to the folder can run code here. So it is made for its user alone, and used only by its owner. One
    that is the user's own and that others could write to is emptied, and closed to them; not one that a variable names, or
    to which a link leads, which is not used then. The same holds for the parts, whose own contents are made as the umask
    says. A folder above may be a link, a group's or another user's, as homes are, but not one in which everybody may rename
    everything: one that all may write to, without the sticky bit. Links are followed once, before judging: the judged
    folder is used.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from ..surroundings.logs import Log
from . import replace_file

__all__ = ["VARIABLE", "cache_folder", "cache_parts", "cache_root", "write_once"]

VARIABLE: Final = "DISPATCH_CACHE_DIR"
_LOG: Final = Log("caches")
#: The file by which programs for backups know a cache (source: https://bford.info/cachedir/), and `clear`, too.
_TAG: Final = "CACHEDIR.TAG"
#: The folders of all caches that the log has told of.
_refused: Final[set[Path]] = set()
_SIGNATURE: Final = "Signature: 8a477f597d28d172789f06886806bc55"


def cache_root() -> Path:
    """Return the folder of all caches, whether it is there or not.

    >>> cache_root().is_absolute()
    True
    """
    if given := _named_folder():
        return _expand(given)
    from platformdirs import user_cache_path  # only caches need it

    try:
        found = user_cache_path("dispatch", appauthor=False)
        # The specification of XDG_CACHE_HOME says to ignore a path that is not absolute.
        found = found if found.is_absolute() else Path("~/.cache/dispatch").expanduser()
    except RuntimeError:  # a user without a home, as in containers
        found = Path()
    # A home that is relative would be another one in each folder.
    return found if found.is_absolute() else Path(os.sep, ".cache", "dispatch")


def _expand(given: str) -> Path:
    # The home of a user that there is not is a folder of that name, as for the functions of `os`.
    return Path(os.path.expanduser(given)).absolute()  # noqa: PTH111


def _named_folder() -> str:
    return os.environ.get(VARIABLE, "").strip()


def cache_folder(part: str, *, named: str = "", may_be_private: bool = True) -> Path:
    """Return the folder of one part of the caches, made if it is not there.

    ``named`` is the folder of all caches that a variable names for this part. Where the part cannot be used it is a private
    one, which goes with the process; with ``may_be_private=False`` that raises ``OSError``. See Note [Folders that others
    may write to].
    """
    root = _expand(named) if named.strip() else cache_root()
    is_named = bool(named.strip() or _named_folder())
    if may_be_private:
        return _usable(root, part, is_named, _user())
    return _prepare(root, part, is_named)


def _user() -> int:
    """Return the number of the user whose rights the process has; 0 where there are no such numbers."""
    if sys.platform == "win32":
        return 0
    return os.geteuid()


def cache_parts() -> dict[str, Path]:
    """Return the parts that are there, and their folders, which hold nothing but caches."""
    folders = sorted(cache_root().iterdir()) if cache_root().is_dir() else []
    return {folder.name: folder for folder in folders if _is_tagged(folder)}


def _is_tagged(folder: Path) -> bool:
    try:
        return (folder / _TAG).read_text(encoding="utf-8").startswith(_SIGNATURE)
    except (OSError, ValueError):
        return False


def _prepare(root: Path, part: str, is_named: bool) -> Path:
    """Return a part's folder, made, writable and tagged, so that it is known as a cache; raises ``OSError``."""
    import tempfile

    real = Path(os.path.realpath(root))
    # A link may lead to more than a cache.
    is_named |= root.is_symlink()
    has_owners = sys.platform != "win32"
    if has_owners:
        _judge_parents(root, real)
    folder = real / part
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(0o700, exist_ok=True)
        if has_owners and each in (real, folder):
            _judge(each, is_named)
    folder.chmod(0o700)
    tempfile.TemporaryFile(dir=folder).close()
    write_once(folder / _TAG, f"{_SIGNATURE}\n# Compiled files of dispatch, which can be deleted.\n")
    return folder


def _judge_parents(root: Path, real: Path) -> None:
    """Raise ``PermissionError`` for a folder in which everybody may rename everything, or a link that leads nowhere."""
    for above in {root, *root.parents, *real.parents}:
        if above.is_symlink() and not above.exists():
            raise _refusal(f"the link {above} leads nowhere", root)
    for above in {*root.parents, *real.parents}:
        mode = above.stat().st_mode if above.exists() else 0
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise _refusal(f"everybody may write to {above}", root)


def _judge(folder: Path, is_named: bool) -> None:
    """Empty a folder that others may write to, or raise ``PermissionError``; see Note [Folders that others may write to]."""
    status = folder.stat(follow_symlinks=False)
    if status.st_uid != _user():
        raise _refusal(f"it belongs to user {status.st_uid}, not {_user()}", folder)
    if stat.S_ISLNK(status.st_mode):
        raise _refusal("it is a link", folder)
    if not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return
    if is_named:
        raise _refusal(f"others may write to it (chmod go-w {folder})", folder)
    folder.chmod(0o700)
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    _LOG.warning("the cache folder %s has been emptied: others could write to it", folder)


def _refusal(reason: str, folder: Path) -> PermissionError:
    return PermissionError(errno.EPERM, reason, str(folder))


@cache
def _usable(root: Path, part: str, is_named: bool, user: int) -> Path:
    try:
        folder = _prepare(root, part, is_named)
    except OSError as error:
        found = _private_root(user) / part
        found.mkdir(exist_ok=True)
        if root not in _refused:
            _refused.add(root)
            _LOG.warning("the cache folder %s cannot be used (%s): this process uses %s", root / part, error, found)
        return found
    _LOG.debug("the cache folder is %s", folder)
    return folder


@cache
def _private_root(user: int) -> Path:
    """Return a folder that only this user can read, and that goes at the end of the process."""
    import atexit
    import tempfile

    found = Path(tempfile.mkdtemp(prefix="dispatch-cache-"))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child may end before its parent
            shutil.rmtree(found, ignore_errors=True)

    atexit.register(remove)
    return found


def write_once(path: Path, text: str) -> None:
    """Write a file that other processes may write and read at the same time; nothing is done where it has this text.

    Raises ``OSError`` where it cannot be written.
    """
    with suppress(OSError):
        if path.read_bytes() == text.encode():
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replace_file(path, is_synced=False) as file:
            file.write(text.encode())
    except OSError:
        # Windows replaces no file that another process has open: it has written the same.
        if not path.exists():
            raise
