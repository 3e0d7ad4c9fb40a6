"""Caches that are damaged between processes, and while several use them: every call is right, and every file is replaced."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest
from forked_work import FORKED

pytestmark = pytest.mark.no_pipeline(reason="starts processes, and calls no operator itself")
#: How many files are damaged between processes; a third as often several processes use a folder.
DAMAGES = int(os.environ.get("DISPATCH_TEST_DAMAGES", "6"))
needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba, an optional extra, is not installed")
needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

#: What damages a file.
DAMAGE = r"""
import json, os, pathlib, random, sys, tempfile, time, traceback
import numpy as np

folder, count, draw = pathlib.Path(sys.argv[1]), int(sys.argv[2]), random.Random(sys.argv[3])

def damaged(content):
    place = draw.randrange(len(content) or 1)
    kind = draw.randrange(7)
    if kind < 4:
        return (b"", content[:place], bytes(len(content)), draw.randbytes(len(content)))[kind]
    flipped = content[place : place + 1] and bytes([content[place] ^ 1 << draw.randrange(8)])
    return content[:place] + flipped + content[place + 1 :]

def contents():
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix in SUFFIXES}
"""
SIMULATOR = r"""
import torchlike
SUFFIXES = {".so", ".sha256"}

def work():
    x = torchlike.ones(3, device="npu")
    assert (x + x).tolist() == [2.0] * 3
"""
LOOPS = r"""
import dispatch_core as dc
from dispatch_core import files
from numba import njit
SUFFIXES = {".nbi", ".nbc", ".sha256"}

def double(x, out):
    for i in range(out.size):
        out[i] = x[i] + x[i]

def work():
    for dtype in ("float32", "float64"):
        loop = njit(double)
        files.keep_on_disk(loop, folder, "1")
        values = np.arange(40, dtype=dtype)
        out = np.zeros_like(values)
        loop(values, out)
        np.testing.assert_array_equal(out, values + values)
"""
ONE_BY_ONE = r"""
assert os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1]) == 0
good, ended, kept = contents(), [], []
for number in range(count):
    path = draw.choice(sorted(good))
    wrong = damaged(good[path])
    path.write_bytes(wrong)
    status = os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1])
    if status:
        ended.append([path.name, status])
    if not path.exists() or (path.read_bytes() == wrong != good[path]):
        kept.append(path.name)
    good = contents()
print(json.dumps([len(good), ended, kept]))
"""
AT_ONCE = r"""
def use():
    for _ in range(count):
        work()

def spoil():
    while True:
        time.sleep(draw.random() / 50)
        for path, content in draw.sample(sorted(contents().items()), 1) if contents() else ():
            path.write_bytes(damaged(content))

assert os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1]) == 0
spoiler = forked(spoil)
users = [forked(use) for _ in range(4)]
ended = [status for each in users if (status := os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]))]
os.kill(spoiler, 9)
os.waitpid(spoiler, 0)
for _ in range(2):
    assert os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1]) == 0
print(json.dumps([len(contents()), ended, []]))
"""


def run(program, folder, count, **environment):
    """Run a program that damages files; check that no process ended, and that no damaged file stayed."""
    seed = os.environ.get("DISPATCH_TEST_SEED", "1")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(folder), str(count), seed],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, **environment},
        timeout=60 + 5 * count,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    files, ended, kept = json.loads(done.stdout)
    assert (ended, kept) == ([], []), done.stderr[-4000:]
    return files


@pytest.fixture
def copying(npu, tmp_path):
    """Return the environment of a copy of the simulator, which a compiler that copies as quickly builds again."""
    if npu is None:
        pytest.skip("needs the simulator")
    folder = shutil.copytree(npu, tmp_path / "copy")
    script = tmp_path / "compiler.py"
    script.write_text(
        "import os, shutil, sys; output = sys.argv[sys.argv.index('-o') + 1];"
        f" shutil.copy(os.path.join({str(npu / 'lib64')!r}, os.path.basename(output)), output)"
    )
    return {"ASCEND_HOME_PATH": str(folder), "CC": f"{sys.executable} -I -S {script}"}


@needs_forks
def test_libraries_of_the_simulator_that_are_damaged_are_built_again(copying):
    assert (
        run(FORKED + DAMAGE + SIMULATOR + ONE_BY_ONE, copying["ASCEND_HOME_PATH"], DAMAGES, **copying) == 8
    )  # and their sums


@pytest.mark.long
@needs_numba
@needs_forks
def test_machine_code_that_is_damaged_is_compiled_again(tmp_path):
    assert run(FORKED + DAMAGE + LOOPS + ONE_BY_ONE, tmp_path, DAMAGES) == 6


@pytest.mark.long
@needs_numba
@needs_forks
def test_machine_code_that_is_damaged_while_processes_use_it_fails_none(tmp_path):
    assert run(FORKED + DAMAGE + LOOPS + AT_ONCE, tmp_path, max(2, DAMAGES // 3)) == 6
