"""``dispatch cache``: the command that shows the user's caches, and deletes them."""

from __future__ import annotations

import json

import pytest

from dispatch_core.files import cache_folders
from dispatch_core.files.cache_folders import cache_folder
from dispatch_devkit.command_line import main


@pytest.fixture(autouse=True)
def caches(monkeypatch, tmp_path):
    """Move the caches of a test to a folder of its own."""
    monkeypatch.setenv("DISPATCH_CACHE_DIR", str(tmp_path / "caches"))
    cache_folders._usable.cache_clear()
    cache_folders._refused.clear()
    yield tmp_path / "caches"
    cache_folders._usable.cache_clear()


def test_the_command_shows_and_deletes_parts(caches, capsys):
    for part, size in (("cpu", 10), ("npu", 3000)):
        (cache_folder(part) / "file").write_bytes(b"x" * size)
    mine = caches / "mine"
    mine.mkdir()
    assert main(["cache"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head == f"caches in {caches} (DISPATCH_CACHE_DIR names another folder)"
    assert [row.split()[0] for row in rows] == ["part", "cpu", "npu"]
    assert rows[2].split()[1:] == ["2", "3.0", "KiB"]
    assert main(["cache", "--clear", "cpu", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["folder"], data["cleared"], [row["part"] for row in data["parts"]]) == (str(caches), True, ["cpu"])
    assert [each.name for each in sorted(caches.iterdir())] == ["mine", "npu"]
    assert main(["cache", "--clear"]) == 0
    assert [each.name for each in caches.iterdir()] == ["mine"]
    capsys.readouterr()
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.endswith("There is nothing.\n")


def test_a_part_that_there_is_not_is_an_error_with_a_hint(caches, capsys):
    cache_folder("numba")
    assert main(["cache", "--clear", "numbb"]) == 2
    assert capsys.readouterr().err == f"{caches} has no cache 'numbb'\nHint: did you mean numba?\n"
    (caches / "mine").mkdir()
    assert main(["cache", "--clear", "mine"]) == 2
    assert (caches / "mine").is_dir()
