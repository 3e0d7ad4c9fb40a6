"""Attributes of tensors, and their conversion to Python, NumPy, copies and pickles."""

import copy
import ctypes
import gc
import pickle
import threading
import weakref
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

import torchlike
from torchlike import tensor


def test_shape_stride_and_size():
    t = torchlike.zeros(2, 3, 4).transpose(0, 2)
    assert t.shape == (4, 3, 2) and isinstance(t.shape, torchlike.Size)
    assert t.stride() == (1, 4, 12) and t.stride(-1) == 12 and t.storage_offset() == 0
    assert t.dim() == t.ndim == 3 and t.numel() == 24 and t.size(1) == 3 and t.size() == t.shape
    assert not t.is_contiguous() and t.contiguous().is_contiguous()
    assert t[1:].storage_offset() == 1
    with pytest.raises(IndexError, match=r"expected to be in range of \[-3, 2\], but got 3"):
        t.size(3)


@pytest.mark.parametrize(
    "make", [lambda: torchlike.ones(2), lambda: torchlike.ones(2, 2)[0], lambda: tensor(1.0).detach()]
)
def test_a_gradient_of_a_tensor_that_needs_none(make):
    t, gradient = make(), torchlike.ones(make().shape)
    assert t.grad is None and t.is_leaf and t.grad_fn is None and not t.requires_grad
    t.grad = gradient
    assert t.grad is gradient and t.is_leaf and not t.requires_grad and not (t * 2).requires_grad
    assert copy.deepcopy(t).grad.tolist() == gradient.tolist()
    t.add_(1)
    assert t.grad is gradient and t._version == 1
    t.grad = None
    assert t.grad is None


def test_addresses_are_those_of_the_memory_as_it_is():
    t = torchlike.arange(4)
    place = t.data_ptr()
    assert t.data_ptr() == place == t.numpy().ctypes.data and t[1:].data_ptr() == place + 8
    t.data = torchlike.arange(6)
    assert t.data_ptr() == t.data_ptr() == t.numpy().ctypes.data
    with torchlike.pipeline():
        s = torchlike.ones(3)
        first = s.add_(1).data_ptr()
        assert s.mul_(3).data_ptr() == first and np.ctypeslib.as_array((ctypes.c_float * 3).from_address(first))[0] == 6


def test_sizes_are_tuples_that_stay_sizes():
    size = torchlike.Size([2, 3])
    assert repr(size) == "torchlike.Size([2, 3])"
    assert isinstance(size[:1], torchlike.Size) and isinstance(size + size, torchlike.Size)
    assert size.numel() == 6 and pickle.loads(pickle.dumps(size)) == size


def test_dtypes_and_bytes():
    assert tensor([1, 2]).dtype == torchlike.int64
    assert tensor([1.0]).dtype == torchlike.float32
    assert tensor([True]).dtype == torchlike.bool
    assert tensor([1j]).dtype == torchlike.complex64
    t = torchlike.zeros(3, dtype=torchlike.float64)
    assert t.element_size() == t.itemsize == 8 and t.nbytes == 24
    assert t.is_floating_point() and not t.is_complex() and t.type() == "torchlike.DoubleTensor"
    assert t.int().type(torchlike.float16).dtype == torchlike.float16
    assert tensor([1.5]).type("torch.LongTensor").tolist() == [1]


def test_to_gives_the_tensor_itself_where_nothing_changes():
    t = torchlike.ones(2)
    assert t.to(torchlike.float32) is t and t.to("cpu") is t and t.float() is t
    assert t.to(torchlike.float32, copy=True) is not t
    assert t.to(tensor([1])).dtype == torchlike.int64
    assert t.to("meta").device.type == "meta"
    assert t.to("meta", torchlike.int8).dtype == torchlike.int8


