"""Composed element-wise operators against torch: special values with the signs of zeros, and how results lie in memory."""

import warnings
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from aten_cases import torch_operator  # noqa: E402  # after the skip

import dispatch_core as dc  # noqa: E402
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT  # noqa: E402
from dispatch_aten.dtypes import ScalarType  # noqa: E402
from dispatch_aten.operators import ATEN, ATEN_BY_NAME  # noqa: E402
from dispatch_aten.testing.changes import arrays_in, map_arrays  # noqa: E402
from dispatch_aten.testing.samples import op_samples, unfit_changes  # noqa: E402
from dispatch_aten.variants import is_inplace, is_out  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("sparing_backend"),
    pytest.mark.no_pipeline(reason="raw arrays are compared"),
    pytest.mark.filterwarnings("ignore"),
]
NAMES = [
    operator.name
    for operator in ATEN
    if "pointwise" in operator.tags
    and not (is_inplace(operator.name) or is_out(operator.name))
    and operator.name != "equal"  # of which the result is not a tensor
    and (operator.name in EXPLICIT or operator.name in IMPLICIT)
]
#: Operators whose special values depend in torch on the number of elements, or that the cpu's kernels compute otherwise.
OTHERWISE = {
    "gelu": "torch's function of several elements at a time gives nan at infinity",
    "softshrink": "torch's function of several elements at a time gives another zero",
    "lerp.Tensor": "torch's function of several elements at a time gives another zero",
    "logit_backward": "the sign of torch's infinity at -0.0 depends on the number of elements",
    "rrelu": "it draws",
    "erfinv": "the cpu, which computes it for other devices, gives 0.0 for -0.0",
    "special_erfinv": "the cpu, which computes it for other devices, gives 0.0 for -0.0",
    "igamma": "SciPy's, on the cpu, is nan for nan",
    "igammac": "SciPy's, on the cpu, is nan for nan",
    "special_gammainc": "SciPy's, on the cpu, is nan for nan",
    "special_gammaincc": "SciPy's, on the cpu, is nan for nan",
    "polygamma": "SciPy's, on the cpu, is 0 at infinity",
    "special_polygamma": "SciPy's, on the cpu, is 0 at infinity",
    "special_zeta": "SciPy's, on the cpu, is 0 at infinity",
    "special_zeta.self_scalar": "SciPy's, on the cpu, is 0 at infinity",
    "special_airy_ai": "the cpu's function, which computes it for other devices, knows no huge numbers",
    "logaddexp2": "torch's sum of 1 and -1 is not exact",
}
VALUES = [np.nan, -0.0, 1.0, np.inf, 0.0, -np.inf, -1.0, 0.5, -2.5, 1e-20, -1e-20]


def first_sample(name):
    return next(iter(op_samples(name)), None)


def is_float(array):
    return array.dtype.kind == "f"


def special(arguments, dtype):
    """Return the call on every combination of special values; None where no argument has floats."""
    names = [name for name, value in arguments.items() if isinstance(value, np.ndarray) and is_float(value)]
    if not names or len(names) > 3:
        return None
    values = np.array([*product(VALUES, repeat=len(names))], dtype)
    found = {name: np.resize(value.reshape(-1), len(values)) for name, value in arguments.items() if is_array(value)}
    return {**arguments, **found, **{name: values[:, index] for index, name in enumerate(names)}}


def is_array(value):
    return isinstance(value, np.ndarray)


def put(array, order, device="sparing"):
    """Return a view of an array of a device, and of torch's, whose dimensions lie in this order."""
    order = [each for each in order if each < array.ndim]
    back = np.argsort(order).tolist()
    laid = np.array(array.transpose(order), order="C")
    ours = dc.ops.aten.permute(dc.ops.prims.device_put(laid, device=dc.Device(device)), back)
    return ours, torch.from_numpy(laid).permute(back)


def run_both(name, arguments, orders, device="sparing"):
    """Return the results of a device and of torch; None where torch refuses the call."""
    ours, theirs, number = {}, {}, 0
    for key, value in arguments.items():
        ours[key] = theirs[key] = value
        if is_array(value):
            ours[key], theirs[key] = put(value, orders[number % len(orders)], device)
            number += 1
        if isinstance(value, ScalarType):
            theirs[key] = getattr(torch, str(value))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = torch_operator(name)(**theirs)
        except (RuntimeError, IndexError):
            return None
        found = dc.registry.get(f"aten::{name}").op(**ours)
    several = isinstance(expected, tuple | list)
    return [*zip(found, expected, strict=True)] if several else [(found, expected)]


def host(array):
    return np.asarray(dc.ops.prims.device_get(array))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [name for name in NAMES if not (name in OTHERWISE or "nan" in unfit_changes(name))])
def test_special_values_and_the_signs_of_zeros_are_torchs(name, dtype):
    sample = first_sample(name)
    arguments = None if sample is None else special(sample.arguments, dtype)
    results = None if arguments is None else run_both(name, arguments, [(0,)])
    if results is None:
        pytest.skip("it takes no floats")
    for array, tensor in results:
        found, expected = host(array), tensor.numpy()
        tolerance = 1e-4 if dtype == "float32" else 1e-9
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-30)
        if expected.dtype.kind == "f":
            zero = (expected == 0) & (found == 0)
            np.testing.assert_array_equal(np.signbit(found)[zero], np.signbit(expected)[zero])


