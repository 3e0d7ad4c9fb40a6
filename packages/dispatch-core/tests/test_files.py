"""Files that come into place whole: kills, full disks, interrupts, writers at once, and what is written in place."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dispatch_core.files import drafts, replace_file, replacement, write_text

#: How many times a writer is killed.
KILLS = int(os.environ.get("DISPATCH_TEST_KILLS", "40"))
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX's files")


def names(folder):
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def file(tmp_path):
    """Return a file in a folder without others."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "file"
    path.write_text("old")
    return path


@pytest.fixture
def told(caplog):
    """Return a function that lists the warnings since its last call."""
    caplog.set_level(logging.WARNING, "dispatch_core.files")

    def take():
        found = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return found

    return take


@pytest.fixture
def other_user():
    """Be a user whom modes of files hold, in a folder that all may write to."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        if is_root:
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            if is_root:
                os.seteuid(0)
            Path(name).chmod(0o777)


KILLED = """
import json, os, random, signal, sys, time
from dispatch_core.files import replace_file

folder, rounds = sys.argv[1], int(sys.argv[2])
path, draw = os.path.join(folder, "file"), random.Random(int(sys.argv[3]))
texts = [bytes([number]) * (1 << 20) for number in range(2)]

def write(text):
    with replace_file(path) as file:
        for start in range(0, len(text), 1 << 16):
            file.write(text[start : start + (1 << 16)])

