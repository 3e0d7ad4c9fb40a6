"""What the libraries refuse is refused as on the cpu, by errors of ours that name the operator."""

import pytest

import dispatch_core as dc
import torchlike as t
from dispatch_aten.errors import DimensionError, OperatorError, ShapeError
from dispatch_backend_array_api.refusals import translate_refusals

DEVICES = ("strict", "torch", "jax", "dask")


def _set(device, key):
    t.ones(5, device=device)[key] = t.ones(4, device=device)


CALLS = {
    "add": lambda d: t.ones(5, device=d) + t.ones(4, device=d),
    "add_": lambda d: t.ones(5, device=d).add_(t.ones(4, device=d)),
    "copy_": lambda d: t.ones(5, device=d).copy_(t.ones(4, device=d)),
    "set a slice": lambda d: _set(d, slice(1, 3)),
    "set by an array": lambda d: _set(d, t.tensor([1, 2], device=d)),
    "where": lambda d: t.where(t.ones(5, device=d) > 0, t.ones(4, device=d), t.ones(5, device=d)),
    "conv1d": lambda d: t.nn.functional.conv1d(t.ones(1, 2, 5, device=d), t.ones(1, 3, 2, device=d)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("device", DEVICES)
def test_sizes_that_do_not_fit_are_refused_as_on_the_cpu(device, name):
    with pytest.raises(ShapeError) as expected:
        CALLS[name]("cpu")
    with pytest.raises(ShapeError) as found:
        CALLS[name](device)
    assert found.value.text == expected.value.text
    assert found.value.operator


def test_errors_that_no_rule_knows_name_the_operator_and_the_device():
    x = t.ones(5, device="torch")
    with pytest.raises(DimensionError, match=r"device 'torch' refuses it: IndexError: index 7 .*aten::index.Tensor"):
        x[t.tensor([7], device="torch")]
    with pytest.raises(OperatorError, match=r"device 'torch' refuses it: .*ZeroDivisionError.*aten::floor_divide"):
        t.tensor([1], device="torch") // 0


@pytest.mark.parametrize("error", [MemoryError, OSError, RecursionError, KeyboardInterrupt, UserWarning])
def test_errors_of_the_machine_stay_what_they_are(error):
    def kernel(array):
        raise error("as it is")

    with pytest.raises(error, match="as it is"):
        translate_refusals(None, "exp", kernel)(0)


@pytest.mark.parametrize("device", DEVICES)
def test_there_is_one_device_of_each(device):
    assert t.ones(1, device=f"{device}:0").tolist() == [1.0]
    with pytest.raises(dc.BackendError, match=f"There is no device '{device}:1'"):
        t.ones(1, device=f"{device}:1")