def test_numbers_come_out_as_python_numbers():
    assert tensor([[2]]).item() == 2 and isinstance(tensor(2).item(), int)
    assert float(tensor([1.5])) == 1.5 and int(tensor(2.9)) == 2 and complex(tensor(1j)) == 1j
    assert [10, 20][tensor(1)] == 20
    assert tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]] and tensor(1.0).tolist() == 1.0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: bool(torchlike.ones(2)),
            RuntimeError,
            "Boolean value of Tensor with more than one value is ambiguous",
        ),
        (lambda: bool(torchlike.ones(0)), RuntimeError, "Boolean value of Tensor with no values is ambiguous"),
        (lambda: torchlike.ones(2).item(), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (lambda: float(torchlike.ones(2)), ValueError, "only one element tensors can be converted to Python scalars"),
        (lambda: [1][tensor(1.0)], TypeError, "only integer tensors of a single element can be converted to an index"),
        (lambda: len(tensor(1)), TypeError, "len() of a 0-d tensor"),
        (lambda: iter(tensor(1)), TypeError, "iteration over a 0-d tensor"),
        (lambda: "a" in tensor([1]), RuntimeError, "Tensor.__contains__ only supports Tensor or scalar"),
        (lambda: tensor([1]).foo, AttributeError, "'Tensor' object has no attribute 'foo'"),
        (lambda: tensor([1.0]) + "a", TypeError, "unsupported operand type(s) for +: 'Tensor' and 'str'"),
        (lambda: torchlike.ones(2, device="meta").item(), RuntimeError, "cannot be converted to Scalar"),
        (lambda: torchlike.ones(1, device="meta").item(), RuntimeError, "meta tensor"),
        (
            lambda: torchlike.ones(1, device="meta").numpy(),
            TypeError,
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
        ),
        (
            lambda: torchlike.ones(1, requires_grad=True).numpy(),
            RuntimeError,
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
        ),
        (lambda: tensor([[1], [2, 3]]), ValueError, "expected sequence of length 1 at dim 1 (got 2)"),
        (lambda: tensor("a"), TypeError, "new(): invalid data type 'str'"),
        (lambda: tensor(object()), RuntimeError, "Could not infer dtype of object"),
        (lambda: tensor(300, dtype=torchlike.uint8), RuntimeError, "without overflow"),
        (lambda: torchlike.from_numpy([1]), TypeError, "expected np.ndarray (got list)"),
        (lambda: torchlike.zeros(2).to(1.5), TypeError, "to() received an invalid combination of arguments"),
        (lambda: torchlike.cat([]), ValueError, "expected a non-empty list of Tensors"),
    ],
)
def test_errors_are_torchs(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_numpy_arrays_share_memory_both_ways():
    array = np.zeros(3, np.float32)
    t = torchlike.from_numpy(array)
    t.add_(1)
    array[0] = 7
    assert t.tolist() == [7.0, 1.0, 1.0] and t.numpy() is not None
    t.numpy()[1] = 5
    assert array.tolist() == [7.0, 5.0, 1.0]
    assert np.asarray(t).dtype == np.float32 and np.asarray(t, np.int64).tolist() == [7, 5, 1]
    assert torchlike.as_tensor(array).data_ptr() == t.data_ptr() == array.ctypes.data
    assert tensor(array).data_ptr() != t.data_ptr()
    assert np.from_dlpack(t).tolist() == [7.0, 5.0, 1.0]


def test_nested_data_of_all_sorts():
    assert tensor(((1, 2.5), [True, 0])).tolist() == [[1.0, 2.5], [1.0, 0.0]]
    assert tensor([tensor(1.0), 2]).tolist() == [1.0, 2.0]
    assert tensor([np.float64(1.5), 2]).dtype == torchlike.float64
    assert tensor(deque([deque([1, 2]), [3, 4]])).tolist() == [[1, 2], [3, 4]]
    assert tensor(np.array([1, 2], np.int8)).dtype == torchlike.int8
    assert tensor([]).shape == (0,) and tensor([[], []]).shape == (2, 0)
    assert tensor(range(3)).tolist() == [0, 1, 2]
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        assert tensor(tensor([1])).tolist() == [1]


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (lambda: np.float64(0.1), "float64"),
        (lambda: np.complex128(1), "complex128"),
        (lambda: [1.0, np.float64(0.1)], "float64"),
        (lambda: [[1, 2], [np.float16(1), 2]], "float16"),
        (lambda: [True, np.uint8(3)], "uint8"),
        (lambda: [np.int8(1), np.uint8(3)], "int16"),
        (lambda: [tensor(1, dtype=torchlike.uint8), tensor(2, dtype=torchlike.uint8)], "uint8"),
        (lambda: [tensor(1.0, requires_grad=True), 2], "float32"),
        (lambda: [np.array([1, 2], "u1"), [3, 4]], "int64"),
        (lambda: [1j, np.float32(2)], "complex64"),
    ],
)
def test_numbers_of_numpys_and_tensors_keep_their_dtypes(data, dtype):
    assert tensor(data()).dtype == getattr(torchlike, dtype)
    assert not tensor(data()).requires_grad