ORDERS = {
    "all transposed": [(3, 2, 1, 0)],
    "channels last": [(0, 2, 3, 1)],
    "first transposed": [(3, 2, 1, 0), (0, 1, 2, 3)],
    "second transposed": [(0, 1, 2, 3), (3, 2, 1, 0)],
    "each otherwise": [(1, 0, 3, 2), (0, 2, 3, 1), (3, 2, 1, 0)],
}


@pytest.mark.parametrize("layout", ORDERS)
def test_results_lie_in_memory_as_torchs(layout):
    differences = []
    for name in NAMES:
        sample = first_sample(name)
        if sample is None:
            continue
        arguments = map_arrays(sample.arguments, lambda array: np.resize(array, (2, 3, 4, 5)) if array.ndim else array)
        for found, expected in run_both(name, arguments, ORDERS[layout]) or ():
            if tuple(dc.strides(found)) != tuple(expected.stride()):
                differences.append((name, dc.strides(found), expected.stride()))
    assert differences == []


#: Operators of which torch's kernels choose the layout.
CHOSEN = [
    "_log_softmax_backward_data", "_softmax_backward_data", "addbmm", "avg_pool3d", "avg_pool3d_backward",
    "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv_tbc_backward", "conv_transpose1d", "convolution",
    "convolution_backward", "log_sigmoid", "log_sigmoid_forward", "mse_loss_backward", "native_batch_norm_backward",
    "native_group_norm_backward", "native_layer_norm_backward", "put", "renorm", "rrelu",
]  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "sparing"])
@pytest.mark.parametrize("name", CHOSEN)
def test_layouts_that_kernels_choose_are_torchs(name, device):
    for sample in [each for each in op_samples(name) if not (each.change or each.layout)]:
        for dtype, rank in product(("float32", "float64"), range(2, 6)):
            if dtype == "float32" and any(isinstance(value, ScalarType) for value in sample.arguments.values()):
                continue
            channels_last = (0, *range(2, rank), 1)
            arguments = map_arrays(
                sample.arguments, lambda array, dtype=dtype: array.astype(dtype) if is_float(array) else array
            )
            for orders in ([channels_last], [(4, 3, 2, 1, 0)], [(4, 3, 2, 1, 0), (0, 1, 2, 3, 4)]):
                fitting = all(array.ndim in (0, 1, rank) for array in arrays_in(arguments)) or len(orders[0]) == 5
                for found, expected in (fitting and run_both(name, arguments, orders, device)) or ():
                    if found is not None and expected.numel():
                        steps = zip(expected.shape, dc.strides(found), expected.stride(), strict=True)
                        assert [(ours, theirs) for size, ours, theirs in steps if size > 1 and ours != theirs] == []


@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 4)])
def test_flip_keeps_the_order_in_memory(sizes):
    ours, theirs = put(np.arange(np.prod(sizes), dtype=float).reshape(sizes), [*range(len(sizes))][::-1])
    found, expected = dc.ops.aten.flip(ours, [0]), theirs.flip(0)
    assert dc.strides(found) == expected.stride()
    np.testing.assert_array_equal(host(found), expected.numpy())


@pytest.mark.parametrize("name", ["max.dim", "min.dim"])
def test_an_extremum_is_the_element_that_its_index_names(name):
    values = np.array([[-0.0, 0.0, -0.0], [0.0, -0.0, 0.0]])
    for dim, keepdim in product((0, 1, -1), (False, True)):
        arguments = {"self": values, "dim": dim, "keepdim": keepdim}
        (found, expected), (index, expected_index) = run_both(name, arguments, [(0, 1)])
        np.testing.assert_array_equal(host(index), expected_index.numpy())
        np.testing.assert_array_equal(np.signbit(host(found)), np.signbit(expected.numpy()))


@pytest.mark.parametrize("name", ["max.dim", "min.dim"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64"])
def test_an_extremum_keeps_its_dtype(name, dtype):
    values = np.array([[0, 1, 0], [1, 1, 0]], dtype)
    (found, expected), _ = run_both(name, {"self": values, "dim": 1}, [(0, 1)])
    assert host(found).dtype == expected.numpy().dtype
    np.testing.assert_array_equal(host(found), expected.numpy())


def test_ignored_targets_have_a_loss_of_zero_whatever_the_input():
    arguments = {
        "self": np.array([[np.nan, 1.0], [2.0, 3.0]]),
        "target": np.array([0, 1]),
        "weight": None,
        "reduction": 0,
        "ignore_index": 0,
    }
    for found, expected in run_both("nll_loss_forward", arguments, [(0, 1)]):
        np.testing.assert_array_equal(host(found), expected.numpy())
        np.testing.assert_array_equal(np.signbit(host(found)), np.signbit(expected.numpy()))


def test_every_exception_is_about_an_operator():
    assert set(OTHERWISE) <= ATEN_BY_NAME.keys()
