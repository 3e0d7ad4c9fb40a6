"""Sabotaged plugins, all on the path at once: a program that uses cpu does not notice, and doctor names each.

They are distributions like any other, metadata and modules, in a folder of their own; every program runs in a new process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="one of them ends itself by a signal")

#: The frame of a plugin; the text that follows is part of dispatch_register().
PLUGIN = """
import dispatch_core as dc

@dc.hookimpl
def dispatch_backend_info():
    return dc.BackendInfo({name!r})

@dc.hookimpl
def dispatch_register(registry):
"""
#: Device → source of the plugin, outcome and part of the reason that doctor must give.
BY_MODULE = {
    "raises": ("raise ValueError('bad luck')", "failed", "ValueError: bad luck"),
    "exits": ("import sys; sys.exit(3)", "failed", "it called sys.exit (exit status 3)"),
    "lacks_module": ("import libvendor", "failed", "it needs the module 'libvendor', which is not installed"),
    "lacks_library": (
        "import ctypes; ctypes.CDLL('libvendor.so.7')",
        "failed",
        "it needs the shared library 'libvendor.so.7', which cannot be loaded",
    ),
    "empty": ("", "failed", "has no implementation of dispatch_backend_info and dispatch_register"),
    "half": (
        PLUGIN
        + "    registry.register_kernel('aten::exp', dc.DispatchKey['Half'], print)\n    raise OSError('half way')",
        "failed",
        "OSError: half way",
    ),
    "overrides": (
        PLUGIN + "    registry.register_kernel('aten::exp', 'CPU', lambda *a: 42)",
        "failed",
        "sabotage-overrides 6.6 registers a kernel of aten::exp under CPU",
    ),
    "slow": ("import time; time.sleep(1.2)\n" + PLUGIN + "    pass", "ok", "slow import: "),
    "hangs": ("import time; time.sleep(3600)", "timed out", "it did not finish within the time limit of 12 s"),
    "crashes": (
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "crashed",
        "it was ended by the signal SIGSEGV, while it was being loaded",
    ),
    "prints": (
        "import os; print('{\"operators\": []}', flush=True); os.write(1, b'noise')\n"
        + PLUGIN
        + "    print('more noise')",
        "ok",
        "",
    ),
    "stays": (
        "import threading, time; threading.Thread(target=time.sleep, args=(3600,)).start()\n" + PLUGIN + "    pass",
        "ok",
        "",
    ),
    "ends": ("import os; os._exit(4)", "crashed", "it ended the process with exit status 4, while it was being loaded"),
}
#: Distribution → the name it claims, its requirements, and part of the reason that doctor must give.
BY_METADATA = {
    "sabotage-newer": ("newer", "dispatch-core>=99", "it requires dispatch-core>=99, and dispatch-core "),
    "sabotage-cpu": ("cpu", "dispatch-core", "the device 'cpu' belongs to dispatch-backend-cpu"),
    "sabotage-odd": ("o d:d", "dispatch-core", "the name 'o d:d' has characters that no device may have"),
    "sabotage-twin": ("raises_twice", "dispatch-core", "the name is claimed more than once: by 'raises_twice = "),
    "sabotage-triplet": ("raises_twice", "dispatch-core", "sabotage-triplet 6.6"),
}

PROGRAM = """
import sys
import numpy as np
import dispatch_core as dc

def use_cpu():
    x = np.arange(6.0).reshape(2, 3)
    print(dc.ops.aten.exp(x).tolist(), dc.ops.aten.add.Tensor(x, x, alpha=2).tolist())
    print(sorted((entry.name, key.name, str(entry.newest(key).origin)) for entry in dc.registry for key in entry.kernels))
    print(sorted(key.name for key in dc.DispatchKey), str(dc.backends()["cpu"]))