@pytest.mark.parametrize(
    ("data", "options", "error", "text"),
    [
        ([tensor([1.0, 2.0])], {}, ValueError, "only one element tensors can be converted to Python scalars"),
        (Fraction(1, 2), {}, RuntimeError, "Could not infer dtype of Fraction"),
        ({1: 2}, {"dtype": torchlike.float32}, TypeError, "must be real number, not dict"),
        ([np.float32(1)], {"dtype": torchlike.int64}, TypeError, "cannot be interpreted as an integer"),
        ([0, 2**63], {}, ValueError, "Overflow when unpacking long long"),
        (
            [1.0, float("nan")],
            {"dtype": torchlike.int64},
            RuntimeError,
            "cannot be converted to type .* without overflow",
        ),
        (np.array(["a"]), {"dtype": torchlike.float32}, TypeError, "can't convert np.ndarray of type"),
        ([b"ab"], {}, TypeError, "invalid data type 'bytes'"),
    ],
)
def test_data_that_torch_refuses_is_refused(data, options, error, text):
    with pytest.raises(error, match=text):
        tensor(data, **options)


def test_a_list_that_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        tensor(endless)


def test_objects_stand_for_numbers_where_a_dtype_is_given():
    assert tensor([Fraction(1, 2), 2], dtype=torchlike.float64).tolist() == [0.5, 2.0]
    assert tensor(2**70, dtype=torchlike.float32).item() == 2.0**70


def test_the_class_makes_tensors():
    assert torchlike.Tensor([1, 2]).dtype == torchlike.float32 and torchlike.Tensor((2, 3)).tolist() == [2.0, 3.0]
    assert torchlike.Tensor(2, 3).shape == (2, 3) and torchlike.Tensor().shape == (0,)
    assert torchlike.Tensor(torchlike.Size([4, 1])).shape == (4, 1)
    w = tensor([1], dtype=torchlike.int32)
    assert torchlike.Tensor(w).data_ptr() == w.data_ptr() and torchlike.Tensor(w).dtype == torchlike.int32
    assert type(torchlike.Tensor([1.0])) is torchlike.Tensor
    with pytest.raises(TypeError, match=r"new\(\): data must be a sequence \(got float\)"):
        torchlike.Tensor(1.5)

    class Named(torchlike.Tensor):
        pass

    assert type(Named([1.0, 2.0])) is Named and Named([1.0, 2.0]).tolist() == [1.0, 2.0]


def test_iteration_and_membership():
    t = tensor([[1, 2], [3, 4]])
    assert [row.tolist() for row in t] == [[1, 2], [3, 4]]
    assert 3 in t and 5 not in t and len(t) == 2


