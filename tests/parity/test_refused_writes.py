"""A refused call changes no output and no other argument, eagerly, in a pipeline and on other devices."""

from contextlib import nullcontext, suppress

import pytest

torch = pytest.importorskip("torch", reason="the calls are made beside torch")

import operator_calls as calls  # noqa: E402  # after the skip

import dispatch_core as dc  # noqa: E402
import torchlike  # noqa: E402

pytestmark = [
    pytest.mark.no_pipeline(reason="the tests open pipelines of their own"),
    # Half of all of parity's time: an output that is resized looks for its views among all objects.
    pytest.mark.drawn(0.25),
]

#: Operators with ``out=`` of the kinds that `MUTATED` leaves out: one of each way to make several results, or one.
SAMPLES = "convolution_backward.out max_pool2d_with_indices.out reflection_pad1d.out upsample_linear1d.out".split()
WRITING = [
    name
    for name in [*calls.MUTATED, *SAMPLES]
    if any(each.is_write for each in calls.our_operator(name).schema.arguments)
]


def looks(value):
    """Return all that a call could change of an argument."""
    if isinstance(value, list):
        return [looks(each) for each in value]
    if not isinstance(value, torchlike.Tensor):
        return value
    found = value.shape, value.stride(), value.storage_offset(), value.dtype, value._version
    history = value.requires_grad, value.grad_fn, value.is_leaf, value.grad
    return *found, *history, None if value.is_meta else value.detach().cpu().numpy().tobytes()


def move(value, device):
    if isinstance(value, list):
        return [move(each, device) for each in value]
    if not isinstance(value, torchlike.Tensor) or value.is_meta:
        return value
    there = value.detach().to(device)
    return there.requires_grad_() if value.requires_grad else there


@pytest.mark.parametrize("where", ["eager", "pipeline", "meta", "frozen"])
@pytest.mark.parametrize("name", WRITING)
@pytest.mark.usefixtures("frozen_backend")
def test_a_refused_call_changes_nothing(name, where):
    written = {each.name for each in calls.our_operator(name).schema.arguments if each.is_write}
    for make, kwargs in calls.CALLS[name][:1]:
        args = calls.bind(name, make, kwargs)
        for what, given in (*calls.mutate(name, args), *calls.overlapping(name, args)):
            if where in ("meta", "frozen") and what.split()[0] not in written:
                continue
            mirror = calls.Mirror()
            ours = {key: mirror(value) for key, value in given.items()}
            if where in ("meta", "frozen"):
                ours = {key: move(value, where) for key, value in ours.items()}
            before = {key: looks(value) for key, value in ours.items()}
            with suppress(Exception), dc.pipeline() if where == "pipeline" else nullcontext():
                _, error = calls.call_ours(name, ours)
            # A failure for the values' sake in a pipeline is no refusal of the call: its outputs are marked as failed.
            if error is not None and "failed in a pipeline" not in str(error):
                assert {key: looks(value) for key, value in ours.items()} == before, f"{name}, {what}: {error}"
