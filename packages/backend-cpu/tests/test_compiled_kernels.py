"""Compiled kernels are taken where they fit, and named where they are refused; no compiler is needed here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from dispatch_backend_cpu.fp_errors import CONTEXT
from dispatch_backend_cpu.ops.support import compiled_kernels
from dispatch_backend_cpu.ops.support.compiled_kernels import LAYOUT, native, native_fold
from dispatch_core.calls import KernelTraits, make_code, traits_of
from dispatch_core.frontends import WINDOWS


class Kernel:
    """Stand in for the compiled class: keep the arguments."""

    def __init__(self, way, python, ufunc, types, **options):
        self.given = way, python, ufunc, types, options


@pytest.fixture
def distribution(monkeypatch):
    """Install a distribution whose module is what a test says."""
    monkeypatch.delenv("DISPATCH_NATIVE", raising=False)

    def install(find_loops):
        monkeypatch.setitem(sys.modules, "dispatch_backend_cpu_native", SimpleNamespace(find_loops=find_loops))

    return install


def test_a_module_of_this_layout_is_taken_and_told_what_it_uses(distribution):
    used = []
    module = SimpleNamespace(LAYOUT=LAYOUT, use=lambda *given: used.append(given))
    distribution(lambda: module)
    loops, remark = compiled_kernels.find_loops()
    assert loops is module
    assert remark == "compiled kernels of dispatch-backend-cpu-native are on"
    assert used == [(CONTEXT, WINDOWS, make_code)]


def test_a_module_of_another_layout_is_refused_by_name(distribution):
    distribution(lambda: SimpleNamespace(LAYOUT=LAYOUT + 1))
    loops, remark = compiled_kernels.find_loops()
    assert loops is None
    assert remark == (
        f"compiled kernels are off, because dispatch-backend-cpu-native has the layout {LAYOUT + 1}, and this version of"
        f" dispatch-backend-cpu takes {LAYOUT}. Hint: install both in one version"
    )


def test_a_module_without_a_layout_is_refused_by_name(distribution):
    distribution(SimpleNamespace)
    loops, remark = compiled_kernels.find_loops()
    assert loops is None
    assert "because dispatch-backend-cpu-native has no layout, and this version of dispatch-backend-cpu takes" in remark


def test_draws_go_with_the_kernels_and_are_missed_by_name(distribution, monkeypatch, caplog):
    monkeypatch.setattr(compiled_kernels, "LOOPS", None)
    assert compiled_kernels.find_draws() is None
    monkeypatch.setattr(compiled_kernels, "LOOPS", SimpleNamespace())
    distribution(lambda: None)
    assert compiled_kernels.find_draws() is None
    assert "compiled draws are off, because dispatch-backend-cpu-native has no find_draws" in caplog.text


@pytest.mark.parametrize("value", ["0", "off", " False "])
def test_the_variable_turns_them_off(distribution, monkeypatch, value):
    monkeypatch.setenv("DISPATCH_NATIVE", value)
    distribution(lambda: pytest.fail("it is not asked for"))
    loops, remark = compiled_kernels.find_loops()
    assert loops is None
    assert remark == f"compiled kernels are off, because DISPATCH_NATIVE is {value.strip()!r}"


def test_a_module_that_cannot_be_imported_is_named(distribution):
    def fail(error):
        raise error

    distribution(lambda: fail(ImportError("undefined symbol: PyArray_API")))
    assert compiled_kernels.find_loops() == (
        None,
        "compiled kernels are off, because dispatch-backend-cpu-native cannot be imported: undefined symbol: PyArray_API",
    )


def test_a_row_says_what_a_compiled_kernel_serves(monkeypatch):
    monkeypatch.setattr(compiled_kernels, "LOOPS", SimpleNamespace(Kernel=Kernel))

    def python(a): ...

    KernelTraits(runs_at_once="a reason")(python)
    made = native("unary", python, np.exp, [np.dtype("f"), np.dtype("e"), np.dtype("g"), np.dtype(">f8")], most=5)
    assert made.given == ("unary", python, np.exp, [np.dtype("f").num], {"most": 5})
    assert traits_of(made).runs_at_once == "a reason"
    assert native("unary", python, lambda a: a, [np.dtype("f")]) is python
    way, _, _, _, options = native_fold(python, np.maximum, [np.dtype("f")], along=True).given
    assert (way, options) == ("fold along", {"constants": {}, "mean": False, "halves": 0})
    options = native_fold(python, np.add, [np.dtype("f"), np.dtype("l")], along=False, mean=True).given[-1]
    assert [float(constant[0]) for constant in options["constants"].values()] == [0, 0]
    assert options["halves"] == 1
    assert native("binary", python, np.add, None).given[-1] == {"halves": 1 | 4}


def test_without_the_distribution_a_kernel_is_the_one_in_python(monkeypatch):
    monkeypatch.setattr(compiled_kernels, "LOOPS", None)
    assert native("unary", abs, np.absolute, None) is abs
    assert native_fold(sum, np.add, [], along=False) is sum


#: A module of kernels, all of which are left to Python.
LOOPS = f"""
class loops:
    LAYOUT = {LAYOUT}
    use = staticmethod(lambda *given: None)
    Kernel = staticmethod(lambda way, kernel, *given, **options: kernel)
    columns = convert = staticmethod(lambda *given: False)
