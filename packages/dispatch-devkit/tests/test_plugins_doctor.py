"""The commands: the installed plugins, and their faults."""

import json
import sys

import pytest

from dispatch_core.surroundings.distributions import BACKENDS, scan
from dispatch_devkit import command_line as command
from dispatch_devkit.command_line import doctor as doctor_command
from dispatch_devkit.command_line.output import TextOutput
from dispatch_devkit.doctor import trials as doctor
from dispatch_devkit.doctor.findings import Finding
from dispatch_devkit.doctor.trials import examine, try_in_subprocess

GOOD = """
    import dispatch_core as dc
    @dc.hookimpl
    def dispatch_backend_info():
        return dc.BackendInfo("acme", "PrivateUse1")
    @dc.hookimpl
    def dispatch_register(registry):
        registry.register_kernel("demo::one", "PrivateUse1", lambda x: x)
"""
CPU = """
    import dispatch_core as dc
    @dc.hookimpl
    def dispatch_backend_info():
        return dc.BackendInfo("cpu", "CPU")
    @dc.hookimpl
    def dispatch_register(registry):
        registry.register_kernel("demo::one", "CPU", lambda x: x)
"""
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")


@pytest.fixture
def diagnose(install, monkeypatch):
    """Install a plugin beside a small cpu backend, and have the doctor try it."""

    def diagnose(source, timeout=60.0):
        install("dispatch-backend-cpu", "99", backends={"cpu": "small_cpu"}, modules={"small_cpu": CPU})
        site = install("acme-dist", backends={"acme": "acme_plugin"}, modules={"acme_plugin": source})
        monkeypatch.syspath_prepend(site)
        (claim,) = [claim for claim in scan().claims if (claim.group, claim.name) == (BACKENDS, "acme")]
        return try_in_subprocess(claim, timeout)[0]

    return diagnose


def test_a_good_plugin_is_fine_and_has_a_load_time(diagnose):
    finding = diagnose(GOOD)
    assert (finding.outcome, finding.reason, finding.notes, finding.fine) == ("ok", "", (), True)
    assert 0 < finding.seconds < 1
    assert (finding.kind, finding.name, finding.distribution, finding.version) == ("device", "acme", "acme-dist", "1.0")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise ValueError('bad luck')", "ValueError: bad luck"),
        ("import sys; sys.exit(3)", "it called sys.exit (exit status 3)"),
        ("import libacme", "it needs the module 'libacme', which is not installed"),
        ("", "The plugin for device 'acme' has no implementation of dispatch_backend_info and dispatch_register"),
        (GOOD + "        raise OSError('half way')", "OSError: half way"),
        (
            GOOD.replace('"PrivateUse1", lambda', '"CPU", lambda'),
            "registers a kernel of demo::one under CPU",
        ),
        (GOOD + "    @dc.hookimpl\n    def dispatch_is_available(): 1 / 0", "division by zero"),
    ],
)
def test_a_plugin_that_raises_is_reported_with_what_it_raised(diagnose, source, reason):
    finding = diagnose(source)
    assert finding.outcome == "failed"
    assert reason in finding.reason


@needs_posix
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os; os._exit(3)", "it ended the process with exit status 3, while it was being loaded"),
        ("import os; os._exit(0)", "it ended the process with exit status 0, while it was being loaded"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "it was ended by the signal SIGSEGV, while it was being loaded",
        ),
        (
            GOOD + "    @dc.hookimpl\n    def dispatch_is_available():\n        import os; os._exit(0)",
            "it ended the process with exit status 0, while it was asked whether its device is available",
        ),
    ],
)
def test_a_plugin_that_ends_its_process_is_reported(diagnose, source, reason):
    finding = diagnose(source)
    assert (finding.outcome, finding.reason) == ("crashed", reason)


@needs_posix
def test_the_last_lines_that_a_crashing_plugin_printed_are_kept(diagnose):
    finding = diagnose("import os; print('loading libacme', flush=True); os.abort()")
    assert finding.output.splitlines()[0] == "loading libacme"
    assert "acme_plugin.py" in finding.output


