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
    assert told.startswith(f"the cache folder {caches / 'acme'} cannot be used (")
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


posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX's owners and modes")
root_only = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give folders away"
)


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Return a home without the variable."""
    monkeypatch.delenv("DISPATCH_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(mode=0o755)
    return tmp_path / "home"


@pytest.fixture
def told(caplog):
    """Return a function that lists the warnings."""
    caplog.set_level(logging.WARNING, "dispatch_core.caches")
    return lambda: [record.getMessage() for record in caplog.records]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def is_private(folder):
    return folder.parent == cache_folders._private_root(cache_folders._user()) and mode(folder.parent) == 0o700


@posix
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_the_folder_is_its_users_alone(home, told, umask):
    before = os.umask(umask)
    try:
        folder = cache_folder("acme")
    finally:
        os.umask(before)
    assert folder == cache_root() / "acme"
    assert (mode(cache_root()), told()) == (0o700, [])


@posix
@pytest.mark.parametrize("open_mode", [0o775, 0o757, 0o777, 0o1777, 0o720])
def test_an_own_folder_that_others_may_write_to_is_emptied_unless_the_variable_names_it(
    home, told, monkeypatch, open_mode
):
    root = cache_root()
    outside = home / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (root / "acme" / "deep").mkdir(parents=True)
    (root / "acme" / "planted.nbi").touch()
    (root / "file").touch()
    (root / "link").symlink_to(outside)
    root.chmod(open_mode)
    monkeypatch.setenv("DISPATCH_CACHE_DIR", str(root))
    assert is_private(cache_folder("acme"))
    assert told()[0].startswith(
        f"the cache folder {root / 'acme'} cannot be used ([Errno 1] others may write to it (chmod "
    )
    assert (root / "acme" / "planted.nbi").exists() and mode(root) == open_mode & 0o777 | (open_mode & 0o1000)
    cache_folders._usable.cache_clear()
    monkeypatch.delenv("DISPATCH_CACHE_DIR")
    assert cache_folder("acme") == root / "acme"
    assert [each.name for each in root.rglob("*")] == ["acme", "CACHEDIR.TAG"]
    assert (outside / "kept").exists() and mode(root) == 0o700
    assert told()[1:] == [f"the cache folder {root} has been emptied: others could write to it"]


@posix
@pytest.mark.parametrize("above", ["home", "home/.cache"])
@pytest.mark.parametrize(("open_mode", "is_used"), [(0o777, False), (0o707, False), (0o1777, True), (0o775, True)])
def test_a_folder_above_may_be_open_to_a_group_and_with_the_sticky_bit(home, told, tmp_path, above, open_mode, is_used):
    (tmp_path / above).mkdir(exist_ok=True)
    (tmp_path / above).chmod(open_mode)
    folders = [cache_folder(part) for part in ("acme", "other")]
    assert [each == cache_root() / each.name for each in folders] == [is_used] * 2
    assert [is_private(each) for each in folders] == [not is_used] * 2
    assert [f"everybody may write to {tmp_path / above}" in line for line in told()] == [True] * (not is_used)
    assert cache_root().exists() == is_used


@root_only
@pytest.mark.parametrize("is_named", [True, False])
def test_another_users_folder_is_not_used(home, told, monkeypatch, is_named):
    root = cache_root()
    root.mkdir(parents=True)
    (root / "acme").mkdir()
    os.chown(root, 1234, 1234)
    if is_named:
        monkeypatch.setenv("DISPATCH_CACHE_DIR", str(root))
    assert is_private(cache_folder("acme")) and is_private(cache_folder("other"))
    (line,) = told()
    assert "it belongs to user 1234, not 0" in line
    assert [each.name for each in root.rglob("*")] == ["acme"]
    with pytest.raises(PermissionError, match="it belongs to user 1234"):
        cache_folder("acme", may_be_private=False)


@root_only
def test_another_users_home_and_a_link_in_it_are_parents_like_others(home, told, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (home / ".cache").symlink_to(tmp_path / "elsewhere")
    for each in (home, tmp_path / "elsewhere"):
        os.chown(each, 1234, 1234)
    assert cache_folder("acme") == tmp_path / "elsewhere" / "dispatch" / "acme"
    assert (home / ".cache" / "dispatch" / "acme" / "CACHEDIR.TAG").exists()
    (tmp_path / "elsewhere").chmod(0o777)
    cache_folders._usable.cache_clear()
    assert is_private(cache_folder("acme"))
    assert len(told()) == 1


@posix
@pytest.mark.parametrize("place", ["missing", "file", "link"])
def test_a_home_that_is_not_there_or_no_folder(home, monkeypatch, told, place):
    target = home / place
    if place == "file":
        target.touch()
    elif place == "link":
        target.symlink_to(home / "nowhere")
    monkeypatch.setenv("HOME", str(target))
    folder = cache_folder("acme")
    assert is_private(folder) == (place != "missing") == bool(told())
    if place == "missing":
        assert (folder, mode(target)) == (target / ".cache" / "dispatch" / "acme", 0o700)


@posix
def test_a_user_without_a_home_has_a_folder_all_the_same(home, monkeypatch):
    import pwd

    def refuse(number):
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", refuse)
    assert cache_root() == Path("/.cache/dispatch")


@posix
def test_probing_follows_no_link_and_leaves_nothing(home, tmp_path):
    folder = cache_root() / "acme"
    folder.mkdir(parents=True)
    (folder / f".writable-{os.getpid()}").symlink_to(tmp_path / "made")
    cache_folder("acme")
    assert not (tmp_path / "made").exists()
    assert sorted(each.name for each in folder.iterdir()) == [f".writable-{os.getpid()}", "CACHEDIR.TAG"]
