"""The conformance kit on the project's own devices: a part of the operators here, all of them in the session ``arrays``."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_aten.errors import DtypeError
from dispatch_aten.operators import ATEN
from dispatch_aten.testing import agreement, host_copies, marks, placing
from dispatch_aten.testing import report as report_module
from dispatch_aten.testing.outcomes import Outcome
from dispatch_aten.testing.report import check_that_it_was_used, verify
from dispatch_aten.testing.samples import has_samples, op_samples
from dispatch_aten.testing.showing import Progress
from dispatch_core.__main__ import main

pytestmark = pytest.mark.no_pipeline(reason="raw arrays are compared")
EXAMPLE = Path(__file__).parents[1] / "examples" / "vendor_backend"
#: Operators without samples: they want weights laid out as one of torch's libraries does.
WITHOUT = {"mkldnn_rnn_layer", "mkldnn_rnn_layer_backward"}


def part_of(share, remainder):
    """Return the names of a part of the operators, the same in every run."""
    return [op.name for op in ATEN if zlib.crc32(op.name.encode()) % share == remainder]


def faults(device, names, limit):
    tested = agreement.TestedDevice.find(device)
    found = [agreement.check_operator(tested, name, limit=limit) for name in names]
    assert sum(outcome.status == "passed" for outcome in found) > len(names) // 3
    return [outcome for outcome in found if outcome.is_fault]


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The example under a name and with a key of its own, found as an installed distribution is."""
    site = tmp_path_factory.mktemp("site")
    package, folder = site / "wooden_backend", site / "wooden_backend-0.1.0.dist-info"
    package.mkdir()
    for path in (EXAMPLE / "src" / "toy_backend").glob("*.py"):
        text = path.read_text(encoding="utf-8").replace("toy", "wooden").replace('dispatch_key="PrivateUse1", ', "")
        (package / path.name).write_text(text, encoding="utf-8")
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: wooden-backend\nVersion: 0.1.0\n")
    (folder / "entry_points.txt").write_text("[dispatch_core.backends]\nwooden = wooden_backend.plugin\n")
    sys.path.insert(0, str(site))
    dc.refresh()
    yield "wooden"
    sys.path.remove(str(site))


def test_nearly_every_operator_has_samples():
    assert {op.name for op in ATEN if not has_samples(op.name)} == WITHOUT


def test_samples_are_the_same_in_every_run_and_of_many_kinds():
    one, two = [[*op_samples("add.Tensor")] for _ in range(2)]
    assert [str(sample) for sample in one] == [str(sample) for sample in two]
    assert {"float32", "int64", "uint8", "bool", "int and float", "nan", "0-d", "empty"} <= {
        each.change for each in one
    }
    assert {"transposed", "with gaps"} <= {each.layout for each in one}
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first.arguments["self"], second.arguments["self"])


def test_the_cpu_agrees_with_itself():
    assert faults("cpu", part_of(48, 0), None) == []


def test_the_examples_device_agrees_with_the_cpu(toy):
    assert faults(toy, part_of(40, 1), None) == []


def test_meta_agrees_in_shape_and_dtype():
    assert faults("meta", part_of(40, 2), None) == []


@pytest.mark.parametrize("name", ["polygamma_", "view_as_complex", "col2im", "addcmul", "copysign.Tensor"])
def test_what_the_kit_has_found_stays_right(name, toy):
    for device in ("meta", toy):
        outcome = agreement.check_operator(agreement.TestedDevice.find(device), name)
        assert outcome.status in {"passed", "missing"}, outcome.reason


def test_what_depends_on_values_is_not_run_without_them():
    [item] = verify("meta", only=["aten::item"]).outcomes
    assert (item.status, item.reason) == ("not run", "the result depends on values, which the device does not have")


def test_the_npu_agrees_with_the_cpu(npu):
    assert faults("npu", part_of(60, 3), 4) == []


@pytest.fixture
def faulty(toy):
    """The example's device with a wrong kernel, one of a near-miss name and one that is gone."""
    library = dc.Library("aten", "IMPL", dc.device_key(toy))
    with pytest.warns(dc.OverwriteWarning):
        library.impl("exp", lambda self: dc.ops.aten.add(self, 1))
    yield toy
    library.close()


