"""Only documented errors leave public calls, whatever their arguments are; see docs/errors.md.

``hostile_calls.py`` makes the calls, in a process of its own, and can be run for longer by hand; ``DISPATCH_HOSTILE_SEED``
and ``DISPATCH_HOSTILE_CALLS`` choose other calls and more. The younger functions still let some undocumented errors out
(docs/plan.md), so the suite's calls are the same ones everywhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import torchlike
from torchlike import nn

hostile_calls = pytest.importorskip("hostile_calls", reason="the process limits its memory by the module resource")

SCRIPT = Path(__file__).with_name("hostile_calls.py")
SEED = os.environ.get("DISPATCH_HOSTILE_SEED") or "1"
CALLS = os.environ.get("DISPATCH_HOSTILE_CALLS") or "400"


def test_only_documented_errors_leave_public_calls():
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(SCRIPT), "--seed", SEED, "--seconds", "90", "--calls", CALLS],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    told = "\n".join(f"{each.get('name')}{each.get('arguments')}: {each}" for each in findings)
    assert not findings, f"DISPATCH_HOSTILE_SEED={SEED}\n{told}"
    assert done.returncode == 0, f"DISPATCH_HOSTILE_SEED={SEED}\n{done.stderr}"


class Hostile:
    """An object whose conversions raise errors of their own."""

    def __index__(self):
        raise ZeroDivisionError

    __int__ = __float__ = __array__ = __index__


def cyclic():
    found = []
    found.append(found)
    return found


def deep():
    found = 1
    for _ in range(10_000):
        found = [found]
    return found


X, NUMBERS, META = torchlike.ones(2), torchlike.arange(2), torchlike.ones(2, 3, device="meta")
#: The first findings, which have to be refused at once.
FIRST = {
    "a deep list as data": lambda: torchlike.tensor(deep()),
    "a deep list as a size": lambda: X.view(deep()),
    "a deep list as an index": lambda: X[deep(),],
    "a deep list behind a number": lambda: torchlike.tensor([1, deep()]),
    "a list of itself as data": lambda: torchlike.tensor(cyclic()),
    "a list of itself as dimensions": lambda: X.sum(cyclic()),
    "a complex range": lambda: torchlike.arange(1j),
    "text as a generator": lambda: X.clone().uniform_(generator="x"),
    "a number as a dtype": lambda: X.mean(dtype=5),
    "a bound beyond 64 bits": lambda: X.clamp(10**30),
    "a bound beyond 64 bits, of integers": lambda: NUMBERS.clamp(10**30),
    "an operand beyond 64 bits": lambda: X + 10**30,
    "an operand beyond 64 bits, without data": lambda: META * 10**30,
    "a dimension beyond 64 bits": lambda: X.sum(10**30),
    "a size beyond 64 bits": lambda: torchlike.zeros(2**70, device="meta"),
    "elements beyond 64 bits": lambda: META[0, 0].expand(2**40, 2**40),
    "a range beyond 64 bits": lambda: torchlike.randint(10**30, (2,)),
    "a type of no name": lambda: X.type("nonsense"),
    "more pieces than memory holds": lambda: torchlike.tensor_split(X, 2**31),
    "as many empty pieces": lambda: torchlike.ones(0).chunk(2**40),
    "a tensor as a class": lambda: X.as_subclass(X),
    "a number as a loss's weight": lambda: nn.LinearCrossEntropyLoss(3, 4, weight=5),
    "an infinite factor of integers": lambda: torchlike.addmv(
        NUMBERS, NUMBERS.expand(2, 2), NUMBERS, alpha=-float("inf")
    ),
    "a list for an operand of map2_": lambda: X.clone().map2_([X], X, lambda a, b, c: a),
    "an array as logits": lambda: nn.functional.gumbel_softmax(np.ones(3)),
    "a negative number of repeated rows": lambda: torchlike.repeat_interleave(NUMBERS, output_size=-1),
    "another number of repeated rows": lambda: torchlike.repeat_interleave(NUMBERS, output_size=5),
    "a tensor as a device's name": lambda: torchlike.is_autocast_available(X),
    "a deep list as a default dtype": lambda: torchlike.set_default_dtype(deep()),
    "no device as the default": lambda: torchlike.set_default_device("sum"),
    "a dtype among outputs": lambda: torchlike.autograd.grad(torchlike.float32, [X], [X], is_grads_batched=True),
    "a number among gradients": lambda: torchlike.autograd.grad([X], [X], [-9], is_grads_batched=True),
    "a list as an option of a loss": lambda: nn.LinearCrossEntropyOptions(2, acc_dtype=deep()),
    "a number for an operand of tensordot": lambda: torchlike.tensordot(3, X, 1),
    "text as a loss's input": lambda: nn.functional.gaussian_nll_loss("cpu", X, X),
    "a deep list as a way to compute": lambda: torchlike.cdist(META, META, 2.0, deep()),
    "a scalar out= elsewhere": lambda: torchlike.exp2(META, out=torchlike.ones(())),
}


@pytest.mark.parametrize("call", FIRST.values(), ids=FIRST)
def test_what_was_found_first_is_refused(call):
    run = hostile_calls.Run(0)
    run.attempt("f", "call", call, str)
    assert run.findings == []
    assert run.raised.total() == 1


def test_the_least_diagonal_leaves_all_or_nothing():
    for triangle in (torchlike.triu, torchlike.tril):
        for diagonal in (-(2**63), 2**63 - 1):
            whole = torchlike.ones(2, 3)
            found = triangle(whole, diagonal), triangle(whole.expand(2, 2, 3).clone(), diagonal), whole.clone()
            getattr(found[2], f"{triangle.__name__}_")(diagonal)
            is_kept = (triangle is torchlike.triu) is (diagonal < 0)
            assert all(bool((each == is_kept).all()) for each in found)


def test_flags_of_hooks_are_read_as_truth():
    seen = []
    layer = nn.ReLU()
    layer.register_forward_hook(lambda *given: seen.append(len(given)), with_kwargs=65536, always_call=2**70)
    layer(X)
    assert seen == [4]


@pytest.mark.parametrize("flag", [None, 0, 1, "", [1]])
def test_flags_of_layer_norm_are_read_as_truth(flag):
    layer = nn.LayerNorm(3, elementwise_affine=flag, bias=flag)
    assert (layer.weight is None) is (layer.bias is None) is (not flag)
    assert repr(layer).startswith("LayerNorm((3,)")


@pytest.mark.parametrize(
    "call",
    [
        lambda: torchlike.tensor([Hostile()]),
        lambda: X.view(Hostile()),
        lambda: X.sum(Hostile()),
        lambda: X.clone().fill_(Hostile()),
        lambda: torchlike.manual_seed(Hostile()),
        lambda: torchlike.zeros(Hostile()),
        lambda: nn.TransformerEncoder(nn.ReLU(), Hostile()),
        lambda: nn.init.kaiming_uniform_(torchlike.ones(2, 2), Hostile()),
    ],
)
def test_what_a_conversion_raises_does_not_leave_the_call(call):
    with pytest.raises((TypeError, RuntimeError)):
        call()


@pytest.mark.parametrize(
    ("error", "is_found"),
    [
        (TypeError("x"), False),
        (RuntimeError("x"), False),
        (AttributeError("x"), True),
        (OverflowError("x"), True),
        (RecursionError("x"), True),
        (AssertionError("x"), True),
        (KeyError("x"), True),
        (ZeroDivisionError("x"), True),
    ],
)
def test_an_undocumented_error_is_found(error, is_found):
    def call():
        raise error

    run = hostile_calls.Run(0)
    run.attempt("f", "call", call, str)
    assert bool(run.findings) == is_found


def test_every_public_function_is_called():
    names = {target.name for target in hostile_calls.targets()}
    expected = "torchlike.add torchlike.tensor torchlike.nn.functional.relu torchlike.nn.Linear torchlike.optim.Adam"
    assert names >= {
        *expected.split(),
        "Tensor.view",
        "Tensor.__getitem__",
        "aten::add.Tensor",
        "dispatch_core.explain",
    }
    assert len(names) > 1400


def test_the_documented_errors_are_those_of_the_docs(root):
    text = (root / "docs" / "errors.md").read_text()
    for error in hostile_calls.DOCUMENTED:
        assert f"| `{error.__name__}` |" in text
