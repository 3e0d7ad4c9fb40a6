"""Files of compiled chains on disk that are damaged, foreign or in the way: every call is right, and they are replaced."""

from __future__ import annotations

import logging
import os
import random
import shutil

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_backend_cpu.plan import compiled, functions, native_chain
from dispatch_pipelines.program import plan as plans

pytestmark = [
    pytest.mark.no_pipeline(reason="compiles functions, and calls no operator"),
    pytest.mark.skipif(not compiled.is_available(), reason="Numba is not installed"),
]
#: How many damaged files are drawn.
DAMAGES = int(os.environ.get("DISPATCH_TEST_DAMAGES", "10"))
ENDINGS = [".nbi", ".nbc", ".nbi.sha256", ".nbc.sha256"]
SOURCE = "def loop(x, out):\n    for i in range(out.size):\n        out[i] = x[i] + x[i] * {}\n"
SIGNATURE = "void(float32[::1], float32[::1])"


def cut(content, draw):
    return content[: draw.randrange(len(content))]


def zero(content, draw):
    return bytes(len(content))


def flip(content, draw):
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


def scramble(content, draw):
    return draw.randbytes(len(content))


def empty(content, draw):
    return b""


KINDS = [cut, zero, flip, flip, flip, scramble, empty]


def call(factor):
    loop = compiled._load_or_compile(SOURCE.format(factor), SIGNATURE)
    values = np.arange(33, dtype="f")
    out = np.zeros_like(values)
    loop(values, out)
    np.testing.assert_array_equal(out, values + values * np.float32(factor))
    return sum(loop.stats.cache_hits.values())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DISPATCH_CPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    assert call(3) == 0
    assert call(3) == 1
    return tmp_path / "cache"


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*.nb*")) if path.is_file()}


def test_damaged_files_are_compiled_again(folder):
    draw = random.Random(os.environ.get("DISPATCH_TEST_SEED", "1"))
    good = contents(folder)
    assert len(good) == 4
    for number in range(DAMAGES):
        path = draw.choice(list(good))
        wrong = draw.choice(KINDS)(good[path], draw)
        path.write_bytes(wrong)
        call(3)
        assert path.read_bytes() != wrong or wrong == good[path], (number, path, wrong)
        assert call(3) == 1, (number, path, wrong)
        assert set(contents(folder)) == set(good)
        good = contents(folder)


def test_another_functions_files_under_a_functions_names_are_not_read(folder):
    own = [*contents(folder)]
    call(5)
    others = [path for path in contents(folder) if path not in own]
    for ending in ENDINGS:
        (one,), (other,) = ([each for each in paths if each.name.endswith(ending)] for paths in (own, others))
        shutil.copy(other, one)
    assert call(3) == 0
    assert call(3) == 1


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["folder", "link", "none"])
def test_what_is_no_file_is_a_miss(folder, ending, kind):
    (path,) = [path for path in contents(folder) if path.name.endswith(ending)]
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(folder / "nowhere")
    assert call(3) == 0
    assert call(3) == (kind != "folder")


@pytest.mark.skipif(os.name != "posix", reason="POSIX's modes")
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "dispatch_core.caches")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o775)
    monkeypatch.setenv("DISPATCH_CPU_CACHE", str(tmp_path / "open"))
    assert (call(3), call(3)) == (0, 1)
    assert [*(tmp_path / "open").iterdir()] == []
    assert ["others may write to it" in record.getMessage() for record in caplog.records] == [True]


def test_a_failing_compilation_fails_no_call_and_writes_nothing_twice(monkeypatch, caplog):
    def fail(self):
        raise RuntimeError("out of registers")

    monkeypatch.setenv("DISPATCH_CPU_JIT", "1")
    monkeypatch.setattr(functions.CompiledWriter, "compile", fail)
    monkeypatch.setattr(native_chain, "LOOPS", None)  # a chain of small arrays is one compiled kernel otherwise
    caplog.set_level(logging.WARNING, "dispatch_core.caches")
    plans.clear()
    x = np.arange(300, dtype="f")
    for _ in range(3):
        with dc.pipeline() as pipe:
            found = dc.ops.aten.mul.Tensor(x, x)
            dc.ops.aten.add_.Tensor(found, x)
        np.testing.assert_array_equal(found.result(), x * x + x)
        assert pipe.stats().fused == 2
    assert [record.getMessage() for record in caplog.records] == [
        "a chain is not compiled: RuntimeError: out of registers"
    ]
    plans.clear()
