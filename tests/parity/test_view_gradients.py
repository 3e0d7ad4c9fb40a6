"""Gradients of views that are made in place or by strides, beside torch."""

import itertools
import random

import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

IN_PLACE = {
    "unsqueeze_": lambda t: t.unsqueeze_(1),
    "squeeze_": lambda t: t.squeeze_(),
    "squeeze_.dim": lambda t: t.squeeze_(1),
    "squeeze_.dims": lambda t: t.squeeze_((0, 1)),
    "transpose_": lambda t: t.transpose_(0, 2),
    "swapaxes_": lambda t: t.swapaxes_(1, 2),
    "t_": lambda t: t.squeeze_().t_(),
    "as_strided_": lambda t: t.as_strided_((2, 2), (1, 3), 2),
}


def add_base(base, view):
    base.add_(1)


def write_view(base, view):
    view.mul_(view.detach().clone() + 2)


def nothing(base, view):
    pass


def differentiate(library, device, turn, before, after):
    """Return what a view is after ``turn``, and the gradient through it and its base."""
    leaf = library.arange(12.0).to(device).requires_grad_()
    base = leaf * 2
    view, other = base[3:9].view(2, 1, 3), base.view(3, 4)
    before(base, view)
    turn(view)
    after(base, view)
    weights = library.arange(float(view.numel())).reshape(tuple(view.shape)).to(device)
    ((view * weights).sum() + (other * other).sum()).backward()
    layout = tuple(view.shape), view.stride() if device == "cpu" else None, view._base is base, view._version
    return layout, view.tolist(), leaf.grad.tolist()


@pytest.mark.parametrize("device", ["cpu", "strict"])
def test_history_follows_a_view_that_became_another_in_place(device):
    if device == "strict":
        pytest.importorskip("array_api_strict", reason="a device whose arrays have no strides needs array-api-strict")
    changes = [(add_base, write_view), (nothing, nothing), (write_view, add_base)]
    changes = changes[:1] if device == "strict" else changes
    for (name, turn), (before, after) in itertools.product(IN_PLACE.items(), changes):
        if device == "strict" and name == "as_strided_":
            continue
        wanted = differentiate(torch, "cpu", turn, before, after)
        found = differentiate(torchlike, device, turn, before, after)
        assert found[0][2:] == wanted[0][2:] and found[1:] == wanted[1:], (name, before, after)
        assert found == wanted or device == "strict"


def test_a_kept_gradient_is_that_of_the_view_before():
    kept = []
    for library in (torch, torchlike):
        view = (library.arange(6.0).requires_grad_() * 2).view(2, 3)
        view.retain_grad()
        view.t_()
        (view * library.arange(6.0).reshape(3, 2)).sum().backward()
        kept.append(view.grad.tolist())
    assert kept[0] == kept[1] and len(kept[0]) == 2


def draw_layout(choose, extent):
    """Return sizes, strides and an offset within ``extent`` elements; several elements may be one."""
    sizes = [choose.choice((1, 2, 3)) for _ in range(choose.randrange(4))]
    strides = [choose.randrange(4) for _ in sizes]
    rest = extent - 1 - sum(step * (size - 1) for size, step in zip(sizes, strides, strict=True))
    return draw_layout(choose, extent) if rest < 0 else (sizes, strides, choose.randrange(rest + 1))


@pytest.mark.parametrize("seed", range(3))
def test_strides_of_strides_have_the_gradient_of_their_elements(seed):
    choose = random.Random(seed)
    for _ in range(40):
        layouts = [draw_layout(choose, 12) for _ in range(choose.choice((1, 2, 3)))]
        found = []
        for library in (torch, torchlike):
            leaf = library.arange(12.0).requires_grad_()
            view = leaf * 1 if seed else leaf
            for layout in layouts:
                view = view.as_strided(*layout)
            weights = library.arange(1.0, 1.0 + view.numel()).reshape(tuple(view.shape))
            (view * weights).sum().backward()
            found.append((view.tolist(), view.stride(), leaf.grad.tolist()))
        assert found[1][:2] == found[0][:2]
        assert found[1][2] == pytest.approx(found[0][2]), layouts


@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")  # torch's, once in a process
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", ["T", "mT", "H", "mH", "adjoint"])
def test_a_number_turned_is_itself(name, dtype):
    found = []
    for library in (torch, torchlike):
        number = library.tensor(3, dtype=getattr(library, dtype))
        turned = getattr(number, name)
        turned = turned() if name == "adjoint" else turned
        found.append((turned is number, turned.item(), turned._is_view() and dtype == "float32"))
    assert found[0] == found[1]


def write_through(library, choose, leaf):
    """Return a scalar of a tensor that was written to through drawn views, by operators that save what they have written."""
    written = leaf * 1
    for _ in range(choose.randrange(1, 4)):
        view = choose.choice(
            [
                lambda x: x.view(3, 4),
                lambda x: x[2:9],
                lambda x: x.view(2, 6).t()[1],
                lambda x: x.view(3, 4).diagonal(),
                lambda x: x.view(4, 3)[:, 1:].unsqueeze(0),
            ]
        )(written)
        name = choose.choice(["exp_", "sigmoid_", "tanh_", "mul_", "relu_", "square_", "reciprocal_", "sqrt_"])
        if name == "mul_":
            view.mul_(leaf[0] + 0.5)
        else:
            getattr(view, name)()
        found = choose.choice([view, written, written.view(3, 4)])
        written = choose.choice([written, written.sigmoid()]).clone()  # the next write changes nothing that was saved
    return (found**2).sum()


@pytest.mark.parametrize("seed", range(3))
def test_second_derivatives_through_writes_to_views(seed):
    # The gradient's graph holds both the write and the operator that wrote: neither frees what the other needs.
    for number in range(30):
        found = []
        for library in (torch, torchlike):
            choose = random.Random(1000 * seed + number)
            leaf = library.linspace(0.3, 1.1, 12, dtype=library.float64).requires_grad_()
            value = write_through(library, choose, leaf)
            (first,) = library.autograd.grad(value, leaf, create_graph=True)
            (second,) = library.autograd.grad((first * first).sum(), leaf, allow_unused=True)
            found.append((value.item(), first.tolist(), [] if second is None else second.tolist()))
            with pytest.raises(RuntimeError, match="second time"):
                library.autograd.grad((first * first).sum(), leaf)
        for wanted, got in zip(*found, strict=True):
            assert got == pytest.approx(wanted), (seed, number)
