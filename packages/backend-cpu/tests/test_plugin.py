import numpy as np
import pytest

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT
from dispatch_aten.operators import ATEN
from dispatch_aten.variants import functional_of
from dispatch_backend_cpu import plugin
from dispatch_backend_cpu.kernels import KERNELS, SPECIALIZED

NAMES = {operator.name for operator in ATEN}


def test_the_backend_describes_itself():
    info = plugin.dispatch_backend_info()
    [array] = info.array_types
    assert (info.name, info.dispatch_key, array.type) == ("cpu", "CPU", np.ndarray)
    view = np.zeros((2, 3), np.float32)[:, 1:]
    assert (array.shape(view), array.strides(view), array.storage_offset(view)) == ((2, 2), (3, 1), 1)
    assert array.dtype(view).short == "float32"
    assert plugin.dispatch_is_available()


def test_kernels_have_operators():
    assert set(KERNELS) <= NAMES
    assert set(SPECIALIZED) <= set(KERNELS)


def test_composites_that_are_differentiated_through_their_parts_are_left_alone():
    assert set(KERNELS) & set(IMPLICIT) == set()


def test_every_operator_is_a_kernel_or_composed_of_some():
    alone = {name for name in NAMES if functional_of(name) is None}
    assert alone - set(KERNELS) - set(IMPLICIT) - set(EXPLICIT) == set()


@pytest.mark.no_pipeline(reason="a call on raw arrays gives a value that is not an array yet")
def test_raw_arrays_reach_the_kernels():
    a = np.ones(2, np.float32)
    assert dc.ops.aten.add.Tensor(a, a).tolist() == [2, 2]
    assert dc.ops.aten.add.Tensor(a, a, alpha=3).tolist() == [4, 4]
    assert dc.ops.aten.sum(a).shape == ()
    assert type(dc.ops.aten.sum(a)) is np.ndarray


@pytest.mark.parametrize("name", sorted(SPECIALIZED))
def test_specialized_kernels_agree_with_the_general_ones(name):
    other = 2.0 if "Scalar" in name else np.array([3.0, 4.0])
    options = ((1,), {}) if "Scalar" in name else ((), {"alpha": 1})
    general = KERNELS[name](np.array([1.0, 2.0]), other, *options[0], **options[1])
    assert SPECIALIZED[name](np.array([1.0, 2.0]), other).tolist() == general.tolist()


@pytest.mark.no_pipeline(reason="a pipeline runs the kernel when its value is read")
@pytest.mark.parametrize("name", ["relu", "add_.Tensor", "sum", "split.Tensor", "view", "equal"])
def test_a_kernel_that_leaves_its_call_to_no_other_is_an_error(name):
    given = {"add_.Tensor": (np.ones(2),), "split.Tensor": (1,), "view": ([1, 2],), "equal": (np.ones(2),)}
    op = dc.registry.get(f"aten::{name}").op
    with dc.Library("aten", "IMPL") as library:
        library.impl(name, lambda *args, **kwargs: NotImplemented, "CPU", allow_override=True)
        with pytest.raises(dc.KernelResultError, match="NotImplemented"):
            op(np.ones(2), *given.get(name, ()))
