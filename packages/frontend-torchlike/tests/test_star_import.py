"""What ``from torchlike import *`` brings, and which names modules may have."""

from pathlib import Path

import pytest

import torchlike
from dispatch_aten.torch_names import TORCH_NAMES

#: Names of ours that torch has not, or has as attributes alone.
OWN = {"capture", "install_as_torch", "npu", "pipeline", "synchronize"}
MODULES = {"autograd", "nn", "ops", "optim"}


def test_a_star_import_gives_torchs_names_and_few_of_ours():
    names = {}
    exec("from torchlike import *", names)
    brought = names.keys() - {"__builtins__"}
    assert brought == {*torchlike.__all__}
    assert {name for name in brought if name.startswith("_")} == set()
    extra = brought - TORCH_NAMES["torch"] - OWN - MODULES
    assert extra == {"ComplexDoubleTensor", "ComplexFloatTensor", "cpu", "is_autocast_available"}


@pytest.mark.parametrize("namespace", sorted({*TORCH_NAMES} - {"Tensor"}))
def test_no_module_has_the_name_of_something_else_in_its_package(namespace):
    folder = Path(torchlike.__file__).parent.joinpath(*([] if namespace == "torch" else namespace.split(".")))
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    # torch, too, has the module autograd.variable beside the function.
    assert modules & TORCH_NAMES[namespace] <= {"variable"}
