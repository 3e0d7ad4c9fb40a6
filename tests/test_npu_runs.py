"""Reports of the first run on a chip become rows of the table in ``docs/npu.md``; those of the simulator are refused."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]


@pytest.fixture
def tool(monkeypatch, tmp_path):
    """Return the tool, which writes to copies."""
    pytest.importorskip("dispatch_backend_npu", reason="the table is that of the npu's backend")
    monkeypatch.syspath_prepend(ROOT / "tools")
    tool = importlib.import_module("record_npu_runs")
    for name, path in (("DOCUMENT", tool.DOCUMENT), ("RUNS", tool.coverage.RUNS)):
        shutil.copy(path, tmp_path / name)
    monkeypatch.setattr(tool, "DOCUMENT", tmp_path / "DOCUMENT")
    monkeypatch.setattr(tool.coverage, "RUNS", tmp_path / "RUNS")
    yield tool
    sys.modules.pop("record_npu_runs", None)


def _write(path, chip="Ascend910B3", release="8.2.RC1", *, simulator=False, **changes):
    device = {"chip": chip, "family": "910B", "count": 8}
    environment = {"toolkit": {"simulator": simulator, "release": release}}
    report = {"format": "dispatch-backend-npu check", "version": 1, "device": device, "environment": environment}
    path.write_text(json.dumps(report | {"functions": ["aclnnAdd", "aclrtMalloc", "aclnnFly"]} | changes))
    return str(path)


def _rows(tool):
    lines = tool.DOCUMENT.read_text(encoding="utf-8").splitlines()
    return {line.split("`")[1]: line.split(" | ")[-1].removesuffix(" |") for line in lines if line.startswith("| `acl")}


def test_reports_of_chips_are_added_to_the_table(tool, tmp_path, capsys):
    before, text = _rows(tool), tool.DOCUMENT.read_text(encoding="utf-8")
    one = _write(tmp_path / "1.json")
    two = _write(tmp_path / "2.json", "Ascend910_9391", "8.1.RC1", functions=["aclnnAdd", "aclnnMul"])
    assert tool.main([one, two, one]) == 0
    added = {
        "aclnnAdd": "Ascend910B3 (CANN 8.2.RC1), Ascend910_9391 (CANN 8.1.RC1)",
        "aclnnMul": "Ascend910_9391 (CANN 8.1.RC1)",
        "aclrtMalloc": "Ascend910B3 (CANN 8.2.RC1)",
    }
    if not any(before[name] != "no" for name in added):
        assert _rows(tool) == before | added
    assert "functions have run on a chip" in capsys.readouterr().out
    # A second time changes nothing, and neither is anything but the table changed.
    written = tool.DOCUMENT.read_text(encoding="utf-8"), tool.coverage.RUNS.read_text(encoding="utf-8")
    assert tool.main([two]) == 0
    assert (tool.DOCUMENT.read_text(encoding="utf-8"), tool.coverage.RUNS.read_text(encoding="utf-8")) == written
    others = [[line for line in each.splitlines() if not line.startswith("| `acl")] for each in (text, written[0])]
    assert others[0] == others[1]


REFUSED = {
    "the simulator has run": {"simulator": True},
    "no chip was opened": {"device": {}},
    "it is no report of a check": {"functions": None},
    "has version 2": {"version": 2},
    "have other signs": {"chip": "A|B"},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_other_reports_are_refused_and_nothing_is_written(reason, tool, tmp_path, capsys):
    before = tool.DOCUMENT.read_bytes(), tool.coverage.RUNS.read_bytes()
    good, other = _write(tmp_path / "1.json"), _write(tmp_path / "2.json", **REFUSED[reason])
    assert tool.main([good, other]) == 1
    assert reason in capsys.readouterr().err
    assert (tool.DOCUMENT.read_bytes(), tool.coverage.RUNS.read_bytes()) == before


def test_a_file_that_is_no_report_is_refused(tool, tmp_path, capsys):
    (tmp_path / "1.json").write_text("[1")
    assert tool.main([str(tmp_path / "1.json")]) == tool.main([str(tmp_path / "2.json")]) == 1
    assert capsys.readouterr().err.count("it is no report") == 2


def test_a_report_of_the_simulator_is_one_that_the_check_has_written(tool, tmp_path, capsys):
    check = pytest.importorskip("dispatch_backend_npu.check.report")
    from dispatch_backend_npu.check.running import CheckRun

    run = CheckRun(
        {}, {"toolkit": {"simulator": True, "release": ""}, "packages": {}}, {"chip": "Ascend910B1", "count": 2}
    )
    check.write_report(run, tmp_path / "1.json")
    assert tool.main([str(tmp_path / "1.json")]) == 1
    assert "the simulator has run, and no chip" in capsys.readouterr().err
