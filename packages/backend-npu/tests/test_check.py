"""The first run on a chip: every check passes on the simulator, and broken toolkits and functions are named."""

import argparse
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dispatch_aten.testing.outcomes import Outcome
from dispatch_aten.testing.running import RunSettings
from dispatch_backend_npu.acl import FunctionNotFoundError
from dispatch_backend_npu.aclnn.table import NEWER
from dispatch_backend_npu.check import (
    cells,
    child,
    command,
    draws,
    functions,
    memory,
    report,
    running,
    steps,
    streams,
    summary,
)
from dispatch_backend_npu.check.environment import check_driver, check_environment, find_environment
from dispatch_backend_npu.check.privacy import Privacy
from dispatch_backend_npu.check.running import CheckRun, run_checks
from dispatch_backend_npu.simulator import compiler
from dispatch_core import ops

pytestmark = pytest.mark.no_pipeline(reason="runs checks in processes of their own")

LIBRARIES = ("libascendcl.so", "libnnopbase.so", "libopapi.so")
CONFIG = "opp/built-in/op_impl/ai_core/tbe/kernel/config"

#: A vendor's functions take the place of the toolkit's: one crashes, one hangs, one loses the device, one is refused.
FAULTY = """
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#define FUNCTION(name, body) \\
    int name##GetWorkspaceSize(void *a, void *b, uint64_t *c, void **d) { body; } \\
    int name(void *w, uint64_t n, void *e, void *s) { return 0; }
FUNCTION(aclnnAbs, abort())
FUNCTION(aclnnErfc, for (;;) pause())
FUNCTION(aclnnExp2, return 507015)
FUNCTION(aclnnCos, return 161002)
"""


@pytest.fixture
def few_cells(npu, monkeypatch):
    """Run checks on a few operators of the simulator."""
    names = ("abs", "erfc", "exp2", "cos", "neg", "im2col")
    every = cells.list_cells

    def few(family, *, is_quick=False):
        return [cell for cell in every(family, is_quick=is_quick) if cell[0] in names and cell[1] == "float32"]

    monkeypatch.setattr(cells, "list_cells", few)
    monkeypatch.setattr(steps, "STEPS", steps.STEPS[: len(steps.WAYS)])


@pytest.fixture
def runner(npu, tmp_path):
    """Return the runner of a process, in this one."""
    return child.make_runner(RunSettings("npu", None, 4, options={"folder": str(tmp_path), "quick": True}))


def outcomes_of(run):
    return {outcome.check: outcome for outcome in run.outcomes}


def write(root, files):
    for name, text in files.items():
        path = Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_every_check_passes_on_the_simulator(few_cells):
    heard = []
    run = run_checks(is_quick=True, begin=lambda count: heard.append)
    assert run.faults == [] and {running.part_of(each) for each in run.outcomes} == set(running.PARTS)
    assert [each.check for each in heard[-len(steps.WAYS) :]] == [
        f"steps: perceptron float32 {way}" for way in steps.WAYS
    ]
    assert run.device["chip"].startswith("Ascend") and run.device["count"] == 2
    found = sum(each.samples for each in run.of_part("functions"))
    assert found == sum(1 for library in functions.LIBRARIES for _ in functions.list_functions(library))
    text = summary.as_text(run)
    assert len(text.splitlines()) <= 24 and "Nothing failed" in text and "the simulator" in text


CHECKS = {"memory": memory.CHECKS, "streams": streams.CHECKS, "random": draws.CHECKS}


@pytest.mark.of_functions
@pytest.mark.parametrize("check", [f"{part}: {name}" for part, names in CHECKS.items() for name in names])
def test_memory_streams_and_random_numbers_pass_on_the_simulator(runner, check):
    outcome = runner.run(check)
    assert outcome.status == "passed", outcome.reason


