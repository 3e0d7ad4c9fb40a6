import numpy as np
import pytest

from dispatch_aten.errors import DimensionError, DtypeError, OperatorError, ShapeError
from dispatch_backend_cpu.kernels import KERNELS

index, put = KERNELS["index.Tensor"], KERNELS["index_put_"]
A = np.arange(24).reshape(2, 3, 4)


def test_integers_masks_and_full_slices_mix():
    rows, columns = np.array([1, -1]), np.array([[0], [3]])
    np.testing.assert_array_equal(index(A, [None, rows, columns]), A[:, rows, columns])
    np.testing.assert_array_equal(index(A, [rows, None, columns]), A[rows, :, columns])
    mask = A[:, :, 0] % 8 == 0
    np.testing.assert_array_equal(index(A, [mask]), A[mask])
    np.testing.assert_array_equal(index(A, [None, mask[0], rows[:1]]), A[:, mask[0], rows[:1]])


def test_indexing_copies():
    found = index(A, [np.array(0)])
    assert not np.shares_memory(found, A)


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([np.array([2])], "index 2 is out of bounds for dimension 0 with size 2"),
        ([None, np.array([-4])], "index -4 is out of bounds for dimension 1 with size 3"),
        (
            [np.zeros((2, 2), bool)],
            r"The shape of the mask \[2, 2\] at index 1 does not match .* \[2, 3, 4\] at index 1",
        ),
        ([np.array(0)] * 4, "too many indices for tensor of dimension 3"),
        ([np.array([0.5])], "tensors used as indices must be long, int, byte or bool"),
        ([np.array([0, 1]), np.array([0, 1, 2])], "indexing tensors could not be broadcast together"),
    ],
)
def test_indices_that_do_not_fit(indices, text):
    with pytest.raises(DimensionError, match=text):
        index(A, indices)
    a = A.copy()
    with pytest.raises(DimensionError, match=text):
        put(a, indices, np.array(1), False)
    np.testing.assert_array_equal(a, A)


def test_putting_accumulates_where_places_repeat():
    a = np.zeros(3)
    places, ones = np.array([0, 0, 2]), np.ones(3)
    assert put(a, [places], ones, True).tolist() == [2, 0, 1]
    assert put(a, [places], ones, False).tolist() == [1, 0, 1]
    assert put(a, [a > 0], np.array(7.0), False).tolist() == [7, 0, 7]


def test_values_that_do_not_fit_change_nothing():
    a = np.zeros((2, 3))
    with pytest.raises(
        ShapeError, match=r"value tensor of shape \[2\] cannot be broadcast to indexing result of shape \[1, 3\]"
    ):
        put(a, [np.array([0])], np.ones(2), False)
    with pytest.raises(DtypeError, match="Index put requires the source and destination dtypes match"):
        put(a, [np.array([0])], np.ones(3, np.float32), False)
    assert not a.any()


WRITERS = {
    "index_put_": lambda self, index, source: KERNELS["index_put_"](self, [index], source),
    "index_put_ that accumulates": lambda self, index, source: KERNELS["index_put_"](self, [index], source, True),
    "scatter_.src": lambda self, index, source: KERNELS["scatter_.src"](self, 0, index, source),
    "scatter_add_": lambda self, index, source: KERNELS["scatter_add_"](self, 0, index, source),
    "index_add_": lambda self, index, source: KERNELS["index_add_"](self, 0, index, source),
}


@pytest.mark.parametrize("name", WRITERS)
def test_writing_by_index_reads_other_columns_and_no_block_that_it_writes_to(name):
    write = WRITERS[name]
    a = np.arange(6).reshape(3, 2)
    b = a.copy()
    write(a[:, 0], np.array([2, 1, 0]), a[:, 1])
    write(expected := b[:, 0].copy(), np.array([2, 1, 0]), b[:, 1].copy())
    assert a[:, 0].tolist() == expected.tolist()
    block = np.arange(3)
    for index, source in ((block, np.zeros(3, int)), (np.array([0, 1, 2]), block), (np.array([0, 1]), block[1:])):
        with pytest.raises(OperatorError, match="single memory location"):
            write(block, index, source)
    assert block.tolist() == [0, 1, 2]


def test_a_mask_takes_its_one_value_from_what_it_writes_to():
    a = np.arange(4.0)
    KERNELS["index_put_"](a, [a > 1], a[:1])
    assert a.tolist() == [0, 1, 0, 0]


