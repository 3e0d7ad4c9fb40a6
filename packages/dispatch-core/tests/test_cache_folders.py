"""The user's caches: where they lie, what happens where they cannot lie there, and the command that shows them."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import platformdirs
import pytest

from dispatch_core import cache_folders
from dispatch_core.cache_folders import cache_folder, cache_parts, cache_root, write_once
from dispatch_core.command_line import main


@pytest.fixture(autouse=True)
def caches(monkeypatch, tmp_path):
    """Let the caches of a test lie in a folder of its own."""
    monkeypatch.setenv("DISPATCH_CACHE_DIR", str(tmp_path / "caches"))
    cache_folders._usable.cache_clear()
    yield tmp_path / "caches"
    cache_folders._usable.cache_clear()


def test_the_folder_is_platformdirs_unless_the_variable_names_one(monkeypatch, tmp_path):
    assert cache_root() == tmp_path / "caches"
    monkeypatch.setenv("DISPATCH_CACHE_DIR", "~/here")
    assert cache_root() == Path("~/here").expanduser()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPATCH_CACHE_DIR", "here")
    assert cache_root() == tmp_path / "here"
    monkeypatch.setenv("DISPATCH_CACHE_DIR", " ")
    assert cache_root() == Path(platformdirs.user_cache_dir("dispatch", appauthor=False))


def test_a_part_is_made_and_known_as_a_cache(caches):
    folder = cache_folder("acme")
    assert folder == caches / "acme"
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    (caches / "photographs").mkdir()
    assert cache_parts() == {"acme": folder}


def test_a_folder_that_cannot_be_written_gives_way_to_a_private_one(caches, caplog):
    caches.write_text("a file is in the way")
    caplog.set_level(logging.WARNING, "dispatch_core.caches")
    folder = cache_folder("acme")
    assert folder.is_dir()
    assert caches not in folder.parents
    assert os.name != "posix" or stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert cache_folder("acme") == folder
    (told,) = [each.getMessage() for each in caplog.records]
    assert told.startswith(f"the cache folder {caches / 'acme'} cannot be written to (")
    assert told.endswith(f": this process uses {folder}")
    with pytest.raises(OSError, match="caches"):
        cache_folder("acme", may_be_private=False)


def test_a_private_folder_goes_with_its_process(caches):
    caches.write_text("a file is in the way")
    code = "from dispatch_core.cache_folders import cache_folder; f = cache_folder('a'); (f / 'x').touch(); print(f)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=60)
    assert not Path(done.stdout.strip()).parent.exists()


def test_threads_that_write_one_file_at_once_find_all_of_it(tmp_path):
    text = "x" * 100_000
    path = tmp_path / "made" / "file"

    def write(_):
        write_once(path, text)
        return path.read_text()

    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(write, range(64))} == {text}
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_a_file_that_another_process_has_open_is_taken_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "file"

    def refuse(source, target):
        path.write_text("the other's")
        raise OSError(errno.EIO, "it is open", target)

    monkeypatch.setattr(os, "replace", refuse)
    write_once(path, "ours")
    assert [each.name for each in tmp_path.iterdir() if each.name != "caches"] == ["file"]
    path.unlink()
    monkeypatch.setattr(os, "replace", lambda source, target: Path(source).rename(tmp_path / "no" / "folder"))
    with pytest.raises(FileNotFoundError):
        write_once(path, "ours")
    assert not path.exists()


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