def test_random_numbers_that_are_not_random_are_told(runner, monkeypatch):
    law, aten = draws._LAWS["uniform"], ops.aten
    faults = {
        "the mean is off": lambda x, g: aten.add(law.draw(x, g), 0.1),
        "the variance is off": lambda x, g: aten.add(aten.mul(law.draw(x, g), 0.9), 0.1),
        "too few values": lambda x, g: aten.round(law.draw(x, g)),
        "values outside": lambda x, g: aten.mul(law.draw(x, g), 1.001),
        "neighbours depend": lambda x, g: aten.sort(law.draw(x, g))[0],
        "equal seeds draw different numbers": lambda x, g: aten.uniform_(x, -1.0, 3.0),
        "a second draw repeats the first": lambda x, g: law.draw(x, g.manual_seed(g.initial_seed())),
        "another seed draws the same": lambda x, g: law.draw(x, None),
    }
    for fault, draw in faults.items():
        monkeypatch.setitem(draws._LAWS, "uniform", law._replace(draw=draw))
        if "another" in fault:
            monkeypatch.setattr(draws, "_draw", lambda law, seed, draw=draws._draw: draw(law, 7))
            monkeypatch.setitem(draws._LAWS, "uniform", law)
        outcome = runner.run("random: uniform")
        assert outcome.status == "failed" and fault in outcome.reason, (fault, outcome.reason)


@pytest.mark.of_functions
def test_seeds_in_tensors_that_draw_other_numbers_are_told(runner, monkeypatch):
    launch = draws.launch
    monkeypatch.setattr(
        draws,
        "launch",
        lambda name, *args: launch(name, *args[:-1], 60) if "NormalTensor" in name else launch(name, *args),
    )
    outcome = runner.run("random: seeds in tensors")
    assert outcome.status == "failed" and outcome.reason.startswith("aclnnInplaceNormalTensor draw other numbers")


def test_functions_that_the_toolkit_need_not_have_are_not_missed(runner, monkeypatch):
    def lack(name):
        if name.startswith(("aclmdlRI", *NEWER)):
            raise FunctionNotFoundError(f"the toolkit does not have {name}")
        return bind(name)

    bind = functions.bind
    for module in (functions, draws, steps):
        monkeypatch.setattr(module, "bind", lack)
    outcomes = [runner.run(f"functions: {functions.OPERATORS}")]
    outcomes += [runner.run(check) for check in ("random: seeds in tensors", "steps: perceptron float32 graph")]
    assert [each.status for each in outcomes] == ["passed", "not run", "not run"]
    assert outcomes[2].reason == "the toolkit does not have aclmdlRICaptureBegin"
    run = CheckRun({}, outcomes=outcomes)
    assert "not run" in summary._describe_part(run.of_part("steps"), "")


@pytest.mark.of_functions
@pytest.mark.parametrize("step", steps.STEPS, ids="-".join)
def test_steps_agree_with_the_cpu(runner, step):
    outcome = runner.run(f"steps: {' '.join(step)}")
    assert outcome.status == "passed" and outcome.reason.startswith("loss "), outcome.reason


@pytest.mark.of_functions
@pytest.mark.parametrize(
    ("cell", "kernel"),
    [
        ("neg float32", "aclnnNeg"),
        ("relu float64", "aclnn"),
        ("add.Tensor int64", "aclnnAdd"),
        ("cat float16", "aclnnCat"),
        ("arange float32", "aclnnArange"),
    ],
)
def test_a_cell_says_which_functions_it_has_launched(runner, cell, kernel):
    outcome = runner.run(f"operators: {cell}")
    assert outcome.status == "passed" and any(name.startswith(kernel) for name in outcome.kernels)


def test_a_cell_without_calls_is_not_run(runner):
    assert runner.run("operators: arange int64").status == "not run"


