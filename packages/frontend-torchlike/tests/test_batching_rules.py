"""Batching rules: every row of the table against a loop over the batch, on generated calls.

The calls are the library's own samples of each operator, with other dtypes, without dimensions and without elements. The
rows of a batch have different values, and each subset of a call's tensors is batched once.
"""

import dataclasses
import random
from itertools import combinations, product

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
from torchlike import float32, float64, func, int64, tensor
from torchlike.levels.batching import Batch, find_rule
from torchlike.levels.batching.calls import overload

ROWS = 2
#: Changes of the samples that say something of a rule, beside the calls of the tables themselves.
CHANGES = ("", "0-d", "empty", "int and float")
#: Kinds of operators whose tensors broadcast, promote, or may have no elements; the others take the first two changes.
ELEMENTWISE = ("pointwise", "comparison", "activation", "special", "reduction", "lists", "indexing")
#: Changes that leave an operator with sizes that no program has, which its kernel happens to broadcast.
UNFIT = {
    "cummaxmin_backward": "0-d",
    "select_backward": "0-d",
    "slice_backward": "0-d",
    "diagonal_backward": "0-d",
    "unfold_backward": "0-d",
    "embedding_dense_backward": "0-d",
}

#: Operators whose arguments tell of strides.
BY_STRIDES = frozenset("as_strided as_strided_scatter view_as_complex".split())
#: Operators whose elements are not defined, or drawn.
UNDEFINED = frozenset("empty_like new_empty new_empty_strided native_dropout".split())


def has_rule(name):
    return not is_out(name) and "out" not in ATEN_BY_NAME[name].tags and find_rule(overload(name)) is not None


WITH_RULES = [each.name for each in ATEN if has_rule(each.name)]


def stack_rows(name, array):
    """Return a batch with rows of other values instead of an array.

    Rows of matrices are multiples of it, and sequences stay sorted.
    """
    if KIND_OF[name] == "linalg":
        return np.stack([array * (1 if array.dtype.kind in "bi" else 1 + row) for row in range(ROWS)])
    if "search" in name or "bucketize" in name:
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
            found.append([None if each is None else elements(each) for each in flatten(op(*args, **kwargs))])
        except (dc.DispatchError, ValueError, IndexError):
            return None
    return [None if each[0] is None else np.stack(each) for each in zip(*found, strict=True)]


def make_batch(rows, layout=""):
    """Return a batch; in the layout "rows inside" the elements of a row lie apart, those of different rows side by side."""
    if layout and rows.ndim > 1:
        return Batch(torchlike.tensor(np.ascontiguousarray(np.moveaxis(rows, 0, -1))).movedim(-1, 0))
    return Batch(torchlike.tensor(rows))


def is_compared(name, sample, batched, layout=""):
    """Compare a rule with the loop; return whether there was a call to compare."""
    op = overload(name)

    def row_of(row):
        return lambda array: torchlike.tensor(stack_rows(name, array)[row])

    expected = run_rows(op, [change_arrays(sample, batched, row_of(row)) for row in range(ROWS)])
    if expected is None:
        return False
    arguments = change_arrays(sample, batched, lambda array: make_batch(stack_rows(name, array), layout))
    args, kwargs = split_arguments(op, arguments)
    result = flatten(find_rule(op)(op, ROWS, args, kwargs))
    text = f"{sample}, batched {batched}"
    assert [each is None for each in result] == [each is None for each in expected], text
    result, expected = ([each for each in values if each is not None] for values in (result, expected))
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
    changes = CHANGES if KIND_OF[name] in ELEMENTWISE and not is_inplace(name) else CHANGES[:2]
    with ignore_warnings():
        for sample in op_samples(name):
            if sample.layout or sample.change not in changes or UNFIT.get(name) == sample.change:
                continue
            for batched in subsets(sum(1 for _ in arrays_in(sample.arguments))):
                if (not is_inplace(name) or 0 in batched) and not selects_by_mask(sample, batched):
                    count += is_compared(name, sample, batched)
        if name not in BY_STRIDES:
            first = next(op_samples(name))
            count += is_compared(name, first, tuple(range(sum(1 for _ in arrays_in(first.arguments)))), "rows inside")
    assert count, "no sample was a right call in every row"


