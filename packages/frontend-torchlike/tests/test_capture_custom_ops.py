"""Custom operators with formulas inside captured functions, and where their tracebacks end."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path

import numpy as np
import pytest

import dispatch_core as dc
import dispatch_pipelines
import torchlike
from torchlike import Tensor

#: The folders of the packages, and the names of generated code.
SITES = (*(str(Path(module.__file__).parent) for module in (dc, dispatch_pipelines, torchlike)), "<dispatch")


def swish(x: Tensor) -> Tensor:
    return x * x.sigmoid()


def powers(x: Tensor, factor: float, exponent: int = 2) -> tuple[Tensor, Tensor]:
    return x * factor, x**exponent


def join(xs: list[Tensor]) -> Tensor:
    return torchlike.cat(xs)


def add_(x: Tensor, amount: float) -> None:
    x.add_(amount)


def save_first(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def save_numbers(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    _, ctx.factor, ctx.exponent = inputs


def swish_backward(ctx, grad):
    (x,) = ctx.saved_tensors
    inner = x.sigmoid()
    return grad * (inner + x * inner * (1 - inner))


def powers_backward(ctx, first, second):
    (x,) = ctx.saved_tensors
    return first * ctx.factor + second * ctx.exponent * x ** (ctx.exponent - 1), None, None


def split_lengths(ctx, inputs, output):
    ctx.lengths_given = [each.shape[0] for each in inputs[0]]


def join_backward(ctx, grad):
    return [2 * each for each in grad.split(ctx.lengths_given)]


@pytest.fixture(scope="module")
def ops():
    """Operators with one and with several results, with numbers, with a list, and one that writes."""
    made = [dc.custom_op(f"captured::{each.__name__}", each, mutates_args=()) for each in (swish, powers, join)]
    formulas = (swish_backward, save_first), (powers_backward, save_numbers), (join_backward, split_lengths)
    fakes = (
        torchlike.empty_like,
        lambda x, factor, exponent=2: (torchlike.empty_like(x), torchlike.empty_like(x)),
        lambda xs: torchlike.empty(sum(x.shape[0] for x in xs), device=xs[0].device),
    )
    for op, (backward, setup), fake in zip(made, formulas, fakes, strict=True):
        op.register_autograd(backward, setup_context=setup)
        op.register_fake(fake)
    made.append(dc.custom_op("captured::add_", add_, mutates_args=("x",)))
    yield {op._fn.__name__: op for op in made}
    for op in made:
        op.close()


def penalize(ops, x):
    y = ops["powers"](x, 2.0, 3)[1].sum()
    (grad,) = torchlike.autograd.grad(y, x, create_graph=True)
    return (grad * grad).sum()


def write(ops, x):
    y = x * 1
    ops["add_"](y, 2.0)
    return (ops["swish"](y) * y).sum()


BODIES = {
    "one result": lambda ops, x: ops["swish"](x).sum(),
    "several results": lambda ops, x: sum(each.sum() for each in ops["powers"](x, 1.5)),
    "one of several results": lambda ops, x: ops["powers"](x, 1.5, 3)[1].sum(),
    "a list": lambda ops, x: (ops["join"]([x, x * 2]) ** 2).sum(),
    "double backward": penalize,
    "a written argument": write,
    "one after another": lambda ops, x: ops["swish"](ops["powers"](x, 0.5)[0] + ops["swish"](x)).sum(),
}


@pytest.fixture(params=["cpu", pytest.param("jax", marks=pytest.mark.long)])
def device(request):
    """A device on which programs run."""
    if request.param == "jax":
        pytest.importorskip("jax")
        if "jax" not in dc.backends():
            pytest.skip("the device jax is not installed")
    return request.param


def inside(ops, body, x):
    loss = body(ops, x)
    loss.backward()
    return loss.detach()


def run(call, body, ops, device, outside):
    found = []
    # Two shapes, in turn: each has a variant, which replays from its third call on.
    for number in range(8):
        x = (torchlike.arange(3.0 + number % 2, device=device) / 2 + number / 8).requires_grad_()
        loss = call(ops, body, x) if not outside else call(ops, x)
        if outside:
            loss.backward()
        found.append((float(loss), np.asarray(x.grad.cpu())))
    return found


@pytest.mark.parametrize("outside", [False, True], ids=["inside", "outside"])
@pytest.mark.parametrize("pipelined", [False, pytest.param(True, marks=pytest.mark.long)], ids=["", "in a pipeline"])
@pytest.mark.parametrize("name", BODIES)
def test_an_operator_with_a_formula_is_captured(ops, device, name, outside, pipelined):
    body = BODIES[name]
    # It is given the operators once: what a dictionary holds would be a guard of every call.
    captured = dc.capture(lambda x: body(ops, x) if outside else inside(ops, body, x))
    replayed = (lambda ops, x: captured(x)) if outside else (lambda ops, body, x: captured(x))
    expected = run(body if outside else inside, body, ops, device, outside)
    if pipelined:
        with dc.pipeline():
            found = run(replayed, body, ops, device, outside)
    else:
        found = run(replayed, body, ops, device, outside)
    for one, other in zip(found, expected, strict=True):
        assert one[0] == pytest.approx(other[0], rel=1e-5)
        np.testing.assert_allclose(one[1], other[1], rtol=1e-5)
    stats = captured.stats()
    assert (stats.variants, stats.replays) == (2, 4)


def test_numbers_of_an_operator_are_guards(ops):
    def step(x, factor, exponent):
        return inside(ops, lambda ops, x: ops["powers"](x, factor, exponent)[1].sum(), x)

    captured = dc.capture(step)
    for number in range(12):
        x = torchlike.full((2,), 3.0, requires_grad=True)
        exponent = 2 + number % 3
        assert captured(x, 0.5, exponent) == 2 * 3.0**exponent
        assert x.grad.tolist() == [exponent * 3.0 ** (exponent - 1)] * 2
    assert captured.stats().variants == 3


def test_a_function_that_reads_is_told_of_kernels_which_are_one_step():
    calls = []

    def count(x):
        calls.append(x)
        return np.sin(x)

    def read(x: Tensor) -> Tensor:
        return torchlike.from_numpy(count(x.numpy()))

    reading = dc.custom_op("captured::read", read, mutates_args=())
    with pytest.raises(dc.CaptureError) as caught:
        dc.capture(lambda x: reading(x) * 2)(torchlike.ones(2))
    assert ["captured::read" in note and "device_types" in note for note in caught.value.__notes__] == [True]
    reading.close()
    kernel = dc.custom_op("captured::read", count, mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cpu")
    kernel.register_fake(torchlike.empty_like)
    calls.clear()
    captured = dc.capture(lambda x: kernel(x) * 2)
    for number in range(5):
        found = captured(torchlike.full((2,), number / 2))
        np.testing.assert_allclose(found.numpy(), 2 * np.sin(np.full(2, number / 2)), rtol=1e-6)
    assert (captured.stats().replays, len(calls)) == (3, 5)
    kernel.close()


def fail(x: Tensor) -> Tensor:
    raise ValueError("the user's own")


def entries():
    """Return what users call: functions that fail, by a name."""
    op = dc.custom_op("captured::fail", fail, mutates_args=())
    x = torchlike.ones(2)
    found = {
        "a custom operator": lambda: op(x),
        "wrong arguments": op,
        "a captured function": lambda: dc.capture(fail)(x),
        "a value that is read": lambda: dc.capture(lambda x: x.sum().item())(x),
        "a decision": lambda: dc.capture(lambda x: x if x.sum() > 0 else -x)(x),
        "a captured operator": lambda: dc.capture(op)(x),
        "capture": lambda: dc.capture(3),
        "capture's options": lambda: dc.capture(fail, limit=3),
        "a decorator's options": lambda: dc.capture(check="x")(fail),
        "a number": lambda: dc.capture.number(lambda: 1 / 0),
        "opcheck": lambda: dc.opcheck(op, (x,)),
        "set_kernel_enabled": lambda: op.register_kernel("nowhere", fail),
    }
    methods = {each: getattr(op, each) for each in dir(op) if each.startswith("register_")}
    functions = {name: getattr(dc, name) for name in dir(dc) if name.startswith("register_")}
    functions |= {
        name: getattr(dc, name) for name in ("custom_op", "define", "impl", "infer_schema", "Library", "get_kernel")
    }
    for name, function in (methods | functions).items():
        for value in (3, "nope::nothing", fail, None):
            found[f"{name} of {value!r}"] = lambda function=function, value=value: call(function, value)
    return found


def call(function, value):
    needed = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind in (0, 1)
    ]
    made = function(*[value] * max(1, len(needed)))
    if callable(made) and not isinstance(value, type(fail)):
        made(value)


def own_frames(error):
    return [each for each in traceback.extract_tb(error.__traceback__) if any(site in each.filename for site in SITES)]


def error_of(entry):
    try:
        entry()
    except Exception as error:  # noqa: BLE001  # whatever a public call raises
        return error
    return None


def test_tracebacks_end_at_the_users_line(monkeypatch):
    errors = {name: error for name, entry in entries().items() if (error := error_of(entry)) is not None}
    assert len(errors) > 30
    assert {name: frames for name, error in errors.items() if (frames := own_frames(error))} == {}
    monkeypatch.setenv("DISPATCH_TRACEBACK", "full")
    with pytest.raises(ValueError, match="the user's own") as caught:
        dc.capture(fail)(torchlike.ones(2))
    assert own_frames(caught.value)
