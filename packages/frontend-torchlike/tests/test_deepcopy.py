"""Copies and pickles: tensors that shared memory share it again, and nothing is shared with the original of a deep copy."""

import copy
import pickle

import pytest

import torchlike
from torchlike import from_numpy, nn, no_grad, optim, tensor


class Marked(torchlike.Tensor):
    __slots__ = ("mark",)


def shares(first, second):
    """Return whether a write through one tensor is seen through the other, whose first elements are the same."""
    before = second.flatten()[0].item()
    with no_grad():
        first.add_(1)
        changed = second.flatten()[0].item() != before
        first.sub_(1)
    return changed


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["base first", "view first"])
@pytest.mark.parametrize(
    "view",
    [
        lambda b: b[:2],
        lambda b: b.T,
        lambda b: b.detach(),
        lambda b: b.data,
        lambda b: b.view(-1)[::2],
        lambda b: b[0, 0],
        lambda b: b.expand(2, 3, 4),
        lambda b: b.unbind(0)[0],
    ],
)
def test_views_share_memory_with_their_copied_base(view, order):
    base = torchlike.arange(12.0).view(3, 4).clone()
    alias = view(base)
    first, second = copy.deepcopy((base, alias)[order])[order]
    assert torchlike.equal(first, base) and torchlike.equal(second, alias)
    assert second.stride() == alias.stride() and second.storage_offset() == alias.storage_offset()
    assert shares(first, second) and not shares(first, alias) and not shares(base, second)
    assert second._base is None and second.is_leaf


def test_views_of_other_devices_share_memory_with_their_base():
    base = torchlike.zeros(4, device="meta")
    first, second = copy.deepcopy((base, base[1:]))
    assert first.shape == (4,) and second.shape == (3,) and second.device.type == "meta"
    first.add_(1)
    assert second._version == 1


def test_parts_of_lent_memory_are_copied_within_their_bounds():
    import numpy as np

    big = np.arange(10.0)
    part = from_numpy(big[4:8])
    first, second = copy.deepcopy((part, part[1:]))
    assert first.storage_offset() == 0 and second.tolist() == [5.0, 6.0, 7.0]
    first.fill_(0)
    assert second.tolist() == [0.0] * 3 and big.tolist() == list(range(10))


def test_gradients_and_attributes_of_subclasses_are_copied():
    class Named(torchlike.Tensor):
        pass

    named = Named([1.0, 2.0]).requires_grad_()
    named.name = ["a"]
    (named * 3).sum().backward()
    again = copy.deepcopy(named)
    assert type(again) is Named and again.name == ["a"] and again.name is not named.name
    assert again.grad.tolist() == [3.0, 3.0] and again.grad is not named.grad and again.requires_grad


def test_tied_weights_and_the_optimizers_state_are_copied_together():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    optimizer = optim.Adam(net.parameters(), lr=0.1)

    def step(net, optimizer):
        optimizer.zero_grad()
        net(torchlike.ones(1, 2)).sum().backward()
        optimizer.step()

    step(net, optimizer)
    other, others_optimizer = copy.deepcopy((net, optimizer))
    assert other[1].weight is other[0].weight and other[0].weight is not net[0].weight
    assert others_optimizer.param_groups[0]["params"][0] is other[0].weight
    assert set(others_optimizer.state) == set(other.parameters())
    step(net, optimizer)
    before = [p.tolist() for p in other.parameters()]
    assert before != [p.tolist() for p in net.parameters()]
    step(other, others_optimizer)
    for ours, theirs in zip(net.parameters(), other.parameters(), strict=True):
        assert torchlike.equal(ours, theirs)


def test_what_a_pipeline_still_has_to_compute_is_computed_and_shared():
    with torchlike.pipeline():
        base = torchlike.ones(3) + 1
        view = base[1:]
        view.mul_(5)
        first, second = copy.deepcopy((base, view))
        second.add_(1)
        base.zero_()
    assert first.tolist() == [2.0, 11.0, 11.0] and second.tolist() == [11.0, 11.0] and view.tolist() == [0.0, 0.0]


def test_a_result_is_no_leaf_and_not_copied():
    result = tensor([1.0], requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy((result[0], result))


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("dims", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_pickles_keep_the_order_in_memory(dims, device):
    made = torchlike.arange(24, device=device).reshape(2, 3, 4).permute(dims)
    for read in (pickle.loads(pickle.dumps(made)), copy.copy(made)):
        assert (read.shape, read.stride(), read.dtype) == (made.shape, made.stride(), made.dtype)
        assert device == "meta" or torchlike.equal(read, made)


def test_pickles_keep_the_slots_of_a_class():
    made = Marked([1.0, 2.0])
    made.mark, made.note = "slot", "attribute"
    read = pickle.loads(pickle.dumps(made))
    assert (type(read), read.tolist(), read.mark, read.note) == (Marked, [1.0, 2.0], "slot", "attribute")
