"""A real browser for the tests of what people look at: headless Chromium, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

GEOMETRY = Path(__file__).with_name("geometry.js").read_text(encoding="utf-8")
#: Addresses that leave this machine are refused, and reported.
_LOCAL = re.compile(r"(file|data|blob|about):|https?://(localhost|127\.0\.0\.1)[:/]")
#: What Chromium does of its own accord is not asked of a page.
_OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    " --disable-sync --disable-dev-shm-usage"
)


def find_chromium():
    """Return the path of the system's Chromium, or None."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def chromium():
    """Start the browser once, with a profile of its own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: run nox -s browser")
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium on this system: run nox -s browser")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_OPTIONS.split())
        yield browser
        browser.close()


class Visitor:
    """Windows of the browser, one for each width and colour scheme; what a page asks for and complains of is kept."""

    def __init__(self, browser):
        self._browser, self._windows, self._complaints = browser, {}, []

    def _window(self, width, scheme):
        if (width, scheme) not in self._windows:
            context = self._browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            context.route(lambda address: not _LOCAL.match(address), self._refuse)
            page = self._windows[width, scheme] = context.new_page()
            page.on("console", lambda each: self._complain("console", each.text) if each.type == "error" else None)
            page.on("pageerror", lambda each: self._complain("error", each))
        return self._windows[width, scheme]

    def _refuse(self, route):
        self._complaints.append(f"it asks for {route.request.url}")
        route.abort()

    def _complain(self, kind, text):
        self._complaints.append(f"{kind}: {text}")

    def __call__(self, address, width=1280, scheme="light", *, contrast=False, within=None, picture=None):
        """Open an address and return its faults: geometry, requests that leave this machine, errors."""
        page = self._window(width, scheme)
        self._complaints.clear()
        page.goto(address)
        page.evaluate("() => document.fonts.ready.then(() => null)")
        faults = page.evaluate(GEOMETRY, {"contrast": contrast, "darkCanvas": True, "within": within})
        if picture is not None:
            page.screenshot(path=picture, full_page=True)
        return [*self._complaints, *faults]

    def measure(self, address, width, scheme, question):
        """Return what a function of JavaScript answers on a page."""
        page = self._window(width, scheme)
        page.goto(address)
        return page.evaluate(question)


@pytest.fixture(scope="session")
def visit(chromium):
    """Return a function that opens an address and returns its faults."""
    return Visitor(chromium)


@pytest.fixture
def pictures():
    """Return the folder for screenshots that ``DISPATCH_SCREENSHOTS`` names, or None."""
    folder = os.environ.get("DISPATCH_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) if folder else None
