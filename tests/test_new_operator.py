"""A new operator is a block of rows, as CONTRIBUTING says: it is tried in a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dispatch_aten

ROOT = Path(__file__).parents[1]
FAMILIES = Path("dispatch_aten", "families", "activation", "activation.rows")
ROWS = """
[frobnicate]  pointwise
  says      Multiply each element by the sigmoid of ``a`` times itself.
  means     a: the factor in the sigmoid
  promotion int_to_float
frobnicate(Tensor self, Scalar a=1) -> Tensor
  variants  frobnicate.out frobnicate_
  gradient  self: silu_backward(grad, mul(self, a))
  formula   self * sigmoid(self * a)
  sample    r.f(2, 3), 1.5
"""
PROGRAM = """
import numpy as np
import dispatch_core as dc, torchlike
from dispatch_aten.testing.samples import op_samples

def expected(x, a=1.0):
    return x / (1 + np.exp(-a * x))

frobnicate = dc.ops.aten.frobnicate
x, h = np.linspace(-2, 2, 6).reshape(2, 3), 1e-6
tensor = torchlike.tensor(x, requires_grad=True)
found = frobnicate(tensor, 1.5)
found.sum().backward()
assert np.allclose(found.detach().numpy(), expected(x, 1.5))
assert np.allclose(tensor.grad.numpy(), (expected(x + h, 1.5) - expected(x - h, 1.5)) / (2 * h))
assert torchlike.autograd.gradgradcheck(lambda t: frobnicate(t, 1.5), tensor)

with dc.pipeline():
    recorded = torchlike.vmap(lambda row: frobnicate(row, a=2))(tensor.detach())
assert np.allclose(recorded.numpy(), expected(x, 2))
described = frobnicate(torchlike.ones(4, 2, dtype=torchlike.int64, device="meta"))
assert (described.shape, described.dtype) == ((4, 2), torchlike.float32)
assert frobnicate(torchlike.arange(3)).dtype == torchlike.float32

written = tensor.detach().clone()
dc.ops.aten.frobnicate_(written, 1.5)
assert np.allclose(written.numpy(), expected(x, 1.5))
frobnicate(tensor.detach(), out=written)
assert np.allclose(written.numpy(), expected(x))
assert "the factor in the sigmoid" in frobnicate.__doc__
for sample in op_samples("frobnicate"):
    given = sample.arguments["self"]
    values = frobnicate(torchlike.asarray(given), sample.arguments["a"])
    with np.errstate(all="ignore"):
        assert np.allclose(values.numpy(), expected(given * 1.0, 1.5), 1e-5, equal_nan=True), sample
    print(sample.change)
"""


def run(folders, *command):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, check=False, text=True, timeout=240
    )


def add_rows(folder):
    path = folder / FAMILIES
    path.write_text(path.read_text(encoding="utf-8") + ROWS, encoding="utf-8")


def copy(folder, to):
    return Path(shutil.copytree(folder, to, ignore=shutil.ignore_patterns("__pycache__")))


def test_an_operator_is_a_block_of_rows(tmp_path):
    copy(Path(dispatch_aten.__file__).parent, tmp_path / "dispatch_aten")
    without = run([tmp_path], "-c", PROGRAM)
    assert without.returncode == 1
    assert "no operator is named aten::frobnicate" in without.stderr
    add_rows(tmp_path)
    done = run([tmp_path], "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert {"", "float32", "int64", "nan", "empty"} <= {*done.stdout.split("\n")}


@pytest.mark.long
@pytest.mark.texts
def test_an_operator_changes_three_files_one_by_hand(tmp_path):
    sources = [copy(each, tmp_path / each.relative_to(ROOT)) for each in ROOT.glob("packages/*/src")]
    copy(ROOT / "tools", tmp_path / "tools")
    copy(ROOT / "docs", tmp_path / "docs")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    add_rows(tmp_path / "packages" / "operators-aten" / "src")
    for tool in ("list_operators.py", "generate_stubs.py"):
        done = run(sources, "-B", str(tmp_path / "tools" / tool))
        assert done.returncode == 0, done.stderr
    changed = {
        path.name
        for path in tmp_path.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and path.read_bytes() != before.get(path)
    }
    assert changed == {"activation.rows", "operators.md", "known_namespaces.pyi"}
    page = (tmp_path / "docs" / "operators.md").read_text(encoding="utf-8")
    assert "`frobnicate`" in page