def test_gather_and_scatter_are_inverses():
    order = np.array([[2, 0, 1], [1, 2, 0]])
    a = np.arange(6.0).reshape(2, 3)
    gathered = KERNELS["gather"](a, 1, order, sparse_grad=False)
    np.testing.assert_array_equal(gathered, np.take_along_axis(a, order, 1))
    np.testing.assert_array_equal(KERNELS["scatter_.src"](np.zeros((2, 3)), 1, order, gathered), a)
    assert KERNELS["scatter_add_"](np.zeros(2), 0, np.array([1, 1]), np.array([3.0, 4.0])).tolist() == [0, 7]
    assert KERNELS["scatter_.value"](np.zeros(2), 0, np.array([1]), 5).tolist() == [0, 5]


def test_gather_takes_no_negative_indices():
    with pytest.raises(OperatorError, match="index -1 is out of bounds for dimension 0 with size 3"):
        KERNELS["gather"](np.zeros(3), 0, np.array([-1]), sparse_grad=False)


def test_the_true_elements():
    a = np.array([[0, 1], [2, 0]])
    assert KERNELS["nonzero"](a).tolist() == [[0, 1], [1, 0]]
    assert KERNELS["nonzero"](np.array(3)).shape == (1, 0)
    assert KERNELS["masked_select"](a, a > 0).tolist() == [1, 2]
    assert KERNELS["masked_scatter_"](a, a > 0, np.array([8, 9, 10])).tolist() == [[0, 8], [9, 0]]


def test_embeddings_and_their_gradient():
    weight = np.arange(6.0).reshape(3, 2)
    indices = np.array([[0, 2], [2, 2]])
    np.testing.assert_array_equal(KERNELS["embedding"](weight, indices, -1, False, False), weight[indices])
    grad = KERNELS["embedding_dense_backward"](np.ones((2, 2, 2)), indices, 3, 0, False)
    assert grad.tolist() == [[0, 0], [0, 0], [3, 3]]
    with pytest.raises(DimensionError, match="index out of range in self"):
        KERNELS["embedding"](weight, np.array([3]), -1, False, False)


def test_joining_promotes_and_skips_the_oldest_empty_tensors():
    found = KERNELS["cat"]([np.zeros((1, 2), np.int32), np.zeros(0), np.ones((2, 2), np.float32)], 0)
    assert found.shape == (3, 2)
    assert found.dtype == np.float64  # the empty one counts for the dtype
    with pytest.raises(ShapeError, match="Sizes of tensors must match except in dimension 0"):
        KERNELS["cat"]([np.zeros((1, 2)), np.zeros((1, 3))], 0)
    assert KERNELS["stack"]([np.zeros(2), np.ones(2)], -1).tolist() == [[0, 1], [0, 1]]


def test_a_flipped_array_shares_no_memory():
    base = np.arange(3.0)
    flipped = KERNELS["flip"](base[1:2], [0])
    assert flipped.tolist() == [1] and not np.shares_memory(flipped, base)


def _write_one_by_one(name, a, dim, index, source):
    """Write element by element, as torch's formulas say."""
    found = a.copy()
    for place in np.ndindex(source.shape if name.startswith("index") else index.shape):
        at = index[place[dim]] if name.startswith("index") else index[place]
        into = (*place[:dim], at, *place[dim + 1 :])
        found[into] = source[place] if name in ("scatter.src", "index_copy") else found[into] + source[place]
    return found


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["scatter.src", "scatter_add", "index_add", "index_copy"])
def test_both_forms_of_writes_agree_with_their_formula(name, dim, order):
    rng = np.random.default_rng(dim)
    kernel, inplace = KERNELS[name], KERNELS[name.replace("scatter.", "scatter_.") if "." in name else f"{name}_"]
    for shape in ((4, 3, 5), (3, 2, 130)):
        a = np.asarray(rng.standard_normal(shape), order=order)
        source = rng.standard_normal((*shape[:dim], 7, *shape[dim + 1 :]))
        along = name.startswith("index")
        index = rng.integers(0, shape[dim], 7 if along else source.shape)
        wanted = _write_one_by_one(name, a, dim, index, source)
        np.testing.assert_array_equal(kernel(a, dim, index, source), wanted)
        written = a.copy(order="K")
        assert inplace(written, dim, index, source) is written
        np.testing.assert_array_equal(written, wanted)
        index[(..., -1)] = shape[dim]
        before = written.copy()
        for call in (kernel, inplace):
            with pytest.raises((DimensionError, OperatorError), match="out of "):
                call(written, dim, index, source)
        np.testing.assert_array_equal(written, before)


def test_a_read_only_or_overlapping_target_is_refused_before_anything_is_written():
    a = np.arange(6.0)
    for target, values in ((a[:5], a[1:4]), (a, a[:3])):
        with pytest.raises(OperatorError, match="refer to a single memory location"):
            put(target, [np.array([0, 1, 2])], values, False)
    a.flags.writeable = False
    with pytest.raises(OperatorError, match="read-only"):
        put(a, [np.array([0])], np.zeros(1), False)
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