@pytest.mark.parametrize(
    ("name", "composite", "said"),
    [
        ("neg", lambda self: dc.ops.aten.contiguous(dc.ops.aten.mul.Scalar(self, -1)), "has strides"),
        ("expm1", lambda self: dc.ops.aten.sub.Scalar(dc.ops.aten.exp(self), 1), "is 0.0 at [0, 1], the cpu's -0.0"),
    ],
)
def test_composed_operators_lie_in_memory_and_keep_the_signs_of_zeros_as_on_the_cpu(name, composite, said, toy):
    device = agreement.TestedDevice.find(toy)
    library = dc.Library("aten", "IMPL", "CompositeExplicitAutograd")
    with pytest.warns(dc.OverwriteWarning):
        library.impl(name, composite)
    try:
        outcome = agreement.check_operator(device, name)
    finally:
        library.close()
    assert (outcome.status, outcome.kernel) == ("failed", "composed")
    assert said in outcome.reason.replace("np.float64(0.0)", "0.0").replace("np.float64(-0.0)", "-0.0"), outcome.reason
    assert agreement.check_operator(device, name).status == "passed"


def test_a_wrong_kernel_is_found_with_the_call_that_shows_it(faulty):
    report = verify(faulty, only=["aten::exp", "aten::log"])
    [fault] = report.faults
    assert (fault.check, fault.status, fault.kernel) == ("aten::exp", "failed", "own")
    assert fault.reason.startswith("exp(float64[2, 3]): the result is ")
    assert "the cpu's" in fault.reason


def test_marks_expect_failures_and_fail_where_there_is_none(faulty):
    known = [
        marks.Mark("notyet", ("aten::exp",), "the exponent unit is slow"),
        marks.Mark("never", ("aten::log",), "no"),
    ]
    one, two = verify(faulty, only=["aten::exp", "aten::log"], marks=known).outcomes
    assert (one.status, one.reason, one.is_fault) == ("expected", "notyet: the exponent unit is slow", False)
    assert (two.status, two.reason, two.is_fault) == ("unexpected", "it passes, and is marked never: no", True)
    [unused] = marks.check_use([marks.Mark("never", ("aten::oxp",), "no")], [one, two])
    assert unused.is_fault
    assert "aten::oxp" in unused.reason


def test_a_mark_may_say_by_which_error(faulty):
    known = [marks.Mark("notyet", ("aten::exp",), "it is slow", raises="NotImplementedError")]
    [one] = verify(faulty, only=["aten::exp"], marks=known).outcomes
    assert one.status == "unexpected"
    assert "not by NotImplementedError" in one.reason


@pytest.mark.parametrize(
    "text",
    ["notyet = 3", "[[nearly]]\nchecks=['a']\nreason='b'", "[[never]]\nchecks=['a']", "[[never]]\nreason='a'", "["],
)
def test_a_file_of_marks_that_cannot_be_read_is_refused(text, tmp_path):
    path = tmp_path / "conformance.toml"
    path.write_text(text)
    with pytest.raises(dc.BackendError, match=r"conformance\.toml"):
        marks.read_marks(path)


