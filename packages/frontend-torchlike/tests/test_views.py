"""Views: one storage and one version, history that follows the base, in-place changes through any alias."""

import random

import pytest

import dispatch_core as dc
import torchlike
from torchlike import no_grad, tensor


@pytest.fixture
def leaf():
    return tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


def test_views_of_views_have_the_same_base_and_version():
    base = torchlike.zeros(2, 3)
    inner = base.view(6)[2:].view(2, 2).T[0]
    assert inner._base is base and base._base is None
    inner.add_(1)
    assert base._version == inner._version == 1
    assert base.tolist() == [[0, 0, 1], [0, 1, 0]]


@pytest.mark.no_pipeline(reason="pipelines record reshape as a view of a size")
@pytest.mark.parametrize("mode", [torchlike.enable_grad, no_grad])
@pytest.mark.parametrize("make", [lambda: torchlike.ones(2, 3), lambda: torchlike.ones(4, 2, 3)[1]])
def test_views_by_generated_code_have_the_state_that_the_hook_makes(make, mode):
    calls = [
        ("view", ((3, 2),)),
        ("t", ()),
        ("select.int", (0, 1)),
        ("slice.Tensor", (1, 0, 2, 1)),
        ("reshape", ((-1,),)),
    ]
    for name, rest in calls:
        packet, _, overload = name.partition(".")
        op = getattr(getattr(dc.ops.aten, packet), overload or "default")
        for _ in range(8):  # the code is made in the first calls
            base = make()
            before = getattr(base, "_autograd", None)
            with mode():
                view = op(base, *rest)
                wanted = torchlike.tensors.tensor.frontend.views.view(base, view._dispatch_data, op, (base, *rest))
            assert view._dispatch_mask == wanted._dispatch_mask
            # The second is a time.
            state, by_hook = view._autograd, wanted._autograd
            assert type(state) is type(by_hook) is tuple and state[0] is by_hook[0] and state[5] is by_hook[5] is before
            assert state[2:5] == by_hook[2:5]
            base.add_(1)
            assert view._version == wanted._version == base._version == 1 and view._base is wanted._base


