"""Attention as one operator: its results and derivatives of both orders, by the operator that is composed of parts."""

import math

import pytest

import dispatch_core as dc

torchlike = pytest.importorskip("torchlike", reason="gradients are a frontend's")

pytestmark = pytest.mark.no_pipeline(reason="gradcheck compares numbers call by call")
CASES = {
    "a mask": (4, {"attn_mask": torchlike.arange(18).reshape(3, 6) % 4 > 0}),
    "heads that share": (2, {}),
    "causal": (4, {"is_causal": True, "scale": 0.7}),
    "a row without scores": (1, {"attn_mask": torchlike.arange(18).reshape(3, 6) > 5}),
}


def draw(shared):
    torchlike.manual_seed(0)
    shapes = (1, 4, 3, 5), (1, shared, 6, 5), (1, shared, 6, 5)
    return [torchlike.randn(shape, dtype=torchlike.float64, requires_grad=True) for shape in shapes]


def fuse(q, k, v, attn_mask=None, is_causal=False, scale=None, dropout_p=0.0):
    operator = torchlike.ops.aten._scaled_dot_product_efficient_attention
    return operator(q, k, v, attn_mask, True, dropout_p, is_causal, scale=scale)


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_composition(case):
    shared, options = CASES[case]
    q, k, v = draw(shared)
    out, rows, kept, last = fuse(q, k, v, **options)
    expected = torchlike.nn.functional.scaled_dot_product_attention(q, k, v, **options, enable_gqa=True)
    torchlike.testing.assert_close(out, expected)
    scores = q @ k.repeat_interleave(4 // shared, 1).mT * options.get("scale", 1 / math.sqrt(5))
    if "attn_mask" in options:
        scores = scores.masked_fill(~options["attn_mask"], -math.inf)
    if options.get("is_causal"):
        scores = scores.masked_fill(torchlike.ones(3, 6).triu(1).bool(), -math.inf)
    sums = scores.logsumexp(-1)
    torchlike.testing.assert_close(rows, sums.masked_fill(sums == -math.inf, math.inf).detach())
    assert kept.numel() == last.numel() == 0


@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_both_orders(case):
    shared, options = CASES[case]
    given = draw(shared)
    assert torchlike.autograd.gradcheck(lambda *given: fuse(*given, **options)[0], given)
    assert torchlike.autograd.gradgradcheck(lambda *given: fuse(*given, **options)[0], given)


def test_derivatives_keep_the_weights_that_dropout_kept():
    def run(*given):
        torchlike.manual_seed(3)
        return fuse(*given, dropout_p=0.3)[0]

    assert torchlike.autograd.gradcheck(run, draw(2))
    assert torchlike.autograd.gradgradcheck(run, draw(2))
    q, k, v = draw(4)
    out, _, kept, _ = fuse(q, k, v, dropout_p=0.3)
    math_attention = torchlike.ops.aten._scaled_dot_product_attention_math
    torchlike.testing.assert_close(out, math_attention(q, k, v, None, 0.3, False, kept)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, k, v: (q[0], k, v), "'query' must be 4-D"),
        (lambda q, k, v: (q, k.float(), v), "one floating dtype"),
        (lambda q, k, v: (q, k[..., :4], v), "do not fit query"),
        (lambda q, k, v: (q, k[:, :3], v[:, :3]), "Number of heads"),
        (lambda q, k, v: (q, k, v, torchlike.ones(3, 6)), "'attn_bias' must be of bool"),
        (lambda q, k, v: (q, k, v, torchlike.ones(2, 6, dtype=torchlike.bool)), "'attn_bias' .* does not fit"),
        (lambda q, k, v: (q, k, v, None, False, None, 2.0), "dropout probability"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(RuntimeError, match=message):
        fuse(*change(*draw(4)))


def test_attention_of_devices_without_a_kernel_is_composed():
    with dc.profile() as profile:
        torchlike.nn.functional.scaled_dot_product_attention(*draw(4))
    names = [event.name for event in profile.events]
    assert "aten::scaled_dot_product_attention" in names
    assert not any("efficient" in name for name in names)


NAME = "aten::_scaled_dot_product_efficient_attention"
TAKEN = {
    "no mask": {},
    "causal": {"is_causal": True},
    "mask": {"attn_mask": torchlike.arange(18).reshape(3, 6) % 4 > 0},
    "mask of columns": {"attn_mask": torchlike.arange(6).reshape(1, 1, 1, 6) % 4 > 0},
    "scale": {"scale": 0.3},
    "dropout": {"dropout_p": 0.5},
}
LEFT = {
    "numbers for a mask": {"attn_mask": torchlike.zeros(3, 6)},
    "all dropped": {"dropout_p": 1.0},
}


@pytest.fixture
def calls():
    """Register a kernel for the cpu, as a vendor does, and return the list of its calls."""
    compose, seen = dc.get_kernel(NAME, "CompositeExplicitAutograd").call_boxed, []

    def kernel(*args, **options):
        seen.append((*args[3:], options["scale"]))
        return compose(dc.DispatchKeySet(["CPU"]), *args, **options)

    library = dc.Library("aten", "IMPL", "CPU")
    library.impl(NAME.partition("::")[2], kernel)
    yield seen
    library.close()


@pytest.mark.parametrize("case", [*TAKEN, *LEFT])
def test_attention_goes_to_a_kernel_that_a_device_registers(case, calls):
    options = TAKEN.get(case) or LEFT.get(case, {})
    given = [each.detach().float().requires_grad_() for each in draw(2)]

    def run(*given):
        torchlike.manual_seed(0)
        y = torchlike.nn.functional.scaled_dot_product_attention(*given, **options, enable_gqa=True)
        return [y, *torchlike.autograd.grad(y.sin().sum(), given)]

    found = run(*given)
    assert len(calls) == (case in TAKEN)
    expected = run(*[each.detach().double().requires_grad_() for each in given])
    assert len(calls) == (case in TAKEN)
    if case != "dropout":
        for one, other in zip(found, expected, strict=True):
            torchlike.testing.assert_close(one, other.float(), rtol=1e-5, atol=1e-5)


def test_a_kernel_is_asked_for_calls_that_fit_it_alone(calls):
    attend = torchlike.nn.functional.scaled_dot_product_attention
    q, k, v = (each.detach().float() for each in draw(4))
    attend(q[0], k[0], v[0])
    attend(q[:, :, :0], k, v)
    attend(q, k[:, :1], v[:, :1])
    attend(q, k, v, torchlike.ones(2, 1, 3, 6, dtype=torchlike.bool))
    attend(q, k, v[..., :2])
    attend(*[each.double() for each in (q, k, v)])
    assert calls == []