def test_operators_take_numbers_on_both_sides():
    t = tensor([1.0, 2.0])
    assert (1 - t).tolist() == [0.0, -1.0] and (2 / t).tolist() == [2.0, 1.0] and (2**t).tolist() == [2.0, 4.0]
    assert (7 // tensor([2, 4])).tolist() == [3, 1] and (7 % tensor([2, 4])).tolist() == [1, 3]
    assert (tensor([1, 2]) + 1.5).dtype == torchlike.float32 and (tensor([1, 2]) * 2).dtype == torchlike.int64
    assert (t == 1).tolist() == [True, False] and (t > 1).tolist() == [False, True]
    assert (-t).tolist() == [-1.0, -2.0] and abs(-t).tolist() == [1.0, 2.0] and (~tensor([True])).tolist() == [False]
    assert (t @ t).item() == 5.0
    assert (np.float32(2) * t).tolist() == [2.0, 4.0] and (t * np.float64(2)).dtype == torchlike.float32
    other = t
    t += 1
    t *= 2
    assert t is other and t.tolist() == [4.0, 6.0]
    assert (t == "a") is False and (t != "a") is True


def test_tensors_hash_by_identity():
    a, b = tensor([1]), tensor([1])
    assert len({a, b, a}) == 2


@pytest.mark.parametrize("again", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))], ids=["deepcopy", "pickle"])
def test_leaves_copy_and_pickle(again):
    t = tensor([[1.0, 2.0]], requires_grad=True)
    other = again(t)
    assert torchlike.equal(t, other) and other.requires_grad and other is not t
    meta = again(torchlike.empty(2, 3, device="meta"))
    assert meta.shape == (2, 3) and meta.is_meta


def test_a_pickled_result_comes_back_as_a_leaf_that_requires_grad():
    again = pickle.loads(pickle.dumps(tensor([1.0], requires_grad=True) * 2))
    assert again.is_leaf and again.requires_grad and again.tolist() == [2.0]


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("again", [copy.copy, lambda p: pickle.loads(pickle.dumps(p))], ids=["copy", "pickle"])
def test_a_pickled_parameter_keeps_its_attributes(again, device):
    parameter = torchlike.nn.Parameter(torchlike.ones(2, device=device))
    parameter.note = ["mine"]
    assert again(parameter).note == ["mine"]


def test_only_leaves_are_deep_copied():
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(tensor([1.0], requires_grad=True) * 2)


def test_factories():
    assert torchlike.zeros(2, 3).shape == torchlike.zeros((2, 3)).shape == torchlike.zeros(size=[2, 3]).shape == (2, 3)
    assert torchlike.full((2,), 7).dtype == torchlike.int64 and torchlike.full((2,), 7.0).tolist() == [7.0, 7.0]
    assert torchlike.arange(3).tolist() == [0, 1, 2] and torchlike.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert torchlike.arange(start=1, end=3).tolist() == [1, 2] and torchlike.arange(5, step=2).tolist() == [0, 2, 4]
    assert torchlike.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]] and torchlike.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    t = torchlike.ones(2, dtype=torchlike.float64)
    assert torchlike.zeros_like(t).dtype == torchlike.float64
    assert torchlike.ones_like(t, device="meta").device.type == "meta"
    assert t.new_zeros(2, 2).shape == (2, 2) and t.new_tensor([1]).dtype == torchlike.float64
    assert torchlike.empty(2, requires_grad=True).requires_grad
    assert torchlike.zeros_like(t, requires_grad=True).requires_grad


def test_functions_take_torchs_names_for_arguments():
    t = torchlike.arange(6.0).reshape(2, 3)
    assert torchlike.sum(input=t, axis=1, keepdims=True).shape == (2, 1)
    assert torchlike.max(t, dim=1).indices.tolist() == [2, 2]
    assert t.permute(1, 0).shape == t.permute((1, 0)).shape == (3, 2) == torchlike.permute(t, (1, 0)).shape
    assert t.view(-1).shape == (6,) and t.repeat(2, 1).shape == (4, 3) and t.expand(1, 2, 3).shape == (1, 2, 3)
    assert len(torchlike.split(t, [1, 2], dim=1)) == 2 and isinstance(t.unbind(), tuple)
    values, indices = torchlike.sort(t, descending=True)
    assert values[0].tolist() == [2.0, 1.0, 0.0] and indices[0].tolist() == [2, 1, 0]
    assert torchlike.where(t > 2, t, 0.0).sum().item() == 12.0
    assert [found.tolist() for found in torchlike.nonzero(t > 3, as_tuple=True)] == [[1, 1], [1, 2]]


def test_finfo_iinfo_and_promotion():
    assert torchlike.finfo(torchlike.float64).eps == np.finfo(np.float64).eps
    assert torchlike.iinfo(torchlike.uint8).max == 255
    with pytest.raises(TypeError, match="requires a floating point input type"):
        torchlike.finfo(torchlike.int64)
    with pytest.raises(TypeError, match="requires an integer input type"):
        torchlike.iinfo(torchlike.float32)
    assert torchlike.promote_types(torchlike.int32, torchlike.float16) == torchlike.float16
    assert torchlike.result_type(tensor([1]), 1.5) == torchlike.float32
    assert torchlike.can_cast(torchlike.float32, torchlike.int8) is False