@needs_posix
def test_a_plugin_that_hangs_is_ended_with_what_it_started(diagnose, tmp_path):
    source = """
        import subprocess, sys, time
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        time.sleep(60)
    """
    finding = diagnose(source, timeout=1.5)
    assert finding.outcome == "timed out"
    assert finding.reason.startswith("it did not finish within the time limit of 1.5 s, while")


def test_a_slow_import_is_remarked_on_and_no_fault(diagnose, monkeypatch):
    monkeypatch.setattr(doctor, "SLOW", 0.1)
    finding = diagnose("    import time; time.sleep(0.2)\n" + GOOD)
    assert finding.fine
    (note,) = finding.notes
    assert note.startswith("slow import: 0.")


def test_a_device_that_cannot_be_opened_here_is_remarked_on_and_no_fault(diagnose):
    finding = diagnose(
        GOOD + "    @dc.hookimpl\n    def dispatch_is_available(): return dc.Availability(False, 'no driver')"
    )
    assert finding.fine
    assert finding.notes == ("its device cannot be opened on this machine: no driver",)


EXAMINED = """
    @dc.hookimpl
    def dispatch_examine():
        yield "the driver is from last year\\nHint: install a newer one"
        {more}
"""


DRIVER = "the driver is from last year\nHint: install a newer one"
UNAVAILABLE = f"    @dc.hookimpl\n    def dispatch_is_available(): return dc.Availability(False, {DRIVER!r})\n"


def test_faults_that_a_plugin_finds_in_its_installation_are_reported(diagnose):
    finding = diagnose(GOOD + EXAMINED.format(more="yield 'no kernels'"))
    assert (finding.outcome, finding.fine) == ("faulty", False)
    assert finding.reason.splitlines() == [*DRIVER.splitlines(), "no kernels"]


def test_a_plugin_that_cannot_examine_its_installation_is_reported(diagnose):
    finding = diagnose(GOOD + EXAMINED.format(more="1 / 0"))
    assert finding.outcome == "faulty" and "dispatch_examine raised ZeroDivisionError" in finding.reason


def test_a_reason_that_is_a_fault_of_the_installation_is_said_once(diagnose):
    finding = diagnose(GOOD + UNAVAILABLE + EXAMINED.format(more=""))
    assert (finding.outcome, finding.reason, finding.notes) == ("faulty", DRIVER, ())


def test_a_hint_within_a_note_is_a_line_of_its_own(diagnose):
    finding = diagnose(GOOD + UNAVAILABLE)
    assert doctor_command._describe(finding, TextOutput())[1:] == [
        "           note: its device cannot be opened on this machine: the driver is from last year",
        "             Hint: install a newer one",
    ]


def test_what_a_plugin_prints_does_not_reach_the_report(diagnose, capfd):
    finding = diagnose('    print(\'{"outcome": "failed"}\')\n' + GOOD)
    assert finding.fine
    assert capfd.readouterr().out == ""


def test_what_may_not_load_is_reported_untried(install, monkeypatch):
    site = install("evil", backends={"cpu": "evil", "od d": "evil"}, modules={"evil": "raise SystemExit"})
    install("newer", backends={"newer": "evil"}, requires=["dispatch-core>=99"])
    install("kept", backends={"kept": "evil"}, array_types={"kept.Array": "other"})
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("DISPATCH_BACKENDS_BLOCK", "kept,absent")
    found = {(finding.name, finding.distribution): finding for finding in examine()}
    assert found["cpu", "evil"].reason == "the device 'cpu' belongs to dispatch-backend-cpu"
    assert found["od d", "evil"].reason == "the name 'od d' has characters that no device may have"
    assert found["newer", "newer"].reason.startswith("it requires dispatch-core>=99, and dispatch-core ")
    assert {found[key].outcome for key in [("cpu", "evil"), ("od d", "evil"), ("newer", "newer")]} == {"refused"}
    assert found["kept", "kept"].outcome == "blocked"
    assert found["kept.Array", "kept"].reason == "kept provides no device 'other'"
    assert found["DISPATCH_BACKENDS_BLOCK", ""].reason == "names 'absent', which no installed distribution provides"