use_cpu()
print([name for name in sys.modules if name.startswith("sabotage")])
"""
#: The same after everything that can be asked for without ending the process has been asked for.
AFTER_ASKING = """
import dispatch_core as dc
for device in {devices!r}:
    try:
        dc.load_backend(device)
    except dc.BackendError as error:
        assert str(error).splitlines()[-1].startswith("Hint: "), error
    else:
        raise AssertionError(device + " was loaded")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with every sabotaged distribution."""
    site = tmp_path_factory.mktemp("sabotaged")
    claims = [(f"sabotage-{device.replace('_', '-')}", device, "dispatch-core") for device in BY_MODULE]
    claims += [(distribution, name, requirement) for distribution, (name, requirement, _) in BY_METADATA.items()]
    for distribution, device, requirement in claims:
        module = distribution.replace("-", "_") + "_plugin"
        source = BY_MODULE.get(device, ("raise SystemExit('this must never be imported')",))[0]
        (site / f"{module}.py").write_text(source.replace("{name!r}", repr(device)))
        info = site / f"{distribution.replace('-', '_')}-6.6.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 6.6\nRequires-Dist: {requirement}\n"
        )
        (info / "entry_points.txt").write_text(f"[dispatch_core.backends]\n{device} = {module}\n")
    return site


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run an interpreter, with a folder in front of its path."""
    folder = tmp_path_factory.mktemp("work")

    def run(*arguments, site=None, timeout=300, environment=()):
        path = [str(site)] if site else []
        path += filter(None, [os.environ.get("PYTHONPATH")])
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **dict(environment)},
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture(scope="module")
def expected(run):
    """What the program prints where no plugin is sabotaged."""
    done = run("-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_that_uses_cpu_does_not_notice(site, run, expected):
    actual = run("-c", PROGRAM, site=site)
    assert (actual.returncode, actual.stdout, actual.stderr) == (0, expected, "")
    assert actual.stdout.splitlines()[-1] == "[]"


def test_a_program_that_asked_for_them_uses_cpu_as_before(site, run):
    harmless = [device for device, (_, outcome, _) in BY_MODULE.items() if outcome == "failed"]
    asked = AFTER_ASKING.format(devices=[*harmless, *(name for name, _, _ in BY_METADATA.values() if name != "cpu")])
    before = PROGRAM.replace("use_cpu()\nprint", f"use_cpu()\n{asked}\nuse_cpu()\nprint")
    done = run("-c", before, site=site)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    # A key is an identity for good, so those that failing plugins asked for stay in the table of keys.
    assert lines[:2] == lines[3:5]
    assert lines[-1] == "[]"


@pytest.mark.parametrize("device", [device for device, (_, outcome, _) in BY_MODULE.items() if outcome == "failed"])
def test_cpu_loads_after_one_that_failed_before_it(site, run, expected, device):
    actual = run("-c", AFTER_ASKING.format(devices=[device]) + PROGRAM, site=site)
    assert (actual.returncode, actual.stderr) == (0, "")
    assert actual.stdout.splitlines()[:2] == expected.splitlines()[:2]
    assert actual.stdout.splitlines()[-1] == "[]"


def test_a_plugin_that_takes_a_kernel_of_cpu_is_refused_unless_it_may(site, run, expected):
    first = 'import dispatch_core as dc\ndc.load_backend("overrides")\n'
    refused = run("-c", first + PROGRAM, site=site)
    assert "sabotage-overrides 6.6 registers a kernel of aten::exp under CPU" in refused.stderr
    assert "Hint: to allow it all the same, set DISPATCH_FOREIGN_KEYS=overrides\n" in refused.stderr
    # Within a level the newest wins: cpu, which loads last.
    after = run("-c", first + PROGRAM, site=site, environment={"DISPATCH_FOREIGN_KEYS": "overrides"})
    assert after.returncode == 0, after.stderr
    assert after.stdout.splitlines()[0] == expected.splitlines()[0]
    assert "OverwriteWarning: aten::exp has a kernel for CPU from sabotage-overrides 6.6" in after.stderr


def test_doctor_names_each_with_its_reason(site, run):
    done = run("-m", "dispatch_core", "doctor", "--json", "--timeout", "12", site=site)
    assert done.returncode == 1, done.stderr
    findings = json.loads(done.stdout)["findings"]
    found = {(finding["distribution"], finding["name"]): finding for finding in findings if finding["kind"] == "device"}
    for device, (_, outcome, reason) in BY_MODULE.items():
        finding = found[f"sabotage-{device.replace('_', '-')}", device]
        assert finding["outcome"] == outcome, finding
        assert reason in " ".join([finding["reason"], *finding["notes"]])
    for distribution, (name, _, reason) in BY_METADATA.items():
        finding = found[distribution, name]
        assert finding["outcome"] == "refused"
        assert reason in finding["reason"]
    assert found["dispatch-backend-cpu", "cpu"]["outcome"] == "ok"


def test_list_shows_each_and_imports_none(site, run):
    done = run("-m", "dispatch_core", "list", site=site)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for device in BY_MODULE:
        assert [line.split()[2:4] for line in lines if line.split()[:1] == [device]] == [["6.6", "installed"]]
    for distribution, (_, _, reason) in BY_METADATA.items():
        assert [line for line in lines if f" {distribution} " in line and "refused" in line and reason in line]


EXPLAIN = "-m", "dispatch_core", "explain", "aten::exp", "--keys"


def test_explain_loads_only_what_the_call_needs(site, run):
    expected, actual = run(*EXPLAIN, "CPU", "--json"), run(*EXPLAIN, "CPU", "--json", site=site)
    assert (actual.returncode, actual.stderr) == (0, ""), actual.stderr
    without, found = json.loads(expected.stdout), json.loads(actual.stdout)
    assert found["operators"] == without["operators"]
    assert "dispatch-backend-cpu" in json.dumps(found["operators"])
    assert {*found["not_loaded"]} - {*without["not_loaded"]} == {*BY_MODULE, "newer", "o d:d", "raises_twice"}
    assert found["skipped"] == without["skipped"] == []


#: A plugin that lacks something raises an error like any other.
@pytest.mark.parametrize("device", [device for device in BY_MODULE if not device.startswith("lacks_")])
def test_explain_neither_ends_nor_hangs_nor_prints_with_a_plugin_that_does(site, run, device):
    _, outcome, reason = BY_MODULE[device]
    limit = "6" if device == "hangs" else "60"
    ways = ([f"CPU,Autograd{device.capitalize()}"], ["CPU", "--device", device])
    with ThreadPoolExecutor() as pool:
        done, other = pool.map(lambda way: run(*EXPLAIN, *way, "--json", "--timeout", limit, site=site), ways)
    if outcome == "ok":
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["skipped"] == []
    elif done.returncode == 0:
        # The plugin has failed after it made its key, and a key stays.
        assert device in ("half", "overrides")
        assert [row["device"] for row in json.loads(done.stdout)["skipped"]] == [device]
    else:
        assert (done.returncode, done.stdout) == (2, "")
        assert f"no dispatch key is named 'Autograd{device.capitalize()}'" in done.stderr
        assert f"note: device {device} is left out: " in done.stderr
    if device == "prints":
        assert {'{"operators": []}', "noise", "more noise"} <= {
            *done.stderr.replace("noise", "noise\n", 1).splitlines()
        }
    assert other.returncode == 0, other.stderr
    found = json.loads(other.stdout)
    assert [operator["operator"] for operator in found["operators"]] == ["aten::exp", "aten::exp.out"]
    skipped = {row["device"]: row["reason"] for row in found["skipped"]}
    assert skipped.keys() == (set() if outcome == "ok" else {device})
    if outcome in ("crashed", "timed out"):
        assert skipped[device].startswith(reason.partition(" of 12 s")[0].partition(",")[0])


def test_explain_survives_a_plugin_that_ends_the_process_later(tmp_path, run):
    info = tmp_path / "late-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1.0\nRequires-Dist: dispatch-core\n")
    (info / "entry_points.txt").write_text("[dispatch_core.backends]\nlate = late_plugin\n")
    source = "import sys, os, json\nfrom dispatch_devkit import explanation\n"
    source += "explanation.entries_of = lambda *a: os._exit(7)\n"
    source += "import dispatch_devkit.operator_report as r; r.entries_of = explanation.entries_of\n"
    (tmp_path / "late_plugin.py").write_text(source + PLUGIN.replace("{name!r}", "'late'") + "    pass\n")
    done = run(*EXPLAIN, "CPU", "--device", "late,cpu", "--json", site=tmp_path)
    # Which of the loaded plugins it was is not known, so all of them are left out.
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    reason = "it ended the process with exit status 7, while the operator was being looked at"
    assert {"device": "late", "reason": reason} in found["skipped"]


def test_explain_says_that_an_operator_library_hangs(tmp_path, run):
    info = tmp_path / "sleepy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sleepy\nVersion: 1.0\nRequires-Dist: dispatch-core\n")
    (info / "entry_points.txt").write_text("[dispatch_core.operators]\nsleepy = sleepy_library\n")
    (tmp_path / "sleepy_library.py").write_text("import time; print('good night'); time.sleep(3600)\n")
    done = run("-m", "dispatch_core", "explain", "sleepy::nap", "--json", "--timeout", "4", site=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    words = (
        "sleepy::nap cannot be explained: it did not finish within the time limit of 4 s, while the operator was being"
    )
    assert words in done.stderr
