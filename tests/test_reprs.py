"""Objects as a prompt shows them: a class's name and a few facts, on one line, without an address."""

import importlib
import inspect
import re
import rlcompleter
import subprocess
import sys
import warnings

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.lazy_text import WIDTH
from torchlike.optim import lr_scheduler
from torchlike.utils import data

_MODULES = (
    "dispatch_core dispatch_core.frontends dispatch_core.planning dispatch_core.schema torchlike torchlike.amp"
    " torchlike.autograd torchlike.autograd.forward_ad torchlike.autograd.graph torchlike.cuda torchlike.distributions"
    " torchlike.nn torchlike.npu torchlike.optim torchlike.optim.lr_scheduler torchlike.optim.swa_utils torchlike.profiler"
    " torchlike.utils.data"
).split()
#: Classes that no program has an instance of: protocols, names in annotations, names with functions, and torch's types.
_NO_INSTANCES = {
    dc.OpOverload,
    dc.Tensor,
    torchlike.autograd.Function,
    torchlike.autograd.Variable,
}


def list_classes():
    for name in _MODULES:
        module = importlib.import_module(name)
        for each in getattr(module, "__all__", dir(module)):
            found = getattr(module, each, None)
            if inspect.isclass(found) and found.__module__.partition(".")[0] in (
                "dispatch_core",
                "dispatch_pipelines",
                "torchlike",
                "torchlike_array_api",
                "torchlike_distributions",
            ):
                yield found


def is_listed(cls):
    return cls in _NO_INSTANCES or type(cls).__instancecheck__ is not type.__instancecheck__


def test_no_public_class_leaves_its_instances_without_a_repr():
    poor = {cls for cls in list_classes() if cls.__repr__ is object.__repr__ and not is_listed(cls)}
    assert poor == set()


def make_samples():
    rows = torchlike.ones(4, 2)
    dataset = data.TensorDataset(rows, torchlike.zeros(4))
    weight = torchlike.ones(2, requires_grad=True)
    optimizer = torchlike.optim.SGD([weight], lr=0.5)
    stream = type("Stream", (data.IterableDataset,), {"__iter__": lambda self: iter(range(3))})()
    registry = dc.Registry()
    library = dc.Library("demo", "DEF", registry=registry)
    for number in range(40):
        library.define(f"f.overload{number}(Tensor self, int y{number}) -> Tensor")
    step = lr_scheduler.StepLR(optimizer, 30)
    return {
        "Ops": registry.ops,
        "Registry": registry,
        "OpNamespace": registry.ops.demo,
        "OpOverloadPacket": registry.ops.demo.f,
        "Library": library,
        "KernelHandle": dc.get_kernel("aten::add.Tensor", "CPU"),
        "include_keys": dc.include_keys("Tracer", "Profiler"),
        "exclude_keys": dc.exclude_keys(*[key for key in dc.DispatchKey if not key.is_alias][:40]),
        "use_kernels": dc.use_kernels(only=True),
        "trace": dc.trace(),
        "profile": dc.profile(),
        "Window": dc.frontends.Window(np.ones(3), {}),
        "TensorDataset": dataset,
        "StackDataset": data.StackDataset(dataset, dataset),
        "ConcatDataset": data.ConcatDataset([dataset]),
        "ChainDataset": data.ChainDataset([stream]),
        "Subset": data.Subset(dataset, list(range(3)) * 100),
        "Stream": stream,
        "DataLoader": data.DataLoader(dataset, batch_size=2, shuffle=True),
        "_SingleProcessDataLoaderIter": iter(data.DataLoader(dataset)),
        "SequentialSampler": data.SequentialSampler(dataset),
        "RandomSampler": data.RandomSampler(dataset),
        "SubsetRandomSampler": data.SubsetRandomSampler(range(100)),
        "WeightedRandomSampler": data.WeightedRandomSampler([0.5] * 100, 3),
        "BatchSampler": data.BatchSampler(range(5), 2, drop_last=False),
        "DistributedSampler": data.DistributedSampler(dataset, 2, 1),
        "StepLR": step,
        "SequentialLR": lr_scheduler.SequentialLR(optimizer, [step, lr_scheduler.LinearLR(optimizer)], [3]),
        "OneCycleLR": lr_scheduler.OneCycleLR(optimizer, 0.1, 100),
        "LambdaLR": lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5),
        "no_grad": torchlike.no_grad(),
        "inference_mode": torchlike.inference_mode(),
        "autocast": torchlike.autocast("cpu"),
        "saved_tensors_hooks": torchlike.autograd.graph.saved_tensors_hooks(abs, lambda tensor: tensor),
        "record_function": torchlike.profiler.record_function("a" * 300),
        "RemovableHandle": weight.register_hook(lambda grad: grad),
    }


def make_plain():
    """Return an instance of each public class that is made without arguments and shows more than its class."""
    for cls in dict.fromkeys(list_classes()):
        if is_listed(cls) or issubclass(cls, BaseException | torchlike.nn.Module | torchlike.Tensor | torchlike.finfo):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = cls()
        except (TypeError, ValueError, AttributeError, RuntimeError, KeyError):
            continue
        # Torch's nodes have addresses; a pending value, and the options of a loss, are shown as records.
        if cls.__name__ not in ("Node", "Pending", "LinearCrossEntropyOptions"):
            yield cls.__qualname__, made


