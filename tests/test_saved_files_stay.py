"""Checkpoints whose writers are killed, meet a full disk, or are many: a reader finds one that is whole."""

import json
import os
import subprocess
import sys

import pytest
from forked_work import FORKED

pytestmark = [
    pytest.mark.no_pipeline(reason="starts processes, and calls no operator itself"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
    pytest.mark.long,
]
KILLS = int(os.environ.get("DISPATCH_TEST_KILLS", "40"))
SAVES = int(os.environ.get("DISPATCH_TEST_SAVES", "200"))

HEAD = r"""
import errno, json, os, random, resource, shutil, signal, subprocess, sys, time, traceback
import torchlike

path, count, draw = sys.argv[1], int(sys.argv[2]), random.Random(sys.argv[3])
folder, name = os.path.split(path)

def make(number, size=40_000):
    return {f"t{index}": torchlike.full((size,), float(number)) for index in range(8)}

def number_of(path):
    found = torchlike.load(path)
    values = {float(each) for tensor in found.values() for each in (tensor.min().item(), tensor.max().item())}
    assert len(values) == 1 and len(found) == 8, values
    return values.pop()


def ends(number):
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

one, two = make(1), make(2)
torchlike.save(one, path)
lost = []
"""
KILLED = r"""
def write():
    while True:
        torchlike.save(two, path)
        torchlike.save(one, path)

begin = time.perf_counter()
torchlike.save(one, path)
longest = max(0.02, 4 * (time.perf_counter() - begin))
for _ in range(count):
    writer = forked(write)
    time.sleep(draw.random() * longest)
    os.kill(writer, signal.SIGKILL)
    ends(writer)
    try:
        number_of(path)
    except Exception as error:
        lost.append(repr(error))
    if len(os.listdir(folder)) > 2:
        lost.append(f"more than one draft: {os.listdir(folder)}")
torchlike.save(one, path)
"""
FULL = r"""
size = os.path.getsize(path)

def write():
    try:
        torchlike.save(two, path)
    except OSError as error:
        assert error.errno in (errno.ENOSPC, errno.EFBIG) and path in str(error), error
    else:
        raise AssertionError("there was room")

def limited(room):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    write()

for point in range(count):
    room = size * point // count
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    options = ["-t", "tmpfs", "-o", f"size={size + 8192 + room}"]
    if subprocess.run(["mount", *options, "tmpfs", disk], capture_output=True).returncode:
        status = ends(forked(lambda: limited(room)))
    else:
        kept, path = path, os.path.join(disk, name)
        try:
            torchlike.save(one, path)
            status = ends(forked(write))
            if number_of(path) != 1 or os.listdir(disk) != [name]:
                lost.append(point)
        finally:
            subprocess.run(["umount", disk], check=True)
        path = kept
    os.rmdir(disk)
    if status or number_of(path) != 1 or os.listdir(folder) != [name]:
        lost.append(point)
"""
AT_ONCE = r"""
several = [make(number, 4000) for number in range(8)]

def write():
    for number in range(count // 4):
        torchlike.save(several[(number + os.getpid()) % 8], path)

def read():
    for _ in range(count // 4):
        number_of(path)

lost += filter(None, map(ends, [forked(work) for work in (write, read) * 4]))
"""


@pytest.mark.parametrize("name", ["model.pt", "model.safetensors"])
@pytest.mark.parametrize(
    ("program", "count"), [(KILLED, KILLS), (FULL, 20), (AT_ONCE, SAVES)], ids=["kills", "full disk", "many at once"]
)
def test_a_checkpoint_is_never_lost(tmp_path, program, count, name):
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / name
    seed = os.environ.get("DISPATCH_TEST_SEED", "1")
    end = "print(json.dumps([lost, os.listdir(folder)]))"
    command = [sys.executable, "-W", "ignore", "-c", FORKED + HEAD + program + end, str(path), str(count), seed]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout) == [[], [name]], done.stderr[-4000:]
