"""Batching rules: every row of the table against a loop over the batch, on generated calls.

The calls are the library's own samples of each operator, with other dtypes, without dimensions and without elements. The
rows of a batch have different values, and each subset of a call's tensors is batched once.
"""

from itertools import combinations

import numpy as np
import pytest
from comparison import elements, flatten, ignore_warnings

import dispatch_core as dc
import torchlike
from dispatch_aten.decompositions import IMPLICIT
from dispatch_aten.derivatives import DERIVATIVES, names_used
from dispatch_aten.operators import ATEN, ATEN_BY_NAME, KIND_OF
from dispatch_aten.testing.changes import arrays_in, map_arrays
from dispatch_aten.testing.samples import has_samples, op_samples
from dispatch_aten.variants import functional_of, is_inplace, is_out, written_names
from torchlike import float32, float64, int64, tensor
from torchlike.levels.batching import Batch, find_rule
from torchlike.levels.batching.calls import overload

ROWS = 2
#: Changes of the samples that say something of a rule, beside the calls of the tables themselves.
CHANGES = ("", "0-d", "empty", "int and float")
#: Changes that leave an operator with sizes that no program has, which its kernel happens to broadcast.
UNFIT = {
    "cummaxmin_backward": "0-d",
    "select_backward": "0-d",
    "slice_backward": "0-d",
    "diagonal_backward": "0-d",
    "unfold_backward": "0-d",
    "embedding_dense_backward": "0-d",
}

#: Operators whose elements are not defined, or drawn.
UNDEFINED = frozenset("empty_like new_empty new_empty_strided native_dropout".split())


def has_rule(name):
    return not is_out(name) and "out" not in ATEN_BY_NAME[name].tags and find_rule(overload(name)) is not None


WITH_RULES = [each.name for each in ATEN if has_rule(each.name)]


def stack_rows(name, array):
    """Return a batch with rows of other values in the place of an array.

    Rows of matrices are multiples of it, and sequences stay sorted.
    """
    if KIND_OF[name] == "linalg":
        return np.stack([array * (1 if array.dtype.kind in "bi" else 1 + row) for row in range(ROWS)])
    if "search" in name:
        return np.stack([array + row for row in range(ROWS)])
    return np.stack([np.roll(array, row) for row in range(ROWS)])


def subsets(count):
    """Return the sets of places that are batched: every one of few tensors, else each alone and all."""
    if count <= 3:
        return [each for size in range(1, count + 1) for each in combinations(range(count), size)]
    return [*((place,) for place in range(count)), tuple(range(count))]


def change_arrays(sample, batched, change):
    """Return a sample's arguments, the arrays at some places changed, the others as tensors."""
    places = iter(range(sum(1 for _ in arrays_in(sample.arguments))))
    return map_arrays(
        sample.arguments, lambda array: change(array) if next(places) in batched else torchlike.tensor(array)
    )


def split_arguments(op, arguments):
    """Return arguments by name as those by place and those by keyword."""
    rest = dict(arguments)
    args = []
    for each in op.schema.arguments:
        if each.kwarg_only or each.name not in rest:
            break
        args.append(rest.pop(each.name))
    return tuple(args), rest


def run_rows(op, calls):
    """Return the results of a loop over the rows, stacked; None where the operator refuses a row."""
    found = []
    for arguments in calls:
        args, kwargs = split_arguments(op, arguments)
        try:
            found.append([elements(each) for each in flatten(op(*args, **kwargs))])
        except (dc.DispatchError, ValueError, IndexError):
            return None
    return [np.stack(each) for each in zip(*found, strict=True)]


def is_compared(name, sample, batched):
    """Compare a rule with the loop; return whether there was a call to compare."""
    op = overload(name)

    def row_of(row):
        return lambda array: torchlike.tensor(stack_rows(name, array)[row])

    expected = run_rows(op, [change_arrays(sample, batched, row_of(row)) for row in range(ROWS)])
    if expected is None:
        return False
    arguments = change_arrays(sample, batched, lambda array: Batch(torchlike.tensor(stack_rows(name, array))))
    args, kwargs = split_arguments(op, arguments)
    result = flatten(find_rule(op)(op, ROWS, args, kwargs))
    text = f"{sample}, batched {batched}"
    assert [(each.dtype, each.shape) for each in map(elements, result)] == [
        (each.dtype, each.shape) for each in expected
    ], text
    if name in UNDEFINED:
        return True
    written = [arguments[each].tensor for each in written_names(ATEN_BY_NAME[name].schema)]
    for found, wanted in zip([*result, *written], [*expected, *expected[: len(written)]], strict=True):
        tolerance = 1e-5 if wanted.dtype in (np.float32, np.complex64) else 1e-10
        np.testing.assert_allclose(elements(found), wanted, tolerance, tolerance, equal_nan=True, err_msg=text)
    return True


def selects_by_mask(sample, batched):
    """Return whether rows would select numbers of elements that depend on values."""
    arrays = list(arrays_in(sample.arguments))
    return sample.name == "index.Tensor" and any(arrays[place].dtype == bool for place in batched)


