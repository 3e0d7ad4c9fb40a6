"""Every page of the site that ``nox -s docs`` has built, in a real browser, served from this machine."""

from __future__ import annotations

import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SITE = Path(os.environ.get("DISPATCH_SITE", "site"))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    if not (SITE / "index.html").exists():
        pytest.skip(f"{SITE} has no site: run nox -s docs")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


#: Each page is looked at once, in turn wide and light, and narrow and dark: neighbours are laid out alike.
LOOKS = ((1280, "light"), (400, "dark"))
#: The parts of the site, so that several processes can look at it.
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_is_readable(visit, address, pictures, part):
    faults = {}
    for number, page in list(enumerate(sorted(SITE.rglob("*.html"))))[part::PARTS]:
        path = page.relative_to(SITE).as_posix()
        width, scheme = LOOKS[number % 2]
        picture = None if pictures is None else pictures / f"site-{path.replace('/', '-')}-{scheme}.png"
        found = visit(f"{address}/{path}", width, scheme, picture=picture)
        if found:
            faults[f"{path}, {width} px, {scheme}"] = found
    assert faults == {}
