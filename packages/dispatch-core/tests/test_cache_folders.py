"""The user's caches: where they lie, and what happens where they cannot lie there."""

from __future__ import annotations

import errno
import logging
import os
import random
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import platformdirs
import pytest

from dispatch_core.files import cache_folders
from dispatch_core.files.cache_folders import cache_folder, cache_parts, cache_root, write_once

#: How many folders of caches are drawn.
FOLDERS = int(os.environ.get("DISPATCH_TEST_FOLDERS", "160"))


@pytest.fixture(autouse=True)
def caches(monkeypatch, tmp_path):
    """Move the caches of a test to a folder of its own."""
    monkeypatch.setenv("DISPATCH_CACHE_DIR", str(tmp_path / "caches"))
    cache_folders._usable.cache_clear()
    cache_folders._refused.clear()
    yield tmp_path / "caches"
    cache_folders._usable.cache_clear()


def test_the_folder_is_platformdirs_unless_the_variable_names_one(monkeypatch, tmp_path):
    assert cache_root() == tmp_path / "caches"
    monkeypatch.setenv("DISPATCH_CACHE_DIR", "~/here")
    assert cache_root() == Path("~/here").expanduser()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPATCH_CACHE_DIR", "here")
    assert cache_root() == tmp_path / "here"
    monkeypatch.setenv("DISPATCH_CACHE_DIR", "~no-such-user/here")
    assert cache_root() == tmp_path / "~no-such-user" / "here"
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
    code = (
        "from dispatch_core.files.cache_folders import cache_folder; f = cache_folder('a'); (f / 'x').touch(); print(f)"
    )
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
    for relative in (".", "here"):
        monkeypatch.setenv("HOME", relative)
        assert cache_root() == Path("/.cache/dispatch")


@posix
def test_probing_follows_no_link_and_leaves_nothing(home, tmp_path):
    folder = cache_root() / "acme"
    folder.mkdir(parents=True)
    (folder / f".writable-{os.getpid()}").symlink_to(tmp_path / "made")
    cache_folder("acme")
    assert not (tmp_path / "made").exists()
    assert sorted(each.name for each in folder.iterdir()) == [f".writable-{os.getpid()}", "CACHEDIR.TAG"]


@pytest.fixture
def shared():
    """Return a folder that every user can come to, as those of `tmp_path` are one user's alone."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name).resolve()


@pytest.fixture
def other_user():
    """Be a user whom owners and modes hold."""
    os.seteuid(65534)
    yield 65534
    os.seteuid(0)


def draw_place(draw, base):
    """Make a folder of caches with a part, of drawn owners and modes, below one that others share, or a link to it.

    Return its name, whether a variable names it, the files of it that stay (None where it is not used), and whether others
    go.
    """
    above, root = base / "above", base / "above" / "dispatch"
    part = root / "acme"
    is_named, there = draw.random() < 0.5, draw.choice([(above,), (above, root), (above, root, part)])
    statuses = {}
    for each in there:
        modes = [0o700, 0o755, 0o711, 0o775, 0o1777] + [0o757, 0o777] * (draw.random() < 0.5)
        statuses[each] = draw.choice(modes), draw.choice([0, 0, 0, 0, 1234])
        each.mkdir()
        os.chown(each, *statuses[each][1:] * 2)
        each.chmod(statuses[each][0])
        (each / "planted").touch()
    shown, target = root, draw.choice([None, None, above, root])
    if target is not None:
        (base / "link").symlink_to(target)
        shown = base / "link" / root.relative_to(target)
    if statuses[above][0] in (0o757, 0o777) or (target == root and root not in there):
        return shown, is_named, None, False
    for each in there[1:]:
        open_mode, owner = statuses[each]
        if owner or (open_mode & 0o022 and (is_named or target == root)):
            return shown, is_named, None, False
        if open_mode & 0o022:
            return shown, is_named, {each / "planted" for each in there[1 : there.index(each)]}, True
    return shown, is_named, {each / "planted" for each in there[1:]}, False


@root_only
@pytest.mark.parametrize("start", range(4))
def test_every_folder_is_judged_alike(home, told, caplog, monkeypatch, shared, start):
    draw, used = random.Random(f"{os.environ.get('DISPATCH_TEST_SEED', '1')} {start}"), 0
    for number in range(FOLDERS // 4):
        base = shared / str(number)
        base.mkdir()
        shown, is_named, kept, is_emptied = draw_place(draw, base)
        if is_named:
            variable = draw.choice(["DISPATCH_CACHE_DIR", None])
            if variable:
                monkeypatch.setenv(variable, str(shown))
            folder = cache_folder("acme", named="" if variable else str(shown))
            monkeypatch.delenv("DISPATCH_CACHE_DIR", raising=False)
        else:
            with monkeypatch.context() as patch:
                patch.setattr(cache_folders, "cache_root", lambda shown=shown: shown)
                folder = cache_folder("acme")
        case = shown, is_named, kept, is_emptied, told()
        real = shown.resolve() / "acme"
        if kept is None:
            assert is_private(folder), case
        else:
            assert folder == real and mode(folder) == 0o700, case
            assert {*shown.resolve().rglob("planted")} == kept, case
            assert not mode(real.parent) & 0o022 and real.parent.stat().st_uid == 0, case
            used += 1
        assert len(told()) == (kept is None or is_emptied), case
        caplog.clear()
        (folder / "file").touch()
    assert used > FOLDERS // 16


@posix
@pytest.mark.parametrize("planted", ["link", "file"])
def test_a_part_that_is_no_folder_is_not_used(home, told, tmp_path, planted):
    cache_root().mkdir(parents=True)
    if planted == "link":
        (cache_root() / "acme").symlink_to(tmp_path)
    else:
        (cache_root() / "acme").touch()
    assert is_private(cache_folder("acme"))
    assert len(told()) == 1
    assert cache_folder("other") == cache_root() / "other"


@root_only
@pytest.mark.parametrize("place", ["/", "read-only", "missing", "another's", "relative"])
def test_a_user_who_may_write_nowhere_has_a_private_folder(home, told, monkeypatch, shared, other_user, place):
    target = {"/": Path("/"), "missing": shared / "no" / "home", "relative": Path()}.get(place, shared / place)
    if place in ("read-only", "another's"):
        os.seteuid(0)
        target.mkdir(mode=0o555)
        os.chown(target, other_user if place == "read-only" else 1234, 0)
        os.seteuid(other_user)
    monkeypatch.setenv("HOME", str(target))
    monkeypatch.chdir(shared)
    folders = [cache_folder(part) for part in ("acme", "other")]
    assert all(map(is_private, folders))
    assert folders[0].stat().st_uid == folders[0].parent.stat().st_uid == other_user
    assert len(told()) == 1
    assert not [*shared.rglob("dispatch")]


@root_only
def test_a_process_that_gives_its_rights_up_leaves_the_folder_that_it_had(home, told, shared):
    (shared / "x").mkdir(mode=0o777)
    (shared / "x").chmod(0o755)
    before = cache_folder("acme")
    os.seteuid(65534)
    try:
        assert is_private(cache_folder("acme"))
    finally:
        os.seteuid(0)
    assert cache_folder("acme") == before


@posix
def test_a_link_that_is_led_elsewhere_afterwards_leads_nobody(home, tmp_path):
    (home / ".cache").symlink_to(tmp_path / "one")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    folder = cache_folder("acme")
    (home / ".cache").unlink()
    (home / ".cache").symlink_to(tmp_path / "two")
    assert folder == tmp_path / "one" / "dispatch" / "acme"