@pytest.mark.parametrize("name", [name for name in WITH_RULES if has_samples(name)])
def test_a_rule_agrees_with_a_loop_over_the_rows(name):
    count = 0
    with ignore_warnings():
        for sample in op_samples(name):
            changes = CHANGES[:2] if is_inplace(name) else CHANGES
            if sample.layout or sample.change not in changes or UNFIT.get(name) == sample.change:
                continue
            for batched in subsets(sum(1 for _ in arrays_in(sample.arguments))):
                if (not is_inplace(name) or 0 in batched) and not selects_by_mask(sample, batched):
                    count += is_compared(name, sample, batched)
    assert count, "no sample was a right call in every row"


def needs_a_rule(operator):
    """Return whether vmap neither decomposes an operator, nor draws for it, nor refuses it."""
    is_refused = {"out", "data_dependent_output", "dynamic_output_shape"} & set(operator.tags) or is_out(operator.name)
    is_drawn = "nondeterministic_seeded" in operator.tags
    has_tensors = "Tensor" in operator.schema.rpartition("->")[0]
    is_composite = operator.name in IMPLICIT or functional_of(operator.name) in IMPLICIT
    return has_tensors and not (is_refused or is_drawn or is_composite)


def test_few_operators_are_left_to_the_loop():
    needed = [each.name for each in ATEN if needs_a_rule(each)]
    looped = [name for name in needed if name not in WITH_RULES]
    ruled, decomposed = len(needed) - len(looped), sum(each.name in IMPLICIT for each in ATEN)
    assert ruled / len(needed) > 0.95, f"{ruled} with a rule, {decomposed} composites, loop: {' '.join(looped)}"
    called = (
        "convolution native_layer_norm embedding _softmax nll_loss_forward index_put_ bmm copy_ max_pool2d_with_indices"
    )
    assert set(called.split()) <= set(WITH_RULES)


def test_every_operator_that_a_derivative_formula_calls_is_reached_without_the_loop():
    called = set()
    for name in DERIVATIVES:
        for expression in DERIVATIVES[name].gradients.values():
            called |= names_used(expression)
    names = [each.name for each in ATEN if each.name.partition(".")[0] in called and needs_a_rule(each)]
    looped = {name.partition(".")[0] for name in names if name not in WITH_RULES}
    assert looped <= {"_ctc_loss_backward", "mkldnn_rnn_layer_backward"}


def apply(name, size, *args, **kwargs):
    op = overload(name)
    return find_rule(op)(op, size, args, kwargs)


VIEWS = [
    ("view", ([3, 2],)),
    ("reshape", ([-1],)),
    ("as_strided", ([2, 2], [1, 2], 1)),
    ("select.int", (-1, 1)),
    ("slice.Tensor", (-2, 1)),
    ("expand", ([4, -1, -1],)),
    ("permute", ([1, -2],)),
    ("transpose.int", (0, -1)),
    ("t", ()),
    ("squeeze", ()),
    ("squeeze.dim", (-1,)),
    ("squeeze.dims", ([0, -1],)),
    ("unsqueeze", (-1,)),
    ("unsqueeze", (2,)),
    ("split.Tensor", (2, -1)),
    ("split_with_sizes", ([1, 2], 1)),
    ("unbind.int", (-1,)),
    ("diagonal", (1, -1, 0)),
    ("unfold", (-1, 2, 1)),
    ("detach", ()),
    ("alias", ()),
]


@pytest.mark.parametrize(("name", "rest"), VIEWS)
@pytest.mark.parametrize("size", [0, 1, 3])
def test_views_of_a_batch_are_views_of_its_rows_and_writes_reach_it(name, rest, size):
    op = overload(name)
    base = torchlike.arange(6.0 * size).view(size, 2, 3)
    results = flatten(find_rule(op)(op, size, (Batch(base), *rest), {}))
    rows = [flatten(op(torchlike.arange(6.0 * row, 6.0 * row + 6).view(2, 3), *rest)) for row in range(size)]
    assert [each.tolist() for each in results] == [[row[at].tolist() for row in rows] for at in range(len(results))]
    results[0].fill_(-1)
    assert (base == -1).sum().item() == len(set(flatten([row[0].tolist() for row in rows])))


@pytest.mark.parametrize(
    ("name", "rest", "shape"),
    [("transpose_", (0, -1), (5, 3, 2)), ("t_", (), (5, 3, 2)), ("unsqueeze_", (-1,), (5, 2, 3, 1))],
)
def test_views_in_place_change_the_batch_itself(name, rest, shape):
    base = torchlike.ones(5, 2, 3)
    assert apply(name, 5, Batch(base), *rest) is base
    assert base.shape == shape


