"""The comparison of two versions' benchmarks, with a script and packages that take as long as they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
SCRIPT = """
import argparse, json, pathlib
import acme_timed
parser = argparse.ArgumentParser()
parser.add_argument("--json", type=pathlib.Path)
parser.add_argument("--repeats", type=int, default=15)
given = parser.parse_args()
log = pathlib.Path(acme_timed.LOG)
runs = len(log.read_text()) if log.exists() else 0
log.write_text("." * (runs + 1))
rows = [
    {"name": name, "group": acme_timed.GROUPS.get(name, ""), "ours": time + 50 * (runs % 2) * given.repeats}
    for name, time in acme_timed.TIMES
]
given.json.write_text(json.dumps(rows))
"""


@pytest.fixture(scope="module")
def tool():
    """The module of the tool."""
    spec = importlib.util.spec_from_file_location("compare_benchmarks", ROOT / "tools" / "compare_benchmarks.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def make_version(folder, groups=None, **times):
    """Write a version: a package that says how long each row takes, and the script that reads it."""
    package = folder / "packages" / "acme" / "src" / "acme_timed"
    package.mkdir(parents=True)
    log = str(folder / "runs")
    text = f"TIMES = {list(times.items())}\nGROUPS = {groups or {}}\nLOG = {log!r}\n"
    (package / "__init__.py").write_text(text, encoding="utf-8")
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "bench_fake.py").write_text(SCRIPT, encoding="utf-8")
    return str(folder)


def test_versions_take_turns_and_the_least_time_of_a_row_counts(tool, tmp_path, capsys):
    old = make_version(tmp_path / "old", add=100, mul=200, gone=5, nothing=0)
    new = make_version(tmp_path / "new", add=100, mul=230, fresh=7, nothing=0)
    assert tool.main([old, new, "--scripts", "bench_fake", "--times", "2", "--repeats", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("bench_fake: geometric mean 1.072 of 2 rows (old/old ")
    assert lines[1].split() == ["1.150", "(old/old", "1.000)", "200", "→", "230", "ns", "mul"]
    assert len(lines) == 2
    runs = [Path(tmp_path, each, "runs").read_text() for each in ("old", "new")]
    assert runs == ["....", ".."]
    same = make_version(tmp_path / "same", add=100, mul=200)
    assert tool.main([old, same, "--scripts", "bench_fake.py", "--times", "2"]) == 0


def test_each_group_has_a_mean_of_its_own(tool, tmp_path, capsys):
    groups = dict.fromkeys(["add", "mul"], "slower") | {"exp": "quicker"}
    old = make_version(tmp_path / "old", groups, add=100, mul=100, exp=100)
    new = make_version(tmp_path / "new", groups, add=105, mul=105, exp=50)
    assert tool.main([old, new, "--scripts", "bench_fake", "--times", "2"]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert "0.820" in lines[0]
    assert [(line[0], line[-1]) for line in lines[1:]] == [("1.050", "slower"), ("0.500", "quicker")]
    assert tool.main([old, new, "--scripts", "bench_fake", "--times", "2", "--mean", "1.06"]) == 0


def test_every_script_that_runs_by_default_is_there_and_writes_rows(tool):
    for name in tool.SCRIPTS:
        text = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
        assert "from harness import" in text
        assert "report(" in text or '"ours":' in text


def test_a_version_that_is_not_there_is_named(tool, tmp_path):
    with pytest.raises(SystemExit, match="'nowhere' is not a folder"):
        tool.find_tree("nowhere", tmp_path)
    version = make_version(tmp_path / "old", add=1)
    with pytest.raises(SystemExit, match="there are bench_fake"):
        tool.main([version, version, "--scripts", "bench_other"])
