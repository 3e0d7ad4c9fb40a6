"""Modules as notebooks show them: a tree with shapes and numbers of parameters, cut where it is large."""

from __future__ import annotations

import random

import pytest
from markup import read_fragment

import torchlike
from torchlike import nn

NAMES = ["a", "<script>alert(1)</script>", "b&amp;\x1b[31m", "漢字", "weight\n2", '"', "x" * 200]


def read(module):
    return read_fragment(module._repr_html_())


def draw_module(drawn, depth, known):
    """Return a module with random parts, some of which are used more than once."""

    class Drawn(nn.Module):
        def extra_repr(self):
            return "<b>\nsecond"

    module = Drawn()
    known.append(module)
    for name in drawn.sample(NAMES, drawn.randint(0, 3)):
        kind = drawn.randrange(5)
        if kind == 0:
            value = None
        elif kind == 1:
            value = nn.UninitializedParameter()
        elif kind == 2 and known[0]._parameters:
            value = drawn.choice(list(known[0]._parameters.values()))
        else:
            value = nn.Parameter(torchlike.ones(drawn.randint(0, 3), 2), requires_grad=drawn.random() < 0.7)
        module.register_parameter(name, value)
    if drawn.random() < 0.3:
        module.register_buffer("buffer", torchlike.ones(3, device="meta"))
    for number in range(drawn.randint(0, [60, 4, 3, 2, 0][depth])):
        kind = drawn.randrange(8)
        made = None if kind == 0 else drawn.choice(known) if kind == 1 else draw_module(drawn, depth + 1, known)
        if kind == 1 and depth > 2:
            made = None
        module.register_module(f"{drawn.choice(NAMES)}{number}", made)
    return module


@pytest.mark.parametrize("seed", range(15))
def test_any_tree_of_modules_is_shown_and_escaped(seed):
    module = draw_module(random.Random(seed), 0, [])
    modules = list(module.modules())
    found = read(module)
    parameters = {id(each): each for each in module.parameters()}.values()
    count = sum(each.numel() for each in parameters if not nn.parameter.is_lazy(each))
    assert found.texts[1] == f"{count:,} parameter{'' if count == 1 else 's'}"
    assert found.texts.count("Drawn(<b>, second)") <= 200
    notes = [text for text in found.texts if text.endswith("are shown")]
    if notes:
        assert int(notes[0].split()[0]) < len(modules)
        assert notes[0].endswith(f"of {len(modules):,} modules are shown")
        assert any("more module" in text for text in found.texts)
    else:
        assert not any("more module" in text for text in found.texts)


def test_the_parameters_of_a_layer_have_their_shapes():
    layer = nn.Linear(3, 2)
    layer.bias.requires_grad_(False)
    found = read(nn.Sequential(layer, nn.ReLU()).eval())
    facts = ["Sequential", "8 parameters", "6 of them trained", "32 B", "float32, cpu", "eval"]
    assert found.texts[: len(facts)] == facts
    assert found.rows == [
        ["name", "shape", "dtype", "device", ""],
        ["weight", "[2, 3]", "float32", "cpu", ""],
        ["bias", "[2]", "float32", "cpu", "not trained"],
    ]
    assert "Linear(in_features=3, out_features=2, bias=True)" in found.texts
    assert "ReLU()" in found.texts


def test_buffers_lazy_parameters_and_missing_ones_are_named():
    norm = nn.BatchNorm1d(2, affine=False)
    rows = read(nn.Sequential(nn.LazyLinear(2), norm)).rows
    assert ["weight", "not initialized", "float32", "cpu", ""] in rows
    assert ["weight", "None", "", "", ""] in rows
    assert ["running_mean", "[2]", "float32", "cpu", "buffer"] in rows


def test_a_shared_module_is_shown_once():
    shared = nn.Linear(2, 2)
    model = nn.ModuleDict({"first": nn.Sequential(shared), "second": shared})
    found = read(model)
    assert found.texts[1] == "6 parameters"
    assert len(found.rows) == 3
    assert "the same as second" in found.texts


def test_a_module_inside_itself_ends():
    model = nn.Module()
    model.again = nn.Module()
    model.again._modules["root"] = model
    assert "the module itself" in read(model).texts


def test_large_modules_are_cut_with_a_count():
    found = read(nn.Sequential(*[nn.Linear(2, 2) for _ in range(300)]))
    assert found.text.count("Linear(") == 48
    assert {"and 252 more modules", "49 of 301 modules are shown"} <= set(found.texts)
    deep = nn.Sequential(*[nn.Sequential(*[nn.Sequential(nn.ReLU()) for _ in range(10)]) for _ in range(40)])
    found = read(deep)
    assert "200 of 841 modules are shown" in found.texts
    assert sum(text in ("Sequential()", "ReLU(inplace=False)", "ReLU()") for text in found.texts) == 200
    many = nn.ParameterList([nn.Parameter(torchlike.ones(1)) for _ in range(30)])
    assert "and 6 more tensors" in read(many).texts


def test_a_chain_deeper_than_recursion_is_shown():
    model = innermost = nn.Module()
    for _ in range(150):
        innermost.inner = nn.Module()
        innermost = innermost.inner
    assert read(model).tags.count("details") == 150


def test_a_class_with_a_text_of_its_own_keeps_it():
    class Named(nn.Module):
        def __repr__(self):
            return "<named\n  module>"

    assert Named()._repr_html_() is None
    assert "<named module>" in read(nn.Sequential(Named())).texts


def test_nothing_pending_is_computed():
    with torchlike.pipeline():
        model = nn.Linear(2, 2)
        model.weight = nn.Parameter(torchlike.ones(2, 2) * 2)
        pending = model.weight._pending
        read(model)
        assert model.weight._pending == pending