def test_contested_array_types_are_reported(install, monkeypatch):
    site = install(
        "dispatch-backend-cpu", backends={"cpu": "small"}, array_types={"one.Array": "cpu"}, modules={"small": CPU}
    )
    for name in ("a", "b"):
        install(name, backends={name: "small"}, array_types={"one.Array": name, "two.Array": name})
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("DISPATCH_BACKENDS_BLOCK", "a,b")
    found = {
        (finding.name, finding.distribution): finding.reason for finding in examine() if finding.kind == "array type"
    }
    assert found == {
        ("one.Array", "a"): "the array type belongs to the device 'cpu'",
        ("one.Array", "b"): "the array type belongs to the device 'cpu'",
        ("two.Array", "a"): "the array type is claimed by the devices a, b",
        ("two.Array", "b"): "the array type is claimed by the devices a, b",
    }


def test_a_variable_that_cannot_be_read_is_a_finding(monkeypatch):
    monkeypatch.setenv("DISPATCH_AUTOLOAD", "perhaps")
    (finding,) = [finding for finding in examine() if finding.kind == "variable"]
    assert not finding.fine
    assert "DISPATCH_AUTOLOAD is 'perhaps'" in finding.reason


FINE = Finding("device", "acme", "acme-dist", "1.0", "ok", seconds=0.25, notes=("slow",))
WRONG = Finding("device", "evil", "evil-dist", "2.0", "crashed", "it failed\ntwice", output="one\ntwo")


def test_the_doctor_prints_a_line_for_each_and_exits_with_1_if_one_is_wrong(monkeypatch, capsys):
    monkeypatch.setattr(doctor_command, "examine", lambda timeout, names: [FINE, WRONG])
    assert command.main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "ok         device 'acme' of acme-dist 1.0, loaded in 0.25 s",
        "           note: slow",
        "crashed    device 'evil' of evil-dist 2.0: it failed",
        "           twice",
        "           | one",
        "           | two",
        "2 examined, 1 with faults",
    ]


CALLS = """
    class front:
        LAYOUT = 0
    def find_front(): return front
"""


@pytest.mark.parametrize(("value", "status", "outcome"), [("1", 1, "refused"), ("0", 0, "blocked")])
def test_the_doctor_answers_by_the_name_of_the_compiled_front(install, run_python, monkeypatch, value, status, outcome):
    site = install("dispatch-calls-native", "0.7", modules={"dispatch_calls_native": CALLS})
    monkeypatch.setenv("DISPATCH_NATIVE", value)
    done = run_python("-m", "dispatch_core", "doctor", "--json", "dispatch-calls-native", site=[site])
    assert done.returncode == status
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["kind"], finding["name"], finding["version"]) == ("compiled", "front", "0.7")
    assert finding["outcome"] == outcome


def test_a_distribution_without_a_version_has_no_space_for_it(monkeypatch, capsys):
    finding = Finding("compiled", "front", "dispatch-calls-native", "", "refused", "it is old")
    monkeypatch.setattr(doctor_command, "examine", lambda timeout, names: [finding])
    assert command.main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "refused    compiled 'front' of dispatch-calls-native: it is old"


def test_the_doctor_exits_with_0_if_all_is_fine_and_hands_on_the_time_limit(monkeypatch, capsys):
    limits = []
    monkeypatch.setattr(doctor_command, "examine", lambda timeout, names: limits.append((timeout, names)) or [FINE])
    assert command.main(["doctor", "acme", "--timeout", "2.5"]) == 0
    assert limits == [(2.5, ["acme"])]


