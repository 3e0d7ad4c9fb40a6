"""NumPy arrays beside tensors: operators both ways round, ufuncs, arrays that are written into."""

import operator
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import torchlike
from torchlike import from_numpy, tensor

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.matmul,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
DTYPES = ["bool", "uint8", "int32", "int64", "float32", "float64", "complex64"]
BINARY = [np.maximum, np.minimum, np.arctan2, np.fmod, np.logical_and, np.logical_or, np.logical_xor]
UNARY = [ufunc for name in sorted(dir(np)) if isinstance(ufunc := getattr(np, name), np.ufunc) and ufunc.nin == 1]


def values(dtype, shape=(3,)):
    return (np.arange(1, 1 + np.prod(shape)) % 4).reshape(shape).astype(dtype)


def outcome(call):
    """Return a result's type, dtype and elements, or the error's type."""
    try:
        found = call()
    except Exception as error:  # noqa: BLE001  # any refusal of the operator
        return type(error)
    assert type(found) is torchlike.Tensor
    return found.dtype, found.tolist()


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
def test_an_array_beside_a_tensor_stands_for_its_tensor(function, in_pipeline):
    for left in DTYPES:
        for right in DTYPES:
            a, b = values(left), values(right)[::-1].copy()
            s, t = from_numpy(a.copy()), from_numpy(b.copy())
            if function is operator.matmul:
                # NumPy's arrays are float64 as a rule: they are promoted here, where torch's own matmul refuses.
                dtype = torchlike.promote_types(s.dtype, t.dtype)
                s, t = s.to(dtype), t.to(dtype)
            expected = outcome(lambda s=s, t=t: function(s, t))
            with torchlike.pipeline() if in_pipeline else nullcontext():
                s, t = from_numpy(a.copy()), from_numpy(b.copy())
                assert outcome(lambda a=a, t=t: function(a, t)) == expected
                assert outcome(lambda s=s, b=b: function(s, b)) == expected


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
def test_ufuncs_of_two_operands_are_functions_of_that_name(ufunc):
    a, w = values("float64"), tensor([2.0, 1.0, 3.0], requires_grad=True)
    for left, right in ((a, w), (w, a), (w, w), (w, 1.5), (np.float32(2), w), (w, [1, 2, 3])):
        found = ufunc(left, right)
        plain = [each.detach().numpy() if each is w else each for each in (left, right)]
        np.testing.assert_allclose(found.detach().numpy(), ufunc(*plain), rtol=1e-6)
        assert type(found) is torchlike.Tensor
        assert found.requires_grad is found.is_floating_point()


def test_gradients_flow_through_arrays_operators():
    w, n = tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0])
    ((n * w) @ n - n / w).sum().backward()
    assert w.grad.tolist() == [2 * 9.0 + 3.0, 2 * 16.0 + 1.0]
    assert (np.float64(2) * w).requires_grad and (2 ** np.array(3) * w).dtype == torchlike.float32


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
def test_ufuncs_of_one_operand_are_numpys_and_give_tensors(ufunc, dtype):
    a = values(dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = ufunc(a)
        except TypeError:
            with pytest.raises(TypeError):
                ufunc(from_numpy(a))
            return
        found = ufunc(from_numpy(a.copy()))
    several = isinstance(expected, tuple)
    for ours, theirs in zip(found if several else (found,), expected if several else (expected,), strict=True):
        assert type(ours) is torchlike.Tensor
        np.testing.assert_array_equal(ours.numpy(), theirs, strict=True)


@pytest.mark.parametrize(
    "call",
    [np.sin, np.isnan, np.modf, np.add.reduce, lambda w: np.hypot(w, np.ones(2)), lambda w: np.multiply.outer(w, w)],
)
def test_what_is_not_recorded_refuses_what_requires_grad(call):
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        call(torchlike.ones(2, requires_grad=True))
    call(torchlike.ones(2))


def test_other_methods_of_ufuncs_give_tensors():
    t = tensor([1.0, 2.0, 3.0])
    assert torchlike.equal(np.add.accumulate(t), tensor([1.0, 3.0, 6.0]))
    assert np.add.reduce(t).shape == () and np.multiply.outer(t, np.ones(2)).shape == (3, 2)
    with pytest.raises(
        TypeError, match=r"numpy.add.at: the first operand must be a NumPy array.*\nHint: use index_put_"
    ):
        np.add.at(t, [0], 1.0)
    assert t.tolist() == [1.0, 2.0, 3.0]


def test_a_ufunc_writes_at_places_that_tensors_name():
    array = np.zeros(3)
    np.add.at(array, tensor([0, 0, 2]), tensor([1.0, 2.0, 4.0]))
    np.negative.at(array, tensor([2]))
    assert array.tolist() == [3.0, 0.0, -4.0]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        np.add.at(array, [0], torchlike.ones(1, requires_grad=True))


@pytest.mark.parametrize("function", [np.all, np.any, np.argmax, np.argmin, np.max, np.mean, np.min, np.prod, np.sum])
def test_numpys_reductions_call_the_methods(function):
    t = tensor([[1.0, 2.0], [3.0, 0.0]])
    found = function(t)
    assert isinstance(found, torchlike.Tensor)
    assert found.tolist() == function(t.numpy())


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"ddof": 1}, {"axis": 1, "keepdims": True}], ids=str)
@pytest.mark.parametrize("function", [np.std, np.var])
def test_numpys_deviations_count_as_numpy_does(function, options):
    t = tensor([[1.0, 2.0], [3.0, 0.0]], requires_grad=True)
    found = function(t, **options)
    assert found.requires_grad
    assert np.allclose(found.detach(), function(t.detach().numpy(), **options))


