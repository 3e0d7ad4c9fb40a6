"""The examples that are written for torch's names, run under both libraries from the same seed."""

import re
import subprocess
import sys

import pytest

#: Replaces torchlike's modules by torch's, and runs a script.
UNDER_TORCH = """
import runpy, sys
import torch, torch.optim.lr_scheduler, torch.utils.data
torch.set_num_threads(1)
for name, module in list(sys.modules.items()):
    if name == "torch" or name.startswith("torch."):
        sys.modules["torchlike" + name[5:]] = module
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def run_both(root):
    def run(name, *arguments):
        script = str(root / "examples" / name)
        found = []
        for command in ([], ["-c", UNDER_TORCH]):
            done = subprocess.run(
                [sys.executable, *command, script, *arguments], capture_output=True, check=False, text=True, timeout=300
            )
            assert done.returncode == 0, done.stderr
            found.append(done.stdout)
        return found

    return run


def test_a_gpt_has_torch_s_losses_for_100_steps(run_both):
    sizes = ["--width", "32", "--block", "32", "--batch-size", "8", "--steps", "100", "--sample", "20"]
    ours, theirs = (
        [float(loss) for loss in re.findall(r"loss ([\d.]+)", text)] for text in run_both("train_gpt.py", *sizes)
    )
    assert len(theirs) == 11
    assert ours == pytest.approx(theirs, abs=1e-3)
    assert theirs[-2] < theirs[0] - 0.5


def test_a_convolutional_network_has_torch_s_losses(run_both):
    pytest.importorskip("sklearn", reason="the example reads its images from scikit-learn")
    ours, theirs = run_both("train_images.py", "--epochs", "2")
    losses = [[float(loss) for loss in re.findall(r"loss ([\d.]+)", text)] for text in (ours, theirs)]
    assert len(losses[1]) == 2
    assert losses[0] == pytest.approx(losses[1], abs=2e-3)
