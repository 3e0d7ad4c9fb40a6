"""Drawn custom operators with formulas inside captured functions: values and gradients are those of eager calls."""

from __future__ import annotations

import contextlib
import os
import random
from types import SimpleNamespace

import pytest

import dispatch_core as dc
import torchlike
from torchlike import Tensor

#: How many operators are drawn; `DISPATCH_TEST_PROGRAMS` says another number.
PROGRAMS = int(os.environ.get("DISPATCH_TEST_PROGRAMS", "24"))


def draw_operator(draw, number):
    """Return a drawn operator, y = a * x * x, with one or two results, and a formula that keeps what it needs as drawn."""
    has_list, results = draw.random() < 0.25, draw.choice(["one", "two", "two", "counted"])
    keeps = draw.choice(["saved input", "saved result", "attribute", "saved both"])
    by_number = draw.random() < 0.6
    is_kernel = draw.random() < 0.4
    materializes = draw.random() < 0.7

    def compute(x, a):
        xp = torchlike if isinstance(x, Tensor) else None
        y = a * x * x
        if results == "one":
            return y
        if results == "two":
            return y, x + a
        return y, (x > 0.5).to(torchlike.int64) if xp else (x > 0.5).astype("int64")

    if has_list:

        def function(xs: list[Tensor], a: float):
            return compute(xs[0] + xs[1], a)

        schema = "(Tensor[] xs, float a) -> "
    else:

        def function(x: Tensor, a: float):
            return compute(x, a)

        schema = "(Tensor x, float a) -> "
    schema += "Tensor" if results == "one" else "(Tensor, Tensor)"
    op = dc.custom_op(
        f"drawn::f{number}", function, mutates_args=(), schema=schema, device_types="cpu" if is_kernel else None
    )

    def setup_context(ctx, inputs, output):
        x = inputs[0][0] + inputs[0][1] if has_list else inputs[0]
        first = output if results == "one" else output[0]
        if results == "counted":
            ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(materializes)
        ctx.a = inputs[1] if by_number else None
        ctx.shape = tuple(first.shape)
        if keeps == "saved input":
            ctx.save_for_backward(x.detach())
        elif keeps == "saved result":
            ctx.save_for_backward(first)
        elif keeps == "attribute":
            ctx.x = x.detach()
        else:
            ctx.save_for_backward(x.detach(), first)

    def backward(ctx, *grads):
        assert ctx.shape
        a = ctx.a if by_number else 1.5
        if keeps == "saved result":
            x = (ctx.saved_tensors[0] / a).sqrt()
        else:
            x = ctx.x if keeps == "attribute" else ctx.saved_tensors[0]
        grad = torchlike.zeros_like(x) if grads[0] is None else 2 * a * x * grads[0]
        if results == "two" and grads[1] is not None:
            grad = grad + grads[1]
        return ([grad, grad.clone()] if has_list else grad), None

    op.register_autograd(backward, setup_context=setup_context)

    def fake(x, a):
        x = x[0] if has_list else x
        y = torchlike.empty_like(x)
        second = torchlike.empty_like(x, dtype=torchlike.int64) if results == "counted" else torchlike.empty_like(x)
        return y if results == "one" else (y, second)

    op.register_fake(fake)
    numbers = [1.5] if not by_number else [1.5, 0.5]
    return SimpleNamespace(op=op, has_list=has_list, results=results, numbers=numbers, keeps=keeps)


def make_body(draw, made):
    """Return a drawn function of a tensor and a number that calls the operator."""
    uses = draw.choice(["first", "second", "all"])
    times = draw.choice([1, 2])

    def body(x, a):
        total = 0
        for _ in range(times):
            found = made.op([x, x * 0.5] if made.has_list else x * 1.0, a)
            found = found if isinstance(found, tuple) else (found,)
            if uses == "second" and made.results == "two":
                total = total + found[1].sum()
            elif uses == "all" and len(found) > 1:
                total = total + found[0].sum() + (found[1] * 1.0).sum()
            else:
                total = total + found[0].sum()
            x = x + 0.25
        return total

    return body


def inside(body):
    def step(x, a):
        loss = body(x, a)
        loss.backward()
        return loss.detach()

    return step


@pytest.mark.parametrize("start", range(4))
def test_a_drawn_operator_is_captured(start):
    draw = random.Random(f"{os.environ.get('DISPATCH_TEST_SEED', '1')} {start}")
    for number in range(PROGRAMS // 4):
        made = draw_operator(draw, number)
        try:
            compare(draw, made, make_body(draw, made), is_inside=draw.random() < 0.5)
        finally:
            made.op.close()


def compare(draw, made, body, *, is_inside):
    function = inside(body) if is_inside else body
    check = draw.choice([0, 1])
    captured = dc.capture(function, check=check)
    for _ in range(6 * len(made.numbers)):
        values = [draw.randint(1, 8) / 4 for _ in range(3)]
        a = draw.choice(made.numbers)
        expected = call(function, values, a, is_inside=is_inside)
        assert call(captured, values, a, is_inside=is_inside) == pytest.approx(expected, rel=1e-4), made
    assert check or captured.stats().replays > 0


def call(function, values, a, *, is_inside):
    x = torchlike.tensor(values, requires_grad=True)
    loss = function(x, a)
    if not is_inside:
        loss.backward()
    return [loss.item(), *x.grad.tolist()]


class Square(torchlike.autograd.Function):
    """A function of the user's, whose Python may do anything."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


def test_a_refusal_names_what_is_marked():
    x = torchlike.ones(2, requires_grad=True)
    captured = dc.capture(lambda x: Square.apply(x).sum())
    with pytest.raises(
        dc.CaptureError, match=r"If Square has none, mark it: dispatch_core\.capture\.traceable\(Square\)"
    ):
        captured(x)

    def double(grad):
        return 2 * grad

    def hooked(x):
        y = x * 1
        y.register_hook(double)
        return y.sum()

    with pytest.raises(dc.CaptureError, match=r"capture\.traceable\(double\)"):
        dc.capture(hooked)(x)


STATE = {"scale": 2.0}


def test_a_number_that_changes_beside_the_call_is_no_stale_one():
    with contextlib.ExitStack() as opened:
        op = dc.custom_op("drawn::scale", scale, mutates_args=())
        opened.callback(op.close)
        op.register_fake(torchlike.empty_like)
        op.register_autograd(lambda ctx, grad: grad * ctx.scale, setup_context=keep_scale)
        for is_inside in (False, True):
            function = inside(lambda x, a: op(x).sum()) if is_inside else lambda x, a: op(x).sum()
            for check, changes_at in ((0, 1), (1, 3)):
                captured = dc.capture(function, check=check)
                for number in range(changes_at):
                    STATE["scale"] = 2.0
                    assert call(captured, [1.0], 0, is_inside=is_inside) == [1.0, 2.0], number
                STATE["scale"] = 5.0
                with pytest.raises(dc.CaptureError, match=r"differ.* 2\.0, then 5\.0"):
                    call(captured, [1.0], 0, is_inside=is_inside)


def scale(x: Tensor) -> Tensor:
    return x * 1.0


def keep_scale(ctx, inputs, output):
    ctx.scale = STATE["scale"]
