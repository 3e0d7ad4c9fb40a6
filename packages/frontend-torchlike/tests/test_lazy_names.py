import copy
import pickle
import pydoc
import subprocess
import sys
import traceback

import pytest

import torchlike
from torchlike.functions.operator_functions import FUNCTIONS, METHODS
from torchlike.names.lazy_attributes import LazyAttribute

#: Modules that `import torchlike` leaves to the first use of their names, and some that take long to import.
UNUSED = (
    "pathlib scipy tempfile urllib.parse dispatch_aten.decompositions dispatch_aten.gradients dispatch_aten.shapes.rules"
    " torchlike.autograd.engine torchlike.autograd.function torchlike.methods.indexing torchlike.methods.transfers"
    " torchlike.nn torchlike.optim torchlike.random torchlike.serialization"
    " torchlike.signatures.function_signatures torchlike.tensors.printing"
)


def test_importing_defines_no_operator_and_imports_no_table():
    program = (
        "import sys, numpy, numpy.random\n"
        "before = {*sys.modules}\n"
        "import torchlike, dispatch_core as dc\n"
        "assert not dc.registry._entries, [*dc.registry._entries][:9]\n"
        f"unused = {UNUSED.split()}\n"
        "assert not {*unused} & (sys.modules.keys() - before), {*unused} & sys.modules.keys()\n"
        "from dispatch_aten import families\n"
        "assert not families._read.cache_info().currsize\n"
        "assert {'add', 'cat', 'zeros', 'float32', 'pipeline', 'linalg'} <= {*dir(torchlike)}\n"
        "names = {}\n"
        "exec('from torchlike import *', names)\n"
        "assert names['add'] is torchlike.add and names['float32'] is torchlike.float32\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_function_is_one_object_however_it_is_reached():
    assert torchlike.add is torchlike.add is FUNCTIONS["add"]
    assert METHODS["add"] is torchlike.Tensor.add is torchlike.Tensor.add
    assert METHODS["add"] is not FUNCTIONS["add"], "handlers of overrides tell methods from functions"
    assert pickle.loads(pickle.dumps(torchlike.add)) is copy.deepcopy(torchlike.add) is torchlike.add
    assert not {name for name in FUNCTIONS if getattr(torchlike, name) is not FUNCTIONS[name]}


def test_a_method_stands_in_the_class_once_it_was_used():
    x = torchlike.tensor([4.0, 1.0])
    for ask in (x.rsqrt, lambda: x - 1, lambda: 1 - x, lambda: -x, lambda: x[0], lambda: x.T, lambda: abs(x)):
        ask()
    names = ("rsqrt", "__sub__", "__rsub__", "__neg__", "__getitem__", "T", "__abs__")
    assert not any(isinstance(vars(torchlike.Tensor)[name], LazyAttribute) for name in names)
    assert x.rsqrt.__self__ is x
    assert {"asinh", "atanh_", "__xor__"} <= {*dir(x)}
    assert {*METHODS} <= {*dir(torchlike.Tensor)}
    assert all(getattr(torchlike.Tensor, name) is not None for name in METHODS)


def test_a_subclass_overrides_and_calls_on():
    class Loud(torchlike.Tensor):
        def log1p(self):
            return super().log1p() + 1

    assert Loud([0.0]).log1p().tolist() == [1.0]
    assert torchlike.zeros(1).log1p().tolist() == [0.0]


def test_threads_that_use_a_name_first_get_one_function():
    program = (
        "import threading, torchlike\n"
        "names = [name for name in dir(torchlike) if name.startswith('a')]\n"
        "found = []\n"
        "def work():\n"
        "    found.append([getattr(torchlike, name) for name in names])\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "assert len(found) == 4\n"
        "assert all(a is b for each in found for a, b in zip(each, found[0], strict=True))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize(
    "path",
    "matmull nn.Conv2dd nn.functional.rellu optim.Adamm linalg.invv fft.fftt special.erff func.gr Tensor.to_mkldnn".split(),
)
def test_the_traceback_of_a_misspelt_name_ends_at_the_users_line(path):
    owner, _, name = f"torchlike.{path}".rpartition(".")
    with pytest.raises(AttributeError) as caught:
        getattr(pydoc.locate(owner), name)
    assert [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)] == [__file__]


def test_a_misspelt_attribute_of_a_module_is_answered_by_the_nearest():
    layer = torchlike.nn.Linear(2, 1)
    with pytest.raises(AttributeError) as caught:
        _ = layer.wieght
    error = caught.value
    # Python looks for the nearest of them where it prints the error.
    assert (error.name, error.obj, "weight" in dir(layer)) == ("wieght", layer, True)
    assert len(traceback.extract_tb(error.__traceback__)) == 1
