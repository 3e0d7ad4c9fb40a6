"""A program's kernels run whatever the order in which it registers them and the cpu backend loads, fails and refreshes.

Each order runs in a process of its own, forked from one that has imported everything and loaded no backend.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import dispatch_core as dc
import torchlike

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="orders run in forks of one process")

PROGRAM = """
import itertools, json, os, random, warnings
import numpy as np
import dispatch_core as dc
import torchlike
from dispatch_backend_cpu.kernels import PRIMS
# Modules that a first use would import, so that not every fork does.
import dispatch_backend_cpu.plan, dispatch_backend_meta.plugin
import dispatch_pipelines.graph.snapshots, torchlike.autograd.rules.register

warnings.simplefilter("ignore", dc.OverwriteWarning)
RAN = []
NUMPY = {
    "add.Tensor": lambda self, other, *, alpha: self + alpha * other,
    "mul.Tensor": lambda self, other: self * other,
    "relu": lambda self: np.maximum(self, 0),
    "view": lambda self, size: self.reshape(size),
}

class Program:
    '''What the program has registered, in the order of time.'''

    def __init__(self):
        self.libraries, self.loaded = {}, set()

    def noting(self, who, name):
        def kernel(*args, **kwargs):
            RAN.append(f"{who} {name}")
            return NUMPY[name](*args, **kwargs)
        return kernel

    def register(self, who):
        library = self.libraries[who] = dc.Library("aten", "IMPL", "CPU")
        for name in NUMPY:
            library.impl(name, self.noting(who, name))

    def first(self):
        self.register("first")

    def second(self):
        self.register("second")

    def close(self):
        if (library := self.libraries.pop("first", None)) is not None:
            library.close()

    def load(self):
        self.loaded.add(dc.load_backend("cpu").name)

    def refresh(self):
        dc.refresh()

    def fail(self):
        '''Let the backend fail once everything else is registered, if it is not there yet.'''
        right, PRIMS["device_put"] = PRIMS["device_put"], 'no kernel'
        try:
            assert dc.load_backend("cpu") and "cpu" in self.loaded
        except dc.BackendError:
            dc.refresh()
        finally:
            PRIMS["device_put"] = right

    def expected(self, *names):
        who = next(reversed(self.libraries), None)
        return [] if who is None else [f"{who} {name}" for name in names]

def ran(make):
    RAN.clear()
    with torchlike.pipeline() if make.__code__.co_argcount else torchlike.no_grad() as pipe:
        found = make(pipe) if make.__code__.co_argcount else make()
    return found.tolist(), list(RAN)

def check(program):
    say, x = program.expected, [-1.0, 0.0, 1.0, 2.0]
    array = np.array(x)
    assert ran(lambda: dc.ops.aten.add.Tensor(array, array)) == ([-2, 0, 2, 4], say("add.Tensor"))
    assert ran(lambda: dc.ops.aten.mul(array, 2)) == ([-2, 0, 2, 4], say("mul.Tensor"))
    assert ran(lambda: dc.ops.aten.view(array, [2, 2])) == ([[-1, 0], [1, 2]], say("view"))
    a = torchlike.tensor(x)
    b = torchlike.tensor(x, requires_grad=True)
    for t in (a, b):
        assert ran(lambda: t + t) == ([-2, 0, 2, 4], say("add.Tensor"))
        assert ran(lambda: t + 2) == ([1, 2, 3, 4], say("add.Tensor"))
        assert ran(lambda: t.add(t, alpha=3)) == ([-4, 0, 4, 8], say("add.Tensor"))
        assert ran(lambda: t.add(2, alpha=3)) == ([5, 6, 7, 8], say("add.Tensor"))
        assert ran(lambda: t * t) == ([1, 0, 1, 4], say("mul.Tensor"))
        assert ran(lambda: t * 2) == ([-2, 0, 2, 4], say("mul.Tensor"))
        assert ran(lambda: 2.5 * t) == ([-2.5, 0, 2.5, 5], say("mul.Tensor"))
        assert ran(lambda: t.relu()) == ([0, 0, 1, 2], say("relu"))
        assert ran(lambda: t.view(2, 2)) == ([[-1, 0], [1, 2]], say("view"))
    for fuse in (True, True, False):
        # Twice: the second block runs the plan that the first has made.
        def chain(pipe):
            c = (((a + a) * 2).relu() + 1).exp().log()
            return c.view(2, 2)
        values, notes = ran(chain)
        assert np.allclose(values, [[1, 1], [5, 9]]), values
        assert notes == say("add.Tensor", "mul.Tensor", "relu", "add.Tensor", "view"), notes