def test_default_dtype():
    torchlike.set_default_dtype(torchlike.float64)
    try:
        assert tensor([1.5]).dtype == torchlike.zeros(1).dtype == torchlike.float64
    finally:
        torchlike.set_default_dtype(torchlike.float32)
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        torchlike.set_default_dtype(torchlike.int64)


def test_threads_that_first_ask_for_a_tensors_state_get_the_same_one():
    for _ in range(50):
        t, barrier = torchlike.ones(1), threading.Barrier(4)

        def ask(t=t, barrier=barrier):
            barrier.wait()
            return t._state

        with ThreadPoolExecutor(4) as pool:
            states = {id(future.result()) for future in [pool.submit(ask) for _ in range(4)]}
        assert states == {id(t._state)}


def test_saving_a_tensor_for_backward_makes_no_state():
    t, plain = torchlike.ones(1, requires_grad=True), torchlike.ones(1)
    (t * plain).backward()
    assert t.grad.item() == 1
    assert not hasattr(plain, "_autograd")


def test_binary_functions_take_torchs_names_numbers_on_either_side_and_keywords():
    a, out = tensor([1.0, 2.0]), torchlike.zeros(2)
    assert torchlike.add(input=a, other=a, alpha=2).tolist() == [3, 6]
    assert torchlike.add(1, a, alpha=2).tolist() == [3, 5] and torchlike.sub(a, 1, alpha=3).tolist() == [-2, -1]
    assert torchlike.pow(a, exponent=2).tolist() == [1, 4] and torchlike.pow(2, a).tolist() == [2, 4]
    assert torchlike.div(a, 2, rounding_mode="floor").tolist() == [0, 1]
    assert torchlike.div(a, 2, rounding_mode=None).tolist() == [0.5, 1]
    assert torchlike.mul(3, a, out=out) is out and out.tolist() == [3, 6]
    assert a.add(a, alpha=-1).tolist() == [0, 0] and a.clone().add_(a, alpha=2).tolist() == [3, 6]
    assert torchlike.add(np.float32(1), a).tolist() == torchlike.add(a, np.float32(1)).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a: torchlike.add(a, a, 2), "add() takes 2 positional arguments but 3 were given"),
        (lambda a: torchlike.add(a, a, foo=1), "add() got an unexpected keyword argument 'foo'"),
        (lambda a: torchlike.add(a, a, alpha="x"), "argument 'alpha' must be Number, not str"),
        (lambda a: torchlike.mul(a, "x"), "received an invalid combination of arguments - got (Tensor, str)"),
        (lambda a: torchlike.mul("x", a), "received an invalid combination of arguments - got (str, Tensor)"),
        (lambda a: torchlike.eq(1, 2), "received an invalid combination of arguments - got (int, int)"),
    ],
)
def test_binary_functions_refuse_what_torch_refuses(call, text):
    with pytest.raises(TypeError) as caught:
        call(tensor([1.0, 2.0]))
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "array",
    [
        np.ones((4, 6))[:, ::2],
        np.ones((4, 6))[1:, 1:],
        np.ones((4, 6)).T,
        np.broadcast_to(np.ones(3), (2, 3)),
        np.ones((4, 6))[:1, :3],
        np.zeros((0, 3)),
        np.ones(()),
    ],
    ids=lambda array: f"{array.shape}{array.strides}",
)
def test_from_numpy_keeps_the_strides_of_any_slice(array):
    tensor = torchlike.from_numpy(array)
    assert tensor.stride() == tuple(step // array.itemsize for step in array.strides)
    assert np.shares_memory(tensor.numpy(), array) or not array.size
    assert tensor.tolist() == array.tolist()


def test_from_numpy_refuses_strides_between_elements():
    records = np.zeros(3, dtype=[("a", "i1"), ("b", "f4")])
    with pytest.raises(ValueError, match="strides not a multiple of the element byte size"):
        torchlike.from_numpy(records["b"])
    with pytest.raises(ValueError, match="stride in the given numpy array is negative"):
        torchlike.from_numpy(np.ones(3)[::-1])


def test_two_numbers_make_a_tensor():
    assert torchlike.add(True, True).item() is True
    assert torchlike.div(1, 2).item() == 0.5
    assert torchlike.sub(1, 2.5).dtype is torchlike.float32


@pytest.mark.parametrize(
    ("name", "numbers", "keywords"),
    [
        ("addcmul", (0.5,), ("value",)),
        ("addcdiv_", (-0.5,), ("value",)),
        ("addmm", (0.5, 2), ("beta", "alpha")),
        ("addmm_", (0.5,), ("beta",)),
        ("addmv", (0.5, 2), ("beta", "alpha")),
    ],
)
def test_calls_of_older_programs_give_numbers_before_tensors(name, numbers, keywords):
    make = torchlike.arange(1.0, 5.0).reshape(2, 2).clone
    tensors = (make(), make()[0]) if name == "addmv" else (make(), make())
    start = make()[0] if name == "addmv" else make()
    expected = getattr(start.clone(), name)(*tensors, **dict(zip(keywords, numbers, strict=True)))
    with pytest.warns(UserWarning, match=f"This overload of {name} is deprecated"):
        found = getattr(start.clone(), name)(*numbers, *tensors)
    assert found.equal(expected)
    if not name.endswith("_"):
        first = (start, *numbers) if len(numbers) == 1 else (numbers[0], start, *numbers[1:])
        with pytest.warns(UserWarning, match="deprecated"):
            assert getattr(torchlike, name)(*first, *tensors).equal(expected)


@pytest.mark.parametrize("name", ["add", "add_", "sub", "sub_"])
def test_an_older_call_gives_a_factor_before_what_is_added(name):
    def call(*args, **kwargs):
        return getattr(torchlike.ones(2), name)(*args, **kwargs).tolist()

    y = torchlike.ones(2)
    with pytest.warns(UserWarning, match=f"This overload of {name} is deprecated") as caught:
        assert call(0.5, y) == call(y, alpha=0.5)
    assert caught[0].filename == __file__
    if not name.endswith("_"):
        with pytest.warns(UserWarning, match="deprecated"):
            assert getattr(torchlike, name)(y, 3, y).tolist() == call(y, alpha=3)
    for wrong in [(y, y), (y, 2), (2, y, 3), (2, y, y)]:
        with pytest.raises(TypeError, match=f"takes 2 positional arguments but {1 + len(wrong)} were given"):
            call(*wrong)
    with pytest.raises(TypeError, match="but 3 were given"):
        call(2, y, alpha=3)


def test_a_part_of_complex_numbers_is_set_to_a_number():
    z = torchlike.ones(2, dtype=torchlike.complex64)
    z.real, z.imag = 3, torchlike.tensor([1.0, 2.0])
    assert z.tolist() == [3 + 1j, 3 + 2j]


def test_a_tensor_without_dimensions_stands_for_a_number_in_every_call():
    x, two = torchlike.ones(2), torchlike.tensor(2.0)
    assert x.add(x, alpha=two).tolist() == torchlike.sub(x, x, alpha=-two).tolist() == [3.0, 3.0]
    assert torchlike.nn.functional.pad(x, (0, 1), value=two).tolist() == [1.0, 1.0, 2.0]
    assert x.norm(two).tolist() == pytest.approx(2**0.5) and x.addcmul_(x, x, value=two).tolist() == [3.0, 3.0]
    assert (torchlike.arange(2) * two).dtype is torchlike.float32
    for wrong in (torchlike.ones(1), torchlike.tensor(1.0, requires_grad=True)):
        with pytest.raises(TypeError, match="must be Number, not Tensor"):
            x.add(x, alpha=wrong)
        with pytest.raises(TypeError, match="must be Number, not Tensor"):
            torchlike.nn.functional.leaky_relu(x, wrong)


@pytest.mark.no_pipeline(reason="there the output is written when the block ends")
def test_an_empty_output_alone_in_its_memory_grows_without_a_search_for_others(monkeypatch):
    x = torchlike.ones(3)
    monkeypatch.setattr(gc, "get_objects", lambda: pytest.fail("all objects are looked at"))
    for _ in range(10):
        assert torchlike.sin(x, out=torchlike.empty(0)).shape == (3,)


def _draw_tensors():
    """Yield a tensor of each kind that takes attributes, with its name."""
    yield "plain", tensor([1.0, 2.0])
    yield "leaf", tensor([1.0, 2.0], requires_grad=True)
    yield "result", tensor([1.0, 2.0], requires_grad=True) * 2
    yield "view", tensor([1.0, 2.0])[:1]
    yield "parameter", torchlike.nn.Parameter(tensor([1.0, 2.0]))
    yield "buffer", torchlike.nn.Buffer(tensor([1.0, 2.0]))
    yield "meta", torchlike.ones(2, device="meta")
    yield "sparse", torchlike.eye(2).to_sparse()
    yield "subclass", tensor([1.0]).as_subclass(type("Marked", (torchlike.Tensor,), {}))


@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in _draw_tensors()])
def test_attributes_live_with_the_object(value):
    assert vars(value) == {} and not hasattr(value, "mark")
    value.mark = [5]
    value.requires_gard = True  # as torch takes a misspelt one
    assert value.mark == [5] and vars(value) == value.__dict__ == {"mark": [5], "requires_gard": True}
    assert "mark" in dir(value)
    for made in (value + value, value.clone(), value.detach(), value.data, value.to(torchlike.float64)):
        assert vars(made) == {}
    del value.requires_gard
    assert vars(value) == {"mark": [5]}
    with pytest.raises(AttributeError, match="requires_gard"):
        _ = value.requires_gard