def test_every_object_fits_one_line_and_shows_no_address():
    shown = {name: repr(made) for name, made in [*make_samples().items(), *make_plain()]}
    assert len(shown) > 60
    wrong = {name: text for name, text in shown.items() if "\n" in text or " at 0x" in text or len(text) > WIDTH}
    assert wrong == {}


def test_the_facts_are_those_of_the_object():
    made = {name: repr(each) for name, each in make_samples().items()}
    assert made["DataLoader"] == (
        "DataLoader(dataset=TensorDataset, batch_size=2, sampler=RandomSampler, num_workers=0, drop_last=False)"
    )
    assert made["Ops"] == "<Ops: demo>"
    assert made["Registry"] == "<Registry: 1 operator in demo>"
    assert made["OpNamespace"] == "<OpNamespace demo: 1 operator>"
    assert made["OpOverloadPacket"].startswith("<OpOverloadPacket demo::f: overload0, overload1, ")
    assert made["OpOverloadPacket"].endswith("more>")
    assert made["TensorDataset"] == "TensorDataset(samples=4, tensors=2)"
    assert made["Subset"] == "Subset(dataset=TensorDataset, samples=300)"
    assert made["include_keys"] == "include_keys(Profiler, Tracer)"
    assert made["KernelHandle"].startswith("<KernelHandle aten::add.Tensor CPU: kernel")
    assert made["StepLR"].startswith("StepLR(step_size=30, gamma=0.1, base_lrs=[0.5], last_epoch=0")
    assert made["_SingleProcessDataLoaderIter"] == "_SingleProcessDataLoaderIter(loader=DataLoader, num_yielded=0)"
    assert repr(torchlike.set_grad_enabled(True)) == "set_grad_enabled(mode=True)"
    assert repr(torchlike.inference_mode(False)) == "inference_mode(mode=False)"


def test_a_repr_of_a_programs_class_calls_nothing_of_the_program():
    class Rows(data.Dataset):
        def __init__(self):
            self.folder, self.paths, self.table = "rows", ["a"] * 10_000, {}

        def __len__(self):
            raise AssertionError

    assert repr(Rows()) == f"{Rows.__qualname__}(folder='rows')"
    assert repr(data.DataLoader(Rows(), batch_size=2)).startswith("DataLoader(dataset=test_a_repr")


def test_a_packet_whose_library_is_closed_has_a_repr():
    registry = dc.Registry()
    with dc.Library("demo", "DEF", registry=registry) as library:
        library.define("f(int x) -> int")
        packet = registry.ops.demo.f
        assert repr(packet) == "<OpOverloadPacket demo::f: default>"
    assert repr(packet) == "<OpOverloadPacket demo::f: none>"


FRESH = """
import sys, rlcompleter
import dispatch_core as dc
print(repr(dc.ops), repr(dc.registry), repr(dc.ops.aten), sep="\\n")
assert "dispatch_aten" not in sys.modules
complete = rlcompleter.Completer({"dc": dc}).complete
print([complete("dc.ops.at", number) for number in range(2)])
assert {"aten", "prims"} <= {*dir(dc.ops)} and "dispatch_aten" not in sys.modules
names = dir(dc.ops.aten)
assert {"add", "mm", "relu"} <= {*names} and len(names) > 500, len(names)
assert not dc.registry._entries, "listing defines nothing"
assert not [name for name in sys.modules if name.startswith("dispatch_backend")]
print(complete("dc.ops.aten.hardtan", 0))
assert len(dc.registry._entries) < 20
assert dir(dc.ops.nothing) == []
print(repr(dc.ops.nothing))
"""


def test_a_fresh_process_knows_the_namespaces_and_operators_by_name():
    done = subprocess.run([sys.executable, "-P", "-c", FRESH], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    ops, registry, aten, completed, operator, nothing = done.stdout.splitlines()
    assert re.fullmatch(r"<Ops: (\w+, )*aten, (\w+, )*prims(, \w+)*>", ops)
    assert registry.startswith("<Registry of the process: 0 operators in ")
    assert aten == "<OpNamespace aten: 0 operators, its library is not loaded yet>"
    assert completed == "['dc.ops.aten', None]"
    assert operator.startswith("dc.ops.aten.hardtanh")
    assert nothing == "<OpNamespace nothing: 0 operators>"


@pytest.mark.parametrize("text", ["dc.ops.aten.add.", "dc.ops.aten.softm", "dc.registry.names", "dc.ops.pri"])
def test_completion_offers_what_there_is(text):
    completer = rlcompleter.Completer({"dc": dc})
    found = []
    while (each := completer.complete(text, len(found))) is not None:
        found.append(each)
    assert found
    assert all(each.startswith(text) for each in found)
    if text == "dc.ops.aten.add.":
        assert {"dc.ops.aten.add.Tensor", "dc.ops.aten.add.out"} <= {each.partition("(")[0] for each in found}
