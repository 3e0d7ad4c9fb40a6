"""The option ``--drawn``: which cases of a family a day runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
FAMILY = """
import pytest

@pytest.mark.parametrize("number", range(300))
def test_family(number):
    assert number != {wrong}

def test_alone():
    pass
"""


def run(folder, *options, wrong=-1, **variables):
    """Run the family with this checkout's conftest; return how many tests ran, and the lines printed."""
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "test_it.py").write_text(FAMILY.format(wrong=wrong), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  no_pipeline\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    env = {name: text for name, text in os.environ.items() if not name.startswith(("DISPATCH_DRAWN", "PYTEST_"))}
    done = subprocess.run(command, cwd=folder, env=env | variables, capture_output=True, check=False, text=True)
    lines = done.stdout.splitlines()
    return sum(map(int, re.findall(r"(\d+) (?:passed|failed)", lines[-1]))), lines


def test_days_draw_other_cases_of_a_family_in_the_share_that_is_asked_for(request):
    marks = {"get_closest_marker": lambda name: None}
    is_drawn = request.config.pluginmanager.get_plugin(str(ROOT / "conftest.py")).is_drawn
    cases = [SimpleNamespace(nodeid=f"tests/test_it.py::test_it[{n}]", callspec=None, **marks) for n in range(3000)]
    days = [{case.nodeid for case in cases if is_drawn(f"2026-01-{day:02}", 1 / 3, case)} for day in range(1, 8)]
    assert all(900 < len(day) < 1100 for day in days)
    assert len(days[0] & days[1]) < 450
    assert len(set().union(*days)) > 2750
    assert is_drawn("2026-01-01", 0.0, SimpleNamespace(nodeid="tests/test_it.py::test_alone", **marks))


def test_a_failure_in_any_process_says_how_to_draw_its_case_again(tmp_path):
    pytest.importorskip("xdist")
    found, lines = run(tmp_path, "--drawn=0.3", "-n2", wrong=2, DISPATCH_DRAWN_SEED="1")
    assert f"1 failed, {found - 1} passed in " in lines[-1]
    assert 50 < found < 150
    assert sum(line.startswith("drawn: 30% of all cases, by DISPATCH_DRAWN_SEED=1;") for line in lines) == 2


def test_of_a_slow_family_a_part_of_the_share_is_drawn(request):
    is_drawn = request.config.pluginmanager.get_plugin(str(ROOT / "conftest.py")).is_drawn
    mark = pytest.mark.drawn(0.25).mark
    cases = [
        SimpleNamespace(nodeid=f"test_it[{number}]", callspec=None, get_closest_marker={"drawn": mark}.get)
        for number in range(3000)
    ]
    assert 300 < sum(is_drawn("2026-01-01", 0.5, case) for case in cases) < 450


def test_every_case_can_be_run(tmp_path):
    found, lines = run(tmp_path, "--drawn=0.3", DISPATCH_DRAWN_SHARE="1")
    assert found == 301
    assert not any(line.startswith("drawn:") for line in lines)