def test_marks_are_read_from_the_file_beside_the_plugin(tmp_path, monkeypatch):
    (tmp_path / "acme_plugin.py").write_text("")
    (tmp_path / "conformance.toml").write_text("[[notimpl]]\nchecks = ['aten::sort*']\nreason = 'later'\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert marks.marks_beside("acme_plugin") == (marks.Mark("notimpl", ("aten::sort*",), "later"),)


def test_a_missing_kernel_is_reported_with_what_it_costs(toy):
    report = verify(toy, only=["aten::sort", "aten::sort.stable", "aten::msort"])
    assert report.faults == []
    assert report.costs == {"aten::sort.stable": ["aten::sort", "aten::sort.stable", "aten::msort"]}


def test_a_device_that_was_not_used_fails(toy):
    tested = agreement.TestedDevice.find(toy)
    missing, composed = (agreement.check_operator(tested, name, limit=1) for name in ("sort", "neg"))
    found = [check_that_it_was_used(toy, outcomes).status for outcomes in ([], [missing], [missing, composed])]
    assert found == ["failed", "failed", "passed"]


def test_the_command_reports_as_text_json_and_html(toy, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(["verify", toy, "--only", "aten::add*", "--samples", "3", "--html", str(page)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("device 'wooden' of wooden-backend 0.1.0: fine")
    assert "pointwise" in text
    assert main(["verify", toy, "--only", "aten::add*", "--samples", "3", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["fine"] is True
    assert {"check", "status", "reason", "kernel", "samples", "missing", "calls", "place", "kernels"} == set(
        data["checks"][0]
    )
    html = page.read_text(encoding="utf-8")
    assert "aten::add.Tensor" in html
    assert "http" not in html


def test_the_command_fails_for_faults_and_for_unknown_devices(faulty, capsys):
    assert main(["verify", faulty, "--jobs", "0", "--only", "aten::exp"]) == 1
    assert "failed  aten::exp (own)" in capsys.readouterr().out
    assert main(["verify", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


HOST_FAULTS = {
    "device_get returns float64[2, 3] for an array float32[2, 3]": ("device_get", lambda self: self.astype("float64")),
    "device_get returns the device's own memory": ("device_get", lambda self: self),
    "device_put keeps the memory": ("device_put", lambda data, *, device: data),
}


@pytest.mark.parametrize("said", HOST_FAULTS)
def test_copies_that_share_memory_or_change_the_dtype_are_found(said, monkeypatch):
    name, kernel = HOST_FAULTS[said]
    good = {"device_get": np.copy, "device_put": lambda data, *, device: data.copy()} | {name: kernel}
    tested = replace(agreement.TestedDevice.find("cpu"), name="wood", dtypes=frozenset({"float32"}))
    for module in (host_copies, placing):
        monkeypatch.setattr(module, "ops", SimpleNamespace(prims=SimpleNamespace(**good)))
    monkeypatch.setattr(host_copies, "BY_NAME", ["float32"])
    monkeypatch.setattr(dc, "Device", str)
    outcome = host_copies.check_host_copies(tested)
    assert outcome.status == "failed"
    assert said in outcome.reason
    assert name in outcome.place


def test_an_error_is_reported_with_the_kernel_and_its_line(toy):
    def spin(self):
        raise FileNotFoundError("clang")

    library = dc.Library("aten", "IMPL", dc.device_key(toy))
    with pytest.warns(dc.OverwriteWarning):
        library.impl("exp", spin)
    try:
        [fault] = verify(toy, only=["aten::exp"]).faults
    finally:
        library.close()
    assert re.fullmatch(r"aten::exp in spin \(.*test_verify\.py:\d+\)", fault.place)


def test_a_dtype_error_for_a_dtype_that_the_device_lacks_is_no_fault():
    device = replace(agreement.TestedDevice.find("cpu"), dtypes=frozenset({"float32", "float64", "int64"}))
    assert agreement.lacking_dtypes(device, "fft_irfft", DtypeError("no")) == {"complex64", "complex128"}
    assert agreement.lacking_dtypes(device, "exp", DtypeError("float16 is not here")) == {"float16"}
    assert agreement.lacking_dtypes(device, "exp", DtypeError("float32 is not here")) == set()
    assert agreement.lacking_dtypes(device, "fft_irfft", TypeError("complex64")) == set()


def test_devices_without_strides_are_shown_no_layout_that_they_cannot_have(monkeypatch):
    layouts = []
    real = agreement.compare_sample
    monkeypatch.setattr(
        agreement, "compare_sample", lambda *args, **kw: (layouts.append(args[1].layout), real(*args, **kw))[1]
    )
    monkeypatch.setattr(dc, "has_strides", lambda value: False)
    for name in ("as_strided", "as_strided_copy"):
        assert agreement.check_operator(agreement.TestedDevice.find("cpu"), name).status == "passed"
    assert set(layouts) == {""}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "aten::exq*"], r"'aten::exq\*' matches none .*\nHint: near are .*'aten::exp'"),
        (["--only", "relu"], r"Hint: near are 'aten::relu'; names are like"),
        (["--html", "{}/nowhere/x.html"], "there is no folder .*nowhere"),
        (["--html", "{}"], "it is a folder"),
    ],
)
def test_the_command_refuses_what_cannot_be_done_before_it_runs(options, said, tmp_path, capsys):
    assert main(["verify", "cpu", *(option.format(tmp_path) for option in options)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(said, err), err


def test_the_report_is_printed_where_the_page_cannot_be_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "dispatch_aten.testing.command.write_text", lambda *args: (_ for _ in ()).throw(OSError("the disk is full"))
    )
    assert main(["verify", "cpu", "--only", "aten::relu", "--html", str(tmp_path / "x.html")]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("device 'cpu'")
    assert "the disk is full" in err


def test_after_an_interrupt_there_is_a_report_of_what_ran(monkeypatch, capsys):
    def run_check(device, check, **options):
        if check == "aten::relu6":
            raise KeyboardInterrupt
        return Outcome(check, "passed")

    monkeypatch.setattr(report_module, "run_check", run_check)
    assert main(["verify", "cpu", "--jobs", "0", "--only", "aten::relu*"]) == 130
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert "no fault until then" in first
    assert second == "incomplete: stopped in aten::relu6, 2 checks ran"
    assert main(["verify", "cpu", "--jobs", "0", "--only", "aten::relu*", "--json"]) == 130
    data = json.loads(capsys.readouterr().out)
    assert (data["fine"], data["stopped"], len(data["checks"])) == (False, "aten::relu6", 2)


def test_progress_is_told_by_lines_on_a_terminal_and_by_tenths_elsewhere():
    for is_terminal, lines in ((True, 25), (False, 10)):
        stream, ticks = io.StringIO(), itertools.count()
        stream.isatty = lambda is_terminal=is_terminal: is_terminal
        tell = Progress(50, stream, clock=lambda ticks=ticks: next(ticks))
        for index in range(50):
            tell(Outcome(f"aten::{index}", "failed"))
        assert len(stream.getvalue().splitlines()) == lines
        assert "50 of 50 checks, 50 faults, 50 s: aten::49" in stream.getvalue()


def test_a_misspelt_option_is_told_its_neighbour(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["verify", "cpu", "--jsn"])
    expected = (
        "python -m dispatch_core verify: error: unrecognized arguments: --jsn\nHint: did you mean --json or --jobs?\n"
    )
    assert capsys.readouterr().err.endswith(expected)


def test_without_the_kit_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(dc.discovery.loader().catalog, "usable", lambda group, name: None)
    assert main(["verify", "cpu"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "No installed distribution brings the command 'verify'",
        "Hint: pip install 'dispatch-operators-aten[testing]'",
    ]


VENDORS_TESTS = """
import numpy as np
import pytest
from dispatch_core import ops

def test_both_ways(both_modes):
    both_modes(lambda x: ops.aten.exp(ops.aten.mul(x, 2)), np.arange(3.0))

def test_each_sample_can_be_looked_at(op_samples, dispatch_device):
    assert [sample.name for sample in op_samples("exp")][0] == "exp"
    assert dispatch_device.name == "wooden"

def test_a_difference_is_found(cpu_agrees):
    calls = []
    with pytest.raises(AssertionError, match="the result|result 0"):
        cpu_agrees(lambda x: ops.aten.add(x, calls.append(1) or len(calls)), np.ones(2))

@pytest.mark.notyet(reason="there is no sort", raises=NotImplementedError)
def test_sort(cpu_agrees):
    cpu_agrees(ops.aten.sort, np.arange(3.0))

@pytest.mark.never(reason="it is said so")
def test_that_passes(cpu_agrees):
    cpu_agrees(ops.aten.exp, np.arange(3.0))
"""


@pytest.fixture
def run_pytest(toy, tmp_path):
    """Run pytest with the plugin in a process of its own; return its status and its output."""

    def run(*arguments):
        options = ["-q", "-p", "no:cacheprovider", "-p", "dispatch_aten.testing.plugin", "--dispatch-device", toy]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *arguments],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.long
def test_the_plugin_runs_the_checks_and_a_vendors_tests(run_pytest, tmp_path):
    (tmp_path / "test_toy.py").write_text(VENDORS_TESTS)
    wanted = "relu or pickling or array_types or test_toy"
    status, text = run_pytest(
        "--pyargs", "dispatch_aten.testing", "test_toy.py", "-k", wanted, "--dispatch-samples", "2"
    )
    assert status == 1, text
    assert "[XPASS(strict)] never: it is said so" in text
    assert re.search(r"1 failed, \d+ passed, \d+ skipped, \d+ deselected, 1 xfailed", text), text
    assert "conformance of device 'wooden'" in text
    assert re.search(r"^activation  ", text, re.MULTILINE), text


def test_a_run_that_does_not_use_the_device_fails(run_pytest):
    status, text = run_pytest("--pyargs", "dispatch_aten.testing", "-k", "aten::msort")
    assert status == 1, text
    assert "no kernel of device 'wooden' was called" in text
