"""Deep copies of random groups of aliases, beside torch: values, layouts, and shared memory."""

import copy
from contextlib import nullcontext

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

ALIASES = [
    lambda t: t[1:] if t.ndim and t.shape[0] > 1 else t[...],
    lambda t: t.transpose(0, -1) if t.ndim else t[...],
    lambda t: t.detach(),
    lambda t: t.data,
    lambda t: t.flatten(),
    lambda t: t[..., ::2] if t.ndim else t[...],
    lambda t: t.unsqueeze(0),
    lambda t: t.expand(2, *t.shape),
    lambda t: t.clone(),
    lambda t: t * 2,
    lambda t: t[0] if t.ndim and t.shape[0] else t[...],
    lambda t: t[:0] if t.ndim else t[...],
]
STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6)


def run(t, steps, keep, writes):
    with t.no_grad():
        leaf = t.arange(12.0).reshape(3, 4).clone().requires_grad_()
        values = [leaf, t.nn.Parameter(t.ones(2)), t.arange(4)]
        for which, place in steps:
            values.append(ALIASES[which % len(ALIASES)](values[place % len(values)]))
        values = [value for number, value in enumerate(values) if keep >> number & 1] or [leaf]
        copies = copy.deepcopy({"a": values, "b": (values[0], values[-1])})
        found = copies["a"]
        log = [copies["b"][0] is found[0], copies["b"][1] is found[-1]]
        for place in writes:
            target = found[place % len(found)]
            if 0 not in target.stride():
                target.add_(place + 1)
            log.append([each.tolist() for each in found])
        log += [
            (
                each.stride(),
                each.storage_offset(),
                each.requires_grad,
                each.is_leaf,
                each._base is None,
                type(each).__name__,
            )
            for each in found
        ]
        return log, [each.tolist() for each in values]


@settings(max_examples=300)
@example([(0, 0), (11, 3)], 16, [], False)  # a view without elements, behind the beginning of its storage
@given(STEPS, st.integers(1, 2**9), st.lists(st.integers(0, 20), max_size=4), st.booleans())
def test_copies_share_memory_as_their_originals_do(steps, keep, writes, in_pipeline):
    with torchlike.pipeline() if in_pipeline else nullcontext():
        ours = run(torchlike, steps, keep, writes)
    assert ours == run(torch, steps, keep, writes)
