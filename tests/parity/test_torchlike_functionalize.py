"""Functions without writes: the results of torch's functionalize, and what reaches the arguments."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import numpy as np
import torch

import torchlike


def write_to_a_view(lib, x):
    x[1:].mul_(3)
    return x + 1


def write_through_two_views(lib, x):
    x.t()[0].add_(x[:, 1])
    return x.clone().view(-1)[::2].zero_(), x.sum()


def write_to_a_fresh_tensor(lib, x):
    y = lib.zeros_like(x)
    y[0] = x[1]
    y.diagonal().fill_(5)
    return y.t()


def write_by_out(lib, x):
    lib.mul(x, 2, out=x)
    return x.abs_().clamp_(max=9)


def return_the_argument_and_a_view(lib, x):
    x.sub_(1)
    return x, x[0], x.view(-1)


def change_a_shape_in_place(lib, x):
    y = x * 2
    y.t_()
    y.unsqueeze_(0)
    y[0, 0].add_(1)
    return y


def index_and_scatter(lib, x):
    x[lib.tensor([0, 2])] = 7.0
    x.scatter_(1, lib.tensor([[0], [1], [0]]), -1.0)
    x.masked_fill_(x > 2, 0.0)
    return x.cumsum(0)


PROGRAMS = (
    write_to_a_view, write_through_two_views, write_to_a_fresh_tensor, write_by_out, return_the_argument_and_a_view,
    change_a_shape_in_place, index_and_scatter,
)  # fmt: skip


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_and_writes_are_those_of_torchs(program, remove):
    values = np.arange(9, dtype=np.float32).reshape(3, 3) - 2
    outcomes = []
    for lib in (torchlike, torch):
        x = lib.from_numpy(values.copy())
        found = lib.func.functionalize(lambda x, lib=lib: program(lib, x), remove=remove)(x)
        found = found if isinstance(found, tuple) else (found,)
        outcomes.append([each.tolist() for each in (x, *found)])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("program", PROGRAMS[:3])
def test_gradients_are_those_of_torchs(program):
    values = np.arange(9, dtype=np.float32).reshape(3, 3) - 2

    def differentiate(lib, transforms):
        def transformed(x):
            found = program(lib, x * 1)
            return (found[1] if isinstance(found, tuple) else found).pow(2).sum()

        for transform in transforms:
            transformed = getattr(lib.func, transform)(transformed)
        return transformed(lib.from_numpy(values)).tolist()

    # torch has no derivative of the functional copy, which the other order calls there.
    expected = differentiate(torch, ["grad", "functionalize"])
    assert differentiate(torchlike, ["grad", "functionalize"]) == expected
    assert differentiate(torchlike, ["functionalize", "grad"]) == expected


def test_another_remove_is_refused():
    for lib in (torchlike, torch):
        with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
            lib.func.functionalize(lambda x: x, remove="views")(lib.ones(1))


TURNS = {
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "transpose_": lambda x: x.transpose_(0, 1),
    "squeeze_": lambda x: x.unsqueeze(0).squeeze_(0),
    "there and back": lambda x: x.unsqueeze_(0).squeeze_(),
}
VIEWS = {
    "view": lambda x: x.view(2, 4),
    "t": lambda x: x.t(),
    "slice": lambda x: x[1:3],
    "views of views": lambda x: x.view(8).reshape(2, 4).transpose(1, 0),
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("is_written_first", [True, False])
def test_views_made_inside_are_turned_in_place(turn, view, is_written_first):
    found = []
    for library in (torch, torchlike):
        func = library.func

        def change(x):
            part = VIEWS[view](x)
            if is_written_first:
                part.add_(1)
            part = TURNS[turn](part)
            part.mul_(3)
            return part, x, part.sum()

        x = library.arange(8.0).view(4, 2)
        alone = func.functionalize(change)(x)
        batched = func.vmap(func.functionalize(change))(library.arange(8.0).view(1, 4, 2))
        gradient = func.grad(lambda x, func=func: func.functionalize(change)(x * 1)[1].sum())(x)
        found.append(([each.tolist() for each in (*alone, *batched, gradient)], x.tolist(), tuple(x.shape)))
    assert found[1] == found[0]
