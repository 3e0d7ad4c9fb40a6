"""Cached files, which are hints: one that is not as it was written is not read, but deleted and made again.

A flipped bit in machine code ends the process, and one in a pickle may do anything. So the SHA-256 of each file, with
its name, lies beside it, and a reader gets the bytes that were compared with it, not the file.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import Final

from ..surroundings.logs import Log
from .replacement import replace_file

_LOG: Final = Log("caches")
_SUFFIX: Final = ".sha256"


def write_checked(path: str, content: bytes) -> None:
    """Write a file for `read_checked`; raises ``OSError``."""
    for name, data in ((path, content), (path + _SUFFIX, _digest(path, content))):
        with replace_file(name, is_synced=False) as file:
            file.write(data)


def read_checked(path: str) -> bytes | None:
    """Return the content of a file that is as `write_checked` left it; None for any other one, which is deleted.

    One without a digest stays for the process that writes it.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read()
        with open(path + _SUFFIX, "rb") as file:  # noqa: PTH123
            if file.read() == _digest(path, content):
                return content
    except OSError as error:
        if os.path.lexists(path):
            _LOG.warning("the cached file %s is made again: %s", path, error)
        return None
    _LOG.warning("the cached file %s is made again: it is not as it was written", path)
    for name in (path, path + _SUFFIX):
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108
    return None


def _digest(path: str, content: bytes) -> bytes:
    """Return the digest of a file of this name: a copy under another one does not fit."""
    name = os.fsencode(os.path.basename(path))  # noqa: PTH119
    return hashlib.sha256(name + b"\0" + content).hexdigest().encode()
