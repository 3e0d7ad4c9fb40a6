"""The calls that a mode sees, in order, and the operations that are counted, against torch."""

from __future__ import annotations

import warnings
from importlib import import_module

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import torch

import torchlike

pytestmark = pytest.mark.no_pipeline(
    reason="a pipeline runs some composites whole, which a mode sees otherwise in parts"
)

#: torch copies nothing for these, or measures its optimizers' time.
IGNORED = {"detach", "lift_fresh", "_record_function_enter_new", "_record_function_exit", "device_put"}


def seen_by_a_mode(library, program):
    """Return the names of the calls of ``program(library)`` that a mode of that library sees."""
    base = import_module(f"{library.__name__}.utils._python_dispatch").TorchDispatchMode
    seen = []

    class Noting(base):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert types == () or library is torch
            seen.append(func.name().split("::")[1].removesuffix(".default"))
            return func(*args, **(kwargs or {}))

    library.manual_seed(0)
    prepared = program(library)
    with Noting():
        prepared()
    return [name for name in seen if name.split(".")[0] not in IGNORED]


def chain_of_functions(lib):
    w = lib.randn(4, 4, requires_grad=True)
    return lambda: lib.sigmoid(w).exp().log().sum().backward()


def product_and_softmax(lib):
    x, w = lib.randn(5, 4), lib.randn(4, 4, requires_grad=True)
    return lambda: (x @ w).softmax(-1).sum().backward()


def composite_of_plain_tensors(lib):
    x = lib.randn(5, 4)
    return lambda: lib.matmul(x, x.t())


def views_and_writes(lib):
    return lambda: lib.zeros(3).add_(1)[0:2].mul_(2)


def a_number_read(lib):
    x = lib.randn(5)
    return lambda: (x * 2 + 1).mean().item()


def joined_and_split(lib):
    x = lib.randn(5, 4)
    return lambda: lib.cat([x, x]).reshape(-1).chunk(2)


def written_clone(lib):
    w = lib.randn(4, 4, requires_grad=True)
    return lambda: w.clone().mul_(w).t().contiguous().sum().backward()


def convolution(lib):
    layer, x = lib.nn.Conv2d(3, 4, 3), lib.randn(2, 3, 8, 8)
    return lambda: layer(x).sum().backward()


def layer_norm(lib):
    layer, x = lib.nn.LayerNorm(4), lib.randn(5, 4)
    return lambda: layer(x).sum().backward()


def embedding(lib):
    layer, places = lib.nn.Embedding(10, 4), lib.tensor([1, 2])
    return lambda: layer(places).sum().backward()


def loss(lib):
    w, x = lib.randn(4, 4, requires_grad=True), lib.randn(4, 4)
    return lambda: lib.nn.functional.mse_loss(w, x).backward()


def forward_of_a_classifier(lib):
    model = lib.nn.Sequential(lib.nn.Linear(4, 8), lib.nn.ReLU(), lib.nn.Linear(8, 3))
    x, targets = lib.randn(5, 4), lib.tensor([0, 1, 2, 0, 1])
    return lambda: lib.nn.functional.cross_entropy(model(x), targets)


def gradient_twice(lib):
    x = lib.randn(3, requires_grad=True)

    def run():
        (first,) = lib.autograd.grad(x.exp().sum(), x, create_graph=True)
        lib.autograd.grad(first.sum(), x)

    return run


def optimizer_step(lib):
    parameter = lib.nn.Parameter(lib.ones(3))
    parameter.grad = lib.ones(3)
    optimizer = lib.optim.SGD([parameter], lr=0.1, momentum=0.9, foreach=False)
    optimizer.step()
    return optimizer.step


PROGRAMS = (
    chain_of_functions, product_and_softmax, composite_of_plain_tensors, views_and_writes, a_number_read, joined_and_split,
    written_clone, convolution, layer_norm, embedding, loss, forward_of_a_classifier, gradient_twice, optimizer_step,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_mode_sees_the_calls_that_torchs_sees(program):
    assert seen_by_a_mode(torchlike, program) == seen_by_a_mode(torch, program)


def test_not_implemented_is_refused_in_torchs_words():
    texts = []
    for library in (torchlike, torch):
        base = import_module(f"{library.__name__}.utils._python_dispatch").TorchDispatchMode

        class Refusing(base):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return NotImplemented

        with pytest.raises(TypeError) as caught, Refusing():
            library.ones(2)
        texts.append(str(caught.value).split(";")[1].split("\n")[0])
    assert texts[0] == texts[1] == " all __torch_dispatch__ handlers returned NotImplemented:"


def mlp(lib):
    return lib.nn.Sequential(lib.nn.Linear(6, 8), lib.nn.ReLU(), lib.nn.Sequential(lib.nn.Linear(8, 3))), (5, 6)


def images(lib):
    parts = lib.nn.Conv2d(2, 4, 3, stride=2, padding=1), lib.nn.ReLU(), lib.nn.ConvTranspose2d(4, 3, 2)
    return lib.nn.Sequential(*parts), (2, 2, 7, 8)


def attending(lib):
    class Attending(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.keys, self.queries = lib.nn.Linear(4, 4), lib.nn.Linear(4, 4, bias=False)

        def forward(self, x):
            weights = lib.bmm(self.queries(x), self.keys(x).transpose(1, 2)).softmax(-1)
            return lib.baddbmm(x, weights, x)

    return Attending(), (2, 5, 4)


@pytest.mark.parametrize("make", [mlp, images, attending])
def test_operations_are_counted_by_module_as_torch_counts_them(make):
    counts = []
    for library in (torchlike, torch):
        library.manual_seed(0)
        counter_of = import_module(f"{library.__name__}.utils.flop_counter").FlopCounterMode
        model, shape = make(library)
        x = library.randn(*shape, requires_grad=True)
        with warnings.catch_warnings(), counter_of(display=False) as counter:
            warnings.simplefilter("ignore")
            for _ in range(2):
                model(x).sum().backward()
        found = {name: sum(each.values()) for name, each in counter.get_flop_counts().items()}
        counts.append((counter.get_total_flops(), found))
    assert counts[0] == counts[1]