@pytest.mark.of_functions
def test_an_operator_that_differs_fails_its_cell(runner, simulator, monkeypatch):
    monkeypatch.setattr(steps, "_TOLERANCES", {"float32": -1.0})
    outcome = runner.run("steps: perceptron float32 eager")
    assert outcome.status == "failed" and "the loss of step 0 is" in outcome.reason
    with simulator.failing("aclnnNegGetWorkspaceSize", 1, 161002):
        outcome = runner.run("operators: neg float32")
    assert (outcome.status, outcome.kernels, runner.is_spent) == ("failed", ("aclnnNeg",), False)
    assert "161002" in outcome.reason and "Sample: neg(float32" in outcome.reason
    simulator.fail_task(1)
    outcome = runner.run("memory: copies on the device")
    assert outcome.status == "failed" and "507015" in outcome.reason and runner.is_spent
    simulator.reset()


def test_blocks_that_lie_too_close_fail(runner, monkeypatch):
    monkeypatch.setattr(memory, "GAP", 1 << 20)
    outcome = runner.run("memory: blocks")
    assert outcome.status == "failed" and "where kernels need 1048576" in outcome.reason


def test_doubtful_cells_come_first_and_gradients_of_integers_not_at_all():
    found = cells.list_cells("910B")
    place = {cell: number for number, cell in enumerate(found)}
    for operator in ("im2col", "avg_pool2d", "std.correction"):
        assert place[operator, "float32"] < place["abs", "float32"]
    assert ("im2col", "float16") in found and ("sigmoid_backward", "int64") not in found
    assert set(cells.list_cells("910B", is_quick=True)) < set(found)


@pytest.mark.of_functions
def test_lost_processes_cost_a_check_and_name_the_function(few_cells, monkeypatch, tmp_path):
    source, library = tmp_path / "faulty.c", tmp_path / "op_api" / "lib" / "libcust_opapi.so"
    source.write_text(FAULTY)
    library.parent.mkdir(parents=True)
    subprocess.run([*compiler(), "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", str(tmp_path))
    run = run_checks(is_quick=True, timeout=4)
    found = outcomes_of(run)
    assert found["operators: abs float32"].reason == "the process was ended by SIGABRT, while aclnnAbs ran"
    assert found["operators: erfc float32"].reason == "the process has no answer after 4 s, while aclnnErfc ran"
    assert "507015" in found["operators: exp2 float32"].reason
    assert "161002" in found["operators: cos float32"].reason
    assert found["operators: neg float32"].status == found["operators: im2col float32"].status == "passed"
    assert len(run.faults) == 4 and all(each.status == "passed" for each in run.of_part("steps"))
    text = summary.as_text(run)
    assert all(name in text for name in ("aclnnAbs", "aclnnErfc", "aclnnExp2", "aclnnCos"))
    assert len(text.splitlines()) <= 26


def test_a_device_that_does_not_open_gets_a_hint():
    lost = Outcome("device: chip", "failed", "the process has no answer after 60 s")
    assert running._name_function(lost, "/nowhere").reason.endswith(
        "60 s\nHint: npu-smi info tells whether the chip answers"
    )


def test_a_device_that_is_lost_for_good_ends_the_run(monkeypatch):
    class Pool:
        closed = False

        def run(self, checks):
            for check in checks:
                yield Outcome(check, "failed", "the process was ended by SIGKILL")

        def close(self):
            self.closed = True

    pool, checks = Pool(), [f"operators: neg {number}" for number in range(40)]
    found = [*running._run_in(pool, "/nowhere", checks)]
    assert [each.status for each in found] == ["failed"] * 6 + ["not run"] * 34
    assert found[-1].reason == "6 processes ended or hung before" and pool.closed


def toolkit_of(simulator, folder, keep=LIBRARIES, **files):
    """Write a toolkit that has the simulator's libraries, and does not say that it is one."""
    for name in keep:
        (folder / "lib64").mkdir(parents=True, exist_ok=True)
        shutil.copy(simulator.folder / "lib64" / name, folder / "lib64" / name)
    write(folder, files)


KERNELS = {f"{CONFIG}/ascend910b/abs.json": "{}"}


@pytest.mark.parametrize(
    ("keep", "files", "told"),
    [
        (LIBRARIES[:1], KERNELS, "has the runtime alone"),
        ((LIBRARIES[0], LIBRARIES[2]), KERNELS, "has no libnnopbase.so"),
        (LIBRARIES[:2], KERNELS, "has no operators"),
        (LIBRARIES, KERNELS | {"opp/version.info": "Version=7.6\nversion_dir=8.0.0\n"}, "is CANN 8.0.0"),
        (LIBRARIES, {}, "the operators have no kernels"),
        (
            LIBRARIES,
            {f"{CONFIG}/ascend310p/abs.json": "{}"},
            "kernels for ascend310p, and none for this chip, Ascend910B1",
        ),
        ((), {"lib64/libascendcl.so": "", "lib64/libnnopbase.so": "", "lib64/libopapi.so": ""}, "cannot be loaded"),
        ((), {}, "the Ascend runtime was not found"),
    ],
)
def test_a_broken_toolkit_is_named(few_cells, simulator, monkeypatch, tmp_path, keep, files, told):
    toolkit_of(simulator, tmp_path, keep, **files)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    monkeypatch.delenv("ASCEND_OPP_PATH", raising=False)
    monkeypatch.delenv("DISPATCH_NPU_SIMULATE", raising=False)
    if f"{CONFIG}/ascend310p/abs.json" in files or files is KERNELS:
        monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path / "opp"))
    run = run_checks(is_quick=True)
    text = summary.as_text(run)
    data = json.dumps(report.as_data(run, Privacy.of_this_machine()))
    # Where names of folders are long, the report alone has room for all.
    shown = " ".join(text.split())
    assert told in shown or ("more, which are in the report" in shown and told.partition(",")[0] in data)
    assert "Hint: " in text and "Mend the installation first" in text
    # A screen; the name of a folder may take a line more, or two.
    assert len(text.splitlines()) <= 26
    assert str(tmp_path) not in data and told.partition(",")[0] in data


