"""The core without dispatch-devkit: each tool says what to install, and the rest works."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core import devkit, tools
from dispatch_core.display import Column, DataTable
from dispatch_pipelines.capture.capture_stats import CaptureStats

TOOLS = sorted({*devkit.__all__} - {"for_notebooks"})


@pytest.fixture
def alone(monkeypatch):
    """The devkit under a name that nothing has."""
    monkeypatch.setattr(devkit, "_PACKAGE", "a_package_that_is_not_installed")
    for name in {*TOOLS} & {*vars(dc)}:
        monkeypatch.delattr(dc, name)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_names_the_distribution_that_has_it(alone, name):
    for module in (devkit, *([dc] if name in dc._LATE else []), *([tools] if name in ("Finding", "examine") else [])):
        with pytest.raises(dc.DevkitNotFoundError, match=rf"'{name}' belongs to dispatch-devkit.*\nHint: pip install"):
            getattr(module, name)


def test_another_name_is_an_attribute_that_there_is_not():
    with pytest.raises(AttributeError, match="has no attribute 'explane'"):
        devkit.explane  # noqa: B018


def test_a_requirement_that_the_devkit_misses_is_not_taken_for_it(monkeypatch):
    monkeypatch.setattr(devkit, "_PACKAGE", "dispatch_core")
    monkeypatch.setitem(devkit._MODULES, "explain", "nowhere")
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        devkit.explain  # noqa: B018


@pytest.mark.parametrize("command", ["list", "doctor", "explain", "verify", "new-backend", "trace", "cache", "--help"])
def test_the_command_ends_in_one_line_that_names_it(alone, command, capsys):
    assert tools.main([command]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("needs dispatch-devkit: pip install dispatch-devkit\n")
    assert printed.err.count("\n") == 1


def test_notebooks_show_the_text(alone, work):
    with dc.profile(registry=work.registry) as profile, dc.trace(registry=work.registry) as trace:
        work.ops.double(work.array(1))
    with work.pipeline() as pipe:
        work.ops.double(work.array(1))
        for shown in (pipe, pipe.stats(), profile, dc.backends(), CaptureStats(), dc.Program((), (), fuse=True)):
            assert shown._repr_html_() is None, shown
        assert "t::double" in str(pipe.graph())
    assert (trace._repr_html_(), trace._repr_svg_()) == (None, None)
    assert "t::double" in str(trace)
    assert "t::double" in str(profile)
    table = DataTable([Column("calls")], [[1]])
    assert str(table)
    for draw in (trace.svg, trace.dot, trace.mermaid, profile.flame_graph, table.html):
        with pytest.raises(dc.DevkitNotFoundError):
            draw()
