"""Which results require grad, and which inputs may not: sums that leave an addend out, beside torch."""

import itertools
import math

import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

PRODUCTS = {
    "addmm": ((2, 3), (2, 4), (4, 3)),
    "addmv": ((2,), (2, 3), (3,)),
    "addr": ((2, 3), (2,), (3,)),
    "addbmm": ((2, 3), (2, 2, 4), (2, 4, 3)),
    "baddbmm": ((2, 2, 3), (2, 2, 4), (2, 4, 3)),
}


def add_product(library, name, beta, wanted, in_place, dtype):
    """Return a sum whose addend is nan where ``beta`` leaves it out, and the gradients."""
    leaves = []
    for place, shape in enumerate(PRODUCTS[name]):
        values = (library.arange(float(math.prod(shape))) - 2).reshape(shape).to(getattr(library, dtype))
        if not beta and not place:
            values.fill_(math.nan)
        leaves.append(values.requires_grad_(place in wanted))
    first = leaves[0] * 1 if in_place else leaves[0]
    result = getattr(first, name + "_" * in_place)(*leaves[1:], beta=beta, alpha=2)
    if result.requires_grad:
        result.sum().backward()
    gradients = [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]
    return result.requires_grad, result.tolist(), str(result.dtype).rpartition(".")[2], result.stride(), gradients


@pytest.mark.parametrize("name", PRODUCTS)
def test_an_addend_that_is_left_out_has_a_gradient_of_zeros(name):
    for beta, wanted, in_place, dtype in itertools.product(
        (0, 0.0, 2), ((), (0,), (2,), (0, 1, 2)), (False, True), ("float32", "bfloat16")
    ):
        arguments = name, beta, wanted, in_place, dtype
        assert add_product(torchlike, *arguments) == add_product(torch, *arguments), arguments
