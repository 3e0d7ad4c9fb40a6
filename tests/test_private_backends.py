"""What programs for torch call to bring a device of their own is accepted, and their programs run."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
import torch
from logged_device import Device
from torch.utils.backend_registration import rename_privateuse1_backend

slate = Device()
handle = slate.register()
rename_privateuse1_backend("slate")
torch.utils.rename_privateuse1_backend("slate")
for name, words in (("cuda", "in-tree device name: cuda"), ("other", "already been set! Current backend: slate")):
    try:
        rename_privateuse1_backend(name)
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(name)
assert torch.slate is torch.get_device_module("slate") and torch.slate.__name__ == "torch.slate"
import torch.slate
from torch.slate import memory_allocated
assert torch.slate.Stream.__module__ == "torch.slate" and torch.Stream.__module__ == torch.Event.__module__ == "torch"
assert torch.OutOfMemoryError.__module__ == "torch"

class Module:
    is_available = staticmethod(lambda: True)
    answer = 42

torch._register_device_module("slate", Module)
assert torch.get_device_module("slate") is Module and torch.slate.answer == 42
try:
    torch._register_device_module("slate", Module)
except RuntimeError as error:
    assert "The runtime module of 'slate' has already been registered with" in str(error), error
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
try:
    torch.utils.generate_methods_for_privateuse1_backend()
except RuntimeError as error:
    assert "torch.Tensor'> has already been registered with is_slate" in str(error), error
x = torch.ones(2).slate()
assert x.is_slate and torch.nn.Linear(1, 1).slate(1).weight.device == torch.device("slate:1")
handle.close()
assert torch.ones(1).is_slate is False
try:
    torch.ones(1).slate()
except RuntimeError as error:
    assert "'slate'" in str(error), error
print("all is well")
"""


def test_a_program_for_torch_brings_its_device(root):
    program = PROGRAM.format(tests=str(Path(__file__).parent))
    run = subprocess.run(
        [sys.executable, "-m", "torchlike", "run", "-c", program], capture_output=True, text=True, check=False, cwd=root
    )
    assert run.stdout.strip() == "all is well", run.stderr
