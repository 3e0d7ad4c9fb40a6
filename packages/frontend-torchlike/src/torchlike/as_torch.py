"""A plugin of pytest: ``pytest -p torchlike.as_torch`` runs the tests of a program for torch on torchlike."""

from __future__ import annotations

import sys
from typing import Any

from .surface import missing_names, stand_in


def pytest_addoption() -> None:
    """Make imports of ``torch`` give torchlike; pytest calls this before it imports other plugins, and any test."""
    try:
        stand_in.install_as_torch()
    except RuntimeError as error:
        # Not imported: it is pytest that calls this.
        raise sys.modules["pytest"].UsageError(f"-p torchlike.as_torch: {error}") from None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the names of torch that the tests asked for and that are missing."""
    missing = missing_names.describe_missing()
    if missing:
        terminalreporter.section("names of torch that were asked for and are missing")
        for name in missing:
            terminalreporter.line(name)
