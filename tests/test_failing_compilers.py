"""Compilations that fail at any of their stages: the call has the value of the plain form, and nothing is half written."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("numba", reason="numba, an optional extra, is not installed")
pytestmark = pytest.mark.no_pipeline(reason="starts processes, and calls no operator itself")
#: How many places a compilation fails at, of each kind of function.
FAILURES = int(os.environ.get("DISPATCH_TEST_FAILURES", "3"))

#: Fails compilations at functions that are drawn; an error there is what a full disk, or memory, or a fault leads to.
PROGRAM = r"""
import errno, json, logging, os, random, sys, tempfile, traceback, warnings
import numpy as np, numba, llvmlite
from numba.core.errors import LoweringError, TypingError
import dispatch_core as dc
from dispatch_core.files import cache_folders
from dispatch_pipelines.program import plan as plans
from dispatch_backend_cpu.plan import compiled, functions
from dispatch_kernels_numba import loops

kind, count, draw = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
aten, CACHE = dc.ops.aten, cache_folders.cache_root()
FOLDERS = tuple(os.path.dirname(each.__file__) for each in (numba, llvmlite, dc)) + (os.__file__, tempfile.__file__)
ERRORS = [
    MemoryError(), RuntimeError("out of registers"), TypingError("no type"), LoweringError("no code"), KeyError("k"),
    AssertionError(), RecursionError("deep"), TypeError("bad"), ValueError("bad"), AttributeError("none"),
    *(OSError(code, os.strerror(code)) for code in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EMFILE, errno.EIO)),
]
LOOPS = [each for each in vars(loops).values() if '_compile_for_args' in getattr(each, '__dict__', ())]
lines, failed, places = [], [], {}

class Keep(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())

logging.getLogger("dispatch_core.caches").addHandler(Keep())

def failing(function):
    "Return a function that fails where one that it calls, which is drawn, is called; the first run lists them all."
    def run(*arguments):
        chosen = draw.choice(sorted(places)) if places else None
        left, error = int(places.get(chosen, 0) * draw.random() ** 4), draw.choice(ERRORS)
        def trace(frame, event, argument):
            nonlocal left
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(FOLDERS):
                place = f"{code.co_filename}:{code.co_firstlineno}:{code.co_name}"
                if chosen is None:
                    places[place] = places.get(place, 0) + 1
                elif place == chosen:
                    left -= 1
                    if left < 0:
                        sys.settrace(None)
                        failed.append(f"{place} {error!r}")
                        raise error
        sys.settrace(trace)
        try:
            return function(*arguments)
        finally:
            sys.settrace(None)
    return run

x = np.random.default_rng(0).standard_normal((60, 40)).astype("f")
y, mask = x[::-1].copy(), x > 0

def run_kernel(choices):
    name, call = draw.choice(choices)
    for _ in range(2):
        one, two = x.copy(), y.copy()
        expected = call(one.copy(), two.copy())
        with dc.use_kernels("numba"):
            found = call(one, two)
        for each, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(each, other, rtol=1e-5, atol=1e-5)
            if failed and not any(loop.signatures for loop in LOOPS):
                np.testing.assert_array_equal(each, other)

for loop in LOOPS:
    guard = loop._compile_for_args
    cell = guard.__closure__[guard.__code__.co_freevars.index("compile_for")]
    cell.cell_contents = failing(cell.cell_contents)

def in_place(name):
    def call(one, two):
        getattr(aten, name)(one)
        return one, two
    return call

KERNELS = [
    ("sigmoid", lambda one, two: (aten.sigmoid(one), one)),
    ("sigmoid", in_place("sigmoid_")),
    ("silu", in_place("silu_")),
    ("rsqrt", lambda one, two: (aten.rsqrt.out(aten.abs(one), out=two), one, two)),
    ("lerp.Scalar", lambda one, two: (aten.lerp_(one, two, 0.3), one, two)),
    ("masked_fill.Scalar", lambda one, two: (aten.masked_fill_(one, mask, 2.0), one)),
    ("where.self", lambda one, two: (aten.where.self(mask, one, two), one)),
    ("_softmax", lambda one, two: (aten._softmax(one, -1, False), one)),
    ("native_layer_norm", lambda one, two: (*aten.native_layer_norm(one, [40], None, None, 1e-5), one)),
    ("gelu", lambda one, two: (aten.gelu(one), one)),
    ("mse_loss", lambda one, two: (aten.mse_loss(one, two, 1), one)),
    ("cumsum", lambda one, two: (aten.cumsum_(one, 1), one)),
    ("topk", lambda one, two: (*aten.topk(one, 3), one)),
    ("leaky_relu", lambda one, two: (aten.leaky_relu(one, 0.2), one)),
]

def run_chain(choices):
    plans.clear()
    cache_folders._usable.cache_clear()
    os.environ["DISPATCH_CPU_CACHE"] = tempfile.mkdtemp()
    size = draw.choice([3, 60])
    for call in range(3):
        one, two = x[:size].copy(), y[:size].copy()
        with dc.pipeline():
            aten.mul_.Tensor(one, two)
            found = aten.maximum(aten.add.Tensor(one, two), one)
            aten.add_.Tensor(one, found)
            aten.neg_(two)
        product = x[:size] * y[:size]
        highest = np.maximum(product + y[:size], product)
        for each, other in ((found.result(), highest), (one, product + highest), (two, -y[:size])):
            np.testing.assert_array_equal(each, other)

report = []
os.environ["DISPATCH_CPU_JIT"] = "2"
functions.CompiledWriter.compile = failing(functions.CompiledWriter.compile)
warnings.simplefilter("ignore")
run = run_chain if kind == "chains" else run_kernel
run(KERNELS[-1:])
for number in range(count):
    # In a process of its own, as an error within Numba's context managers may leave Numba of no use.
    draw.random()
    for path in CACHE.rglob('*.nb*'):
        path.unlink()
    reader, writer = os.pipe()
    if not os.fork():
        status = 1
        try:
            run(KERNELS[:-1])
            os.write(writer, json.dumps([failed, lines]).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
            print(failed, lines, file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    os.close(writer)
    with open(reader) as file:
        report.append(json.loads(file.read() or "null"))
    if os.wait()[1]:
        raise SystemExit(f"number {number} failed")
print(json.dumps(report))
"""


@pytest.mark.parametrize("kind", ["chains", "kernels"])
def test_a_compilation_that_fails_anywhere_fails_no_call(kind, tmp_path):
    seed = os.environ.get("DISPATCH_TEST_SEED", "1")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, kind, str(FAILURES), seed],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "DISPATCH_CACHE_DIR": str(tmp_path), "NUMBA_CACHE_DIR": ""},
        timeout=60 + 20 * FAILURES,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    report = json.loads(done.stdout)
    for failed, lines in report:
        # Numba itself copes with some errors; of all others the log tells once.
        assert len(failed) <= 1 and len(lines) <= len(failed), (failed, lines)
    assert FAILURES < 100 or any(lines for _, lines in report)
