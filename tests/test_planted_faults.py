"""Faults that are planted into a device: the conformance kit finds each, by the check that is about it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import planted_faults
import pytest

import dispatch_core as dc
from dispatch_aten.testing import report as report_module
from dispatch_aten.testing.checks import wanted_checks
from dispatch_aten.testing.outcomes import Outcome
from dispatch_aten.testing.report import verify
from dispatch_core.__main__ import main

pytestmark = pytest.mark.no_pipeline(reason="raw arrays are compared")
EXAMPLE = Path(__file__).parents[1] / "examples" / "vendor_backend"
#: Lines for the example's plugin: its interface, and what it lacks for the faults.
PLUGIN = """
import planted_faults

planted_faults.furnish()


@dc.hookimpl
def dispatch_device_interface():
    return planted_faults.interface
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a distribution of the device, which can be planted with faults."""
    site = tmp_path_factory.mktemp("site")
    package, folder = site / f"{planted_faults.DEVICE}_backend", site / "planted_backend-0.1.0.dist-info"
    package.mkdir()
    for path in (EXAMPLE / "src" / "toy_backend").glob("*.py"):
        text = path.read_text(encoding="utf-8").replace("toy", "planted").replace('dispatch_key="PrivateUse1", ', "")
        (package / path.name).write_text(text + PLUGIN * (path.name == "plugin.py"), encoding="utf-8")
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: planted-backend\nVersion: 0.1.0\n")
    (folder / "entry_points.txt").write_text("[dispatch_core.backends]\nplanted = planted_backend.plugin\n")
    sys.path.insert(0, str(site))
    dc.refresh()
    yield site
    sys.path.remove(str(site))


def faults(checks):
    return [outcome for outcome in verify(planted_faults.DEVICE, only=checks).outcomes if outcome.is_fault]


def test_the_device_has_no_faults_of_its_own(site):
    checks = sorted({check for _, checks in planted_faults.FAULTS.values() for check in checks})
    outcomes = verify(planted_faults.DEVICE, only=checks).outcomes
    assert [f"{each.check}: {each.reason}" for each in outcomes if each.status != "passed"] == []


@pytest.mark.parametrize("name", [*planted_faults.TWELVE, *planted_faults.MORE, *planted_faults.OF_INTERFACE])
def test_a_planted_fault_is_found(name, site):
    checks = planted_faults.FAULTS[name][1]
    with planted_faults.plant(name):
        found = faults(checks)
    assert {fault.check for fault in found} == set(checks)


def run_in_processes(name, monkeypatch, **options):
    monkeypatch.setenv("PLANTED_FAULT", name)
    only = ["aten::sqrt", "aten::sqrt_", "aten::exp", "host copies"]
    return verify(planted_faults.DEVICE, only=only, jobs=2, modules=["plant_by_name"], **options)


@pytest.mark.parametrize(
    ("name", "said"), [("a kernel aborts", "was ended by SIGABRT"), ("a kernel hangs", "has no answer after 2 s")]
)
@pytest.mark.skipif(sys.platform == "win32", reason="a process is ended by a status there")
def test_a_process_that_ends_or_hangs_costs_one_check(name, said, site, monkeypatch):
    report = run_in_processes(name, monkeypatch, timeout=2.0)
    assert [(outcome.check, outcome.status) for outcome in report.outcomes] == [
        ("host copies", "passed"),
        ("aten::exp", "passed"),
        ("aten::sqrt", "failed"),
        ("aten::sqrt_", "failed"),
    ]
    for fault in report.faults:
        assert said in fault.reason
        assert "planted_faults.py:" in fault.place or "threading.py" in fault.place, fault.place


def test_processes_that_cannot_load_the_device_say_why(site):
    with pytest.raises(dc.BackendError, match="nowhere"):
        verify("nowhere", only=["fork"], jobs=1)


def test_faults_of_one_kernel_are_shown_as_one(site, capsys):
    library = dc.Library("aten", "IMPL", dc.device_key(planted_faults.DEVICE))
    with pytest.warns(dc.OverwriteWarning):
        library.impl("exp", lambda self: dc.ops.aten.add(self, 1))
    try:
        status = main(
            ["verify", planted_faults.DEVICE, "--jobs", "0", "--only", "aten::*sigmoid", "--only", "aten::exp"]
        )
    finally:
        library.close()
    text = capsys.readouterr().out
    assert status == 1
    assert text.count("\nfailed  ") == 1
    assert "with 2 more that run aten::exp: aten::sigmoid, aten::log_sigmoid" in " ".join(text.split())


@pytest.fixture
def ran(monkeypatch):
    """The checks that run, of which one fails."""
    found = []

    def run_check(device, check, **options):
        found.append(check)
        if check == "aten::relu6" and found.count(check) == 1:
            raise KeyboardInterrupt
        return Outcome(check, "failed" if check == "aten::relu_" else "passed")

    monkeypatch.setattr(report_module, "run_check", run_check)
    return found


def test_a_run_that_was_stopped_goes_on(ran, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DISPATCH_CACHE_DIR", str(tmp_path))
    run = ["verify", "cpu", "--jobs", "0", "--json", "--only", "aten::relu*"]
    assert main([*run, "--resume"]) == 2
    assert "--resume: there is no run to go on with" in capsys.readouterr().err
    assert main(run) == 130
    assert main([*run, "--seed", "9", "--resume"]) == 2
    assert "--resume: the last run differs in seed" in capsys.readouterr().err
    assert main([*run, "--resume"]) == 1
    assert ran == ["aten::relu", "aten::relu_", "aten::relu6", "aten::relu6", "aten::relu6_"]
    data = json.loads(capsys.readouterr().out)
    assert [each["status"] for each in data["checks"]] == ["passed", "failed", "passed", "passed"]
    ran.clear()
    assert main([*run, "--failed-first"]) == 130
    assert ran == ["aten::relu_", "aten::relu", "aten::relu6"]


def test_a_share_of_the_operators_is_drawn_by_the_seed():
    whole = wanted_checks()
    one, two = (wanted_checks(share=0.1, seed=seed) for seed in (1, 2))
    assert one == wanted_checks(share=0.1, seed=1) != two
    assert 0.08 < len(one) / len(whole) < 0.13
    assert {"fork", "streams", "host copies"} < set(one)