@pytest.mark.parametrize("kind", dict.fromkeys(KIND_OF[name] for name in WITH_RULES))
@pytest.mark.parametrize("size", [0, 1])
def test_batches_of_no_row_and_of_one_row_have_the_rows_shapes_and_dtypes(kind, size):
    count = 0
    for name in (name for name in WITH_RULES if KIND_OF[name] == kind and has_samples(name) and name not in UNDEFINED):
        op, sample = overload(name), next(op_samples(name))
        every = range(sum(1 for _ in arrays_in(sample.arguments)))
        if selects_by_mask(sample, every):
            continue
        with ignore_warnings():
            rows = run_rows(op, [change_arrays(sample, every, torchlike.tensor)])
            batch = change_arrays(sample, every, lambda array: Batch(torchlike.tensor(np.stack([array])[:size])))
            args, kwargs = split_arguments(op, batch)
            found = [elements(each) for each in flatten(find_rule(op)(op, size, args, kwargs))]
        assert [(each.shape, each.dtype) for each in found] == [
            ((size, *each.shape[1:]), each.dtype) for each in rows
        ], sample
        count += 1
    assert count


@pytest.mark.parametrize("name", [name for name in WITH_RULES if "output_mask" in str(overload(name).schema)])
@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_gradients_that_are_not_wanted_are_none(name, wanted):
    sample = next(op_samples(name))
    mask = [place == wanted for place in range(len(sample.arguments["output_mask"]))]
    masked = dataclasses.replace(sample, arguments=sample.arguments | {"output_mask": mask})
    every = range(sum(1 for _ in arrays_in(sample.arguments)))
    assert is_compared(name, masked, every)