def run(order):
    program = Program()
    for step in order:
        getattr(program, step)()
    check(program)

draw = random.Random(1)
orders = []
for base in itertools.permutations(["load", "first", "close", "fail"]):
    if base.index("first") < base.index("close"):
        for further in ([], ["refresh"], ["refresh", "second"]):
            orders.append(list(base[: draw.randrange(1, 5)] if not further else base))
            for step in further:
                orders[-1].insert(draw.randrange(len(orders[-1]) + 1), step)
assert dc.backends()["cpu"].state == "installed"
failed = []
for order in orders:
    child = os.fork()
    if child == 0:
        try:
            run(order)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(order)
print(json.dumps([len(orders), failed]))
"""


@pytest.mark.long
def test_a_programs_kernels_run_in_every_order(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    count, failed = json.loads(done.stdout)
    assert not failed, done.stderr
    assert count == 36


INTERLEAVED = """
import os, random, warnings
import numpy as np
import dispatch_core as dc
import torchlike

warnings.simplefilter("ignore", dc.OverwriteWarning)
dc.load_backend("cpu")
draw = random.Random(os.environ.get("DISPATCH_PARITY_SEED", "1"))
LEVELS = ["backend", "alternative", "program"]
NUMPY = {
    "add.Tensor": lambda self, other, *, alpha=1: self + alpha * other,
    "mul.Tensor": lambda self, other: self * other,
    "sum.dim_IntList": lambda self, dim, keepdim, *, dtype: np.asarray(self.sum()),
    "relu": lambda self: np.maximum(self, 0),
}
a = torchlike.tensor([1.0, -2.0, 3.0])
# Whether a call is one of an operator that gives way, to kernels of a higher level than the backend's.
CALLS = {
    "add.Tensor": [(lambda: a + a, False), (lambda: a.add(a, alpha=3), False), (lambda: a + 2, True)],
    "mul.Tensor": [(lambda: a * a, False), (lambda: a * 2, True)],
    "sum.dim_IntList": [(lambda: a.sum(0), False), (lambda: a.sum(), True)],
    "relu": [(lambda: a.relu(), False)],
}
ran, held = [], []

def noting(step, name):
    def kernel(*args, **kwargs):
        ran.append((step, name))
        return NUMPY[name](*args, **kwargs)
    return kernel

for step in range(80):
    name, level = draw.choice(list(NUMPY)), draw.randrange(3)
    if draw.random() < 0.55 or not held:
        with dc.registry.transaction(level=LEVELS[level]):
            library = dc.Library("aten", "IMPL", "CPU")
            library.impl(name, noting(step, name))
        held.append((name, level, step, library))
    else:
        held.pop(draw.randrange(len(held)))[-1].close()
    if draw.random() < 0.1:
        dc.refresh()
    for name, calls in CALLS.items():
        level, winner = max(((each[1], each[2]) for each in held if each[0] == name), default=(-1, None))
        for number, (call, gives_way) in enumerate(calls):
            wanted = [] if winner is None or (gives_way and not level) else [(winner, name)]
            for options in (None, {}, {"fuse": False}):
                ran.clear()
                if options is None:
                    found = call()
                else:
                    with torchlike.pipeline(**options):
                        found = call().neg()
                found.tolist()
                got = [each for each in ran if each[1] == name]
                assert got == wanted, (step, name, number, options, got, wanted)
"""


@pytest.mark.long
def test_the_winner_runs_after_any_interleaving(tmp_path):
    """Registrations of every level come and go; eager calls, fused and unfused pipelines run the winner's kernel."""
    done = subprocess.run(
        [sys.executable, "-c", INTERLEAVED], capture_output=True, check=False, cwd=tmp_path, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("key", ["AutogradCPU", "Autograd"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "floor_divide"])
@pytest.mark.parametrize("suffix", ["", "_"])
def test_a_number_reaches_a_programs_autograd_kernel_for_tensors(key, name, suffix):
    ran = []

    def kernel(self, *rest, **options):
        ran.append(rest)
        return self if suffix else self.detach()

    x = torchlike.ones(3, requires_grad=True) * 1
    overload = name if (name, suffix) == ("floor_divide", "") else f"{name}{suffix}.Tensor"
    with dc.Library("aten", "IMPL", key) as program:
        program.impl(overload, kernel, allow_override=True)
        getattr(x, name + suffix)(2)
        assert len(ran) == 1 and ran[0][0].item() == 2
    getattr(x, name + suffix)(2)
    assert len(ran) == 1
