"""Generated code beside other tools: profilers hash it; operators are copied and pickled."""

from __future__ import annotations

import copy
import cProfile
import gc
import pickle
import pstats
import subprocess
import sys
import weakref
from types import CodeType, FunctionType

import pytest

import dispatch_core as dc
import torchlike


def run():
    a, total = torchlike.ones(3), torchlike.ones(3)
    for _ in range(4):
        with torchlike.pipeline():
            x = ((a + 1) * 2).relu()
            total.add_(x)
            y = torchlike.cat([x[1:], torchlike.rand(3), total.view(3)]).sum(0, keepdim=True)
        y.item()
    weight = torchlike.ones(3, requires_grad=True)
    (weight * a).sum().backward()
    return weight.grad


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def generated_codes():
    gc.unfreeze()  # the list leaves out what is frozen
    functions = [each for each in gc.get_objects() if type(each) is FunctionType]
    found = [code for function in functions for code in codes(function.__code__)]
    return [code for code in found if code.co_filename.startswith("<") and not code.co_filename.startswith("<frozen")]


def test_all_generated_code_can_be_hashed():
    run()
    found = generated_codes()
    assert len(found) > 100
    for code in found:
        hash(code)


def test_a_profiler_counts_calls_of_generated_code():
    run()
    profiler = cProfile.Profile()
    profiler.runcall(run)
    assert any("aten::add" in file for file, _, _ in pstats.Stats(profiler).stats)


OPS = {
    "packet": lambda: dc.ops.aten.add,
    "overload": lambda: dc.ops.aten.add.Tensor,
    "overload without a name": lambda: dc.ops.aten.sum.default,
    "overload with a name and a point in its defaults": lambda: dc.ops.aten.leaky_relu.default,
    "overload beside one without a name": lambda: dc.ops.aten.sum.dim_IntList,
    "namespace": lambda: dc.ops.aten,
    "all": lambda: dc.ops,
}


@pytest.mark.parametrize("protocol", [4, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("get", OPS.values(), ids=OPS.keys())
def test_copies_and_pickles_of_operators_are_the_operators(get, protocol):
    run()
    op = get()
    assert copy.copy(op) is op
    assert copy.deepcopy(op) is op
    assert copy.deepcopy([op]) == [op]
    assert pickle.loads(pickle.dumps(op, protocol)) is op


def test_every_operator_that_exists_is_pickled():
    for name in list(dc.registry.entries):
        op = dc.registry.get(name).op
        assert pickle.loads(pickle.dumps(op)) is op


def test_a_pickle_is_read_by_another_process():
    data = pickle.dumps([dc.ops.aten.add, dc.ops.aten.add.Tensor])
    program = f"import pickle, torchlike as t; _, add = pickle.loads({data!r}); print(add(t.ones(1), t.ones(1)).item())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60)
    assert done.stdout == "2.0\n"


def test_an_operator_of_a_private_registry_is_copied_and_not_pickled():
    registry = dc.Registry()
    library = dc.Library("mine", "DEF", registry=registry)
    library.define("f(int x) -> int")
    packet = registry.ops.mine.f
    assert copy.deepcopy(packet) is packet
    with pytest.raises(TypeError, match="a registry that only this process has"):
        pickle.dumps(packet)


def test_an_operator_that_was_called_and_closed_is_collected():
    """Code refers to the functions that it runs, and the collector does not look into code."""

    def called(number):
        library = dc.Library("gone", "DEF")
        library.define(f"op{number}(int x) -> int")
        library.impl(f"op{number}", lambda x: x + 1, "CompositeImplicitAutograd")
        op = getattr(dc.ops.gone, f"op{number}").default
        assert op(1) == 2
        library.close()
        return weakref.ref(op)

    found = [called(number) for number in range(5)]
    gc.collect()
    assert [each() for each in found] == [None] * 5


@pytest.mark.long
def test_names_of_closed_operators_cost_nothing():
    def objects():
        gc.collect()
        return sum(type(each).__name__ in ("OperatorName", "OpOverloadPacket") for each in gc.get_objects())

    def define(numbers):
        for number in numbers:
            library = dc.Library("named", "DEF")
            library.define(f"op{number}(int x) -> int")
            assert getattr(dc.ops.named, f"op{number}").default is not None
            library.close()

    define(range(5))
    before = objects()
    define(range(5, 25))
    assert objects() <= before
