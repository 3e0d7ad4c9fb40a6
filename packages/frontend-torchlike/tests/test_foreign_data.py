"""Tensors made of other objects' memory and numbers, and memory handed on by DLPack."""

from __future__ import annotations

import array
import gc
import random
import warnings
import weakref

import ml_dtypes
import numpy as np
import pytest

import torchlike as t

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)


class WithDLPack:
    """An array of another library, which knows DLPack alone."""

    def __init__(self, values=NUMBERS, device=(1, 0)):
        self.values, self.device = np.array(values), device

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class WithoutOptions(WithDLPack):
    """An array of before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.values.__dlpack__()


class WithArray:
    """A table of another library, which NumPy can read."""

    def __init__(self, values=NUMBERS):
        self.values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


class WithInterface:
    """An object that describes its memory."""

    def __init__(self, values=NUMBERS):
        self.values = np.array(values)
        self.__array_interface__ = self.values.__array_interface__


KINDS = pytest.mark.parametrize("kind", [WithDLPack, WithoutOptions, WithArray, WithInterface])


@KINDS
def test_a_tensor_of_foreign_elements_is_a_copy(kind):
    source = kind()
    made = t.tensor(source)
    assert (made.tolist(), made.dtype, made.shape) == (NUMBERS.tolist(), t.float32, (2, 3))
    made.zero_()
    assert source.values.tolist() == NUMBERS.tolist()
    assert t.tensor(source, dtype=t.int64, requires_grad=False).dtype is t.int64
    assert t.tensor(source, requires_grad=True).requires_grad


@KINDS
@pytest.mark.parametrize("function", [t.asarray, t.as_tensor])
def test_foreign_memory_is_shared_where_it_can_be(kind, function):
    source = kind()
    made = function(source)
    made[0, 0] = 9
    assert source.values[0, 0] == 9
    assert function(source, dtype=t.float64).data_ptr() != made.data_ptr()


def test_asarray_copies_or_refuses_to_as_it_is_told():
    source = WithDLPack()
    assert t.asarray(source, copy=True).data_ptr() != t.asarray(source, copy=False).data_ptr()
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Float' into dtype 'Double'"):
        t.asarray(source, dtype=t.float64, copy=False)
    with pytest.raises(ValueError, match="can't alias an array with negative or odd strides"):
        t.asarray(NUMBERS[::-1], copy=False)
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        t.asarray([1, 2], copy=False)


def test_sequences_of_foreign_arrays_are_joined():
    for kind in (WithDLPack, WithArray, WithInterface):
        assert t.tensor([kind([1, 2]), kind([3, 4])]).tolist() == [[1, 2], [3, 4]]
        numbers = t.tensor([kind(np.float64(1.5)), 2])
        assert (numbers.tolist(), numbers.dtype) == ([1.5, 2.0], t.float64)
    assert t.tensor([t.tensor(1), np.float64(2.5), 3]).tolist() == [1, 2.5, 3]
    assert t.tensor([WithArray(ml_dtypes.bfloat16(1)), WithArray(ml_dtypes.bfloat16(2))]).dtype is t.bfloat16
    assert t.tensor([np.arange(2, dtype=">i4"), [1, 2]]).tolist() == [[0, 1], [1, 2]]
    assert t.tensor([np.ones(2), (0, 1)]).tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("data", "expected", "dtype"),
    [
        (b"ab", [97, 98], t.int64),
        (bytearray(b"ab"), [97, 98], t.int64),
        (memoryview(b"ab"), [97, 98], t.int64),
        (memoryview(NUMBERS), NUMBERS.tolist(), t.float32),
        (memoryview(np.array(3)), 3, t.int64),
        (array.array("d", [1, 2]), [1.0, 2.0], t.float32),
        (range(3), [0, 1, 2], t.int64),
    ],
)
def test_buffers_and_ranges_are_sequences_of_numbers(data, expected, dtype):
    made = t.tensor(data)
    assert (made.tolist(), made.dtype) == (expected, dtype)


@pytest.mark.parametrize(
    "values",
    [
        NUMBERS[::-1],
        NUMBERS[:, ::-2],
        NUMBERS.T,
        NUMBERS[:, 1:2],
        NUMBERS.astype(">f4"),
        NUMBERS.astype(">c8"),
        np.array(2.5),
        np.empty((0, 3)),
        np.empty((3, 0), np.int8),
        np.arange(100_000, dtype=np.int16)[::50_000],
        np.zeros(4, [("a", "i1"), ("b", "<i4")])["b"],
        np.broadcast_to(np.float16(1), (2, 2)),
        np.array([True, False]).view(np.uint8),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.array([1, 2], np.uint64),
    ],
)
def test_arrays_of_every_layout_come_in(values):
    for made in (t.tensor(values), t.asarray(values), t.as_tensor(values), t.tensor(WithArray(values))):
        assert np.array_equal(made.numpy(), values)
        assert made.dtype.short == values.dtype.newbyteorder("=").name
    assert t.tensor(values).is_contiguous() or not values.flags.c_contiguous


def test_buffers_are_shared_in_dtypes_that_numpy_lacks_too():
    memory = bytearray(4)
    t.frombuffer(memory, dtype=t.bfloat16).fill_(1)
    assert t.frombuffer(memory, dtype=t.bfloat16, requires_grad=True).tolist() == [1.0, 1.0]
    assert t.frombuffer(memory, dtype=t.float8_e5m2, offset=1, count=1).shape == (1,)


def test_writes_into_a_buffer_that_is_read_only_are_refused():
    for made in (t.frombuffer(b"ab", dtype=t.uint8), t.frombuffer(b"ab", dtype=t.bfloat16), t.asarray(b"abcd")):
        with pytest.raises(RuntimeError, match="cannot write to a read-only array"):
            made.zero_().tolist()  # in a pipeline the write is made when it is read


@pytest.mark.filterwarnings("ignore:in the future the `.dtype` attribute:DeprecationWarning")  # of NumPy 2.1
def test_numpy_reads_the_dtype_of_a_tensor():
    assert np.result_type(t.ones(2), np.float64) == np.float64
    assert np.dtype(t.ones(2, dtype=t.int8)) == np.int8
    # NumPy 2.1 has words of its own.
    with pytest.raises((ValueError, TypeError), match=r"to a NumPy dtype|Cannot interpret"):
        np.result_type(t.ones(2, dtype=t.bfloat16))


def test_numpy_takes_our_dtypes_for_its_own():
    assert np.zeros(2, t.int16).dtype == np.int16
    assert NUMBERS.astype(t.complex128).dtype == t.complex128
    assert np.asarray(t.ones(2), dtype=t.float64).tolist() == [1.0, 1.0]
    assert not hasattr(t.bfloat16, "dtype")
    with pytest.raises(TypeError, match="bfloat16"):
        np.zeros(2, t.bfloat16)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
def test_dtypes_that_numpy_lacks_come_in_and_go_out(name):
    values = np.array([1, 2], getattr(ml_dtypes, name))
    made = t.tensor(values)
    assert made.dtype.short == name
    assert made.float().tolist() == [1.0, 2.0]
    again = t.from_dlpack(made.__dlpack__(max_version=(1, 0)))
    assert again.dtype is made.dtype
    assert again.data_ptr() == made.data_ptr()


def test_a_read_only_array_is_shared_and_stays_as_it_is():
    values = np.arange(3.0)
    values.flags.writeable = False
    for made in (t.from_numpy(values), t.asarray(values), t.from_dlpack(values)):
        with pytest.raises(RuntimeError, match=r"cannot write to a read-only array.*\nHint: copy the array first"):
            made.add_(1).tolist()  # in a pipeline the write is made when it is read
    assert t.tensor(values).add_(1).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (
            [[1, 2], [3]],
            ValueError,
            r"expected sequence of length 2 at dim 1 \(got 1\)\nHint: row \[1\] has 1 element, and",
        ),
        ([1, [2]], TypeError, r"Hint: element \[1\] is a list, where a number stands before"),
        ([[1, 2], 3], TypeError, r"not a sequence\nHint: element \[1\] is a number, where a row of 2 stands before"),
        ([[1, 2], [3, None]], RuntimeError, r"Could not infer dtype of NoneType\nHint: element \[1\]\[1\] is None"),
        ([[1.0, "a"]], TypeError, r"invalid data type 'str'\nHint: element \[0\]\[1\] is 'a' of type str"),
        ([1, {}], RuntimeError, r"Could not infer dtype of dict\nHint: element \[1\] is {} of type dict"),
        ([t.ones(2)], ValueError, r"Hint: element \[0\] is a tensor of 2 elements: torchlike.stack joins tensors"),
        (None, RuntimeError, "Could not infer dtype of NoneType$"),
        (np.array([[1, None]]), TypeError, r"type numpy.object_.*\nHint: element \[0\]\[1\] is None"),
        (np.array([1, 2], object), TypeError, r"\nHint: its numbers are Python objects: give them a dtype with astype"),
        (np.array(["a"]), TypeError, r"type numpy.str_.*\nHint: element \[0\] is np.str_\('a'\) of type str_"),
        (
            np.array(["2020"], "M8[D]"),
            TypeError,
            r"np.ndarray of type numpy.datetime64.*\nHint: count the times from a first",
        ),
        (np.array([1], "m8[s]"), TypeError, r"np.ndarray of type numpy.timedelta64.*\nHint: divide by a unit"),
        (np.zeros(1, [("a", "i4")]), TypeError, r"np.ndarray of type numpy.void.*\nHint: take one of its fields"),
        (np.zeros(1, np.longdouble), TypeError, r"type numpy.longdouble.*\nHint: convert it first, with astype"),
        (
            WithArray(np.array(["a", 1], object)),
            TypeError,
            r"WithArray to a tensor: element \[0\] is 'a' of type str",
        ),
        (
            WithDLPack(device=(2, 0)),
            BufferError,
            r"WithDLPack is on cuda:0, and no device .*\nHint: copy it to the host",
        ),
        (WithDLPack(device=(99, 1)), BufferError, "is on device type 99:1"),
        (WithDLPack(device="cpu"), TypeError, "__dlpack_device__ of WithDLPack returned 'cpu', not a pair of integers"),
        (WithDLPack(device=(1,)), TypeError, r"returned \(1,\), not a pair"),
    ],
)
def test_data_that_is_no_array_of_numbers_is_refused_with_its_place(data, error, text):
    with pytest.raises(error, match=text):
        t.tensor(data)


def test_a_conversion_that_fails_is_named():
    class Broken(WithArray):
        def __array__(self, dtype=None, copy=None):
            raise KeyError("a column")

    with pytest.raises(TypeError, match=r"Broken cannot be converted to a tensor .KeyError: 'a column'"):
        t.tensor(Broken())


def test_from_numpy_takes_what_it_can_share_only():
    with pytest.raises(ValueError, match=r"byte order different from the native byte order.*\nHint: convert it first"):
        t.from_numpy(NUMBERS.astype(">f4"))
    with pytest.raises(ValueError, match="negative"):
        t.from_numpy(NUMBERS[::-1])


def test_from_dlpack_shares_memory_and_says_when_it_cannot():
    source = WithDLPack()
    made = t.from_dlpack(source)
    made[0, 0] = 7
    assert source.values[0, 0] == 7
    assert t.from_dlpack(source, copy=True).data_ptr() != made.data_ptr()
    assert t.from_dlpack(source, device="meta").is_meta
    with pytest.raises(BufferError, match="a copy is needed from cpu to meta"):
        t.from_dlpack(source, device="meta", copy=False)
    with pytest.raises(TypeError, match=r"expects an object with __dlpack__, or a capsule, not list\nHint: asarray"):
        t.from_dlpack([1])


def test_a_capsule_is_taken_once():
    capsule = t.ones(2).__dlpack__()
    assert t.from_dlpack(capsule).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        t.from_dlpack(capsule)


def test_an_object_without_a_capsule_is_named():
    class Wrong(WithDLPack):
        def __dlpack__(self, **options):
            return 3

    with pytest.raises(TypeError, match="__dlpack__ of Wrong returned an object of type int, not a capsule"):
        t.from_dlpack(Wrong())


def test_a_capsule_keeps_the_memory_alive():
    values = np.ones(3)
    alive = weakref.ref(values)
    capsule = t.from_numpy(values).__dlpack__(max_version=(1, 0))
    del values
    gc.collect()
    assert t.from_dlpack(capsule).tolist() == [1, 1, 1]
    del capsule
    gc.collect()
    assert alive() is None


def test_a_tensor_is_exported_as_it_is_asked_for():
    x = t.arange(6.0).reshape(2, 3)
    assert "_versioned" in repr(x.__dlpack__(max_version=(1, 1)))
    assert "_versioned" not in repr(x.__dlpack__(max_version=(0, 8)))
    assert "_versioned" not in repr(x.__dlpack__())
    assert t.from_dlpack(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0), copy=False)).data_ptr() == x.data_ptr()
    assert t.from_dlpack(x.__dlpack__(copy=True, max_version=(1, 0))).data_ptr() != x.data_ptr()
    assert np.from_dlpack(x.mT).tolist() == x.mT.tolist()
    assert x.__dlpack_device__() == (1, 0)
    assert t.ones(1, requires_grad=True).__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: t.ones(1, requires_grad=True).__dlpack__(), BufferError, "require gradient, use tensor.detach"),
        (lambda: t.from_dlpack(t.ones(1, requires_grad=True)), BufferError, "require gradient, use tensor.detach"),
        (lambda: t.ones(1).__dlpack__(dl_device=(2, 0)), BufferError, "unsupported device requested"),
        (lambda: t.ones(1).__dlpack__(dl_device="cpu"), TypeError, "dl_device must be a tuple"),
        (lambda: t.ones(1).__dlpack__(stream="s"), TypeError, "stream must be"),
        (lambda: t.ones(1).__dlpack__(stream=2), AssertionError, "stream should be None on cpu"),
        (lambda: t.ones(1, device="meta").__dlpack__(), BufferError, r"Cannot pack tensors on meta\nHint: copy it"),
        (lambda: t.ones(1, device="meta").__dlpack_device__(), ValueError, "Unknown device type meta for Dlpack"),
    ],
)
def test_what_cannot_be_exported_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def draw_strided(draw):
    """Return a strided window of some numbers, with dimensions of length 1 or 0 and any stride along those."""
    itemsize = draw.choice([1, 2, 4, 8])
    memory = np.arange(64).astype(f"i{itemsize}")
    shape = tuple(draw.choice([0, 1, 1, 2, 3]) for _ in range(draw.randint(1, 4)))
    steps = [draw.choice([0, 1, 2, 5]) * itemsize for _ in shape]
    for dim, size in enumerate(shape):
        if size == 1 or 0 in shape:
            steps[dim] = draw.choice([-itemsize, -7, 3, 0, 5 * itemsize, 1 << 40])
    return np.lib.stride_tricks.as_strided(memory[8:], shape, steps, writeable=draw.random() < 0.7)


def test_strides_along_dimensions_without_a_second_element_are_any():
    for number in range(400):
        strided = draw_strided(random.Random(number))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of arrays that are read-only
            tensor = t.from_numpy(strided)
        assert tuple(tensor.shape) == strided.shape
        assert tensor.tolist() == strided.tolist()
        assert (tensor + 1).tolist() == (strided + 1).tolist()
        assert tensor.reshape(-1).tolist() == strided.reshape(-1).tolist()
        if strided.size and strided.flags.writeable:
            strided[...] = 7
            assert tensor.unique().tolist() == [7]
            tensor.fill_(5)
            assert (strided == 5).all()


def test_a_negative_stride_that_is_gone_along_is_refused():
    with pytest.raises(ValueError, match="negative"):
        t.from_numpy(np.arange(4)[::-1])
