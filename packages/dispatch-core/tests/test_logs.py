"""Loggers: what they tell, and what they cost a program that does not listen."""

from __future__ import annotations

import logging
import sys

import pytest

import dispatch_core as dc
from dispatch_core.surroundings import logs
from dispatch_core.surroundings.logs import Log, parse_levels


@pytest.fixture
def restored(monkeypatch):
    """Leave no handler and no level to other tests."""
    yield
    monkeypatch.delenv("DISPATCH_LOG", raising=False)
    logs.read_environment()


def test_importing_the_core_and_making_records_imports_no_logging(run_python):
    done = run_python(
        "-c", "import dispatch_core as dc, sys; dc.refresh(); dc.backends(); print('logging' in sys.modules)"
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_program_that_configures_nothing_sees_nothing(install, run_python):
    site = install("acme", backends={"acme": "acme"}, requires=["dispatch-core>=77"])
    done = run_python("-c", "import logging, dispatch_core as dc; dc.backends(); dc.refresh()", site=[site])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_that_logs_finds_a_handler_that_drops_records(run_python):
    code = "import logging, dispatch_core; print(logging.getLogger('dispatch_core').handlers)"
    assert run_python("-c", code).stdout == "[<NullHandler (NOTSET)>]\n"


def test_the_library_adds_one_handler_which_drops_records(caplog):
    for name in ("plugins", "caches", "plugins"):
        Log(name).warning("nothing")
    handlers = logging.getLogger("dispatch_core").handlers
    assert [type(each) for each in handlers] == [logging.NullHandler]


def test_a_record_tells_the_place_that_it_was_made_in(caplog):
    caplog.set_level(logging.DEBUG, "dispatch_core")
    Log("plugins").info("loaded %s", "x")
    Log("caches").debug("there")
    assert [(each.name, each.levelname, each.getMessage(), each.funcName) for each in caplog.records] == [
        ("dispatch_core.plugins", "INFO", "loaded x", "test_a_record_tells_the_place_that_it_was_made_in"),
        ("dispatch_core.caches", "DEBUG", "there", "test_a_record_tells_the_place_that_it_was_made_in"),
    ]


PLUGIN = """
import dispatch_core as dc

@dc.hookimpl
def dispatch_backend_info():
    return dc.BackendInfo("acme")

@dc.hookimpl
def dispatch_register(registry):
    {}
"""


def test_plugins_that_load_fail_or_are_refused_are_told(install, run_python):
    site = install("fine", backends={"acme": "fine"}, modules={"fine": PLUGIN.format("pass")})
    install("bad", backends={"bad": "bad_plugin"}, modules={"bad_plugin": "1 / 0"})
    install("newer", backends={"newer": "nothing"}, requires=["dispatch-core>=77"])
    code = """
import dispatch_core as dc
dc.load_backend("acme")
for name in ("bad", "newer"):
    try:
        dc.load_backend(name)
    except dc.BackendError:
        pass
dc.refresh()
"""
    done = run_python("-c", code, site=[site], environment={"DISPATCH_LOG": "info"})
    lines = [line.partition(" ")[2] for line in done.stderr.splitlines()]
    assert [
        line for line in lines if line.startswith("INFO dispatch_core.plugins: device 'acme' of fine 1.0 loaded in")
    ]
    assert "WARNING dispatch_core.plugins: device 'bad' of bad 1.0 failed: ZeroDivisionError: division by zero" in lines
    assert [line for line in lines if "newer" in line and "is refused: it requires dispatch-core>=77" in line]
    assert "INFO dispatch_core.plugins: refreshed: the installed distributions and the environment" in done.stderr


def test_the_variable_chooses_loggers_and_is_read_again(monkeypatch, capsys, restored):
    monkeypatch.setenv("DISPATCH_LOG", "warning, pipelines=debug")
    dc.refresh()
    Log("plugins").info("hidden")
    Log("plugins").warning("shown")
    Log("pipelines").debug("shown, too")
    lines = [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["WARNING dispatch_core.plugins: shown", "DEBUG dispatch_core.pipelines: shown, too"]
    monkeypatch.setenv("DISPATCH_LOG", "")
    dc.refresh()
    Log("pipelines").debug("no more")
    assert capsys.readouterr().err == ""
    assert logging.getLogger("dispatch_core.pipelines").level == logging.NOTSET


@pytest.mark.parametrize("text", ["loud", "pipelines=loud", "=debug", "debug,,info=x"])
def test_a_level_that_there_is_not_is_a_warning_with_a_hint(monkeypatch, restored, text):
    monkeypatch.setenv("DISPATCH_LOG", text)
    with pytest.warns(RuntimeWarning, match=r"DISPATCH_LOG has .* Hint: write one of debug, info, warning, error"):
        logs.read_environment()


def test_names_of_loggers_may_be_whole():
    expected = {"dispatch_core.capture": 10, "dispatch_core": 30}
    assert parse_levels("dispatch_core.capture=DEBUG, dispatch_core=warning") == expected


@pytest.mark.parametrize("stream", ["none", "closed"])
def test_a_stream_that_is_gone_drops_records(monkeypatch, tmp_path, restored, stream):
    monkeypatch.setenv("DISPATCH_LOG", "debug")
    logs.read_environment()
    gone = (tmp_path / "x").open("w")
    gone.close()
    monkeypatch.setattr(sys, "stderr", None if stream == "none" else gone)
    Log("plugins").warning("dropped")


def test_a_pipeline_tells_why_it_is_flushed(caplog):
    caplog.set_level(logging.DEBUG, "dispatch_core")
    with dc.pipeline() as pipe:
        pipe.flush()
    assert [each.getMessage() for each in caplog.records if each.name == "dispatch_core.pipelines"] == [
        "flush of 0 calls: the program asks for it",
        "flush of 0 calls: the block ends",
    ]


def test_a_captured_function_tells_why_it_is_recorded(caplog):
    caplog.set_level(logging.DEBUG, "dispatch_core.capture")
    double = dc.capture(lambda number: [number, number])
    for number in (1, 1, 1, 2):
        double(number)
    first, second, third = [each.getMessage().partition("<lambda> ")[2] for each in caplog.records]
    assert first == "is recorded, because it is the first call; variants so far: 0"
    assert second == "is recorded again: a replay takes two equal recordings"
    assert third.endswith("; variants so far: 1")
    assert [each.levelname for each in caplog.records] == ["DEBUG", "DEBUG", "INFO"]