def find_loops(): return loops
class draws:
    LAYOUT = {compiled_kernels.DRAWS_LAYOUT}
    use = staticmethod(lambda *given: None)
def find_draws(): return draws
"""


@pytest.fixture
def doctor(tmp_path):
    """Install a distribution with such a package, and ask the doctor for names."""

    def run(source, *names, value=None):
        folder = tmp_path / "dispatch_backend_cpu_native"
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text(source)
        metadata = tmp_path / "dispatch_backend_cpu_native-0.7.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: dispatch-backend-cpu-native\nVersion: 0.7\n")
        environment = {key: value for key, value in os.environ.items() if key != "DISPATCH_NATIVE"}
        environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")])
        if value is not None:
            environment["DISPATCH_NATIVE"] = value
        command = [sys.executable, "-m", "dispatch_core", "doctor", "--json", *names]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
        findings = [each for each in json.loads(done.stdout)["findings"] if each["kind"] in ("device", "compiled")]
        assert {each["version"] for each in findings if each["kind"] == "compiled"} <= {"0.7"}
        return done.returncode, {each["name"]: (each["outcome"], each["reason"], *each["notes"]) for each in findings}

    return run


def test_the_doctor_answers_by_the_name_of_the_distribution(doctor):
    assert doctor(LOOPS, "dispatch-backend-cpu-native") == (
        0,
        {
            "loops": ("ok", "", "compiled kernels of dispatch-backend-cpu-native are on"),
            "draws": ("ok", "", "compiled draws of dispatch-backend-cpu-native are on"),
        },
    )


def test_a_refused_layout_is_a_fault_in_the_doctors_report(doctor):
    status, found = doctor("class loops:\n    LAYOUT = 99\n\ndef find_loops():\n    return loops\n", "cpu")
    assert (status, [*found]) == (1, ["cpu", "loops"])
    assert found["cpu"][0] == "ok"
    outcome, reason = found["loops"]
    assert outcome == "refused"
    assert "dispatch-backend-cpu-native has the layout 99" in reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("class draws: pass", "has no layout, and this version of dispatch-backend-cpu takes"),
        ("draws.LAYOUT = 99", "has the layout 99, and this version of dispatch-backend-cpu takes"),
        ("def find_draws(): raise ImportError('undefined symbol: draw')", "cannot be imported: undefined symbol: draw"),
    ],
)
def test_refused_draws_are_a_fault_in_the_doctors_report(doctor, line, reason):
    status, found = doctor(f"{LOOPS}{line}", "cpu")
    assert (status, found["cpu"][0], found["loops"][0]) == (1, "ok", "ok")
    outcome, why = found["draws"]
    assert outcome == "refused"
    assert why.startswith(f"compiled draws are off, because dispatch-backend-cpu-native {reason}")


@pytest.mark.parametrize(("value", "status", "outcome"), [("0", 0, "blocked"), ("maybe", 1, "refused")])
def test_kernels_that_are_turned_off_are_not_a_fault_in_the_doctors_report(doctor, value, status, outcome):
    found = doctor(LOOPS, "dispatch-backend-cpu-native", value=value)
    assert (found[0], [*found[1]], found[1]["loops"][0]) == (status, ["loops"], outcome)
    assert f"DISPATCH_NATIVE is '{value}'" in found[1]["loops"][1]


def test_sources_that_are_not_built_are_absent_in_the_doctors_report(doctor, tmp_path):
    (tmp_path / "dispatch_backend_cpu_native").mkdir()
    (tmp_path / "dispatch_backend_cpu_native" / "_loops.c").touch()
    source = "from importlib import import_module\ndef find_loops(): return import_module('._loops', __package__)\n"
    status, found = doctor(source, "dispatch_backend_cpu_native")
    assert (status, found) == (0, {"dispatch-backend-cpu-native": ("absent", "its sources are not built")})
