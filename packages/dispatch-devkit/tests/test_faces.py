"""The names by which the core reaches the devkit."""

from __future__ import annotations

import dispatch_core as dc
from dispatch_core import devkit, inspection, tools


def test_the_core_finds_each_of_its_tools():
    assert [name for name in devkit.__all__ if not callable(getattr(devkit, name))] == []
    assert (dc.explain, dc.coverage, tools.examine) == (devkit.explain, devkit.coverage, devkit.examine)


def test_what_the_devkit_takes_of_the_core_is_there():
    assert [name for name in inspection.__all__ if not hasattr(inspection, name)] == []
