"""Operators that a device has no kernel for, computed by the host where its backend says so."""

import warnings

import numpy as np
import pytest
from paired_devices import make_kernels, register

import dispatch_core as dc
import torchlike as t
from dispatch_devkit.command_line import main

pytestmark = pytest.mark.filterwarnings("ignore:The operator 'aten")


LACKING = (
    "sort",
    "cumsum",
    "cumprod",
    "erf",
    "nonzero",
    "_fft",
    "linalg_qr",
    "floor",
    "atan2",
    "prod",
    "scatter_reduce",
    "view_as_real",
)


def open_twin(fallback):
    kernels = {name: kernel for name, kernel in make_kernels().items() if not name.startswith(LACKING)}
    return register(kernels, fallback=fallback)


@pytest.fixture
def twin():
    with open_twin("host"):
        yield "twin"


def inputs():
    rng = np.random.default_rng(0)
    base = t.tensor(rng.normal(size=(6, 8)))
    yield "rows", lambda x: x, base
    yield "transposed", lambda x: x.t(), base
    yield "stepped", lambda x: x[::2, 1:7:2], base
    yield "expanded", lambda x: x[:1].expand(4, 8), base
    yield "empty", lambda x: x[:0], base


CALLS = {
    "sort": lambda x: x.sort(0),
    "sort stable": lambda x: x.sort(dim=1, stable=True, descending=True),
    "cumsum": lambda x: x.cumsum(0),
    "fft": t.fft.fft,
    "nonzero": lambda x: (x > 0).nonzero(),
    "prod": lambda x: x.prod(1),
    "erf": lambda x: x.erf(),
    "floor": lambda x: x.floor(),
    "floor_": lambda x: x.clone().floor_(),
    "atan2": lambda x: t.atan2(x, 0.5 * x),
    "qr": t.linalg.qr,
    "scatter": lambda x: x.clone().scatter_reduce(0, (x > 0).long()[:1], x, "amax") if x.numel() else x,
    "out": lambda x: t.cumsum(x, 1, out=t.empty(x.shape[1], x.shape[0], dtype=x.dtype, device=x.device).t()),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_host_s_results_are_the_cpu_s_laid_out_alike(name, twin):
    call = CALLS[name]
    for kind, view, base in inputs():
        expected, found = call(view(base)), call(view(base.to(twin)))
        pairs = zip(expected, found, strict=True) if isinstance(expected, tuple) else [(expected, found)]
        for one, other in pairs:
            assert other.device.type == "twin"
            np.testing.assert_array_equal(other.cpu().numpy(), one.numpy(), err_msg=kind)
            if one.numel():
                assert other.stride() == one.stride(), kind


def test_each_operator_is_counted_and_warned_of_once(twin):
    x = t.ones(2, device=twin)
    before = dc.computed_on_host("twin").get("aten::erf", 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            x.erf()
    assert dc.computed_on_host("twin")["aten::erf"] == before + 3
    texts = [str(each.message) for each in caught]
    assert len(texts) == (before == 0)
    assert all(
        "'aten::erf' is not currently supported on the twin backend and will fall back" in each for each in texts
    )


def test_results_lie_on_the_device_of_the_arrays(twin):
    x = t.ones(3, device="twin:1")
    assert x.erf().device == t.device("twin:1")


def test_gradients_and_pipelines_go_through_the_host(twin):
    x = t.tensor([0.5, 1.5, 2.5], device=twin, requires_grad=True)
    (x.erf() * x.cumsum(0)).sum().backward()
    y = t.tensor([0.5, 1.5, 2.5], requires_grad=True)
    (y.erf() * y.cumsum(0)).sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), y.grad.numpy())
    with dc.pipeline():
        z = x.detach().erf() + 1
    np.testing.assert_allclose(z.cpu().numpy(), (y.detach().erf() + 1).numpy())


def test_only_what_is_named_goes_to_the_host():
    with open_twin(("aten::erf",)):
        x = t.ones(2, device="twin")
        x.erf()
        with pytest.raises(dc.NoKernelError, match="aten::floor"):
            x.floor()


def test_an_error_of_the_cpu_s_kernel_writes_nothing(twin):
    x = t.tensor([[1.0, 2.0]], device=twin)
    with pytest.raises(IndexError):
        x.cumsum_(3)
    assert x.tolist() == [[1.0, 2.0]]


def test_what_fallback_may_be():
    with pytest.raises(dc.ArgumentError, match="'host' or a tuple of operators' names, not 'cpu'"):
        dc.BackendInfo("acme", fallback="cpu")


def test_coverage_and_the_command_say_what_the_host_computes(twin, capsys):
    found = dc.coverage("twin")
    on_host = found.operators("twin", "host")
    assert {"aten::cumsum", "aten::sort.stable", "aten::erf", "aten::_fft_c2c"} <= set(on_host)
    assert "aten::add.Tensor" in found.operators("twin", "kernel")
    assert "aten::cumsum_" not in on_host  # it is composed of the other
    assert main(["list", "--fallbacks"]) == 0
    shown = capsys.readouterr().out
    assert "computed on the host" in shown
    assert "aten::cumsum" in shown


