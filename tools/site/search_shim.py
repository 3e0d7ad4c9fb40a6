"""The script that lets a browser search the site where it is read from a folder: no worker may start there.

It comes from npm when the site is built, checked by its sum, so that no reader's browser asks another host for it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import logging
import os
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

#: Where the site has it, as ``extra.polyfills`` of ``mkdocs.yml`` names it.
PATH = "assets/iframe-worker.js"

_ARCHIVE = "iframe-worker/-/iframe-worker-1.0.4.tgz"
_SHA512 = "roeaaI+Lg1LJNfgpCjoRe/+WzEjy9+Z08LoEvu85MCPbBjwm+qXz8Ag5U05lHa6V1CysZyGzE0SOkAtSUA5q7Q=="
_REGISTRY = "https://registry.npmjs.org"

log = logging.getLogger("mkdocs.hooks.search_shim")


def fetch(root: Path) -> bytes:
    """Return the script's text, from the last build where there was one; without npm, a comment that says so.

    Raises ValueError where the archive is not the one that was looked at.
    """
    kept = root / ".nox" / ".vendored" / Path(_ARCHIVE).name
    if not kept.exists():
        registry = os.environ.get("npm_config_registry", _REGISTRY).rstrip("/")  # noqa: SIM112  # npm's own spelling
        try:
            with urllib.request.urlopen(f"{registry}/{_ARCHIVE}", timeout=20) as answer:  # noqa: S310  # it is https
                archive = answer.read()
        except (urllib.error.URLError, TimeoutError) as error:
            log.info("no search from a folder, only from a server: %s cannot be had (%s)", _ARCHIVE, error)
            return b"// npm could not be reached when the site was built: search works from a server only.\n"
        if base64.b64encode(hashlib.sha512(archive).digest()).decode() != _SHA512:
            raise ValueError(f"{_ARCHIVE} is not the archive whose sum is known")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(archive)
    with tarfile.open(fileobj=io.BytesIO(kept.read_bytes())) as archive_file:
        member = archive_file.extractfile("package/shim/index.js")
        assert member is not None
        return member.read()