def test_functions_that_are_missing_are_named(runner, monkeypatch):
    monkeypatch.setitem(functions.PROTOTYPES, "aclnnNothing", ("const aclTensor*",))
    outcome = runner.run(f"functions: {functions.OPERATORS}")
    assert outcome.status == "failed"
    assert "functions are missing: aclnnNothingGetWorkspaceSize, aclnnNothing" in outcome.reason


def test_missing_packages_are_named(npu, few_cells, monkeypatch):
    facts = find_environment()
    found = {each.check: each for each in check_environment(facts | {"packages": {}})}
    assert "pip install dispatch-backend-cpu" in found["environment: cpu"].reason
    assert "dispatch-backend-npu[bfloat16]" in found["environment: bfloat16"].reason
    monkeypatch.setattr(running, "find_environment", lambda: facts | {"packages": {}})
    run = run_checks(is_quick=True)
    assert [each.check for each in run.faults] == ["environment: cpu"]
    text = summary.as_text(run)
    assert text.count("not run  dispatch-backend-cpu is not installed") == 2 and "streams      ok" in text
    assert report.as_data(run, Privacy({}, {}))["operators"] == {}


@pytest.mark.parametrize(
    ("driver", "can_open", "status", "told"),
    [
        ({"devices": 0}, False, "failed", "there is no /dev/davinci0"),
        ({"openable": 0}, False, "failed", "0 of 8 devices can be opened by this user"),
        ({"manager": False}, False, "failed", "there is no /dev/davinci_manager"),
        ({}, False, "passed", "driver 24.1, 8 devices"),
        ({"devices": 0}, True, "passed", "driver 24.1"),
    ],
)
def test_a_driver_that_shows_no_device_is_named(driver, can_open, status, told):
    facts = {"driver": {"version": "24.1", "devices": 8, "openable": 8, "manager": True} | driver, "toolkit": {}}
    outcome = check_driver(facts, can_open=can_open)
    assert outcome.status == status and told in outcome.reason
    assert ("Hint: " in outcome.reason) is (status == "failed")


