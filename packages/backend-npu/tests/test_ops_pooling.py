"""Pooling gives what the cpu and torch give: by functions of aclnn or, beyond them, by parts."""

import pytest
from npu_cases import Draw, compare

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_backend_npu.aclnn.dtypes import takes, tensor_arguments
from dispatch_backend_npu.aclnn.table import OPERATORS

aten = dc.ops.aten
pytestmark = pytest.mark.no_pipeline(reason="kernels are called by hand, on raw arrays")


@pytest.fixture(autouse=True)
def _device(npu):
    dc.load_backend("npu")


def pool_arguments(d, size, kernel, stride, padding, ceil_mode):
    x = d(2, 3, *size)
    found, places = aten.max_pool2d_with_indices(x, kernel, stride, padding, [1, 1], ceil_mode)
    return [d(*found.shape), x, kernel, stride, padding, [1, 1], ceil_mode, places]


#: Operator → its arguments, each case a function of a `Draw`.
CASES = {
    "max_pool2d_with_indices": [
        lambda d: [d(2, 3, 7, 6), [3, 2], [2, 1], [1, 1], [1, 1], False],
        lambda d: [d(3, 5, 8), [2, 3], [2, 2], [0, 1], [1, 1], True],
    ],
    "max_pool2d_with_indices_backward": [
        lambda d: pool_arguments(d, (7, 6), [3, 2], [2, 1], [1, 1], False),
        lambda d: pool_arguments(d, (5, 8), [2, 3], [2, 2], [0, 1], True),
    ],
    "avg_pool2d": [
        lambda d: [d(2, 3, 7, 6), [3, 2], [2, 1], [1, 1], False, True, None],
        lambda d: [d(3, 5, 8), [2, 3], [2, 2], [1, 1], True, False, None],
        lambda d: [d(1, 2, 5, 5), [3, 3], [2, 2], [1, 1], True, True, None],
        lambda d: [d(1, 2, 5, 5), [3, 3], [2, 2], [1, 1], True, True, 5],
    ],
    "avg_pool2d_backward": [
        lambda d: [d(2, 3, 4, 7), d(2, 3, 7, 6), [3, 2], [2, 1], [1, 1], False, True, None],
        lambda d: [d(3, 3, 5), d(3, 5, 8), [2, 3], [2, 2], [0, 1], True, False, None],
    ],
    "_adaptive_avg_pool2d": [lambda d: [d(2, 3, 7, 5), [3, 2]], lambda d: [d(2, 3, 4), [5, 1]]],
    "_adaptive_avg_pool2d_backward": [lambda d: [d(2, 3, 3, 2), d(2, 3, 7, 5)]],
    "adaptive_max_pool2d": [lambda d: [d(2, 3, 7, 5), [3, 2]], lambda d: [d(2, 3, 4), [5, 1]]],
}
#: Operators of more than a row.
WRITTEN = {
    "max_pool2d_with_indices": "aclnnMaxPool2dWithIndices",
    "max_pool2d_with_indices_backward": "aclnnMaxPool2dWithIndicesBackward",
}
FUNCTIONS = {name: WRITTEN.get(name) or OPERATORS[name][0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced"])
def test_a_function_of_aclnn_computes_what_the_cpu_does(name, layout, simulator):
    for case in CASES[name]:
        simulator.reset()
        compare(name, case(Draw("float32", layout)), 2e-5)
        assert FUNCTIONS[name] in simulator.log()


@pytest.mark.parametrize("name", CASES)
def test_half_precision_is_rounded_once(name, simulator):
    simulator.reset()
    compare(name, CASES[name][0](Draw("float16")), 2e-2)
    taken = name != "max_pool2d_with_indices_backward"
    assert (FUNCTIONS[name] in simulator.log()) == taken


@pytest.mark.parametrize("name", CASES)
def test_other_types_are_composed_where_the_function_does_not_take_them(name, simulator):
    simulator.reset()
    compare(name, CASES[name][0](Draw("float64")), 1e-9)
    function = FUNCTIONS[name]
    taken = ScalarType.Double in takes(function, "910B")[tensor_arguments(function)[0]]
    assert (function in simulator.log()) == taken


#: What the functions refuse beside scalar types.
BEYOND = {
    "max_pool2d_with_indices": [lambda d: [d(1, 2, 7, 7), [2, 2], [1, 1], [0, 0], [2, 2], False]],
    "avg_pool2d": [lambda d: [d(0, 2, 4, 4), [2, 2], [2, 2], [0, 0], False, True, None]],
}


@pytest.mark.parametrize("name", BEYOND)
def test_arguments_beyond_the_function_are_composed(name, simulator):
    for case in BEYOND[name]:
        simulator.reset()
        compare(name, case(Draw()), 2e-5)
        assert FUNCTIONS[name] not in simulator.log()
