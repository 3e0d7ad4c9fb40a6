"""Figures of speed in the documents are those of ``benchmarks/results.json``, with the day and the kind of machine."""

from __future__ import annotations

import importlib
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
#: A ratio to torch's time, or to another library's.
RATIO = re.compile(r"\d\.\d+(?: to \d+\.\d+)? (?:of torch|times torch|times as long)")
RESULTS = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("figures")


def test_the_figures_of_all_pages_are_those_that_are_kept(tool):
    assert list(tool.differences()) == []


def test_a_figure_without_a_row_is_not_typed_by_hand(tool):
    found = [
        (page.relative_to(ROOT).as_posix(), line)
        for page in tool.pages()
        if page.name != "plan.md"  # its aims are figures, too
        for line in page.read_text(encoding="utf-8").splitlines()
        if RATIO.search(re.sub(r"\S+<!-- figure: .*?-->", "", line))
    ]
    assert found == []


def test_every_row_can_be_named_and_a_wrong_figure_is_found(tool, tmp_path):
    """Draw rows of every benchmark, type a figure for each, and compare: every wrong one is found and mended."""
    draw = random.Random(26)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# nothing\n")
    page = tmp_path / "docs" / "page.md"
    rows = [(name, row["name"]) for name, kept in RESULTS.items() for row in kept["rows"] if ">" not in row["name"]]
    for benchmark, row in draw.sample(rows, 60):
        right = tool.figure(benchmark, row)
        for typed in (right, "77.7"):
            page.write_text(f"It takes {typed}<!-- figure: {benchmark}: {row} --> of it.\n")
            assert bool(list(tool.differences(tmp_path))) == (typed != right)
            mended = tool.write(page.read_text())
            assert mended == f"It takes {right}<!-- figure: {benchmark}: {row} --> of it.\n"


@pytest.mark.parametrize("row", ["no such row", "min no such *"])
def test_a_row_that_is_not_kept_is_refused(tool, row):
    with pytest.raises(KeyError):
        tool.write(f"1.0<!-- figure: steps: {row} -->")


def test_the_least_and_the_greatest_of_rows_and_words_are_written(tool):
    ratios = [row["ratio"] for row in RESULTS["steps"]["rows"] if row["name"].endswith(", captured")]
    text = "?<!-- figure: steps: min *, captured --> to ?<!-- figure: steps: max *, captured -->"
    assert [float(each) for each in re.findall(r"[\d.]+", tool.write(text))] == pytest.approx(
        [min(ratios), max(ratios)], abs=0.006
    )
    assert tool.write("<!-- day of steps --><!-- / -->") == f"<!-- day of steps -->{RESULTS['steps']['day']}<!-- / -->"


def test_figures_with_the_compiled_packages_have_a_word_before_their_row(tool, monkeypatch):
    rows = [{"name": "a", "ratio": 2.0, "compiled": 0.5}, {"name": "b", "ratio": 3.0, "compiled": 0.7}]
    monkeypatch.setattr(tool.benchmark_pages, "results", lambda: {"calls": {"rows": rows}})
    assert tool.figure("calls", "a") == "2.00"
    assert tool.figure("calls", "compiled a") == "0.50"
    assert tool.figure("calls", "compiled max *") == "0.70"
    assert tool.benchmark_pages.TABLES["calls"]().endswith("| a | 2.00 / 0.50 |\n| b | 3.00 / 0.70 |")


def test_a_table_has_a_line_for_each_program(tool):
    text = tool.write("<!-- table: steps -->\n<!-- end of table -->\n")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    programs = {row["name"].rpartition(", ")[0] for row in RESULTS["steps"]["rows"]}
    assert {line.split("|")[1].strip() for line in lines[2:]} == programs
    assert tool.write(text) == text


def test_the_command_lists_a_page_that_is_out_of_date(tmp_path):
    for folder in ("tools", "benchmarks", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.svg", "__pycache__"))
    page = tmp_path / "docs" / "benchmarks" / "index.md"
    (tmp_path / "README.md").write_text("1.0<!-- figure: steps: digits, Adam, captured -->\n")
    command = [sys.executable, str(tmp_path / "tools" / "figures.py")]
    checked = subprocess.run([*command, "--check"], check=False, capture_output=True, text=True)
    assert checked.returncode == 1
    assert "README.md:1:" in checked.stdout
    before = page.read_text(encoding="utf-8")
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "README.md\n"
    assert page.read_text(encoding="utf-8") == before
