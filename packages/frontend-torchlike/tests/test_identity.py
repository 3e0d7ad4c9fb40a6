"""Modules, classes and functions say torch's names where torchlike stands in for torch, and theirs elsewhere."""

import pytest

import torchlike
from torchlike.names.torch_homes import HOMES
from torchlike.names.torch_modules import MODULES, WITHIN, own_name
from torchlike.shells.table import has_module, list_modules, read_module

pytestmark = pytest.mark.no_pipeline(reason="its programs run in a process of their own")

NAMED = """
import importlib.util, inspect, pickle, copy
import torch.nn.functional as F
assert torch.__name__ == torch.__spec__.name == importlib.util.find_spec("torch").name == "torch"
assert torch.nn.functional.__name__ == F.__spec__.name == "torch.nn.functional" and repr(F).startswith("<module 'torch.nn.f")
classes = [torch.Tensor, torch.Size, torch.dtype, torch.device, torch.nn.Linear, torch.nn.GRUCell, torch.optim.AdamW]
classes += [torch.distributions.Normal, type(torch.distributions.constraints.real), torch.Generator, torch.UntypedStorage]
classes += [torch.nn.utils.rnn.PackedSequence, torch.optim.lr_scheduler.StepLR, torch.utils.data.DataLoader]
# As torch says them.
print(*(f"{each.__module__}.{each.__qualname__}" for each in classes))
print(*(each.__module__ for each in (F.relu, F.cross_entropy, torch.relu, torch.einsum, torch.linalg.inv, torch.compile)))
print(*(each.__module__ for each in (torch.autograd.grad, torch.func.hessian, torch.set_autocast_enabled)))
for each in (*classes, F.cross_entropy, torch.relu, torch.linalg.inv):
    assert pickle.loads(pickle.dumps(each)) is each, each
for each in (torch.ones(2), torch.nn.Linear(2, 2), torch.float16, torch.device("cpu"), torch.Size([2])):
    assert type(pickle.loads(pickle.dumps(each))) is type(copy.deepcopy(each)) is type(each)
assert inspect.getsource(torch.nn.Linear).startswith("class Linear(Module)")
"""


@pytest.fixture(scope="module")
def outcomes(run_programs):
    return run_programs({"named": NAMED, "complete": COMPLETE, "errors": ERRORS, "metadata": METADATA})


def test_modules_classes_and_functions_have_torchs_names(outcomes):
    shown, error = outcomes["named"]
    assert error == ""
    classes, functions, moved = shown.splitlines()
    assert (
        classes.split()
        == (
            "torch.Tensor torch.Size torch.dtype torch.device torch.nn.modules.linear.Linear torch.nn.modules.rnn.GRUCell"
            " torch.optim.adamw.AdamW torch.distributions.normal.Normal torch.distributions.constraints._Real"
            " torch._C.Generator"
            " torch.storage.UntypedStorage torch.nn.utils.rnn.PackedSequence torch.optim.lr_scheduler.StepLR"
            " torch.utils.data.dataloader.DataLoader"
        ).split()
    )
    assert functions == "torch.nn.functional torch.nn.functional torch torch torch.linalg torch"
    assert moved == "torch.autograd torch.func torch"


HINTS = """
import importlib, inspect, typing
from dispatch_aten.torch_names import TORCH_NAMES

checked = 0
for namespace in TORCH_NAMES:
    owner = torch.Tensor if namespace == "Tensor" else torch
    for part in namespace.split(".") if namespace not in ("torch", "Tensor") else ():
        owner = getattr(owner, part, None)
    for name in {*dir(owner)} & TORCH_NAMES[namespace]:
        found = getattr(owner, name, None)
        if isinstance(found, type) or inspect.isfunction(found):
            typing.get_type_hints(found)
            checked += 1
            for member in vars(found).values() if isinstance(found, type) else ():
                if inspect.isfunction(member):
                    typing.get_type_hints(member)
print(checked > 1500)
"""


@pytest.mark.long
def test_the_hints_of_every_public_class_and_function_are_found(run_programs):
    assert run_programs({"hints": HINTS})["hints"] == ("True", "")


COMPLETE = """
import inspect, torch.distributions
for module, count, name in ((torch.nn, 160, "GRU"), (torch.optim, 14, "LBFGS"), (torch.distributions, 60, "Gamma")):
    found = vars(module)
    classes = [each for each in found.values() if isinstance(each, type)]
    assert name in found and len(classes) > count - 20, (module, len(classes))
    assert {*module.__all__} <= {*found} and {*module.__all__} <= {*dir(module)}
    assert {*module.__all__} <= {name for name, _ in inspect.getmembers(module)}
"""


def test_the_dictionaries_of_packages_are_complete(outcomes):
    assert outcomes["complete"] == ("", "")


ERRORS = """
codes = ("torch.frobnicate", "torch.nn.Sequentail", "torch.nn.Linear(1, 1).register_buffer('a', 3)")
for code in codes:
    try:
        eval(code)
    except (AttributeError, TypeError) as error:
        assert "torchlike" not in str(error), str(error)
        assert "torch" in str(error), str(error)
    else:
        raise AssertionError(code)
import torch._frobnicate
"""


def test_errors_name_torchs_modules(outcomes):
    assert outcomes["errors"] == ("", "ModuleNotFoundError: No module named 'torch._frobnicate'")


METADATA = """
from importlib import metadata
print(metadata.version("torch") == torch.__version__, metadata.metadata("torch")["Name"])
print(metadata.packages_distributions()["torch"][0], metadata.version("numpy").partition(".")[0])
"""


def test_torch_is_an_installed_distribution(outcomes):
    assert outcomes["metadata"] == ("True torch\ntorch 2", "")


def test_outside_nothing_pretends():
    assert torchlike.__name__ == torchlike.__spec__.name == "torchlike"
    assert (
        torchlike.nn.Linear.__module__ == "torchlike.nn.modules.linear" and torchlike.Tensor.__module__ == "torchlike"
    )
    with pytest.raises(AttributeError, match=r"^module 'torchlike' has no attribute 'frobnicate'"):
        torchlike.frobnicate  # noqa: B018


def test_the_modules_that_are_named_are_torchs():
    assert [name for name in {*MODULES, *WITHIN, *HOMES.values()} if not has_module(name)] == []
    for home, names in read_homes().items():
        assert [name for name in names if name not in read_module(home) and name.istitle()] == [], home
    for ours in {ours for ours in MODULES.values() if ":" not in ours}:
        path = "torch" + ours.removeprefix("torchlike")
        assert (own_name(ours) is None) == (path in list_modules()), ours


def read_homes():
    found = {}
    for path, home in HOMES.items():
        found.setdefault(home, []).append(path.rpartition(".")[2])
    return found
