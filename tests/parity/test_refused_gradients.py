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


def class_loss(library, name, reduction, options):
    functional = library.nn.functional
    scores, classes = (library.arange(12.0) / 7).reshape(4, 3), library.tensor([0, 2, 1, 2])
    chances = library.softmax(scores, 1)
    functions = {
        "cross_entropy": lambda given: functional.cross_entropy(scores, classes, **given),
        "cross_entropy of chances": lambda given: functional.cross_entropy(scores, chances, **given),
        "nll_loss": lambda given: functional.nll_loss(scores, classes, **given),
        "binary_cross_entropy": lambda given: functional.binary_cross_entropy(chances, chances, **given),
        "with_logits": lambda given: functional.binary_cross_entropy_with_logits(scores, chances, **given),
        "multilabel": lambda given: functional.multilabel_soft_margin_loss(scores, chances, **given),
    }
    scores.requires_grad_("input" in options)
    weight = library.tensor([1.0, 2.0, 3.0], requires_grad="weight" in options)
    argument = "pos_weight" if "pos_weight" in options else "weight"
    given = {argument: weight, "reduction": reduction}
    if "smooth" in options:
        given["label_smoothing"] = 0.25
    try:
        with library.set_grad_enabled("no_grad" not in options):
            loss = functions[name](given)
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    if loss.requires_grad:
        loss.sum().backward()
    gradients = [None if leaf.grad is None else leaf.grad.flatten().tolist() for leaf in (scores, weight)]
    return [loss.requires_grad, *gradients]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weights_of_classes_may_require_grad_where_torch_has_their_gradient(reduction):
    cases = [
        "cross_entropy",
        "cross_entropy of chances",
        "nll_loss",
        "binary_cross_entropy",
        "with_logits",
        "multilabel",
    ]
    kinds = [(), ("input",), ("weight",), ("input", "weight"), ("weight", "no_grad")]
    calls = [(name, options) for name in cases for options in kinds]
    calls += [("cross_entropy", ("smooth", *options)) for options in kinds]
    calls += [("with_logits", ("pos_weight", *options)) for options in kinds]
    for name, options in calls:
        wanted, found = (class_loss(library, name, reduction, options) for library in (torch, torchlike))
        if isinstance(wanted, list):
            wanted = [pytest.approx(each, rel=1e-4, abs=1e-6) if isinstance(each, list) else each for each in wanted]
        assert found == wanted, (name, options)


def test_a_weight_that_was_changed_is_found_before_backward():
    for function in (torchlike.nn.functional.cross_entropy, torchlike.nn.functional.nll_loss):
        scores, weight = torchlike.ones(2, 3, requires_grad=True), torchlike.ones(3)
        for _ in range(40):  # the first calls go the usual way
            loss = function(scores, torchlike.tensor([0, 1]), weight)
        weight.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
