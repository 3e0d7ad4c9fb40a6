"""The command as a user runs it, by both of its names."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dispatch_core
from dispatch_devkit.command_line import main, output
from dispatch_devkit.command_line.output import TextOutput

SCRIPT = shutil.which("dispatch", path=str(Path(sys.executable).parent))
MODULE = [sys.executable, "-m", "dispatch_core"]
OTHER = "python -m dispatch_core"
COMMANDS = ["list", "doctor", "explain", "completion", "new-backend"]
needs_posix = pytest.mark.skipif(os.name != "posix", reason="about signals and pipes as POSIX has them")


@pytest.fixture(params=["script", "module"])
def program(request):
    """Return the command and the name that it calls itself by."""
    if request.param == "module":
        return MODULE, OTHER
    if SCRIPT is None:
        pytest.skip("the console script is installed with the distribution")
    return [SCRIPT], "dispatch"


def run(command, *arguments, site=(), cwd=None, **environment):
    path = os.pathsep.join([*map(str, site), *filter(None, [os.environ.get("PYTHONPATH")])])
    kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}}
    return subprocess.run(
        [*command, *arguments],
        capture_output=True,
        check=False,
        cwd=cwd,
        encoding="utf-8",
        env={**kept, "PYTHONPATH": path, **environment},
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def test_without_arguments_the_help_is_printed(program):
    command, name = program
    done = run(command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name} [-h] [--version] COMMAND ...")
    assert [each for each in [*COMMANDS, "verify"] if not re.search(rf"^    {each}\b", done.stdout, re.MULTILINE)] == []
    assert f"  {name} doctor npu\n" in done.stdout
    assert "exit status: 0 fine, 1 something was found, 2 the command cannot run" in done.stdout


@pytest.mark.parametrize("which", COMMANDS)
@pytest.mark.parametrize(
    ("called", "name"), [("/usr/bin/dispatch", "dispatch"), (r"C:\py\Scripts\dispatch.exe", "dispatch"), ("x", OTHER)]
)
def test_each_commands_help_has_the_name_that_it_is_called_by_and_an_example(monkeypatch, capsys, which, called, name):
    monkeypatch.setattr(sys, "argv", [called])
    with pytest.raises(SystemExit, match="0"):
        main([which, "--help"])
    text = capsys.readouterr().out
    assert text.startswith(f"usage: {name} {which} [-h]")
    assert re.search(rf"^example:\n  {re.escape(name)} {which} \S", text, re.MULTILINE)


def test_the_version_is_the_distributions(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"dispatch-core {dispatch_core.__version__}\n"


#: Arguments that do not fit → words of the error.
UNFIT = {
    "docter": "there is no command 'docter'\nHint: did you mean doctor?",
    "trac": "there is no command 'trac'\nHint: did you mean trace",
    "lst": "there is no command 'lst'\nHint: did you mean list?",
    "xyzzy": "there is no command 'xyzzy'\nHint: {0} --help lists them",
    "--verson": "unrecognized arguments: --verson\nHint: did you mean --version?",
    "list --jsn": "unrecognized arguments: --jsn\nHint: did you mean --json?",
    "list everything": "unrecognized arguments: everything\nHint: {0} list --help shows its arguments",
    "doctor --timout=3": "unrecognized arguments: --timout=3\nHint: did you mean --timeout?",
    "doctor --timeout soon": "argument --timeout: 'soon' is not a number of seconds above 0",
    "explain": "the following arguments are required: NAME",
    "new-backend": "the following arguments are required: NAME",
    "new-backend a --immutable --array-api": "not allowed with argument",
}
#: Arguments that name what there is not → words of the error.
WRONG = {
    "list --import no_such_module": "--import no_such_module: there is no module 'no_such_module'",
    "explain x --import no_such_module": "--import no_such_module: there is no module 'no_such_module'",
    "explain shop::totl --import shop_operators": "no operator is named shop::totl\nHint: did you mean shop::total?",
    "explain demo::f --keys CPUU": "no dispatch key is named 'CPUU'\nHint: did you mean CPU?",
    "explain demo::f --device acmee": "No installed distribution provides the device 'acmee'",
    "doctor acmee": "Nothing that is installed is called 'acmee'\nHint: did you mean 'acme",
    "new-backend Acme": "'Acme' is not a name for a new device",
}


@pytest.mark.parametrize("arguments", UNFIT)
def test_arguments_that_do_not_fit_end_with_status_2_and_a_hint(capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split())
    printed = capsys.readouterr()
    assert printed.out == ""
    assert UNFIT[arguments].format(OTHER) in printed.err


def test_a_misspelt_command_is_told_by_the_name_that_it_was_called_by(program):
    command, name = program
    done = run(command, "docter")
    expected = f"{name}: error: there is no command 'docter'\nHint: did you mean doctor?\n"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(expected)


@pytest.mark.parametrize("arguments", WRONG)
def test_what_is_not_there_ends_with_status_2_and_a_hint(install, arguments):
    source = 'import dispatch_core as dc\ndc.Library("shop", "DEF").define("total(Tensor x) -> Tensor")'
    modules = {"acme": "raise SystemExit", "shop_operators": source}
    site = install("acme-dist", backends={"acme": "acme"}, modules=modules)
    done = run(MODULE, *arguments.split(), site=[site])
    assert (done.returncode, done.stdout) == (2, "")
    assert WRONG[arguments] in done.stderr
    assert "Traceback" not in done.stderr


def test_bits_and_ranks_of_keys_are_shown_where_they_are_asked_for(capsys):
    assert main(["list", "--all"]) == 0
    head, *keys = capsys.readouterr().out.rpartition("\n\n")[2].splitlines()
    assert head == "dispatch key"
    assert [key for key in keys if " " in key] == []
    assert {"CPU", "AutogradCPU", "CompositeImplicitAutograd"} <= {*keys}
    assert main(["list", "--all", "--verbose"]) == 0
    head, *rows = capsys.readouterr().out.rpartition("\n\n")[2].splitlines()
    assert head.split() == ["dispatch", "key", "bit", "rank"]
    assert [row.split()[0] for row in rows] == keys
    assert all(row.split()[1].isdigit() for row in rows)
    assert main(["list", "--all", "--json"]) == 0
    assert {*json.loads(capsys.readouterr().out)["keys"][0]} == {"name", "bit", "rank"}


def test_a_module_of_the_current_folder_can_be_imported_first(program, tmp_path):
    (tmp_path / "mine.py").write_text("import sys; print('imported', file=sys.stderr)")
    done = run(program[0], "list", "--json", "--import", "mine", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "imported\n")
    assert "devices" in json.loads(done.stdout)


def test_an_error_of_an_imported_module_is_the_modules_own(tmp_path):
    (tmp_path / "mine.py").write_text("import not_there_either")
    done = run(MODULE, "list", "--import", "mine", cwd=tmp_path)
    assert done.returncode == 1
    assert "No module named 'not_there_either'" in done.stderr
    assert "mine.py" in done.stderr


def test_a_command_that_another_distribution_brings_is_listed_and_run(program, install):
    source = "def main(arguments):\n    print(*arguments, sep='|')\n    return 5\n"
    site = install("polish", modules={"polish": source})
    (site / "polish-1.0.dist-info" / "entry_points.txt").write_text("[dispatch_core.tools]\npolish = polish:main\n")
    done = run(program[0], "polish", "--help", "x y", site=[site])
    assert (done.returncode, done.stdout) == (5, "--help|x y\n")
    assert re.search(r"^    polish +\(of polish 1\.0\)$", run(program[0], "--help", site=[site]).stdout, re.MULTILINE)


# The end of the output.


@needs_posix
@pytest.mark.parametrize(("arguments", "statuses"), [("list --all", {141}), ("--help", {0, 141})])
def test_a_reader_that_goes_early_leaves_no_traceback(program, arguments, statuses):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*program[0], *arguments.split()], check=False, stdout=writer, stderr=subprocess.PIPE, timeout=60, text=True
    )
    os.close(writer)
    assert (done.returncode in statuses, done.stderr) == (True, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_in_one_line():
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*MODULE, "list", "--all"], check=False, stdout=full, stderr=subprocess.PIPE, timeout=60, text=True
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"[Errno 28] {os.strerror(28)}"]


@needs_posix
@pytest.mark.parametrize("arguments", ["doctor acme", "explain acme::f --device acme"])
def test_ctrl_c_ends_a_command_that_waits_for_plugins_at_once(install, arguments):
    sleeps = "import os, time\nopen(__file__ + str(os.getpid()), 'w').close()\ntime.sleep(3600)\n"
    site = install("acme", backends={"acme": "acme"}, modules={"acme": sleeps})
    started = subprocess.Popen(
        [*MODULE, *arguments.split(), "--timeout", "300"],
        env={**os.environ, "PYTHONPATH": str(site)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts programs in the background deaf to Ctrl-C; this one must hear it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # one thread here
    )
    try:
        deadline = time.monotonic() + 60
        while not (children := list(site.glob("acme.py?*"))) and time.monotonic() < deadline:
            time.sleep(0.02)
        started.send_signal(signal.SIGINT)
        printed, errors = started.communicate(timeout=30)
    finally:
        started.kill()
    assert (started.returncode, printed, errors) == (130, "", "interrupted\n")
    (child,) = (int(path.name.removeprefix("acme.py")) for path in children)
    deadline = time.monotonic() + 10
    while _is_running(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _is_running(child)


def _is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # One that has ended, and that its parent's parent has not yet asked for.
    stat = Path(f"/proc/{process}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def test_a_console_that_lacks_characters_shows_their_numbers(install):
    site = install("acme", backends={"acme": "acme"}, version="1.0", modules={"acme": "raise ValueError('größe ∞')"})
    done = run(MODULE, "doctor", "acme", site=[site], PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert r"ValueError: gr\xf6\xdfe \u221e" in done.stdout


@pytest.mark.parametrize(("system", "status", "told"), [("win32", 141, ""), ("linux", 2, "[Errno 22] closed\n")])
def test_windows_tells_of_a_closed_pipe_in_its_own_way(monkeypatch, capsys, system, status, told):
    class Closed(io.StringIO):
        def flush(self):
            raise OSError(22, "closed")

    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["list"]) == status
    assert capsys.readouterr().err == told


def test_without_an_output_nothing_fails(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["list"]) == 0


# Terminals.


@needs_posix
@pytest.mark.parametrize("columns", [50, 90])
def test_on_a_terminal_lines_fit_its_width_and_nothing_is_lost(install, columns):
    pty = pytest.importorskip("pty")
    site = install("acme-dist", backends={"acme": "acme"}, requires=["dispatch-core>=77"])
    shown = _on_terminal(pty, ["list"], columns, PYTHONPATH=str(site), NO_COLOR="1")
    assert max(map(len, shown.splitlines())) <= columns
    reason = "it requires dispatch-core>=77, and dispatch-core"
    assert reason in " ".join(shown.split())
    assert "\x1b" not in shown


@pytest.mark.parametrize("width", range(16, 40))
def test_a_table_is_as_wide_as_the_terminal_its_headings_too(width):
    shown = TextOutput(width).table(("device", "state", "reason"), [("acme", "refused", "old")])
    assert max(map(len, shown.splitlines())) <= width
    assert ("reason" in shown.splitlines()[0]) == (width >= len("device  state    reason"))


@needs_posix
def test_colours_are_a_terminals_only(install):
    pty = pytest.importorskip("pty")
    site = install("acme-dist", backends={"acme": "acme"}, requires=["dispatch-core>=77"])
    shown = _on_terminal(pty, ["list"], 300, PYTHONPATH=str(site), TERM="xterm")
    assert "\x1b[31mrefused\x1b[0m" in shown
    assert "\x1b" not in run(MODULE, "list", site=[site]).stdout
    assert "\x1b[31mrefused\x1b[0m" in run(MODULE, "list", site=[site], FORCE_COLOR="1").stdout
    assert "\x1b" not in _on_terminal(pty, ["list"], 300, PYTHONPATH=str(site), NO_COLOR="1")


@pytest.mark.parametrize(
    ("variables", "has_colors"),
    [({}, True), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)],
)
def test_variables_choose_colours_on_a_terminal(monkeypatch, variables, has_colors):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "platform", "linux")
    assert TextOutput.of(stream, variables).has_colors is has_colors


def _on_terminal(pty, arguments, columns, **variables):
    """Return the output of a command on a terminal of that width."""
    import fcntl
    import struct
    import termios

    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}}
    with subprocess.Popen(
        [*MODULE, *arguments], env={**kept, **variables}, stdin=its, stdout=its, stderr=its, start_new_session=True
    ) as started:
        os.close(its)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert started.returncode == 0, shown
    return shown.decode().replace("\r\n", "\n")


ROWS = [("cpu", "installed", ""), ("acme", "refused", "it requires something that is not there, and then some more")]


def test_a_table_has_the_layout_that_its_width_has_room_for():
    head = ("device", "state", "reason")
    assert TextOutput().table(head, ROWS).splitlines() == [
        "device  state      reason",
        "cpu     installed",
        "acme    refused    it requires something that is not there, and then some more",
    ]
    assert TextOutput(width=48).table(head, ROWS).splitlines() == [
        "device  state      reason",
        "cpu     installed",
        "acme    refused    it requires something that is",
        "                   not there, and then some more",
    ]
    assert TextOutput(width=36).table(head, ROWS).splitlines() == [
        "device  state      reason",
        "cpu     installed",
        "acme    refused",
        "    it requires something that is",
        "    not there, and then some more",
    ]
    assert TextOutput(width=16).table(head, ROWS).splitlines() == [
        "cpu",
        "  state: installed",
        "acme",
        "  state: refused",
        "  reason: it requires",
        "    something that is",
        "    not there, and then",
        "    some more",
    ]
    assert TextOutput().table(head, []) == ""


def test_a_path_that_is_longer_than_a_line_stays_whole():
    path = "/a" * 60
    assert TextOutput(width=40).wrap(f"registered at {path}, so far", "  ") == [
        "  registered at",
        f"  {path},",
        "  so far",
    ]


def test_old_consoles_of_windows_get_no_colour_codes(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(output.sys, "platform", "win32")
    assert not TextOutput.of(stream, {}).has_colors
    assert TextOutput.of(stream, {"WT_SESSION": "1"}).has_colors
    monkeypatch.setattr(output.sys, "platform", "linux")
    assert TextOutput.of(stream, {}).has_colors
