"""``dispatch cache``: the folder of the caches, and how much is in it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Final

from dispatch_core.errors import BackendError
from dispatch_core.files.cache_folders import VARIABLE, cache_parts, cache_root
from dispatch_core.tools import did_you_mean

from .arguments import add_json
from .output import TextOutput

EXAMPLE: Final = "cache --clear cpu"
_UNITS: Final = "B KiB MiB GiB TiB".split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("parts", nargs="*", metavar="PART", help="a part of the caches (default: all)")
    parser.add_argument("--clear", action="store_true", help="delete these parts; they are made again when needed")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the parts of the caches, or delete them; return 0."""
    known = cache_parts()
    for part in options.parts:
        if part not in known:
            hint = did_you_mean(part, known) or f"there are {', '.join(known) or 'none'}"
            raise BackendError(f"{cache_root()} has no cache {part!r}", hint=hint)
    rows = [(part, *_measure(known[part]), known[part]) for part in options.parts or known]
    if options.clear:
        for *_, folder in rows:
            _delete(folder)
    if options.json:
        parts = [
            {"part": part, "files": files, "bytes": size, "folder": str(folder)} for part, files, size, folder in rows
        ]
        print(json.dumps({"folder": str(cache_root()), "cleared": options.clear, "parts": parts}, indent=2))
        return 0
    print(f"{'deleted from' if options.clear else 'caches in'} {cache_root()} ({VARIABLE} names another folder)")
    shown = [(part, str(files), _spell_size(size)) for part, files, size, _ in rows]
    print(TextOutput.of().table(("part", "files", "size"), shown) or "There is nothing.")
    return 0


def _measure(folder: Path) -> tuple[int, int]:
    """Return how many files a folder has, and their size in bytes; files that go meanwhile are not counted."""
    sizes = []
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(Path(place, name).lstat().st_size)
            except OSError:
                continue
    return len(sizes), sum(sizes)


def _delete(folder: Path) -> None:
    """Delete a part; it is renamed first, so that no other process finds half of it."""
    going = folder.with_name(f".{folder.name}-{os.getpid()}")
    folder.rename(going)
    shutil.rmtree(going)


def _spell_size(size: float) -> str:
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