def test_second_derivatives_of_layer_norm_agree_in_every_order():
    def function(x, weight):
        return torchlike.nn.functional.layer_norm(x, (3,), weight)

    def by_hand(x, weight):
        away = x - x.mean(-1, keepdim=True)
        return away / (away.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    x, weight = tensor([[1.0, 2.0, -1.0], [0.5, 3.0, 1.0]], dtype=float64), tensor([1.0, 2.0, 3.0], dtype=float64)
    for first, second in product((0, 1), repeat=2):
        expected = torchlike.func.jacrev(torchlike.func.jacrev(by_hand, first), second)(x, weight)
        for outer, inner in product((torchlike.func.jacrev, torchlike.func.jacfwd), repeat=2):
            found = outer(inner(function, first), second)(x, weight)
            np.testing.assert_allclose(elements(found), elements(expected), 1e-9, 1e-9)


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
    # The second is called where a device has a kernel for it, and no other.
    assert looped <= {"mkldnn_rnn_layer_backward", "_fused_rms_norm_backward"}


def apply(name, size, *args, **kwargs):
    op = overload(name)
    return find_rule(op)(op, size, args, kwargs)


def rows_of_call(value, row):
    """Return a call's arguments for one row."""
    if type(value) is Batch:
        return value.tensor[row].clone()
    if isinstance(value, (list, tuple)):
        return [rows_of_call(each, row) for each in value]
    return value.clone() if isinstance(value, torchlike.Tensor) else value


class RandomCalls:
    """Draws calls for a seed, some of their tensors batched."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(seed)

    def tensor(self, shape, high=None, is_batched=None):
        """Return floats, or integers up to ``high``, as a batch of three rows or as a tensor."""
        is_batched = self.draw.random() < 0.6 if is_batched is None else is_batched
        shape = [3] * is_batched + list(shape)
        values = self.numbers.standard_normal(shape) if high is None else self.numbers.integers(0, high, shape)
        return (Batch if is_batched else lambda made: made)(torchlike.tensor(values))

    def sizes(self, most):
        return [self.draw.randint(1, 3) for _ in range(self.draw.randint(0, most))]

    def broadcast(self, shape):
        return [size if self.draw.random() < 0.7 else 1 for size in shape][self.draw.choice([0, 0, 1]) :]

    def indices(self, shape):
        """Return the indices of a tensor: none, masks of one element and integers, in some places."""
        common, found, place = self.sizes(2), [], 0
        while place < len(shape) and self.draw.random() < 0.8:
            kind = self.draw.random()
            if kind < 0.3:
                found.append(None)
            elif kind < 0.4:
                found.append(tensor([False] * (shape[place] - 1) + [True]))
            else:
                found.append(self.tensor(self.broadcast(common), shape[place]))
            place += 1
        return found if any(each is not None for each in found) else [self.tensor([2], shape[0])]

    def index(self):
        shape = [2, *self.sizes(3)]
        return "index.Tensor", self.tensor(shape), self.indices(shape)

    def index_put(self):
        shape = [2, *self.sizes(3)]
        own, indices = self.tensor(shape), self.indices(shape)
        region = overload("index.Tensor")(rows_of_call(own, 0), rows_of_call(indices, 0)).shape
        return "index_put", own, indices, self.tensor(self.broadcast(region)), True

    def matmul(self):
        lead = self.sizes(2)
        left, right = [*self.broadcast(lead), 2, 3], [*self.broadcast(lead), 3, 4]
        return "matmul", self.tensor(self.draw.choice([left, [3]])), self.tensor(self.draw.choice([right, [3]]))

    def linear(self):
        return "linear", self.tensor([*self.sizes(2), 3]), self.tensor([2, 3]), self.tensor([2])

    def scatter(self):
        shape = [2, *self.sizes(2)]
        dim = self.draw.randrange(-len(shape), len(shape))
        index = [self.draw.randint(1, size) for size in shape]
        index[dim] = self.draw.randint(1, 4)
        return "scatter_add", self.tensor(shape), dim, self.tensor(index, shape[dim]), self.tensor(index)

    def index_add(self):
        shape = self.sizes(3)
        dim = self.draw.randrange(-len(shape), len(shape)) if shape else 0
        count = shape[dim] if shape else 1
        return "index_add", self.tensor(shape), dim, self.tensor([count], count), self.tensor(shape)

    def index_fill(self):
        shape = self.sizes(3)
        dim = self.draw.randrange(-len(shape), len(shape)) if shape else 0
        return "index_fill.int_Tensor", self.tensor(shape), dim, tensor([-1]), self.tensor([])

    def take(self):
        return "take", self.tensor([2, 3]), tensor([[-6, 5], [0, -1]])

    def put(self):
        return "put", self.tensor([2, 3]), self.tensor([4], 6), self.tensor([4]), True

    def embedding(self):
        return "embedding", self.tensor([4, 3]), self.tensor(self.sizes(2), 4)

    def nll_loss(self):
        samples = self.draw.choice([[], [4]])
        weight = self.draw.choice([None, self.tensor([3])])
        reduction, ignored = self.draw.randint(0, 2), self.draw.choice([-100, 1])
        return "nll_loss_forward", self.tensor([*samples, 3]), self.tensor(samples, 3), weight, reduction, ignored

    def reduction(self):
        shape = self.sizes(3)
        dims = self.draw.sample(range(-len(shape), len(shape)), self.draw.randint(0, len(shape)))
        name = self.draw.choice("sum.dim_IntList amax mean.dim count_nonzero.dim_IntList any.dims logsumexp".split())
        keepdim = () if name.startswith("count") else (self.draw.random() < 0.5,)
        return name, self.tensor(shape, is_batched=True), dims, *keepdim


KINDS = "index index_put matmul linear scatter index_add index_fill take put embedding nll_loss reduction".split()


@pytest.mark.parametrize("kind", KINDS)
def test_random_calls_agree_with_a_loop_over_the_rows(kind):
    count = 0
    for seed in range(60):
        name, *args = getattr(RandomCalls(seed), kind)()
        if not any(type(each) is Batch for each in flatten(args)):
            continue
        op = overload(name)
        try:
            rows = [flatten(op(*rows_of_call(args, row))) for row in range(3)]
        except (dc.DispatchError, ValueError):
            with pytest.raises((dc.DispatchError, ValueError)):
                find_rule(op)(op, 3, tuple(args), {})
            continue
        found = flatten(find_rule(op)(op, 3, tuple(args), {}))
        for place, result in enumerate(found):
            expected = np.stack([elements(row[place]) for row in rows])
            np.testing.assert_allclose(elements(result), expected, 1e-10, 1e-10, err_msg=f"{kind} of seed {seed}")
        count += 1
    assert count > 20


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


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("matmul", lambda: (Batch(torchlike.ones(2)), torchlike.ones(2, 2))),
        ("mm", lambda: (Batch(torchlike.ones(2, 3)), torchlike.ones(3, 3))),
        ("mm", lambda: (Batch(torchlike.ones(2, 2, 3)), torchlike.ones(3, 3, dtype=float64))),
        ("t", lambda: (Batch(torchlike.ones(2, 2, 2, 2)),)),
        ("cat", lambda: ([Batch(torchlike.ones(2)), tensor(1.0)],)),
        ("fill.Tensor", lambda: (Batch(torchlike.ones(2, 2)), Batch(torchlike.ones(2, 2)))),
        ("copy_", lambda: (Batch(torchlike.ones(2)), torchlike.ones(2))),
        ("add_.Tensor", lambda: (Batch(torchlike.ones(2)), Batch(torchlike.ones(2, 3)))),
        ("index_select", lambda: (Batch(torchlike.ones(2, 3)), 0, Batch(tensor([[1], [3]])))),
        ("embedding", lambda: (Batch(torchlike.ones(2, 3, 1)), Batch(tensor([1, 3])))),
        ("index_add", lambda: (torchlike.ones(3), 0, Batch(tensor([[1], [3]])), torchlike.ones(1))),
        (
            "nll_loss_forward",
            lambda: (Batch(torchlike.ones(2, 4, 3)), torchlike.zeros(4, dtype=int64), torchlike.ones(2), 1, -100),
        ),
    ],
)
def test_bad_logical_ranks_indices_and_dtypes_are_refused(name, make):
    with pytest.raises((RuntimeError, dc.DispatchError)):
        [elements(each) for each in flatten(apply(name, 2, *make()))]


def test_operators_without_a_rule_have_none():
    assert find_rule(overload("nonzero")) is None
    assert find_rule(overload("as_strided_")) is None
    assert find_rule(overload("max.other")) is None


def test_a_batch_shows_its_tensor():
    assert repr(Batch(tensor([1, 2]))) == "Batch(tensor([1, 2]))"


def write_by_mask(x, mask, value):
    changed = x.clone()
    changed[mask] = value
    return changed


def test_a_number_is_written_by_a_mask_without_a_look_at_its_values():
    x, mask = torchlike.arange(12.0).reshape(2, 3, 2), torchlike.tensor([[True, False, True], [False, False, True]])
    numbers = torchlike.tensor([7.0, 8.0])
    for dims in ((0, 0, 0), (0, None, 0), (0, 0, None), (0, None, None)):
        arguments = [each if dim == 0 else each[1] for each, dim in zip((x, mask, numbers), dims, strict=True)]
        rows = [
            write_by_mask(*(each[row] if dim == 0 else each for each, dim in zip(arguments, dims, strict=True)))
            for row in range(2)
        ]
        captured = dc.capture(func.vmap(write_by_mask, in_dims=dims))
        for call in (func.vmap(write_by_mask, in_dims=dims), captured, captured):
            assert call(*arguments).tolist() == torchlike.stack(rows).tolist()


@pytest.mark.parametrize("shape", [(1,), (2,), (3, 1)])
@pytest.mark.parametrize("dim", [0, None])
def test_masks_of_other_shapes_are_refused(shape, dim):
    x, mask = torchlike.arange(12.0).reshape(2, 3, 2), torchlike.ones(2, *shape, dtype=torchlike.bool)
    mask = mask if dim == 0 else mask[0]
    with pytest.raises(IndexError, match="The shape of the mask"):
        func.vmap(write_by_mask, in_dims=(0, dim, None))(x, mask, 1.0)
    if dim is None:
        with pytest.raises(IndexError, match="The shape of the mask"):
            func.vmap(lambda row: row[mask])(x)
    assert x.tolist() == torchlike.arange(12.0).reshape(2, 3, 2).tolist()
