"""Results of a program's kernels are held against their schemas in every mode, until a call has passed."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import dispatch_core as dc
import torchlike

COMPOSITES = ["CompositeExplicitAutograd", "CompositeImplicitAutograd"]
_numbers = itertools.count()


def capture(call, x):
    captured = torchlike.capture(call)
    for _ in range(4):
        found = captured(x)
    return found


def in_pipeline(call, x):
    with torchlike.pipeline():
        return call(x)


def differentiate(call, x):
    def add_up(x):
        found = call(x)
        return (found[0] if isinstance(found, list | tuple) else found).sum()

    return torchlike.func.grad(add_up)(x)


MODES = {
    "eager": lambda call, x: call(x),
    "pipeline": in_pipeline,
    "capture": capture,
    "grad": differentiate,
    "vmap": lambda call, x: torchlike.func.vmap(call)(torchlike.stack([x, x])),
}


@pytest.fixture
def define():
    """Define an operator with a kernel under a key, and return a function that calls it."""
    opened = []

    def define(schema, kernel, key, fake=None):
        name = f"results{next(_numbers)}"
        library = dc.Library(name, "DEF")
        opened.append(library)
        library.define(f"f{schema}")
        library.impl("f", kernel, key)
        if fake is not None:
            dc.register_fake(f"{name}::f", fake, lib=library)
        return lambda x: getattr(dc.ops, name).f(x)

    yield define
    for library in opened:
        library.close()


def refuse(call, mode, match):
    with pytest.raises(dc.KernelResultError, match=match) as caught:
        MODES[mode](call, torchlike.tensor([1.0, 2.0]))
    assert "<lambda>" in str(caught.value)
    assert __file__ in str(caught.value)


@pytest.mark.parametrize("modes", [*itertools.permutations(["eager", "pipeline", "capture", "grad"], 2)])
@pytest.mark.parametrize("key", COMPOSITES)
def test_refused_calls_are_no_first_calls(define, key, modes):
    state = SimpleNamespace(result=None)
    call = define("(Tensor x) -> ()", lambda x: state.result and x + 1, key)
    state.result = "more"
    for mode in [modes[0]] * 3 + [modes[1]] * 3:
        refuse(call, mode, "where the schema promises 0 results")
    state.result = None
    MODES["eager"](call, x := torchlike.tensor([1.0, 2.0]))
    state.result = "more"
    call(x)  # a call has passed


@pytest.mark.parametrize("mode", ["eager", "pipeline", "capture", "grad"])
@pytest.mark.parametrize("key", COMPOSITES[:1])
def test_a_copy_in_place_of_a_view_is_refused(define, key, mode):
    call = define("(Tensor(a) x) -> Tensor(a)", lambda x: x.clone(), key)
    refuse(call, mode, "does not share the memory of argument 'x'")


@pytest.mark.parametrize("mode", ["eager", "pipeline", "capture"])
@pytest.mark.parametrize("key", COMPOSITES)
@pytest.mark.parametrize("view", [lambda x: x[:1], lambda x: x.view(2, 1)[0], lambda x: x.detach()])
def test_views_pass_in_every_mode(define, view, key, mode):
    call = define("(Tensor(a) x) -> Tensor(a)", view, key)
    MODES[mode](call, torchlike.tensor([1.0, 2.0]))
    MODES[mode](lambda x: call(x + 1), torchlike.tensor([1.0, 2.0]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", COMPOSITES)
@pytest.mark.parametrize(
    ("returns", "kernel"),
    [
        ("(Tensor, Tensor)", lambda x: (x,)),
        ("(Tensor, Tensor)", lambda x: x + 1),
        ("(Tensor, Tensor)", lambda x: (x, x + 1, x + 2)),
        ("(Tensor, Tensor)", lambda x: None),
        ("()", lambda x: x + 1),
        ("Tensor[]", lambda x: x + 1),
    ],
)
def test_composites_give_the_declared_results(define, returns, kernel, key, mode):
    refuse(define(f"(Tensor x) -> {returns}", kernel, key), mode, "where the schema promises")


WRONG_ARRAYS = {
    "tuple": lambda x: (x + 1, x + 2),
    "list": lambda x: [x],
    "int": lambda x: 5,
    "float": lambda x: 0.5,
    "None": lambda x: None,
    "object": lambda x: object(),
    "text": lambda x: "text",
}


@pytest.mark.no_pipeline(reason="a pipeline records such calls, and refuses their results where it ends")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wrong", WRONG_ARRAYS)
def test_kernels_on_arrays_return_arrays(define, wrong, mode):
    call = define("(Tensor x) -> Tensor", WRONG_ARRAYS[wrong], "CPU", torchlike.empty_like)
    for _ in range(3):
        refuse(call, mode, "the kernel for CPU returned")


def test_kernels_may_return_scalars_of_numpy(define):
    call = define("(Tensor x) -> Tensor", lambda x: x.sum(), "CPU")
    assert call(torchlike.tensor([1.0, 2.0])).item() == 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", COMPOSITES)
@pytest.mark.parametrize(
    ("returns", "kernel"),
    [
        *[(kind, lambda x: x.sum()) for kind in ("float", "int", "bool", "Scalar", "SymInt", "str", "float[]")],
        ("Tensor", lambda x: np.ones(2, np.float32)),
        ("Tensor?", lambda x: np.ones(2, np.float32)),
        ("Tensor", lambda x: 5),
        ("Tensor[]", lambda x: [x + 1, np.ones(2, np.float32)]),
        ("(Tensor, Tensor)", lambda x: (x, np.ones(2, np.float32))),
    ],
)
def test_composites_give_results_of_the_declared_types(define, returns, kernel, key, mode):
    call = define(f"(Tensor x) -> {returns}", kernel, key)
    for _ in range(3):
        refuse(call, mode, "result . must be ")


@pytest.mark.parametrize("key", COMPOSITES)
def test_composites_may_leave_out_an_optional_tensor(define, key):
    assert define("(Tensor x) -> Tensor?", lambda x: None, key)(torchlike.tensor([1.0])) is None