def test_attributes_never_hide_properties():
    value = tensor([[1.0]])
    kept = {name: getattr(torchlike.Tensor, name) for name in dir(torchlike.Tensor)}
    names = [name for name, each in kept.items() if isinstance(each, property) and each.fset is None]
    assert {"shape", "dtype", "device", "grad_fn", "is_leaf", "T"} <= set(names)
    for name in names:
        with pytest.raises(AttributeError, match="no setter"):
            setattr(value, name, 5)
    assert vars(value) == {}


def test_attributes_in_programs():
    value = tensor([1.0, 2.0])
    value.mark = "input"
    with torchlike.pipeline():
        made = value * 2
        made.mark = "recorded"
        made.add_(1)
        assert made.mark == "recorded" and vars(made + 1) == {}
    assert made.mark == "recorded" and made.tolist() == [3.0, 5.0]
    doubled = torchlike.compile(lambda x: x * 2)
    for _ in range(4):
        assert vars(doubled(value)) == {} and value.mark == "input"
    layer = torchlike.nn.Linear(2, 2)
    layer.weight.is_tied = True
    optimizer = torchlike.optim.AdamW(layer.parameters())
    layer(value).sum().backward()
    optimizer.step()
    layer.to(torchlike.float64).load_state_dict(torchlike.nn.Linear(2, 2).state_dict())
    assert layer.weight.is_tied and not vars(layer.bias) and not vars(layer.state_dict()["weight"])
    assert not hasattr(copy.deepcopy(layer).weight, "is_tied")  # as torch copies parameters


def test_attributes_go_with_their_tensor():
    value = tensor([1.0])
    value.itself, value.made = value, (mark := tensor([2.0]))
    assert copy.copy(value).itself is value
    for copied in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert copied.itself is copied and copied.made is not mark and copied.made.item() == 2
    known = weakref.ref(mark)
    del value.itself, value, mark, copied
    gc.collect()
    assert known() is None


def test_a_class_of_tensors_may_have_attributes_of_any_short_name():
    class Image(torchlike.Tensor):
        _meta = None

    x = torchlike.ones(2, requires_grad=True).as_subclass(Image)
    x._meta = {"spacing": 2}
    y = torchlike.cat([x, x]) * 2
    y.sum().backward()
    assert type(y) is Image and y.grad_fn is not None and x._meta == {"spacing": 2}