def test_paths_and_names_leave_texts():
    privacy = Privacy(
        {"mustermann": "<user>", "ws-17": "<machine>", "x": "<never>"},
        {"/home/mustermann": "<home>", "/opt/Ascend/latest": "<toolkit>"},
    )
    assert privacy.clean("no /opt/Ascend/latest/lib64/libopapi.so (x=1)") == "no <toolkit>/lib64/libopapi.so (x=1)"
    assert privacy.clean("'/home/mustermann/a b' of mustermann@ws-17") == "'<home>/a b' of <user>@<machine>"
    assert privacy.clean("/srv/data/lib.so: 3/4 of float32/int8, ~/Ascend/cann") == (
        "<path>/lib.so: 3/4 of float32/int8, <path>/cann"
    )
    assert (
        privacy.clean("10.0.0.17 refused, 7.7.0.1.238 and 1.14.0 not")
        == "<address> refused, 7.7.0.1.238 and 1.14.0 not"
    )
    assert privacy.clean_data({"driver": "24.1.0.3"}, has_addresses=False) == {"driver": "24.1.0.3"}
    page = "https://github.com/dispatch-project/dispatch/issues"
    assert privacy.clean(f"at {page}, /dev/davinci0") == f"at {page}, /dev/davinci0"
    assert privacy.clean_data({"/srv/k": ["/srv/v", 1, None, True, 2.5]}) == {
        "/srv/k": ["<path>/v", 1, None, True, 2.5]
    }


def test_the_command_writes_a_report_that_names_no_user_machine_or_folder(
    few_cells, simulator, monkeypatch, tmp_path, capsys
):
    home, secret = tmp_path / "home" / "mustermann", tmp_path / "secret place"
    toolkit_of(simulator, secret / "cann", **KERNELS | {"opp/version.info": "version_dir=8.5.0\n"})
    home.mkdir(parents=True)
    for name, value in {
        "HOME": str(home),
        "USER": "mustermann",
        "LOGNAME": "mustermann",
        "HOSTNAME": "ws-17.example",
        "ASCEND_HOME_PATH": str(secret / "cann"),
        "ASCEND_OPP_PATH": str(secret / "cann" / "opp"),
        "ASCEND_RT_VISIBLE_DEVICES": "0,1",
        "ASCEND_CUSTOM_OPP_PATH": str(secret / "mine"),
    }.items():
        monkeypatch.setenv(name, value)
    write(secret, {"mine/op_api/lib/libcust_opapi.so": "no library of mustermann"})
    monkeypatch.chdir(secret)
    status = command.run(argparse.Namespace(json=Path("out.json"), quick=True, timeout=30.0))
    said = capsys.readouterr()
    assert status == 1 and "The report is in out.json" in said.out
    text = (secret / "out.json").read_text()
    data = json.loads(text)
    assert data["format"] == "dispatch-backend-npu check" and data["version"] == report.FORMAT
    # The custom library cannot be loaded: the loader's own text has its path.
    assert any("libcust_opapi.so" in each["reason"] for each in data["failed"])
    names = {"mustermann", "ws-17", socket.gethostname(), getpass.getuser(), str(Path.cwd()), str(tmp_path), str(home)}
    values = "\n".join(_texts(data))
    for name in names:
        assert not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", values), name
    assert re.findall(r"(?<![\w>.])/(?!dev/)[\w.-]+/[\w.-]+", values.replace("https://", "")) == []
    assert sys.prefix not in text and "secret" not in text


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


