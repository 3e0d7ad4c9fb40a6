import numpy as np
import pytest

from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_backend_cpu.kernels import KERNELS, SPECIALIZED
from dispatch_backend_cpu.ops.pointwise.table import UNARY

add_ = SPECIALIZED["add_.Tensor"]


def test_the_argument_itself_is_written_and_returned():
    a = np.zeros((2, 3), np.float32)
    view = a[:, 1]
    assert add_(view, np.ones(2, np.float32)) is view
    assert a.sum() == 2


@pytest.mark.parametrize(
    ("kernel", "args", "error"),
    [
        (add_, (np.zeros(3, np.int64), np.ones(3)), DtypeError),
        (add_, (np.zeros(3), np.ones((2, 3))), ShapeError),
        (add_, (np.zeros(3), np.ones(4)), ShapeError),
        (KERNELS["add_.Tensor"], (np.zeros(3, bool), np.ones(3, bool)), None),
        (KERNELS["div_.Tensor"], (np.ones(3, np.int64), np.ones(3, np.int64)), DtypeError),
        (KERNELS["copy_"], (np.zeros(3), np.ones(4)), ShapeError),
        (KERNELS["masked_fill_.Scalar"], (np.zeros(3), np.ones((2, 3), bool), 1), ShapeError),
        (KERNELS["exp_"], (np.ones(3, np.int64),), DtypeError),
    ],
)
def test_a_call_that_fails_changes_nothing(kernel, args, error):
    before = args[0].copy()
    if error is None:
        kernel(*args)
        return
    with pytest.raises(error):
        kernel(*args)
    np.testing.assert_array_equal(args[0], before)


def test_partial_overlap_is_refused_and_full_overlap_is_not():
    a = np.arange(4.0)
    with pytest.raises(OperatorError, match="some elements of the input tensor and the written-to tensor"):
        add_(a[1:], a[:-1])
    assert a.tolist() == [0, 1, 2, 3]
    assert add_(a[1:], a[1:]).tolist() == [2, 4, 6]
    assert add_(a, a).tolist() == [0, 4, 8, 12]


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1), (1, 3, 1)])
def test_dimensions_of_one_element_make_no_overlap_of_what_is_read_where_it_is_written(shape):
    a = np.arange(float(np.prod(shape))).reshape(shape)
    doubled = (a * 2).tolist()
    assert add_(a[:5], a[0] if shape[0] == 1 else a[:5]).tolist() == doubled
    assert KERNELS["copy_"](a, a[None][0]).tolist() == doubled
    assert add_(a.T, a.reshape(1, *shape)[0].T).T.tolist() == np.multiply(doubled, 2).tolist()


def test_expanded_arrays_are_refused():
    expanded = np.ndarray((2, 3), np.float64, np.zeros(3), 0, (0, 8))
    with pytest.raises(OperatorError, match="more than one element of the written-to tensor"):
        add_(expanded, np.ones(3))


def test_read_only_arrays_are_refused():
    a = np.zeros(3)
    a.flags.writeable = False
    with pytest.raises(OperatorError, match="read-only"):
        add_(a, a)


def test_results_are_converted_to_the_arguments_dtype():
    a = np.ones(2, np.float16)
    assert add_(a, np.full(2, 0.25)).tolist() == [1.25, 1.25]
    assert KERNELS["mul_.Tensor"](a, np.array(2)).tolist() == [2.5, 2.5]
    assert a.dtype == np.float16


def test_factors_of_the_fused_kernels():
    a, b, c = np.ones(2), np.full(2, 6.0), np.full(2, 2.0)
    assert KERNELS["addcdiv_"](a, b, c, value=-0.5).tolist() == [-0.5, -0.5]
    assert KERNELS["addcmul_"](a, b, c, value=2).tolist() == [23.5, 23.5]
    assert KERNELS["add_.Tensor"](a, b, alpha=-2).tolist() == [11.5, 11.5]


def test_resizing_keeps_the_elements():
    a = np.arange(6)
    small = KERNELS["resize_"](a, [2, 2])
    assert small.tolist() == [[0, 1], [2, 3]]
    assert small.base is a
    assert KERNELS["resize_"](a, [8]).tolist()[:6] == [0, 1, 2, 3, 4, 5]
    assert KERNELS["resize_"](a, [6]) is a


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("name", [f"{name}_" for name in UNARY if f"{name}_" in KERNELS])
def test_memory_with_gaps_is_written_as_memory_without(name, dtype, step):
    for count in (2, 19):
        whole = (np.arange(count * step) % 7 + 2).astype(dtype)
        gaps, dense = whole[::step], whole[::step].copy()
        try:
            KERNELS[name](dense)
        except (RuntimeError, TypeError):  # The operator does not take the dtype.
            return
        KERNELS[name](gaps)
        np.testing.assert_allclose(gaps, dense, rtol=1e-6)


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(2, 3), (70, 60)], ids=str)
def test_triangles_of_every_dtype_are_cut_in_place(name, dtype, shape):
    for k in range(-3, 4):
        array = np.ones(shape, dtype)
        KERNELS[f"{name}_"](array, k)
        np.testing.assert_array_equal(array, getattr(np, name)(np.ones(shape, dtype), k))
