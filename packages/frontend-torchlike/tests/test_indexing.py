"""Indexing: views where the index has no tensors, copies where it has, and torch's errors."""

from array import array
from collections import deque

import numpy as np
import pytest

import torchlike
from torchlike import tensor


@pytest.fixture
def grid():
    return torchlike.arange(24.0).reshape(2, 3, 4).clone()


INDICES = [
    1,
    -1,
    slice(None),
    slice(1, None),
    slice(0, 3, 2),
    ...,
    None,
    (0, 1),
    (0, ..., 2),
    (slice(None), 1),
    (slice(None), slice(1, 3), None, 2),
    (..., slice(None, None, 2)),
    (None, ..., None),
    (0, 1, 2),
    [0, 1],
    (slice(None), [2, 0]),
    ([0, 1], [2, 0]),
    ([0, 1], slice(None), [2, 0]),
    (slice(None), [[0, 1], [1, 2]]),
    (1, [0, 2], slice(1, 3)),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_agrees_with_numpy(grid, index):
    expected = grid.numpy()[index]
    found = grid[index]
    assert tuple(found.shape) == expected.shape
    assert np.array_equal(found.numpy(), expected)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_writing_a_number_agrees_with_numpy(grid, index):
    expected = grid.numpy().copy()
    expected[index] = -1.0
    grid[index] = -1.0
    assert np.array_equal(grid.numpy(), expected)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_writing_a_tensor_broadcasts_it(grid, index):
    expected = grid.numpy().copy()
    expected[index] = 7.0
    grid[index] = tensor([7.0])
    assert np.array_equal(grid.numpy(), expected)


def test_masks_select_and_assign(grid):
    expected = grid.numpy().copy()
    mask = grid > 5
    assert np.array_equal(grid[mask].numpy(), expected[expected > 5])
    grid[mask] = 0.0
    expected[expected > 5] = 0.0
    assert np.array_equal(grid.numpy(), expected)
    rows = tensor([[True, False, True], [False, True, False]])
    assert grid[rows].shape == (3, 4)
    assert grid[rows, 1:3].shape == (3, 2)


def test_booleans_add_a_dimension(grid):
    assert grid[True].shape == (1, 2, 3, 4)
    assert grid[tensor(False)].shape == (0, 2, 3, 4)


def test_basic_indices_are_views_and_tensor_indices_are_copies(grid):
    grid[0, 1][2] = 100.0
    assert grid[0, 1, 2].item() == 100.0
    copy = grid[tensor([0])]
    copy.zero_()
    assert grid[0, 1, 2].item() == 100.0


def test_an_index_of_everything_is_a_tensor_of_its_own(grid):
    assert grid[...] is not grid and grid[:] is not grid
    assert grid[...]._base is grid


def test_tensors_and_numpy_numbers_may_stand_for_ints(grid):
    assert np.array_equal(grid[tensor(1), np.int64(2)].numpy(), grid.numpy()[1, 2])


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, 7), IndexError, "index 7 is out of bounds for dimension 1 with size 3"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        (slice("a", None), TypeError, "slice indices must be integers or None or have an __index__ method"),
        (1.0, IndexError, "only integers, slices"),
    ],
    ids=repr,
)
def test_bad_indices_get_torchs_errors(grid, index, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(")):
        grid[index]


def test_float_tensors_are_no_indices(grid):
    with pytest.raises(IndexError, match="tensors used as indices must be long, int, byte or bool tensors"):
        grid[tensor([1.0])]


def test_a_tensor_without_dimensions_takes_no_index():
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        tensor(1.0)[0]
    with pytest.raises(IndexError, match="slice\\(\\) cannot be applied to a 0-dim tensor"):
        tensor(1.0)[:]


def test_a_failed_assignment_changes_nothing(grid):
    before, version = grid.clone(), grid._version
    for value in (torchlike.zeros(5), "a", [1.0, 2.0]):
        with pytest.raises((RuntimeError, TypeError)):
            grid[0] = value
    assert torchlike.equal(grid, before)
    assert grid._version == version


def test_assignment_is_recorded_for_backward():
    base = torchlike.zeros(3)
    value = tensor(2.0, requires_grad=True)
    base[1] = value * 3
    (base * tensor([1.0, 10.0, 100.0])).sum().backward()
    assert value.grad.item() == 30.0


def test_a_slices_bounds_may_be_farther_than_64_bits_count():
    t = torchlike.arange(5)
    assert t[: 2**70].tolist() == t[-(2**70) :].tolist() == [0, 1, 2, 3, 4]
    assert t[2**70 :].tolist() == []


def test_what_a_slices_conversion_raises_is_a_type_error():
    class Hostile:
        def __index__(self):
            raise ZeroDivisionError

    with pytest.raises(TypeError, match="slice indices must be integers"):
        torchlike.arange(5)[Hostile() :]


@pytest.mark.parametrize("dtype", [torchlike.uint8, torchlike.int32, torchlike.float16, torchlike.float64], ids=str)
@pytest.mark.parametrize("index", [[True, False, True], [0, 2]], ids=["mask", "places"])
def test_a_complex_number_is_written_where_it_has_no_imaginary_part(dtype, index):
    a = torchlike.zeros(3, dtype=dtype)
    a[index] = 2 + 0j
    assert a.tolist() == [2, 0, 2]
    for value in (1 + 2j, tensor(1 + 2j)):
        b = a.clone()
        with pytest.raises(RuntimeError, match=r"without overflow|dtypes match"):
            (b.__setitem__(index, value), b.tolist())
    with pytest.raises(RuntimeError, match=r"without overflow|dtypes match"):
        a.clone().index_put_((tensor(index),), tensor([1 + 2j])).tolist()


class WithArray:
    """A column of another library, which NumPy can read."""

    def __init__(self, *values):
        self.values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.parametrize(
    ("index", "plain"),
    [
        (WithArray(1, 0), [1, 0]),
        (WithArray(True, False), [True, False]),
        ((slice(None), WithArray(0, 2), 1), (slice(None), [0, 2], 1)),
        (WithArray(*[[True, False, True]] * 2), np.array([[True, False, True]] * 2)),
        (deque([1, 1]), [1, 1]),
        (array("i", [1]), [1]),
        (WithArray(), np.array([], int)),
    ],
    ids=["places", "mask", "among others", "two dimensions", "deque", "buffer", "nothing"],
)
def test_other_arrays_and_sequences_are_indices(grid, index, plain):
    assert np.array_equal(grid[index].numpy(), grid.numpy()[plain])
    grid[index] = -1.0
    assert (grid.numpy()[plain] == -1).all()


@pytest.mark.parametrize("index", [WithArray(0.5), "a", b"a", {0: 1}, {0}, 1.5], ids=lambda index: type(index).__name__)
def test_what_names_no_places_is_no_index(grid, index):
    with pytest.raises(IndexError, match="indices"):
        grid[index]
    with pytest.raises(TypeError, match=r"element \[0\] is .*'a'.* of type str"):
        grid[WithArray("a")]


@pytest.mark.parametrize("value", [np.ones(4), [1.0] * 4, WithArray(1.0)], ids=["array", "list", "column"])
def test_only_tensors_and_numbers_are_written(grid, value):
    with pytest.raises(TypeError, match=r"can't assign a .*\nHint: make a tensor of it first, with torchlike.tensor$"):
        grid[0, 0] = value
    with pytest.raises(TypeError, match=r"can't assign a NoneType to a torchlike.FloatTensor$"):
        grid[0, 0] = None
    assert (grid == torchlike.arange(24.0).reshape(2, 3, 4)).all()


@pytest.mark.parametrize(("shape", "dim"), [((3,), 1), ((3,), -1), ((2, 3), 2)])
def test_index_add_of_a_source_with_fewer_dimensions(shape, dim):
    places, count = torchlike.tensor([0, 1, 1]), len(shape)
    with pytest.raises(
        RuntimeError, match=rf"Indexing dim {dim % 3} is out of bounds of the source tensor with dim {count}"
    ):
        torchlike.ones(2, 3, 4).index_add(dim, places, torchlike.ones(shape))
