"""Machine code on disk, written by several processes at the same time."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numba
import numpy as np
import pytest

from dispatch_kernels_numba import machine_code
from dispatch_kernels_numba.machine_code import _place

pytestmark = pytest.mark.no_pipeline(reason="compiles functions, and calls no operator")

SOURCE = """
from numba import njit
from dispatch_kernels_numba.machine_code import prepare_loop

@prepare_loop
@njit
def double(x, out):
    for i in range(out.size):
        out[i] = x[i] + x[i]
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Import the function as another process would."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(
        numba.config, "CACHE_DIR", str(tmp_path / "cache")
    )  # it is read from there at a compilation only
    (tmp_path / "doubling.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)

    def load_anew():
        sys.modules.pop("doubling", None)
        return __import__("doubling").double

    return load_anew


def double(function, dtype):
    values = np.arange(40).astype(dtype)
    out = np.zeros_like(values)
    function(values, out)
    np.testing.assert_array_equal(out, values + values)
    return function.stats


def test_two_processes_that_compile_at_once_keep_their_files_apart(load, monkeypatch):
    one, other = load(), load()
    files, theirs = one._cache._cache_file, other._cache._cache_file
    # The other reads the index before the first one writes to it, and writes between the first one's two files.
    monkeypatch.setattr(theirs, "_load_index", dict)
    written = []
    for name in ("_save_data", "_save_index"):
        save = getattr(files, name)

        def write(*arguments, save=save):
            if written:
                double(other, "float64")
            save(*arguments)
            written.append(arguments)

        monkeypatch.setattr(files, name, write)
    double(one, "float32")
    for dtype in ("float64", "float32"):
        double(load(), dtype)


def test_what_is_kept_is_found_again(load):
    for dtype in ("float32", "float64"):
        double(load(), dtype)
    again = load()
    for dtype in ("float32", "float64"):
        found = double(again, dtype)
    assert (sum(found.cache_hits.values()), sum(found.cache_misses.values())) == (2, 0)


def damage(content, draw):
    """Return content that is cut, zeroed, of random bytes, or that has one bit flipped, as most have."""
    kind, place = draw.randrange(6), draw.randrange(len(content))
    if kind < 3:
        return (content[:place], bytes(len(content)), draw.randbytes(len(content)))[kind]
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


def test_damaged_files_are_compiled_again(load, tmp_path):
    draw = random.Random(os.environ.get("DISPATCH_TEST_SEED", "1"))
    double(load(), "float32")
    good = {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.nb*")}
    assert {path.suffix for path in good} == {".nbi", ".nbc", ".sha256"}
    for _ in range(int(os.environ.get("DISPATCH_TEST_DAMAGES", "10"))):
        path = draw.choice(list(good))
        wrong = damage(good[path], draw)
        path.write_bytes(wrong)
        double(load(), "float32")
        assert path.read_bytes() != wrong or wrong == good[path]
        found = double(load(), "float32")
        assert sum(found.cache_hits.values()) == 1
        good = {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.nb*")}


@pytest.mark.skipif(os.name != "posix", reason="POSIX's modes")
def test_a_folder_that_others_may_write_to_is_not_used(load, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o775)
    machine_code._place.cache_clear()
    double(load(), "float32")
    assert [*(tmp_path / "cache").iterdir()] == []
    assert sum(double(load(), "float32").cache_hits.values()) == 1


def test_without_a_folder_that_can_be_written_each_process_compiles(tmp_path):
    program = (
        "import numpy; from dispatch_kernels_numba import loops; x = numpy.ones(3, 'f'); loops.sigmoid(x, x); print(x)"
    )
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(blocked / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, env=environment, text=True, timeout=120
    )
    assert done.stdout.startswith("[0.73"), done.stderr


def test_no_file_in_the_current_folder_says_where_machine_code_lies(tmp_path, monkeypatch):
    # As Numba sets it where there is a `.numba_config.yaml`.
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("DISPATCH_CACHE_DIR", str(tmp_path / "caches"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "elsewhere"))
    (tmp_path / "source.py").write_text("")
    folder, _ = _place(str(tmp_path / "source.py"))
    assert (tmp_path / "caches" / "numba") in folder.parents
