"""Attention as one operator under `vmap`: one call for all rows, dropout as the level draws, and its gradient."""

import itertools

import pytest

import torchlike

pytestmark = pytest.mark.no_pipeline(reason="compares calls one by one")
OPERATOR = torchlike.ops.aten._scaled_dot_product_efficient_attention
SHAPES = {"query": (2, 4, 3, 5), "key": (2, 2, 6, 5), "value": (2, 2, 6, 5)}
MASKS = {"none": None, "two": (3, 6), "three": (4, 1, 6), "four": (2, 1, 3, 6), "one sample": (1, 4, 3, 6)}


def draw(batched, mask):
    torchlike.manual_seed(0)
    tensors = [
        torchlike.randn(*([3] if name in batched else []), *shape, dtype=torchlike.float64)
        for name, shape in SHAPES.items()
    ]
    shape = MASKS[mask]
    shown = None if shape is None else torchlike.rand(*([3] if "mask" in batched else []), *shape) > 0.3
    return [*tensors, shown], tuple(0 if name in batched else None for name in (*SHAPES, "mask"))


def rows(function, given, dims):
    """Return the results of each row by itself."""
    found = [
        function(*[each if dim is None else each[row] for each, dim in zip(given, dims, strict=True)])
        for row in range(3)
    ]
    return [torchlike.stack(each) for each in zip(*found, strict=True)]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    "batched", [*itertools.combinations(["query", "key", "value", "mask"], 2), ("query",), ("mask",)]
)
def test_rows_are_those_of_calls_by_themselves(batched, mask):
    given, dims = draw(batched, mask)
    if mask == "none":
        dims = (*dims[:3], None)
        if dims == (None,) * 4:
            return

    def gradients(q, k, v, shown):
        def run(q, k, v):
            return OPERATOR(q, k, v, shown, True, 0.0, shown is None)[0].sin().sum()

        return torchlike.func.grad(run, (0, 1, 2))(q, k, v)

    for function in (lambda *given: OPERATOR(*given, True), gradients):
        found = torchlike.func.vmap(function, dims)(*given)
        for one, other in zip(found, rows(function, given, dims), strict=True):
            torchlike.testing.assert_close(one, other)


def test_dropout_draws_as_the_level_says():
    (q, k, v, _), _ = draw(("query", "key", "value"), "none")
    q = q[:1].expand(3, *q.shape[1:])
    k, v = (each[:1].expand(3, *each.shape[1:]) for each in (k, v))

    def run(q, k, v):
        return OPERATOR(q, k, v, None, True, 0.5)[0]

    with pytest.raises(RuntimeError, match="randomness error mode"):
        torchlike.func.vmap(run)(q, k, v)
    same = torchlike.func.vmap(run, randomness="same")(q, k, v)
    assert torchlike.equal(same[0], same[1])
    different = torchlike.func.vmap(run, randomness="different")(q, k, v)
    assert not torchlike.equal(different[0], different[1])

    def differentiate(q, k, v):
        return torchlike.func.grad(lambda v: run(q, k, v).sum())(v)

    grads = torchlike.func.vmap(differentiate, randomness="different")(q, k, v)
    assert not torchlike.equal(grads[0], grads[1])


def test_a_batch_without_rows_has_results_without_rows():
    given = [torchlike.ones(0, *shape) for shape in SHAPES.values()]
    found = torchlike.func.vmap(lambda q, k, v: OPERATOR(q, k, v, None, True))(*given)
    assert [tuple(each.shape) for each in found] == [(0, 2, 4, 3, 5), (0, 2, 4, 3), (0, 0), (0, 0)]
