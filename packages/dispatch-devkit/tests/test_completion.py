"""``dispatch completion``: the script of a shell completes commands, options, devices and files."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from dispatch_core.plugins import backends
from dispatch_devkit.command_line import completion, main
from dispatch_devkit.command_line.program import COMMANDS, make_parser

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None or sys.platform == "win32", reason="completes words in bash")
COMPLETE = """
source "$1"
shift
function=$(complete -p dispatch | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
$function dispatch "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(tmp_path, capsys):
    """Return a function that completes a command line in bash."""
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "dispatch.bash"
    script.write_text(capsys.readouterr().out)

    def complete(line):
        words = line.split(" ")
        command = [BASH, "--norc", "-c", COMPLETE, "bash", str(script), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
        assert done.stderr == ""
        return set(done.stdout.split())

    return complete


@needs_bash
def test_bash_completes_every_command_with_all_its_options(complete):
    parser = make_parser(COMMANDS, program="dispatch")
    assert complete("dispatch ") == {*parser.commands.choices} >= {"trace", "verify"}
    for name, command in parser.commands.choices.items():
        assert complete(f"dispatch {name[:-1]}") == {name}
        assert complete(f"dispatch {name} --") == {each for each in command._option_string_actions if each[:2] == "--"}


@needs_bash
def test_bash_completes_devices_and_shells_and_files(complete, tmp_path):
    devices = set(backends())
    assert complete("dispatch doctor ") >= devices
    assert complete("dispatch explain add --device ") == devices
    assert complete("dispatch completion z") == {"zsh"}
    (tmp_path / "program.py").write_text("")
    assert "program.py" in complete("dispatch trace pro")
    assert "program.py" in complete("dispatch trace --html pro")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_shell_has_a_script(shell, capsys):
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "dispatch" in script
    assert "new-backend" in script
    assert "python -m" not in script


def test_without_shtab_the_error_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "the command 'completion' needs shtab\nHint: pip install 'dispatch-devkit[completion]'\n"