def test_what_is_written_into_an_array_is_numpys():
    t, n = tensor([1.5, 2.5]), np.array([10.0, 20.0])
    kept = n
    n += t
    assert n is kept and n.tolist() == [11.5, 22.5]
    out = np.empty(2, np.float32)
    assert np.multiply(t, n, out=out, casting="same_kind") is out and out.tolist() == [17.25, 56.25]
    ints = np.array([1, 2])
    with pytest.raises(TypeError, match="same_kind"):
        ints += t
    assert ints.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        n += t.requires_grad_()
    with pytest.raises(TypeError, match="out= must be a NumPy array, not a tensor"):
        np.add(n, n, out=t)


def test_an_array_is_added_to_a_tensor_in_place():
    t = tensor([1.0, 2.0])
    kept = t
    t += np.array([1.0, 1.0])
    assert t is kept and t.tolist() == [2.0, 3.0] and t.dtype == torchlike.float32
    with pytest.raises(RuntimeError, match="can't be cast"):
        t += np.array([1j, 1j])
    assert t.tolist() == [2.0, 3.0]


def test_other_devices_are_refused_by_name():
    n, meta = np.ones(3), torchlike.ones(3, device="meta")
    for call in (lambda: n + meta, lambda: meta + n, lambda: n == meta, lambda: meta == n, lambda: n @ meta):
        with pytest.raises(RuntimeError, match=r"found at least two devices, .*meta"):
            call()
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        np.sin(meta)


def test_arrays_that_no_tensor_can_be_are_refused():
    t = torchlike.ones(2)
    for array in (np.array(["a", "b"]), np.array([None, 1]), np.array([1, 2], "M8[D]")):
        for call in (lambda array=array: t == array, lambda array=array: array == t, lambda array=array: t + array):
            with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
                call()


def test_arrays_of_any_layout_stand_beside_tensors():
    n, t = np.arange(6.0).reshape(2, 3), torchlike.zeros(3, 2, dtype=torchlike.float64)
    for array in (n.T, n.T[::-1], np.asfortranarray(n.T), np.broadcast_to(np.arange(2.0), (3, 2))):
        assert torchlike.equal(array + t, from_numpy(array.copy())) and torchlike.equal(t + array, array + t)
    assert (np.array(2.0) * torchlike.ones(2)).dtype == torchlike.float32


def test_classes_of_arrays_with_operators_of_their_own_keep_them():
    class Units(np.ndarray):
        def __array_ufunc__(self, *args, **kwargs):
            return "units"

    t, units = torchlike.ones(2), np.ones(2).view(Units)
    assert t * units == "units" and units * t == "units"


def test_an_array_beside_a_tensor_may_be_written_while_the_call_waits():
    array, t = np.ones(3), torchlike.zeros(3)
    with torchlike.pipeline() as pipe:
        total, less = t + array, np.subtract(t, array)
        t += array
        array[:] = 100
        assert total._pending and less._pending and t._pending
    assert not pipe.stats().eager
    assert (total.tolist(), less.tolist(), t.tolist()) == ([1.0] * 3, [-1.0] * 3, [1.0] * 3)


def test_fields_of_records_stand_beside_tensors():
    records = np.ones(3, dtype=[("a", "i1"), ("b", "f4")])
    assert (torchlike.ones(3) + records["b"]).tolist() == [2.0] * 3


def test_a_pipeline_reads_an_array_beside_a_tensor_before_the_user_writes_to_it():
    n, t = np.ones(3), torchlike.ones(3)
    with torchlike.pipeline():
        found = [t + n, n * t, n == t, np.maximum(n, t), n[None] @ t]
        n[:] = 100
        n += t * 2
    assert [each.tolist() for each in found] == [[2.0] * 3, [1.0] * 3, [True] * 3, [1.0] * 3, [3.0]]
    assert n.tolist() == [102.0] * 3


@pytest.mark.parametrize("kind", [np.memmap, np.recarray, type("Named", (np.ndarray,), {})])
def test_an_array_of_a_subclass_that_computes_as_numpys_is_taken(kind):
    tensor, plain = torchlike.tensor([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 3.0], np.float32)
    array = plain.view(kind)
    for found, expected in (
        (tensor + array, [2, 7, 6]),
        (array + tensor, [2, 7, 6]),
        (tensor == array, [True, False, True]),
        (array == tensor, [True, False, True]),
        (tensor @ array, 20),
        (np.maximum(array, tensor), [1, 5, 3]),
    ):
        assert type(found) is torchlike.Tensor and found.tolist() == expected


def test_arrays_with_a_meaning_of_their_own_are_left_to_their_operators():
    tensor = torchlike.ones(2)
    for array in (np.ma.masked_array([1.0, 2.0], [True, False]), np.ones((2, 2)).view(np.matrix)):
        assert tensor.__add__(array) is NotImplemented


def test_functions_of_numpy_that_are_methods_of_arrays_give_tensors():
    x = torchlike.arange(6.0).reshape(1, 2, 3)
    plain = x.numpy()
    for function, arguments in (
        (np.transpose, ((0, 2, 1),)),
        (np.reshape, ((3, 2),)),
        (np.cumsum, ()),
        (np.repeat, (2,)),
        (np.take, ([4, 0],)),
    ):
        found = function(x, *arguments)
        assert isinstance(found, torchlike.Tensor)
        np.testing.assert_array_equal(found.numpy(), function(plain, *arguments))
    assert np.transpose(torchlike.tensor([[True, False]])).dtype == torchlike.bool
    with pytest.raises(RuntimeError, match="requires grad"):
        np.transpose(torchlike.ones(1, 2, requires_grad=True), (1, 0))