@pytest.mark.parametrize(("path", "timeout"), [("nowhere/out.json", 60.0), (".", 60.0), ("out.json", 0.0)])
def test_a_report_that_cannot_be_written_is_said_before_anything_runs(monkeypatch, tmp_path, capsys, path, timeout):
    monkeypatch.chdir(tmp_path)
    assert command.run(argparse.Namespace(json=Path(path), quick=True, timeout=timeout)) == 2
    assert "nothing has run" in capsys.readouterr().err


def test_failures_with_one_cause_are_told_together():
    failed = "AclError: aclnnMmGetWorkspaceSize failed with 161002 (ACLNN_ERR_PARAM_INVALID): because\nSample: mm"
    outcomes = [Outcome(f"operators: mm {dtype}", "failed", failed) for dtype in cells.DTYPES]
    outcomes += [Outcome(f"steps: {number}", "failed", f"in a pipeline: {failed}") for number in range(9)]
    outcomes += [
        Outcome(f"operators: add.Tensor {number}", "failed", f"the result is {number} at [{number}]")
        for number in "123"
    ]
    run = CheckRun({}, find_environment({}), {"chip": "Ascend910B1", "count": 1}, outcomes)
    text = summary.as_text(run)
    assert (
        text.count("161002") == 1
        and "operators: mm float32, mm float16, mm bfloat16 and 16 more (aclnnMm)" in text
        and text.count("the result is") == 1
    )
    assert len(text.splitlines()) <= 26


def test_the_command_runs_without_pytest_and_torch(npu, tmp_path):
    code = """
import sys
sys.modules["pytest"] = sys.modules["torch"] = sys.modules["torchlike"] = None
from dispatch_backend_npu.__main__ import main
from dispatch_backend_npu.check import cells, steps
cells.list_cells = lambda family, is_quick: [("neg", "float32")]
steps.STEPS = steps.STEPS[1:2]
raise SystemExit(main(["check", "--json", "out.json", "--quick"]))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["counts"]["operators"] == {"passed": 1}


def test_the_doctor_tries_functions_memory_and_streams(npu, monkeypatch):
    from dispatch_backend_npu.check import examination

    assert [*examination.find_faults()] == []
    monkeypatch.setattr(memory, "GAP", 1 << 20)
    monkeypatch.setitem(functions.PROTOTYPES, "aclnnNothing", ("const aclTensor*",))
    told = [*examination.find_faults()]
    assert len(told) == 2 and "functions are missing: aclnnNothingGetWorkspaceSize" in told[0]
    assert told[1].startswith("memory, blocks: AssertionError: ")


def test_a_run_that_is_stopped_has_the_checks_until_then(npu, tmp_path):
    code = """
import os, signal, sys
from dispatch_backend_npu.__main__ import main
from dispatch_backend_npu.check import cells
from dispatch_backend_npu.check.running import run_checks
def write(text, write=sys.stderr.write):
    if " %  " in text:  # the first line about progress, with at least a tenth of the checks done
        os.kill(os.getpid(), signal.SIGINT)
    return write(text)
sys.stderr.write = write
cells.list_cells = lambda family, is_quick: [("neg", dtype) for dtype in cells.DTYPES for _ in range(300)]
raise SystemExit(main(["check", "--json", "out.json", "--quick"]))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stdout + done.stderr
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["stopped"] and 0 < data["counts"]["operators"]["passed"] < 3000 and data["counts"]["steps"] == {}
    assert "steps        not run  the run was stopped before" in done.stdout


def test_a_run_without_bfloat16_says_so():
    outcomes = [
        Outcome("environment: toolkit", "passed", "a toolkit"),
        Outcome("environment: bfloat16", "not run", "ml-dtypes is not installed: bfloat16 is not checked\nHint: pip"),
    ]
    text = summary.as_text(CheckRun({}, find_environment({}), {"chip": "Ascend910B1", "count": 1}, outcomes))
    assert "1 not run: ml-dtypes is not installed: bfloat16 is not checked" in " ".join(text.split())
