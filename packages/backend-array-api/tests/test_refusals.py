"""What the libraries refuse is refused as on the cpu, by errors of ours that name the operator."""

import pytest

import dispatch_core as dc
import torchlike as t
from dispatch_aten.errors import AtenError, DimensionError, OperatorError, ShapeError
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
    class Library:
        name, meta, explain = "shelf", staticmethod(lambda value: value), None

    def refuse(error):
        def kernel():
            raise error

        return translate_refusals(Library, "exp", kernel)

    with pytest.raises(DimensionError, match=r"device 'shelf' refuses it: IndexError: index 7 .*aten::exp"):
        refuse(IndexError("index 7 is not there"))()
    with pytest.raises(OperatorError, match=r"device 'shelf' refuses it: ZeroDivisionError.*aten::exp"):
        refuse(ZeroDivisionError())()


#: Calls that the cpu refuses because of a value.
VALUES = {
    "x[i]": lambda d: t.ones(5, device=d)[t.tensor([7], device=d)],
    "gather": lambda d: t.ones(5, device=d).gather(0, t.tensor([-1], device=d)),
    "scatter": lambda d: t.ones(5, device=d).scatter(0, t.tensor([-1], device=d), 1.0),
    "scatter_add": lambda d: t.ones(5, device=d).scatter_add(0, t.tensor([-1], device=d), t.ones(1, device=d)),
    "index_add": lambda d: t.ones(5, device=d).index_add(0, t.tensor([-1], device=d), t.ones(1, device=d)),
    "nll_loss": lambda d: t.nn.functional.nll_loss(t.ones(2, 3, device=d), t.tensor([0, -1], device=d)),
    "binary_cross_entropy": lambda d: t.nn.functional.binary_cross_entropy(*t.tensor([[0.5], [2.0]], device=d)),
    "bernoulli": lambda d: t.bernoulli(t.tensor([2.0], device=d)),
    "floor_divide": lambda d: t.tensor([1], device=d) // 0,
    "remainder": lambda d: t.tensor([1], device=d) % t.tensor([0], device=d),
    "fmod": lambda d: t.fmod(t.tensor([1], device=d), 0),
    "div": lambda d: t.div(t.tensor([1], device=d), 0, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("device", [each for each in DEVICES if each != "dask"])  # which looks at no values
def test_values_are_refused_as_on_the_cpu(device, name):
    with pytest.raises(AtenError) as expected:
        VALUES[name]("cpu")
    with pytest.raises(type(expected.value)) as found:
        VALUES[name](device)
    assert found.value.text == expected.value.text


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
