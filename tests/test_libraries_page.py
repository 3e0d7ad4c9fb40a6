"""The page of libraries is made of the results that are kept, and these are of the jobs and versions of the table."""

from __future__ import annotations

import ast
import json
import math
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))

import try_libraries  # noqa: E402  # a tool's folder is not a package

pytestmark = pytest.mark.texts

TABLE = tomllib.loads((try_libraries.JOBS / "jobs.toml").read_text(encoding="utf-8"))
PROGRAMS = sorted(try_libraries.JOBS.glob("*/*.py"))


def test_the_page_is_made_of_the_results():
    day = json.loads(try_libraries.RESULTS.read_text(encoding="utf-8"))["day"]
    assert try_libraries.PAGE.read_text(encoding="utf-8") == try_libraries.page(try_libraries.results(), day)


def test_each_job_of_the_table_has_a_result_of_its_version():
    tried = [(each.library, each.version, each.file) for each in try_libraries.results()]
    assert tried == [(each.library, each.version, each.file) for each in try_libraries.jobs()]


def test_a_job_that_does_not_match_says_what_is_missing():
    for each in try_libraries.results():
        assert (each.outcome == try_libraries.MATCHES) == (each.missing == ""), each
        assert (each.outcome != try_libraries.MATCHES) or each.difference <= try_libraries.CLOSE, each


def test_each_program_is_a_job_of_one_library():
    files = [file for row in TABLE["libraries"].values() for file in row["jobs"]]
    assert sorted(files) == [path.relative_to(try_libraries.JOBS).with_suffix("").as_posix() for path in PROGRAMS]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_seeded_says_what_it_does_and_knows_torch_only(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)).count("\n") == 0
    assert "seed" in text
    assert "torchlike" not in text


@pytest.mark.parametrize(
    ("ours", "theirs", "difference", "place"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.0]}, 0.0, "a.0"),
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]}, 0.2, "a.1"),
        ({"a": 0.001}, {"a": 0.003}, 0.002, "a"),
        ({"a": 200.0, "b": 1.0}, {"a": 100.0, "b": 3.0}, 1.0, "a"),
        ({"a": math.nan}, {"a": math.nan}, 0.0, "a"),
        ({"a": math.nan}, {"a": 1.0}, math.inf, "a"),
        ({"a": 3}, {"a": 4}, math.inf, "a"),
        ({"a": True}, {"a": 1}, math.inf, "a"),
        ({"a": 1}, {"a": 1.0}, 0.0, "a"),
        ({"a": "x"}, {"a": "y"}, math.inf, "a"),
        ({"a": [1]}, {"a": [1, 2]}, math.inf, "a"),
        ({"a": 1}, {"b": 1}, math.inf, ""),
    ],
)
def test_the_greatest_difference_is_found_with_its_place(ours, theirs, difference, place):
    found, where = try_libraries.compare(ours, theirs)
    assert found == pytest.approx(difference)
    assert where == place
