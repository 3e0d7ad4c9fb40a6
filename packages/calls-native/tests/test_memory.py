"""No statement keeps memory, and every allocation may fail."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

import dispatch_core as dc
import torchlike as T
from dispatch_core.calls.native import find_front

pytestmark = pytest.mark.skipif(find_front() is None, reason="the compiled front is turned off")
SOURCE = np.ones(3)
X, Y, M = T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]), T.ones(3, 3)
G, P = T.ones(2).requires_grad_(), T.nn.Parameter(T.ones(2, 3))
STATEMENTS = {
    "add": lambda: T.add(X, Y),
    "by name": lambda: T.add(input=X, other=Y, alpha=2),
    "a number": lambda: X * 2.0,
    "a reflected number": lambda: 2 * X,
    "neg": lambda: -X,
    "mm": lambda: T.mm(M, M),
    "view": lambda: M.view(9),
    "a view of a view": lambda: M.view(9).view(3, 3),
    "view of a shape": lambda: M.view(M.shape),
    "sizes one by one": lambda: M.view(1, 9),
    "t": M.t,
    "detach": M.detach,
    "item of a tensor": lambda: M[0],
    "a range": lambda: M[1:],
    "an item of a row": lambda: M[0][1],
    "items by a tuple": lambda: M[None, ..., 1:, 0],
    "all items": lambda: M[...],
    "an index that does not fit": lambda: M[7],
    "items of an item with a history": lambda: G[None][0],
    "unbind": lambda: M.unbind(0),
    "split": lambda: M.split(2),
    "cat": lambda: T.cat([X, Y]),
    "stack": lambda: T.stack((X, Y)),
    "sum": lambda: M.sum(1, keepdim=True),
    "max": lambda: M.max(0),
    "in place": lambda: X.add_(0.0),
    "a written view": lambda: M[0].mul_(1.0),
    "questions": lambda: (M.shape, M.dtype, M.device, M.ndim, M.requires_grad, G.requires_grad),
    "questions by methods": lambda: (
        M.size(),
        M.size(0),
        M.dim(),
        M.numel(),
        M.stride(),
        M.stride(1),
        M.is_contiguous(),
    ),
    "questions about a history": lambda: (G.grad, G.grad_fn, G.is_leaf, X.grad, (G * X).grad_fn),
    "questions of a parameter": lambda: (P.shape, P.size(0), P.requires_grad, P.is_contiguous()),
    "a question with a wrong index": lambda: M.size(9),
    "item": lambda: float(X[0].item()),
    "cast": lambda: X.to(T.float64),
    "grad": lambda: (G * X).sum().backward(),
    "grad of a leaf": lambda: T.autograd.grad((G * X).sum(), G),
    "grad of views": lambda: G.view(2, 1).sum(),
    "grad of lists": lambda: T.cat([G, X, G]),
    "grad of several results": lambda: dc.ops.aten.max.dim(P, 1),
    "grad of parts": lambda: P.split(1),
    "grad in place": lambda: (G * 1).mul_(G),
    "grad in place of a view": lambda: (P * 1)[0].add_(P[1]),
    "grad of a layer": lambda: T.nn.functional.linear(P, P),
    "grad of a product": lambda: P @ P.t(),
    "grad of kept results": P.tanh,
    "grad of facts": P.mean,
    "no_grad": T.no_grad()(lambda: G * X),
    "an overload": lambda: dc.ops.aten.add.Tensor(X, Y),
    "arrays": lambda: dc.ops.aten.add.Tensor(X.numpy(), Y.numpy()),
    "profile": lambda: dc.profile().__enter__().__exit__(None, None, None),
    "a factory": lambda: T.zeros(2, 3),
    "a factory with options": lambda: T.ones((2,), dtype=T.int64, device=X.device),
    "a factory of numbers": lambda: T.full((2,), 2.0),
    "numbers of the host": lambda: T.tensor([1.0, 2.0]),
    "an array of the host": lambda: T.from_numpy(SOURCE),
    "a new array of the host": lambda: T.from_numpy(np.ones(2)),
    "an array for the host": M.numpy,
    "an error of a factory": lambda: T.zeros(-1),
    "an error of a size": lambda: T.zeros("x"),
    "an error of a shape": lambda: T.mm(M, X),
    "an error of an argument": lambda: T.add(X, "x"),
    "an unknown name": lambda: T.add(X, Y, wrong=1),
}


def _chain():
    with dc.pipeline():
        found = (X * Y + X) * 0.5
    return found


STATEMENTS["a pipeline"] = _chain


def run(statement):
    try:
        statement()
    except Exception:  # noqa: BLE001  # some of the statements are errors
        return


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_keeps_no_memory(name):
    statement = STATEMENTS[name]
    for _ in range(300):
        run(statement)
    gc.collect()
    grown = []
    for _ in range(4):
        before = sys.getallocatedblocks()
        for _ in range(200):
            run(statement)
        gc.collect()
        grown.append(sys.getallocatedblocks() - before)
    assert min(grown) < 40, grown


_FAILING = r"""
import faulthandler, re, sys
faulthandler.enable()
import _testcapi
import torchlike as T
import dispatch_core as dc
sys.path.insert(0, {folder!r})
import test_memory as t
names = [name for name in t.STATEMENTS if name != "profile"]
for name in names:
    statement = t.STATEMENTS[name]
    for _ in range(100):
        t.run(statement)
    failed = 0
    for start in range(0, 60):
        _testcapi.set_nomemory(start, start + 1)
        try:
            statement()
        except MemoryError:
            failed += 1
        except SystemError as error:
            _testcapi.remove_mem_hooks()
            # CPython's own functions, and NumPy's, may forget to say that memory is out; the front does not.
            if re.match(r"<function (aten::|(add|mul|view|sum|mm|neg|t|cat|stack|detach|unbind|max) at)", str(error)):
                raise
        except BaseException:
            pass
        finally:
            _testcapi.remove_mem_hooks()
    t.run(statement)
    # An engine in Python that was out of memory may leave its modes on.
    if not any(word in name for word in ("error", "unknown", "grad", "does not", "wrong")):
        statement()
print("alive")
"""


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="CPython 3.12 and 3.13 end where memory is out, without the front, too"
)
def test_every_allocation_may_fail():
    pytest.importorskip("_testcapi", reason="this Python has no failing allocator")
    text = _FAILING.format(folder=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=300, env={**os.environ}
    )
    assert done.stdout.split()[-1:] == ["alive"], done.stderr[-3000:]
    assert done.returncode == 0
