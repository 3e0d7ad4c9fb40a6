"""Random programs of views, in-place operators and gradients, step by step beside torch."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

VIEWS = [
    lambda t: t[0] if t.ndim else t,
    lambda t: t[..., -1] if t.ndim else t,
    lambda t: t[1:] if t.ndim else t,
    lambda t: t[..., ::2] if t.ndim else t,
    lambda t: t.reshape(-1),
    lambda t: t.transpose(0, -1) if t.ndim else t,
    lambda t: t.unsqueeze(0),
    lambda t: t.squeeze(),
    lambda t: t.flatten(),
    lambda t: t.narrow(0, 0, 1) if t.ndim and t.shape[0] else t,
    lambda t: t.detach(),
    lambda t: t.expand(2, *t.shape),
    lambda t: t.diagonal() if t.ndim > 1 else t,
]
FRESH = [
    lambda t: t * 2,
    lambda t: t.sin(),
    lambda t: t + t.sum(),
    lambda t: t * t,
    lambda t: t.exp().clamp(max=5),
    lambda t: t.clone(),
]
IN_PLACE = [
    lambda t: t.mul_(1.5),
    lambda t: t.add_(0.25),
    lambda t: t.sin_(),
    lambda t: t.zero_(),
    lambda t: t.mul_(t.detach() + 1),
    lambda t: t.sigmoid_(),
    lambda t: t.fill_(0.5),
]

STEPS = st.tuples(
    st.sampled_from(["view", "fresh", "in place", "write", "combine", "no_grad in place"]),
    st.integers(0, 100),
    st.integers(0, 100),
)


def run(t, steps):
    """Run a program; give a log of what could be seen after each step, and the gradients at the end."""
    leaf = t.tensor(np.linspace(-1, 1, 12).reshape(3, 4), requires_grad=True)
    other = t.tensor(np.linspace(0.5, 2, 4), requires_grad=True)
    values = [leaf, leaf * 1, t.zeros(3, 4, dtype=t.float64)]
    log = []
    for kind, which, place in steps:
        target = values[place % len(values)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if kind == "view":
                    values.append(VIEWS[which % len(VIEWS)](target))
                elif kind == "fresh":
                    values.append(FRESH[which % len(FRESH)](target))
                elif kind == "in place":
                    IN_PLACE[which % len(IN_PLACE)](target)
                elif kind == "write":
                    target[...] = other.sum() * 0.1 if which % 2 else other[which % 4]
                elif kind == "combine":
                    values.append(target + values[which % len(values)].sum() * 0.1)
                else:
                    with t.no_grad():
                        IN_PLACE[which % len(IN_PLACE)](target)
            log.append("done")
        except (RuntimeError, IndexError) as error:
            log.append(type(error).__mro__[-3].__name__ if isinstance(error, IndexError) else "RuntimeError")
        for value in values:
            try:
                # torch makes a view's history anew when it is asked for, which may be refused.
                has_history = value.grad_fn is not None
            except RuntimeError:
                has_history = "refused"
            log.append((tuple(value.shape), value.requires_grad, has_history, value._version))
    elements = [value.detach().numpy().copy() for value in values]
    gradients = []
    for value in values:
        try:
            found = t.autograd.grad(value.sum(), [leaf, other], allow_unused=True, retain_graph=True)
            gradients.append([np.zeros(()) if g is None else g.numpy() for g in found])
        except RuntimeError:
            gradients.append("RuntimeError")
    return log, elements, gradients


@settings(max_examples=400, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=12))
def test_random_programs(steps):
    log, elements, gradients = run(torch, steps)
    our_log, our_elements, our_gradients = run(torchlike, steps)
    assert our_log == log
    for ours, theirs in zip(our_elements, elements, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    for ours, theirs in zip(our_gradients, gradients, strict=True):
        assert isinstance(ours, str) == isinstance(theirs, str)
        if not isinstance(theirs, str):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(
                    np.broadcast_to(a, np.shape(b)) if a.ndim == 0 else a, b, rtol=1e-7, atol=1e-9
                )
