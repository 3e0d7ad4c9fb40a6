"""Memory of large arrays is used again, and only when no array lies in it any more."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest

from dispatch_backend_cpu import memory
from dispatch_backend_cpu.arrays import empty_strided, storage, storage_offset_of

FLOAT = np.dtype(np.float32)
LARGE = memory.SMALL // FLOAT.itemsize


@pytest.fixture(autouse=True)
def _fresh():
    memory.empty_cache()
    yield
    memory.empty_cache()


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("strides", [(LARGE, 1), (1, 2)])
def test_memory_comes_again_when_the_last_view_is_gone(strides):
    array = empty_strided((2, LARGE), strides, FLOAT)
    first = address(array)
    view = array[1:, ::2]
    del array
    other = empty_strided((2, LARGE), strides, FLOAT)
    assert address(other) != first
    del view
    again = empty_strided((2, LARGE), strides, FLOAT)
    assert address(again) == first
    again[:] = 1
    other[:] = 2
    assert (again.sum(), other.sum()) == (2 * LARGE, 4 * LARGE)


def test_an_array_is_writable_and_begins_its_storage():
    array = empty_strided((LARGE,), (1,), FLOAT)
    assert array.flags.writeable
    assert (storage(array).size, storage_offset_of(array), storage_offset_of(array[5:])) == (LARGE, 0, 5)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "bool", "complex64", "uint8"])
def test_all_dtypes(dtype):
    array = memory.empty(memory.SMALL, np.dtype(dtype))
    assert (array.dtype, array.shape) == (np.dtype(dtype), (memory.SMALL,))


def test_small_arrays_and_what_is_beyond_the_limit_are_not_kept(monkeypatch):
    memory.empty(10, FLOAT)
    assert not memory._unused
    monkeypatch.setattr(memory, "LIMIT", 4 * LARGE)
    held = [memory.empty(LARGE, FLOAT) for _ in range(3)]
    held.clear()
    assert sum(map(len, memory._unused.values())) == 1


def test_threads_never_get_the_same_memory():
    faults = []

    def work(number):
        for _ in range(300):
            array = memory.empty(LARGE, FLOAT)
            array.fill(number)
            if not (array == number).all():
                faults.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


_FAULTS = """
import resource
import numpy as np
import dispatch_backend_cpu.memory

x = np.ones(1 << 17, np.float32)
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    kept = [x + 1 for _ in range(12)]
    del kept
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is about glibc's malloc")
def test_a_step_that_frees_much_pays_for_no_new_pages_in_the_next():
    """Twelve arrays of 512 KiB are 1,536 pages; without the limit that is raised, all are new in every round."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run([sys.executable, "-c", _FAULTS], capture_output=True, text=True, check=True, env=settings)
    assert int(done.stdout) < 100