VIEWS = {
    "view": lambda t: t.view(3, 2),
    "reshape": lambda t: t.reshape(6),
    "transpose": lambda t: t.transpose(0, 1),
    "T": lambda t: t.T,
    "permute": lambda t: t.permute(1, 0),
    "select": lambda t: t[1],
    "slice": lambda t: t[:, 1:],
    "step": lambda t: t[:, ::2],
    "narrow": lambda t: t.narrow(1, 1, 2),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "squeeze": lambda t: t.unsqueeze(0).squeeze(0),
    "diagonal": lambda t: t.diagonal(),
    "flatten": lambda t: t.flatten(),
    "as_strided": lambda t: t.as_strided((2, 2), (3, 1), 1),
    "movedim": lambda t: t.movedim(0, 1),
    "unflatten": lambda t: t.view(6).unflatten(0, (3, 2)),
    "view of view": lambda t: t[1:].T[1:].squeeze(1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_through_a_view_reaches_the_base_and_its_history(name, leaf):
    """Writing ``w`` into a view gives the base's gradient there to ``w``, and cuts the leaf off from these elements."""
    view_of = VIEWS[name]
    base = leaf * 1
    view, sibling = view_of(base), base.view(-1)
    weight = torchlike.full(tuple(view.shape), 10.0).requires_grad_()
    view.copy_(weight * 2)
    mask = torchlike.zeros(2, 3)
    view_of(mask).fill_(1)
    assert torchlike.equal(base, torchlike.where(mask == 1, 20.0, leaf).detach())
    assert view.grad_fn is not None and sibling.grad_fn is not None and base.grad_fn.name() == "CopySlices"
    scale = torchlike.arange(1.0, 7.0)
    (sibling * scale).sum().backward()
    assert torchlike.equal(leaf.grad, scale.view(2, 3) * (1 - mask))
    assert torchlike.equal(weight.grad, view_of(scale.view(2, 3)) * 2)


PARTS = {
    "unbind": lambda t: t.unbind(1)[2],
    "split": lambda t: t.split(2, 1)[1],
    "split_with_sizes": lambda t: t.split([1, 1])[0],
    "chunk": lambda t: t.chunk(2)[0],
    "a view of a part": lambda t: t.unbind(0)[1][1:],
}


@pytest.mark.parametrize("name", PARTS)
def test_one_of_several_views_is_not_changed_in_place_where_that_is_recorded(name, leaf):
    base = leaf * 1
    part = PARTS[name](base)
    with pytest.raises(
        RuntimeError, match=r"is a view and is being modified inplace\. This view is the output of a funct"
    ):
        part.mul_(2)
    assert part._version == 0 and torchlike.equal(base, leaf)
    with no_grad():
        part.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        part.grad_fn  # noqa: B018  # reading is the test
    plain = torchlike.ones(2, 3)
    PARTS[name](plain).mul_(2)
    with pytest.raises(RuntimeError, match="a function that returns multiple views"):
        PARTS[name](plain).mul_(leaf.sum())


def test_a_leaf_that_is_a_view_is_not_changed_in_place():
    part = torchlike.ones(4)[:2].requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        part.mul_(2)
    assert part.tolist() == [1.0, 1.0]


def test_a_view_of_a_custom_functions_result_is_not_changed_in_place(leaf):
    class Row(torchlike.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[0]

        @staticmethod
        def backward(ctx, grad):
            return torchlike.stack([grad, grad * 0])

    row = Row.apply(leaf * 1)
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        row.add_(1)


def test_the_gradient_that_a_view_keeps_is_that_of_its_new_values(leaf):
    base = leaf * 1
    row = base[0]
    row.retain_grad()
    base.retain_grad()
    row.mul_(3)
    (row * 5).sum().backward()
    assert row.retains_grad and row.grad.tolist() == [5.0] * 3
    assert base.grad.tolist() == [[5.0] * 3, [0.0] * 3] and leaf.grad.tolist() == [[15.0] * 3, [0.0] * 3]


def test_a_view_follows_a_base_that_is_changed_in_place(leaf):
    base = leaf * 1
    row = base[0]
    before = row.grad_fn
    base.mul_(3)
    assert row.grad_fn is not before
    row.sum().backward()
    assert leaf.grad.tolist() == [[3.0] * 3, [0.0] * 3]


def test_a_sibling_starts_to_require_grad_through_its_base():
    base = torchlike.zeros(2, 2)
    first, second = base[0], base[1]
    assert not second.requires_grad
    weight = tensor(2.0, requires_grad=True)
    first.mul_(0).add_(weight)
    assert base.requires_grad and second.requires_grad
    (second * 5 + first).sum().backward()
    assert weight.grad.item() == 2.0


def test_writes_one_after_the_other_through_several_views(leaf):
    base = leaf * 1
    base[0].mul_(2)
    base[:, 1].mul_(3)
    base.view(6)[1:3].mul_(5)
    base.sum().backward()
    assert leaf.grad.tolist() == [[2.0, 30.0, 10.0], [1.0, 3.0, 1.0]]


def test_double_backward_through_a_write(leaf):
    base = leaf * leaf
    base[0].mul_(leaf[1])
    (first,) = torchlike.autograd.grad(base.sum(), leaf, create_graph=True)
    assert first[0].tolist() == [2 * a * b for a, b in ((1, 4), (2, 5), (3, 6))]
    (second,) = torchlike.autograd.grad(first.sum(), leaf)
    # d/da of (2ab + a^2 + 2b) and d/db of it, b's own square being in the second row.
    assert second.tolist() == [[2 * b + 2 * a for a, b in ((1, 4), (2, 5), (3, 6))], [2 * a + 2 for a in (1, 2, 3)]]


def test_views_made_without_grad_may_not_be_recorded_into(leaf):
    with no_grad():
        view = leaf.view(6)
    assert view.requires_grad and view.grad_fn is None
    with pytest.raises(
        RuntimeError, match="created in no_grad mode and is being modified inplace with grad mode enabled"
    ):
        view.add_(1)
    with no_grad():
        view.add_(1)
    assert leaf[0, 0].item() == 2.0
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        view.grad_fn  # noqa: B018  # reading it is the test


def test_a_view_may_be_a_leaf():
    view = torchlike.zeros(2, 2)[0]
    view.requires_grad_()
    assert view.is_leaf
    (view * 3).sum().backward()
    assert view.grad.tolist() == [3.0, 3.0]


def test_detach_makes_no_view_that_gradients_follow(leaf):
    alias = leaf.detach()
    assert alias._base is None and not alias.requires_grad
    part = alias[0]
    assert part._base is alias
    part.zero_()
    assert leaf[0].tolist() == [0.0] * 3
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        leaf.view(6).detach_()


def test_detach_in_place_cuts_the_history(leaf):
    y = leaf * 2
    y.detach_()
    assert y.is_leaf and not y.requires_grad


def test_data_is_an_alias_with_versions_of_its_own(leaf):
    y = leaf * 1
    y.data.zero_()
    assert y.tolist() == [[0.0] * 3] * 2
    assert y._version == 0


def test_expanded_tensors_are_not_written(leaf):
    wide = torchlike.zeros(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide.add_(1)


@pytest.mark.parametrize("key", [slice(2), ..., slice(-3, None), (slice(None), slice(3))])
@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1), (1, 3, 1)])
def test_parts_are_changed_in_place_whatever_has_one_element(shape, key):
    x = torchlike.zeros(shape)
    x[key] += 1
    assert x[key].sum() == x[key].numel()
    y = torchlike.ones(shape).transpose(0, 1)
    y[...] *= 2
    assert y.sum() == 2 * y.numel()


def test_resizing_through_out_leaves_older_views_alone():
    out = torchlike.empty(0)
    view = out.view(0)
    torchlike.add(torchlike.ones(3), torchlike.ones(3), out=out)
    assert out.tolist() == [2.0] * 3
    assert view.shape == (0,)


def test_a_view_that_was_resized_takes_its_gradient_by_its_new_layout(leaf):
    base = torchlike.zeros(2, 3)
    row = base[0]
    row.resize_(2, 2)
    base.copy_(leaf * 2)
    (row * 3).sum().backward()
    assert row.shape == (2, 2) and leaf.grad.tolist() == [[6.0, 6.0, 6.0], [6.0, 0.0, 0.0]]


def test_positive_is_the_tensor_itself():
    leaf = torchlike.ones(2, requires_grad=True)
    for x in (leaf, leaf * 2, leaf[:1], torchlike.arange(3)):
        assert +x is x
        assert x.positive() is x


def _run_program(seed, touch):
    """Run a random program of views and writes; ``touch`` sees each tensor at once. Return how all stand at the end."""
    rng, leaf = random.Random(seed), torchlike.tensor(2.0, requires_grad=True)
    tensors, log = [torchlike.arange(12.0).view(3, 4).clone()], []
    makers = [
        lambda t: t.view(-1),
        lambda t: t.unsqueeze(0),
        lambda t: t.detach(),
        lambda t: t[..., :1],
        lambda t: t.transpose(0, -1),
        lambda t: t.split(1)[-1],
        lambda t: t.unbind(-1)[0],
        lambda t: torchlike.no_grad()(t.view_as)(t),
    ]
    writers = [lambda t: t.add_(1), lambda t: t.mul_(leaf), lambda t: t.requires_grad_(), lambda t: t.zero_()]
    for _ in range(rng.randrange(4, 9)):
        action = rng.choice(makers if rng.random() < 0.6 else writers)
        try:
            made = action(rng.choice(tensors))
        except (RuntimeError, IndexError) as error:
            log.append(str(error))
        else:
            tensors.append(made)
            touch(made)
    for t in tensors:
        try:
            grad_fn = type(t.grad_fn).__name__
        except RuntimeError as error:
            grad_fn = str(error)
        base = next((place for place, each in enumerate(tensors) if each is t._base), None)
        log.append((t._version, t.requires_grad, grad_fn, base, t._is_view(), t.tolist()))
    if tensors[-1].requires_grad:
        try:
            (tensors[-1] * 3).sum().backward()
        except RuntimeError as error:
            log.append(str(error))
    return (
        log,
        None if leaf.grad is None else leaf.grad.item(),
        [None if t._state.grad is None else t.grad.tolist() for t in tensors],
    )


@pytest.mark.parametrize("seed", range(60))
def test_a_state_that_is_made_late_is_the_one_that_would_have_been_made_at_once(seed):
    assert _run_program(seed, lambda t: None) == _run_program(seed, lambda t: t._state)


def test_views_of_a_base_without_gradient_have_no_state_until_it_is_needed():
    base = torchlike.zeros(2, 3)
    row, parts = base[0], base.t().unbind()
    assert type(row._autograd) is tuple and all(type(part._autograd) is tuple for part in parts)
    row.add_(1)
    _ = row + parts[0][:1]
    assert type(row._autograd) is tuple and base._version == parts[2]._version == 1
    assert row._base is base and parts[0]._base is base and type(row._autograd) is not tuple
    assert parts[1].grad is None and base[1].grad is None


@pytest.mark.parametrize(
    "cut",
    [
        lambda t: t.split(1),
        lambda t: t.unbind(),
        lambda t: t.chunk(1 << 40),
        lambda t: t.tensor_split(1 << 40),
        lambda t: t[:0].chunk(1 << 40),
    ],
)
def test_more_parts_than_memory_holds_are_refused(cut):
    with pytest.raises(RuntimeError, match="pieces are more than memory holds"):
        cut(torchlike.ones(1).expand(1 << 40))


@pytest.mark.parametrize("format_", [torchlike.contiguous_format, torchlike.channels_last], ids=str)
def test_a_tensor_that_suggests_a_memory_format_is_in_it(format_):
    rows = torchlike.zeros(2, 3, 4, 5)
    columns = rows.contiguous(memory_format=torchlike.channels_last)
    for source, own in ((rows, True), (rows.transpose(0, 1), True), (columns, False), (columns[..., :3], False)):
        stays = own == (format_ is torchlike.contiguous_format)
        calls = [((source.dtype,), {}), (("cpu",), {}), ((), {}), ((source,), {}), ((), {"dtype": source.dtype})]
        for args, options in calls:
            assert (source.to(*args, **options, memory_format=format_) is source) == stays


PARTS_OF_COMPLEX = {
    "view_as_real": torchlike.view_as_real,
    "real": lambda x: x.real,
    "imag of a part": lambda x: x[1:].imag,
    "turned": lambda x: torchlike.view_as_real(x.t())[..., 1],
}
TURNS = {
    "transpose": lambda x, end: getattr(x, f"transpose{end}")(0, 1),
    "unsqueeze": lambda x, end: getattr(x, f"unsqueeze{end}")(1),
    "squeeze": lambda x, end: getattr(x[:1], f"squeeze{end}")(0),
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("part", PARTS_OF_COMPLEX)
@pytest.mark.parametrize("is_written_first", [True, False])
def test_real_parts_of_complex_tensors_turned_in_place_follow_writes(part, turn, is_written_first):
    found = []
    for end in ("_", ""):
        leaf = (torchlike.arange(9.0) + 0.5).reshape(3, 3).to(torchlike.complex64).requires_grad_()
        base = leaf * 1
        view = PARTS_OF_COMPLEX[part](base)
        if is_written_first:
            view.mul_(3)
        view = TURNS[turn](view, end)
        view.add_(1)
        view.mul_(2)
        weights = torchlike.arange(1.0, 1.0 + view.numel()).view(view.shape)
        ((view * weights).sum() + base.abs().sum()).backward()
        found.append((view.tolist(), base.tolist(), leaf.grad.tolist()))
    assert found[0] == found[1]


def test_data_of_another_layout_are_refused():
    x = torchlike.ones(2)
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        x.data = torchlike.ones(2).to_sparse()
    assert x.tolist() == [1.0, 1.0]
