"""The main example trains on each library's device, to the loss of its numbers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = next(path for folder in Path(__file__).parents for path in folder.glob("examples/train_digits.py"))
#: The device whose own numbers are drawn for dropout → its loss.
LOSSES = {"jax": 0.598724}
PLANS = [("torch",), ("strict",), ("jax",), ("jax", "--pipeline"), ("torch", "--pipeline")]


@pytest.mark.parametrize("plan", PLANS, ids=" ".join)
def test_the_digits_are_learnt(plan):
    pytest.importorskip("sklearn")
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--epochs", "2", "--device", *plan],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"held-out images: ([\d.]+)%", done.stdout)[1]) > 85
    wanted = LOSSES.get(plan[0], 0.533844)
    assert float(re.search(r"to a loss of ([\d.]+)", done.stdout)[1]) == pytest.approx(wanted, abs=2e-3)
    assert f"backend: {plan[0]}, key {plan[0].capitalize()}, from dispatch-backend-array-api" in done.stdout
