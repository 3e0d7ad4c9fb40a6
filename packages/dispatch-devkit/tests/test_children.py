"""Child processes of commands: they find the parent's modules, by the parent's flags, and nothing in the current folder."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dispatch_devkit import children

DRAWN = int(os.environ.get("DISPATCH_DRAWN_CHILDREN", "3"))
#: Reports how its interpreter was started; in the parent as in the child.
REPORTER = """
import json, os, subprocess, sys
from dispatch_devkit.children import end_child, teller
def describe():
    options = {name: value for name, value in sys._xoptions.items()}
    return {"flags": list(sys.flags), "warnings": sys.warnoptions, "options": options, "path": sys.path}
def run(job):
    grandchild = subprocess.run([sys.executable, "-c", "import sys; print('' in sys.path)"], capture_output=True, text=True)
    teller(job)(found=describe(), grandchild=grandchild.stdout.strip(), done=True)
    end_child()
"""
PARENT = """
import json, os, sys
os.chdir(sys.argv[1])
sys.path[:0] = ["site", "no_folder"]
import reporter
from dispatch_devkit.children import run_in_child
ended = run_in_child("reporter", {}, 60)
print(json.dumps([reporter.describe(), ended.facts, ended.output, ended.fault]))
"""
CHOICES = "-I -E -s -O -B -b -Wignore -Wonce::UserWarning -Xutf8 -Xdev -Xpycache_prefix=p".split()
SCRIPT = shutil.which("dispatch", path=str(Path(sys.executable).parent))
#: What a build backend writes for an editable installation by an import hook.
FINDER = """
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, {file!r}) if name == "hooked_plugin" else None
def install():
    sys.meta_path.append(Finder)
"""
PLUGIN = """
import dispatch_core as dc
@dc.hookimpl
def dispatch_backend_info():
    return dc.BackendInfo("NAME", "PrivateUse1")
@dc.hookimpl
def dispatch_register(registry):
    registry.register_kernel("demo::one", "PrivateUse1", lambda x: x)
"""


@pytest.fixture
def hostile(tmp_path):
    """Return a folder whose files have the names of modules that children import, and write what ran."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    names = (
        "json importlib typing numpy signal subprocess tempfile dispatch_core pluggy sitecustomize encodings".split()
    )
    for name in names:
        note = f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')"
        (folder / f"{name}.py").write_text(f"{note}; raise SystemExit('{name}')")
    return folder


def draw_flags(seed):
    draw = random.Random(f"children {seed}")
    return draw.sample(CHOICES, draw.randrange(len(CHOICES)))


@pytest.mark.parametrize("seed", range(DRAWN))
def test_a_child_has_its_parents_flags_and_path(tmp_path, hostile, seed):
    flags = draw_flags(seed)
    (hostile / "site").mkdir()
    (hostile / "site" / "reporter.py").write_text(REPORTER)
    command = [sys.executable, "-P", *flags, "-c", PARENT, str(hostile)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), flags
    ours, facts, output, fault = json.loads(done.stdout)
    assert (output, fault) == ("", ""), flags
    found = facts["found"]
    # What -X dev and -b represent is in both lists, once for the flag and once handed on.
    assert found.pop("warnings")[-len(ours["warnings"]) or None :] == ours.pop("warnings"), flags
    site, nowhere, *rest = ours.pop("path")
    assert found.pop("path") == [str(hostile / site), str(hostile / nowhere), *rest], flags
    assert found == ours, flags
    assert facts["grandchild"] == "False"
    assert not (tmp_path / "ran").exists()


def test_names_that_an_import_hook_has_put_on_the_path_stay_as_they_are(tmp_path, monkeypatch):
    def hook(entry):
        if entry != "__editable__.acme.finder.__path_hook__":
            raise ImportError
        return object()

    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(sys, "path_hooks", [*sys.path_hooks, hook])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    monkeypatch.setattr(sys, "path", ["", "__editable__.acme.finder.__path_hook__", "here", "gone", tmp_path, b"x"])
    there = [str(Path.cwd() / name) for name in ("here", "gone")]
    assert children.absolute_path() == [str(Path.cwd()), "__editable__.acme.finder.__path_hook__", *there]


@pytest.mark.parametrize(
    "start",
    [
        pytest.param([SCRIPT], id="script"),
        pytest.param([sys.executable, "-P", "-m", "dispatch_core"], id="module", marks=pytest.mark.long),
    ],
)
def test_doctor_sees_the_plugins_that_list_shows_wherever_they_come_from(install, tmp_path, hostile, start):
    if start == [None]:
        pytest.skip("the console script is installed with the distribution")
    install(
        "on-path", backends={"onpath": "on_path_plugin"}, modules={"on_path_plugin": PLUGIN.replace("NAME", "onpath")}
    )
    hooked = install("hooked", backends={"hooked": "hooked_plugin"}, to="hooked")
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "it.py").write_text(PLUGIN.replace("NAME", "hooked"))
    (hooked / "hooked_finder.py").write_text(FINDER.format(file=str(tmp_path / "sources" / "it.py")))
    (hooked / "hooked.pth").write_text("import hooked_finder; hooked_finder.install()")
    (tmp_path / "site" / "sitecustomize.py").write_text(f"import site; site.addsitedir({str(hooked)!r})")
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    commands = ["list --json", "doctor onpath hooked --json", "explain demo::one --device onpath,hooked --json"]
    for command in commands if start == [SCRIPT] else commands[1:2]:
        done = subprocess.run(
            [*start, *command.split()],
            cwd=hostile,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if command.startswith("list"):
            assert {"onpath", "hooked"} <= {each["device"] for each in json.loads(done.stdout)["devices"]}
        elif command.startswith("doctor"):
            findings = json.loads(done.stdout)["findings"]
            assert {each["name"]: (each["outcome"], each["reason"]) for each in findings} == {
                "onpath": ("ok", ""),
                "hooked": ("ok", ""),
            }
        else:
            (row,) = json.loads(done.stdout)["operators"]
            assert {each["key"] for each in row["registrations"]} == {"PrivateUse1"}
        assert not (tmp_path / "ran").exists(), command


def test_modules_of_the_current_folder_that_a_command_imports_take_no_place_of_installed_ones(hostile, tmp_path):
    if SCRIPT is None:
        pytest.skip("the console script is installed with the distribution")
    mine = 'import dispatch_core as dc\ndc.Library("shop", "DEF").define("total(Tensor x) -> Tensor")'
    (hostile / "mine.py").write_text(mine)
    explain = [SCRIPT, "explain", "shop::total", "--import", "mine"]
    for safe, status, told in (("", 0, ""), ("1", 2, "-P or PYTHONSAFEPATH keeps the current folder off sys.path")):
        environment = {**os.environ, "PYTHONSAFEPATH": safe, "DISPATCH_BACKENDS_BLOCK": "cpu"}
        done = subprocess.run(
            explain, cwd=hostile, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, told in done.stderr) == (status, True), done.stderr
        assert not (tmp_path / "ran").exists()
