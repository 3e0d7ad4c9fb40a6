import traceback

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_backend_cpu.fp_errors import run
from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.ops.support.fast_paths import attempt
from dispatch_core.calls import traits_of
from dispatch_core.operators.candidates import list_candidates
from dispatch_core.operators.resolution import resolve


def test_the_general_kernel_serves_what_the_fast_path_leaves():
    def halve(a):
        if a.ndim > 1:
            raise ValueError("many")
        return a / 2

    kernel = attempt("a", "a.dtype.kind == 'f'", "run(halve, a)", lambda a: "general", halve=halve)
    one = np.ones(1)
    assert kernel(one).tolist() == [0.5]
    assert kernel(one.astype(int)) == kernel(one.reshape(1, 1)) == run(kernel, one) == "general"


def test_a_fast_path_writes_into_the_parameter_that_it_returns():
    kernel = attempt("a, *, by=1", "True", "run(add, a, by)", lambda a, *, by: "general", into="a", add=np.add)
    a = np.zeros(2)
    assert kernel(a, by=3) is a
    assert a.tolist() == [3, 3]


@pytest.mark.parametrize("is_called", [False, True], ids=["before a call", "after calls"])
def test_the_dispatcher_knows_one_kernel_where_there_is_a_fast_path(is_called):
    general = lambda a: np.zeros(1)  # named by explanations
    kernel = attempt("a", "a.dtype.kind == 'f'", "run(negative, a)", general, negative=np.negative)
    registry = dc.Registry()
    with dc.Library("fast", "DEF", registry=registry) as library:
        library.define("f(Tensor a) -> Tensor")
        library.impl("f", kernel, "CPU")
        for a in [np.ones(1), np.ones(1, int)] * 20 * is_called:
            assert registry.ops.fast.f(a).tolist() == [-1.0 if a.dtype.kind == "f" else 0.0]
        found = resolve(registry.find_entry("fast::f"), dc.DispatchKey.CPU.value, 0)
        served = [each.registration for each in list_candidates(found, is_plain=True, hidden=True)]
        assert [each.fn for each in served] == [kernel]
        assert traits_of(kernel).stands_for() is general


def test_tracebacks_show_the_source_of_fast_paths():
    KERNELS["mm"](np.ones((1, 1)), np.ones((1, 1)))  # makes its code
    with pytest.raises(AttributeError) as caught:
        KERNELS["mm"](1, 2)
    assert "if (dtype := self.dtype) is mat2.dtype" in "".join(traceback.format_exception(caught.value))