lost, left = 0, 0
for _ in range(rounds):
    write(texts[0])
    child = os.fork()
    if not child:
        while True:
            write(texts[1])
            write(texts[0])
    time.sleep(draw.random() * 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(path, "rb") as file:
        lost += file.read() not in texts
    left = max(left, len(os.listdir(folder)) - 1)
write(texts[0])
print(json.dumps([lost, left, os.listdir(folder)]))
"""


@posix
def test_a_writer_that_is_killed_loses_nothing_and_leaves_one_draft_until_the_next(file):
    command = [sys.executable, "-c", KILLED, str(file.parent), str(KILLS), "1"]
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=600)
    lost, left, there = json.loads(done.stdout)
    assert (lost, there) == (0, ["file"])
    assert left <= 1


LIMITED = """
import os, resource, sys
from dispatch_core.files import replace_file

path = sys.argv[1]
text = b"new" * 100_000
for part in range(20):
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(text) * part // 20,) * 2)
        try:
            with replace_file(path) as file:
                file.write(text)
        except OSError as error:
            assert path in str(error), error
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert open(path).read() == "old"
    assert os.listdir(os.path.dirname(path)) == ["file"]
"""


@posix
def test_a_file_that_grows_beyond_its_limit_leaves_the_old_one(file):
    subprocess.run([sys.executable, "-W", "ignore", "-c", LIMITED, str(file)], check=True, timeout=60)


@posix
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("function", ["open", "fstat", "fsync", "replace"])
def test_a_failing_call_of_the_system_leaves_the_old_file_and_no_draft(file, monkeypatch, function, code):
    def fail(*arguments, **options):
        monkeypatch.undo()
        raise OSError(code, os.strerror(code), *[each for each in arguments[:1] if isinstance(each, str)])

    monkeypatch.setattr(os, function, fail)
    with contextlib.suppress(OSError):  # of opening abandoned drafts nothing is told
        write_text(file, "new")
        assert function in ("open", "fstat")
    assert file.read_text() in ("old", "new")
    assert names(file.parent) == ["file"]


def test_an_error_in_the_block_leaves_the_old_file(file):
    with pytest.raises(KeyError), replace_file(file) as draft:
        draft.write(b"new")
        draft.flush()
        raise KeyError
    assert file.read_text() == "old"
    assert names(file.parent) == ["file"]


# An interrupt may fall where an object dies, too, and Python only tells of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("is_there", [True, False])
def test_an_interrupt_at_any_line_leaves_one_whole_file(file, is_there):
    own = {drafts.__file__, replacement.__file__}
    place = done = 0

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename not in own:
            return None
        if event in ("line", "return"):
            count += 1
            if count == place:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    while not done:
        place, count = place + 1, 0
        file.unlink(missing_ok=True)
        if is_there:
            file.write_text("old")
        sys.settrace(trace)
        try:
            write_text(file, "new")
            done = count < place
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        found = file.read_text() if file.exists() else "none"
        assert found in ("new", "old" if is_there else "none")
        left = [each for each in names(file.parent) if each != "file"]
        # Where deleting itself is interrupted, the next writer deletes it.
        assert len(left) <= 1
        if left:
            write_text(file, "newer")
            assert names(file.parent) == ["file"]
    assert place > 50


def test_readers_and_writers_at_once_find_whole_files(file):
    texts = [letter * 300_000 for letter in "abcd"]
    write_text(file, texts[0])
    torn, ends = [], threading.Event()

    def read():
        while not ends.is_set():
            found = file.read_text()
            if found not in texts:
                torn.append(len(found))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for each in readers:
        each.start()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: write_text(file, texts[number % 4]), range(100)))
    ends.set()
    for each in readers:
        each.join()
    assert torn == []
    assert names(file.parent) == ["file"]


@posix
def test_a_draft_is_deleted_only_where_its_lock_is_free(file):
    with replace_file(file) as first:
        first.write(b"first")
        with replace_file(file) as second:
            second.write(b"second")
            assert len(names(file.parent)) == 3
        assert file.read_text() == "second"
        left = Path(first.name)
        assert left.exists()
    assert file.read_text() == "first"
    for number in (0, 3):  # as writers at once leave them
        left.with_name(left.name.replace("-0.", f"-{number}.")).write_text("half")
    (file.parent / ".dispatch-other-0.tmp").write_text("another file's")
    write_text(file, "new")
    assert names(file.parent) == [".dispatch-other-0.tmp", "file"]


@posix
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077, 0o177])
def test_modes_are_those_of_open_and_of_the_old_file(file, umask):
    before = os.umask(umask)
    try:
        write_text(file.with_name("new"), "new")
        with file.with_name("opened").open("wb"):
            pass
    finally:
        os.umask(before)
    assert file.with_name("new").stat().st_mode == file.with_name("opened").stat().st_mode
    for mode in (0o600, 0o640, 0o644, 0o664, 0o666, 0o755):
        file.chmod(mode)
        write_text(file, "newer")
        assert stat.S_IMODE(file.stat().st_mode) == mode


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_owner_and_group_stay(file):
    os.chown(file, 1234, 4321)
    file.chmod(0o640)
    write_text(file, "new")
    status = file.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 4321, 0o640)


@posix
def test_links_are_followed(file, tmp_path):
    link, further = tmp_path / "link", tmp_path / "further"
    link.symlink_to(Path("folder", "file"))
    further.symlink_to(link)
    write_text(further, "new")
    assert (file.read_text(), further.is_symlink(), link.is_symlink()) == ("new", True, True)
    link.unlink()
    link.symlink_to(file.with_name("absent"))
    write_text(link, "made")
    assert file.with_name("absent").read_text() == "made"
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(OSError, match="link"):
        write_text(link, "never")
    assert names(tmp_path) == ["folder", "further", "link"]


@posix
def test_a_file_with_other_names_keeps_them(file, told):
    other = file.with_name("other")
    other.hardlink_to(file)
    write_text(file, "new")
    assert (other.read_text(), other.stat().st_nlink) == ("new", 2)
    assert told() == [f"{file} is written in place, so that an interruption loses it: it has 2 names"]


@posix
def test_pipes_and_devices_are_written(file, told):
    pipe = file.with_name("pipe")
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(pipe.read_text)
        write_text(pipe, "through")
        assert found.result() == "through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    write_text(os.devnull, "nothing")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    assert told() == []


@posix
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc")
def test_the_file_behind_standard_output_is_written(file):
    code = (
        "from dispatch_core.files import write_text; write_text('/dev/stdout', 'new'); print('er', end='', flush=True)"
    )
    number = file.stat().st_ino
    with file.open("ab") as output:
        subprocess.run([sys.executable, "-c", code], stdout=output, check=True, timeout=60)
    assert (file.read_text(), file.stat().st_ino) == ("newer", number)


@pytest.mark.parametrize("name", ["x" * 255, "\u00e4" * 127, " ", "a\nb", "file.tmp", ".dispatch-"])
def test_names_of_all_kinds(file, name):
    for text in ("new", "newer"):
        try:
            write_text(file.with_name(name), text)
        except OSError:
            assert os.name != "posix"  # Windows has fewer names
            return
        assert file.with_name(name).read_text() == text
    assert names(file.parent) == sorted(["file", name])


@pytest.mark.parametrize("name", ["x" * 256, "", "no/such", "new/", ".", "..", "no/../new", "file/new"])
def test_what_open_refuses_is_refused_alike(file, monkeypatch, name):
    monkeypatch.chdir(file.parent)
    with pytest.raises(OSError) as expected, open(name, "wb"):  # noqa: PTH123
        pass
    with pytest.raises(type(expected.value)) as found:
        write_text(name, "never")
    assert (str(found.value), names(file.parent)) == (str(expected.value), ["file"])


@posix
def test_a_file_that_cannot_be_written_to_stays(other_user):
    path = other_user / "file"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="file"):
        write_text(path, "new")
    assert (path.read_text(), names(other_user)) == ("old", ["file"])


@posix
def test_where_nothing_can_be_made_a_file_is_written_in_place(other_user, told):
    folder = other_user / "folder"
    folder.mkdir()
    path = folder / "file"
    path.write_text("old")
    number = path.stat().st_ino
    folder.chmod(0o555)
    write_text(path, "new")
    assert (path.read_text(), path.stat().st_ino) == ("new", number)
    assert told() == [f"{path} is written in place, so that an interruption loses it: Permission denied"]
    with pytest.raises(PermissionError, match="absent"):
        write_text(folder / "absent", "new")
    folder.chmod(0o755)


@posix
@pytest.mark.parametrize("code", [errno.EPERM, errno.EBUSY, errno.EXDEV])
def test_where_nothing_can_be_renamed_a_file_is_written_in_place(file, told, monkeypatch, code):
    def refuse(source, target):
        raise OSError(code, os.strerror(code), source, None, target)

    monkeypatch.setattr(os, "replace", refuse)
    number = file.stat().st_ino
    write_text(file, "new" * 1_000_000)
    assert (file.read_text(), file.stat().st_ino) == ("new" * 1_000_000, number)
    assert names(file.parent) == ["file"]
    (line,) = told()
    assert line.endswith(os.strerror(code))


def test_windows_is_asked_again_while_a_reader_has_the_file(file, monkeypatch):
    tries, replace = [], os.replace

    def refuse(source, target):
        tries.append(source)
        if len(tries) < 4 or file.with_name("forever").exists():
            raise PermissionError(13, "it is open", source, None, target)
        replace(source, target)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(drafts, "fcntl", None)
    monkeypatch.setattr(os, "replace", refuse)
    write_text(file, "new")
    assert (file.read_text(), len(tries)) == ("new", 4)
    monkeypatch.setattr(replacement, "_PATIENCE", 0.1)
    file.with_name("forever").touch()
    with pytest.raises(PermissionError, match=r"it is open: .*file'$"):
        write_text(file, "newer")
    assert (file.read_text(), names(file.parent)) == ("new", ["file", "forever"])


def test_without_locks_a_draft_is_deleted_when_it_is_old(file, monkeypatch):
    with replace_file(file) as draft:
        name = Path(draft.name)
    monkeypatch.setattr(drafts, "fcntl", None)
    name.write_text("half")
    write_text(file, "new")
    assert names(file.parent) == [name.name, "file"]
    os.utime(name, (1, 1))
    write_text(file, "newer")
    assert names(file.parent) == ["file"]


@posix
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_has_a_drafts_name_and_is_none_is_left_alone(file, kind):
    with replace_file(file) as draft:
        name = Path(draft.name)
    if kind == "folder":
        name.mkdir()
    elif kind == "link":
        name.symlink_to(file)
    else:
        os.mkfifo(name)
    write_text(file, "new")
    assert (file.read_text(), names(file.parent)) == ("new", [name.name, "file"])
    shutil.rmtree(name) if kind == "folder" else name.unlink()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_leaves_the_draft_of_its_parent(tmp_path):
    forking = """
import os, sys
from dispatch_core.files import replace_file
try:
    with replace_file(sys.argv[1]) as file:
        file.write(b"new")
        file.flush()
        if not (child := os.fork()):
            raise SystemExit
        assert os.waitpid(child, 0)[1] == 0
except SystemExit:
    pass
"""
    subprocess.run([sys.executable, "-c", forking, tmp_path / "x"], check=True)
    assert (tmp_path / "x").read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