def test_an_error_of_the_host_names_the_device(twin):
    x = t.zeros(2, 2, device=twin)
    before = dc.computed_on_host("twin")
    with pytest.raises(RuntimeError) as caught:
        t.ops.aten._fft_c2c(x, [5], 0, True)
    assert "raised by the host, which computes aten::_fft_c2c for the device 'twin'" in caught.value.__notes__
    assert dc.computed_on_host("twin") == before


def test_an_operator_that_no_one_has_a_kernel_for(twin):
    with dc.Library("nowhere", "DEF") as library:
        library.define("count(Tensor self) -> Tensor")
        with pytest.raises(
            dc.NoKernelError, match="nowhere::count: neither the device 'twin' nor the host has a kernel"
        ):
            dc.ops.nowhere.count(t.ones(2, device=twin))


def test_a_view_of_an_array_that_can_be_written_to_is_refused(twin):
    with pytest.raises(
        dc.NoKernelError, match="view_as_real: no kernel for the device 'twin', and the host cannot compute"
    ):
        t.view_as_real(t.ones(2, dtype=t.complex64, device=twin))


def test_a_number_of_the_cpu_before_the_array(twin):
    found = t.atan2(t.tensor(1.0), t.ones(2, device="twin:1"))
    assert found.device == t.device("twin:1")
    assert found.tolist() == t.atan2(t.tensor(1.0), t.ones(2)).tolist()


def test_numbers_are_drawn_from_the_device_s_generator():
    kernels = make_kernels() | {"normal_": dc.host_kernel("aten::normal_")}
    with register(kernels):
        t.manual_seed(3)
        on_cpu = t.empty(4).normal_()
        before = t.get_rng_state()
        t.manual_seed(3)
        found = t.empty(4, device="twin").normal_()
        np.testing.assert_array_equal(found.cpu().numpy(), on_cpu.numpy())
        assert not t.equal(t.get_rng_state(), before), "the cpu's own generator was not asked"
        generator = t.Generator("twin").manual_seed(3)
        np.testing.assert_array_equal(t.empty(4, device="twin").normal_(generator=generator).cpu(), on_cpu)
        with pytest.raises(RuntimeError, match="Expected a 'twin' device type for generator but found 'cpu'"):
            t.empty(4, device="twin").normal_(generator=t.Generator())


def test_a_kernel_may_leave_defaults_to_the_host(twin):
    x = t.tensor([[2.0, 1.0]], device=twin)
    kernel = dc.host_kernel("aten::sort")
    values, places = kernel(x._dispatch_data)
    assert [each.array.tolist() for each in (values, places)] == [[[1.0, 2.0]], [[1, 0]]]


class Leaf:
    """An array that cannot be written to, of a library without strides."""

    __slots__ = ("__weakref__", "values")

    def __init__(self, values):
        self.values = values


def test_a_view_of_an_array_that_cannot_be_written_to_is_a_copy():
    leaves = dc.ArrayType(
        Leaf, shape=lambda leaf: leaf.values.shape, dtype=lambda leaf: getattr(t, leaf.values.dtype.name), mutable=False
    )
    kernels = {
        "prims::device_get": lambda self: self.values,  # the host shares the memory, in an order of its own
        "prims::device_put": lambda data, *, device: Leaf(np.array(data, order="F")),
    }
    with dc.register_backend(dc.BackendInfo("leaves", array_types=(leaves,), fallback="host"), kernels):
        x = t.tensor([[1 + 2j, 3 - 1j], [0j, 5j]], device="leaves")
        assert t.view_as_real(x).tolist() == [[[1, 2], [3, -1]], [[0, 0], [0, 5]]]
        assert t.linalg.qr(t.tensor([[3.0, 0.0], [4.0, 1.0]], device="leaves"))[1].shape == (2, 2)
        assert dc.computed_on_host("leaves")["aten::view_as_real"] == 1


@pytest.mark.parametrize("fallback", ["host", ()])
def test_compositions_of_the_host_s_are_counted_like_its_kernels(fallback):
    with open_twin(fallback):
        x = t.tensor([[1.0, 2.0], [3.0, 4.0]], device="twin").t()
        before = dc.computed_on_host("twin").get("aten::special_bessel_j0", 0)
        found = t.special.bessel_j0(x)
        assert found.stride() == t.special.bessel_j0(t.ones(2, 2).t()).stride() == (1, 2)
        captured = t.capture(lambda a: t.special.bessel_j0(a) + 1)
        x = x.contiguous()
        with dc.pipeline():
            recorded = t.special.bessel_j0(x) + 1
        for each in (recorded, captured(x), captured(x)):
            np.testing.assert_array_equal(each.cpu().numpy(), found.cpu().numpy() + 1)
        assert dc.computed_on_host("twin")["aten::special_bessel_j0"] >= before + 2
        assert "aten::special_bessel_j0" in dc.coverage("twin").operators("twin", "host")