def test_the_doctor_reports_in_json(monkeypatch, capsys):
    monkeypatch.setattr(doctor_command, "examine", lambda timeout, names: [FINE, WRONG])
    assert command.main(["doctor", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["fine"] is False
    assert [finding["name"] for finding in report["findings"]] == ["acme", "evil"]
    assert report["findings"][1]["reason"] == "it failed\ntwice"


@pytest.mark.parametrize("limit", ["0", "-1", "inf", "soon"])
def test_a_time_limit_must_be_a_number_of_seconds(limit, capsys):
    with pytest.raises(SystemExit) as caught:
        command.main(["doctor", "--timeout", limit])
    assert caught.value.code == 2
    assert "--timeout" in capsys.readouterr().err


def test_list_shows_every_claim_and_loads_none(install, run_python):
    site = install("acme-dist", backends={"acme": "acme"}, modules={"acme": "raise SystemExit"})
    install("evil", backends={"cpu": "acme"})
    done = run_python("-m", "dispatch_core", "list", "--json", site=[site])
    rows = json.loads(done.stdout)["devices"]
    assert {"device": "acme", "state": "installed", "distribution": "acme-dist", "version": "1.0"}.items() <= next(
        row for row in rows if row["device"] == "acme"
    ).items()
    assert "the device 'cpu' belongs to dispatch-backend-cpu" in [row["reason"] for row in rows]
    text = run_python("-m", "dispatch_core", "list", site=[site])
    assert text.returncode == 0
    assert text.stdout.splitlines()[0].split() == ["device", "distribution", "version", "state", "key", "reason"]
    assert ["acme", "acme-dist", "1.0", "installed"] in [line.split() for line in text.stdout.splitlines()]


def test_names_that_a_terminal_would_act_on_are_escaped(install, run_python):
    name = "a\x1b[31mred\u202e\x9b"
    site = install("evil", backends={name: "acme"}, array_types={f"{name}.Array": "cpu"})
    for name in ("list", "doctor"):
        done = run_python("-m", "dispatch_core", name, site=[site])
        assert r"a\x1b[31mred\u202e\x9b" in done.stdout
        assert not {"\x1b", "\u202e", "\x9b"} & {*done.stdout, *done.stderr}
    done = run_python("-m", "dispatch_core", "explain", "aten::exp", "--device", "nothing", site=[site])
    assert not {"\x1b", "\u202e", "\x9b"} & {*done.stdout, *done.stderr}
    done = run_python("-c", "import dispatch_core as dc; dc.load_backend('nothing')", site=[site])
    assert r"a\x1b[31mred\u202e\x9b: refused, evil 1.0" in done.stderr
    assert not {"\x1b", "\u202e", "\x9b"} & {*done.stderr}


def test_list_all_shows_the_table_of_keys(run_python):
    done = run_python("-m", "dispatch_core", "list", "--all", "--json")
    keys = json.loads(done.stdout)["keys"]
    assert {"CPU", "Pipeline", "AutogradCPU"} <= {key["name"] for key in keys}
    assert [key["rank"] for key in keys] == sorted((key["rank"] for key in keys), reverse=True)


def test_a_variable_that_cannot_be_read_ends_list_with_status_2(install, run_python):
    site = install("acme", backends={"acme": "acme"})
    done = run_python("-m", "dispatch_core", "list", site=[site], environment={"DISPATCH_AUTOLOAD": "perhaps"})
    assert done.returncode == 2
    assert done.stderr.startswith(
        "The environment variable DISPATCH_AUTOLOAD is 'perhaps', which is neither yes nor no\nHint:"
    )


def test_the_distributions_are_scanned_once_however_often_one_asks(install, run_python):
    for number in range(100):
        site = install(f"unrelated-{number}")
    install("acme", backends={"acme": "acme.plugin"}, requires=["dispatch-core>=0.1,<99"])
    code = """
import fractions
from dispatch_core.surroundings import distributions
from dispatch_core.discovery import loader
scans = []
scan, distributions.scan = distributions.scan, lambda: scans.append(1) or scan()
for _ in range(3):
    assert loader().catalog.usable("dispatch_core.backends", "acme")
    assert loader().array_type_owner(fractions.Fraction) is None
print(len(scans))
"""
    done = run_python("-c", code, site=[site])
    assert done.stdout.strip() == "1", done.stderr


def test_importing_the_core_imports_neither_pluggy_nor_metadata(run_python):
    late = {"importlib.metadata", "importlib_metadata", "numpy", "packaging", "pluggy"}
    done = run_python("-c", f"import sys, dispatch_core; print({late} & {{*sys.modules}})")
    assert done.stdout.strip() == "set()"
