"""Compiled columns of convolutions against the windows that NumPy copies."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")

from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.ops.networks import convolution
from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

if LOOPS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)


def make_columns(a, kernel, stride, dilation, padding):
    """Return the columns by a padded copy and a view of the windows."""
    padded = convolution.pad(a, [(each, each) for each in padding])
    seen = convolution.windows(padded, kernel, stride, dilation)
    count = len(kernel)
    return np.ascontiguousarray(seen.transpose(*range(1, 2 + count), 0, *range(2 + count, 2 + 2 * count)))


@pytest.mark.parametrize("sides", [1, 2])
def test_columns_are_the_windows_of_the_padded_array(sides):
    draws = random.Random(sides)
    written = 0
    for seed in range(1500):
        kernel, stride, dilation = (tuple(draws.choice((1, 1, 2, 3)) for _ in range(sides)) for _ in range(3))
        padding = tuple(draws.choice((0, 0, 1, 2, 5)) for _ in range(sides))
        sizes = tuple(draws.randint(1, 9) for _ in range(sides))
        reach = [gap * (span - 1) + 1 for gap, span in zip(dilation, kernel, strict=True)]
        if any(size + 2 * each < span for size, each, span in zip(sizes, padding, reach, strict=True)):
            continue
        dtype = draws.choice("fdFe?D")
        shape = (draws.randint(1, 3), draws.randint(1, 3), *sizes)
        a = np.random.default_rng(seed).integers(1, 100, shape).astype(dtype)
        wanted = make_columns(a, kernel, stride, dilation, padding)
        # Elements before and behind the buffer stay as they are.
        memory = np.full(wanted.size + 20, 77, dtype)
        assert LOOPS.columns(a, memory[10:-10], kernel, wanted.shape[-sides:], stride, dilation, padding)
        assert memory[10:-10].tobytes() == wanted.tobytes()
        assert (memory[:10] == memory.dtype.type(77)).all() and (memory[-10:] == memory.dtype.type(77)).all()
        written += 1
    assert written > 500


def test_arrays_that_are_not_plain_are_left():
    a, buffer = np.ones((1, 2, 4, 4), "f"), np.zeros(2 * 9 * 16, "f")
    how = (3, 3), (4, 4), (1, 1), (1, 1), (1, 1)
    assert LOOPS.columns(a, buffer, *how)
    assert not LOOPS.columns(a.astype("d"), buffer, *how)
    assert not LOOPS.columns(a[..., ::2], buffer, *how)
    assert not LOOPS.columns(a, buffer[:-1], *how)
    assert not LOOPS.columns(a, np.zeros((0,), "f"), *how)
    assert not LOOPS.columns(a, a.reshape(-1), *how)
    assert not LOOPS.columns(a.astype(object), buffer.astype(object), *how)
    assert not LOOPS.columns(a, buffer, [3, 3], *how[1:])
    assert not LOOPS.columns(a, buffer, (3, 0), *how[1:])
    assert not LOOPS.columns(a, buffer, *how[:-1], (1, -1))
    assert not LOOPS.columns(a, buffer)
    buffer.flags.writeable = False
    assert not LOOPS.columns(a, buffer, *how)


def test_convolutions_have_the_bits_that_they_have_without(monkeypatch):
    draws = np.random.default_rng(0)
    results = []
    for loops in (LOOPS, None):
        monkeypatch.setattr(convolution, "LOOPS", loops)
        draws = np.random.default_rng(0)
        for stride, padding, groups, dtype in itertools.product((1, 2), (0, 1, 2), (1, 2), "fd"):
            a = draws.standard_normal((3, 4, 9, 8)).astype(dtype)
            weight = draws.standard_normal((6, 4 // groups, 3, 3)).astype(dtype)
            options = [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups
            found = KERNELS["convolution"](a, weight, None, *options)
            grads = KERNELS["convolution_backward"](np.ones_like(found), a, weight, None, *options, [True, True, False])
            results.append([each.tobytes() for each in (found, *grads[:2])])
    half = len(results) // 2
    assert results[:half] == results[half:]
