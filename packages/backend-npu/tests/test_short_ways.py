"""Functions for plain calls of composites: each is one call, in a process that works with one device of the type."""

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.of_functions, pytest.mark.no_pipeline(reason="a process of its own")]

PROGRAM = """
import torchlike
from dispatch_backend_npu import runtime
from dispatch_backend_npu.simulator import Simulator
import os

simulator = Simulator(os.environ["ASCEND_HOME_PATH"])
torchlike.manual_seed(0)
x = torchlike.randn(3, 3).to("npu")
n = torchlike.tensor([[1, 2, 0], [2, 1, 1], [0, 0, 3]]).to("npu")
counts, y = n[:, 0].contiguous(), x.clone().requires_grad_()
CALLS = {
    "aclnnReduceNansum": lambda: x.nansum(),
    "aclnnIsClose": lambda: torchlike.isclose(x, x),
    "aclnnTrace": lambda: x.trace(),
    "aclnnMishBackward": lambda: torchlike.autograd.grad(torchlike.nn.functional.mish(y), y, x),
    "aclnnRenorm": lambda: x.renorm(2, 0, 1.0),
    "aclnnRepeatInterleaveWithDim": lambda: n.repeat_interleave(counts, dim=0),
    "aclnnRepeatInterleave": lambda: n.repeat_interleave(n.flatten()),
}
for function, call in CALLS.items():
    simulator.reset()
    call()
    runtime.synchronize()
    print(function, function in simulator.log())
"""


def test_plain_calls_are_the_functions(npu):
    if npu is None:
        pytest.skip("looks at the simulator's log")
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    assert {line.split()[1] for line in done.stdout.splitlines()} == {"True"}, done.stdout
