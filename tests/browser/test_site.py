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


#: What readers look for, and the page that they find first.
SEARCHES = {
    "ascend": "guides/npu",
    "autocast": "guides/autocast",
    "capture": "guides/pipelines-and-capture",
    "checkpoint": "tutorials/from-torch",
    "cuda": "guides/gpus",
    "custom operator": "guides/custom-operators",
    "dask": "guides/array-libraries",
    "distributed": "guides/array-libraries",
    "einops": "guides/data",
    "functionalize": "guides/functionalize",
    "gpu": "guides/gpus",
    "hessian": "guides/transforms",
    "jax": "guides/array-libraries",
    "mixed precision": "guides/autocast",
    "nested": "guides/nested",
    "numpy": "guides/data",
    "profile": "guides/debugging",
    "quantize": "guides/quantized",
    "ragged": "guides/nested",
    "save": "tutorials/use",
    "sparse": "guides/sparse",
    "vmap": "guides/transforms",
}
#: The first parts of the addresses of pages that are made of sources and tables.
MADE = ("changes/", "coverage/", "operators", "reference/dispatch_core/", "reference/torchlike/")


@pytest.fixture(scope="module")
def search(chromium, address):
    """Return a function that types words into the site's search, and returns the addresses that it finds, best first."""
    page = chromium.new_page()
    page.goto(f"{address}/index.html")
    items, typed = page.locator(".md-search-result__item"), page.locator(".md-search__input")

    def write(words):
        typed.fill(words)
        typed.press("End")  # the search begins when a key is let go of

    def find(words):
        write("")
        items.first.wait_for(state="detached")
        write(words)
        items.first.wait_for(state="attached")
        found = page.eval_on_selector_all(".md-search-result__item > a", "links => links.map(link => link.pathname)")
        return [path.removeprefix("/").removesuffix(".html") for path in found]

    yield find
    page.close()


@pytest.mark.parametrize(("words", "wanted"), SEARCHES.items(), ids=SEARCHES)
def test_a_search_finds_the_guide_first(search, words, wanted):
    found = search(words)
    assert found[0] == wanted
    assert not any(path.startswith(MADE) for path in found[:2])
