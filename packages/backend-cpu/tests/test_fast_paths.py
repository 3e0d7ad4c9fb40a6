import traceback

import numpy as np
import pytest

from dispatch_backend_cpu.fp_errors import run
from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.ops.support.fast_paths import attempt


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


def test_tracebacks_show_the_source_of_fast_paths():
    KERNELS["mm"](np.ones((1, 1)), np.ones((1, 1)))  # makes its code
    with pytest.raises(AttributeError) as caught:
        KERNELS["mm"](1, 2)
    assert "if (dtype := self.dtype) is mat2.dtype" in "".join(traceback.format_exception(caught.value))