@pytest.mark.parametrize("name", ["squeeze_", "squeeze_.dim", "squeeze_.dims"])
def test_squeezing_in_place_leaves_a_batch_of_size_1(name):
    base = torchlike.ones(1, 1, 3)
    rest = {"squeeze_": (), "squeeze_.dim": (0,), "squeeze_.dims": ([0, 1],)}[name]
    assert apply(name, 1, Batch(base), *rest) is base
    assert base.shape == (1, 3)


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("sum.dim_IntList", ([2],)),
        ("sum.dim_IntList", ([-3],)),
        ("_softmax", (-3, False)),
        ("select.int", (2, 0)),
        ("transpose.int", (0, -3)),
        ("permute", ([0, 2],)),
        ("unsqueeze", (3,)),
        ("unbind.int", (-3,)),
        ("diagonal", (0, 0, 2)),
        ("flip", ([2],)),
        ("cumsum", (2,)),
        ("sort", (-3,)),
    ],
)
def test_errors_name_logical_dimensions(name, rest):
    op = overload(name)
    with pytest.raises(IndexError) as of_row:
        op(torchlike.ones(2, 3), *rest)
    with pytest.raises(IndexError) as of_batch:
        find_rule(op)(op, 4, (Batch(torchlike.ones(4, 2, 3)), *rest), {})
    assert str(of_batch.value).partition(" (argument")[0] == str(of_row.value).partition(" (argument")[0]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((float64, 0, True), (float32, 1, False), float32),
        ((float64, 0, True), (float32, 1, True), float32),
        ((float64, 0, True), (float32, 0, False), float64),
        ((int64, 0, True), (float32, 0, False), float32),
        ((float32, 0, True), (float64, 0, False), float64),
        ((float32, 0, True), (int64, 1, False), float32),
        ((float64, 0, True), (int64, 1, False), float64),
        ((torchlike.int32, 0, True), (int64, 0, False), int64),
        ((int64, 0, True), (torchlike.int32, 2, True), torchlike.int32),
        ((torchlike.complex128, 0, True), (float32, 1, True), torchlike.complex64),
        ((float64, 1, True), (float32, 1, False), float64),
    ],
)
@pytest.mark.parametrize("name", ["add.Tensor", "mul.Tensor", "where.self"])
def test_dtypes_are_promoted_by_logical_ranks(name, left, right, expected):
    def make(spec):
        dtype, rank, is_batched = spec
        made = torchlike.ones([3] * is_batched + [2] * rank, dtype=dtype)
        return Batch(made) if is_batched else made

    for first, second in ((left, right), (right, left)):
        mask = [torchlike.ones(2, dtype=torchlike.bool)] if name == "where.self" else []
        assert apply(name, 3, *mask, make(first), make(second)).dtype == expected


def test_a_number_counts_less_than_a_batch_of_numbers():
    assert apply("add.Scalar", 2, Batch(torchlike.ones(2, dtype=torchlike.float16)), 2.5).dtype == torchlike.float16
    assert apply("add.Scalar", 2, Batch(torchlike.ones(2, dtype=int64)), 2.5).dtype == float32


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize(
    ("name", "shapes", "rest"),
    [
        ("add.Tensor", [(2,), (3, 1)], ()),
        ("sum", [(2, 3)], ()),
        ("sum.dim_IntList", [(2, 3)], ([-1],)),
        ("var.correction", [()], ()),
        ("matmul", [(2, 3), (3, 4)], ()),
        ("matmul", [(3,), (3,)], ()),
        ("view", [(2, 3)], ([3, -1],)),
        ("squeeze", [(1, 3, 1)], ()),
        ("_softmax", [(2, 3)], (-1, False)),
        ("cumsum", [(2, 3)], (0,)),
    ],
)
def test_batches_of_no_row_and_of_one_row_keep_the_logical_shape(size, name, shapes, rest):
    with ignore_warnings():
        expected = overload(name)(*(torchlike.ones(shape) for shape in shapes), *rest)
        found = apply(name, size, *(Batch(torchlike.ones(size, *shape)) for shape in shapes), *rest)
    assert found.shape == (size, *expected.shape) and found.dtype == expected.dtype


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("matmul", lambda: (Batch(torchlike.ones(2)), torchlike.ones(2, 2))),
        ("mm", lambda: (Batch(torchlike.ones(2, 3)), torchlike.ones(3, 3))),
        ("mm", lambda: (Batch(torchlike.ones(2, 2, 3)), torchlike.ones(3, 3, dtype=float64))),
        ("t", lambda: (Batch(torchlike.ones(2, 2, 2, 2)),)),
        ("cat", lambda: ([Batch(torchlike.ones(2)), tensor(1.0)],)),
        ("fill.Tensor", lambda: (Batch(torchlike.ones(2, 2)), Batch(torchlike.ones(2, 2)))),
    ],
)
def test_bad_logical_ranks_and_dtypes_are_refused(name, make):
    with pytest.raises((RuntimeError, dc.DispatchError)):
        apply(name, 2, *make())


def test_operators_without_a_rule_have_none():
    assert find_rule(overload("nonzero")) is None
    assert find_rule(overload("as_strided_")) is None
    assert find_rule(overload("max.other")) is None


def test_a_batch_shows_its_tensor():
    assert repr(Batch(tensor([1, 2]))) == "Batch(tensor([1, 2]))"
