"""``strict=True`` of autograd.functional refuses and computes what torch does, for all sums of small functions."""

import itertools
import re

import pytest
import torch

import torchlike

_PARTS = {
    "3 * a": lambda a, b: a * 3,
    "a ** 2": lambda a, b: a * a,
    "b ** 2": lambda a, b: b * b,
    "a * b": lambda a, b: a * b,
    "a ** 3 + b": lambda a, b: a * a * a + b,
    "constant": lambda a, b: a.detach() * 2,
}


def _outcome(library, kind, names, count, create_graph, vectorize):
    """Return the numbers, or the text of the error."""
    one, two = (
        library.tensor(each, dtype=library.float64, requires_grad=create_graph) for each in ([1.0, 2.0], [3.0, 4.0])
    )
    is_scalar = kind in ("hessian", "hvp", "vhp")

    def function(*values):
        parts = [_PARTS[name](*(values if count == 2 else (*values, two))) for name in names]
        return sum(each.sum() for each in parts) if is_scalar else tuple(parts)

    inputs = (one, two)[:count]
    vectors = [() if kind in ("jacobian", "hessian") else tuple(each.detach() for each in inputs)]
    if kind == "vjp":
        vectors = [tuple(one.detach() for _ in names)]
    options = {"vectorize": True} if vectorize else {}
    try:
        found = getattr(library.autograd.functional, kind)(
            function, inputs, *[each for each in vectors if each], strict=True, create_graph=create_graph, **options
        )
    except RuntimeError as error:
        return str(error).removeprefix("torch.autograd.functional.")
    return _to_lists(found)


def _to_lists(value):
    return [_to_lists(each) for each in value] if isinstance(value, tuple) else value.tolist()


@pytest.mark.parametrize("kind", ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"])
def test_strict_derivatives_refuse_what_torch_refuses(kind):
    sums = [names for size in (1, 2) for names in itertools.product(_PARTS, repeat=size)]
    different = []
    for names, count, create_graph in itertools.product(sums, (1, 2), (False, True)):
        for vectorize in (False, True) if kind in ("jacobian", "hessian") else (False,):
            expected, found = (
                _outcome(each, kind, names, count, create_graph, vectorize) for each in (torch, torchlike)
            )
            if _shorten(found) != _shorten(expected):
                different.append((names, count, create_graph, vectorize, expected, found))
    assert not different, different[:3]


def _shorten(outcome):
    """Return the numbers, or the error's text up to the part in which torch counts outputs, or tells of its own ways."""
    if not isinstance(outcome, str):
        return outcome
    start = re.match(r"Output \d+ of|While computing the hessian|jacobian: `strict=True`|The \w+", outcome)
    return start[0].replace("The hessian", "The jacobian")
