"""Seeds and generators."""

import builtins
import keyword

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.calls.lazy_function import FIRST_CALLS

#: Calls of every operator whose arguments Python cannot spell (see the test below that they are all).
AWKWARD = {
    "aten::uniform_": [((0.0, 2.0), {}), ((), {"from": 0.5, "to": 2.0})],
    "aten::random_.from": [((0, 9), {}), ((), {"from": 2, "to": 9})],
}
#: What returns such draws, and what writes them to another tensor.
RETURNED = {"aten::uniform": "aten::uniform_", "aten::random.from": "aten::random_.from"}
WRITTEN = {"aten::uniform.out", "aten::random.from_out"}


def draw():
    return torchlike.rand(3).tolist(), torchlike.randn(20).tolist(), torchlike.randperm(9).tolist()


def test_a_seed_repeats_everything():
    torchlike.manual_seed(7)
    first = draw()
    assert draw() != first
    torchlike.manual_seed(7)
    assert draw() == first
    assert torchlike.initial_seed() == 7


def test_torchs_own_stream():
    torchlike.manual_seed(0)
    assert [round(x, 4) for x in torchlike.rand(3).tolist()] == [0.4963, 0.7682, 0.0885]
    assert torchlike.randint(0, 10, (3,)).tolist() == torchlike.randint(0, 10, (3,), generator=_after_three()).tolist()


def _after_three():
    generator = torchlike.Generator().manual_seed(0)
    torchlike.rand(3, generator=generator)
    return generator


def test_the_state_can_be_kept_and_restored():
    torchlike.rand(1)
    state = torchlike.get_rng_state()
    first = draw()
    torchlike.set_rng_state(state)
    assert draw() == first


def test_generators_are_independent():
    a, b = torchlike.Generator().manual_seed(1), torchlike.Generator().manual_seed(1)
    torchlike.manual_seed(2)
    before = torchlike.get_rng_state()
    assert torchlike.rand(4, generator=a).tolist() == torchlike.rand(4, generator=b).tolist()
    x = torchlike.empty(5)
    assert x.normal_(generator=a).tolist() == torchlike.empty(5).normal_(generator=b).tolist()
    after = torchlike.get_rng_state()
    assert torchlike.equal(before, after)


def test_the_awkward_operators_are_all():
    dc.registry.get("aten::add.Tensor")  # loads the operators
    schemas = {name: entry.schema for name, entry in dc.registry.entries.items() if name.startswith("aten::")}
    found = {name for name, schema in schemas.items() if any(keyword.iskeyword(each.name) for each in schema.arguments)}
    assert found == AWKWARD.keys() | RETURNED.keys() | WRITTEN


@pytest.mark.parametrize("grad", ["no grad", "leaf", "not a leaf"])
@pytest.mark.parametrize(
    ("name", "args", "kwargs"), [(name, *call) for name, calls in AWKWARD.items() for call in calls]
)
def test_operators_with_a_keyword_for_an_argument_make_their_code_once(monkeypatch, name, args, kwargs, grad):
    op = dc.registry.get(name).op
    leaf = torchlike.ones(4, requires_grad=grad != "no grad")
    compiled, seen = builtins.compile, []
    monkeypatch.setattr(builtins, "compile", lambda *args, **kwargs: seen.append(args[0]) or compiled(*args, **kwargs))

    def draw():
        tensor = leaf * 1 if grad == "not a leaf" else leaf
        generator = torchlike.Generator().manual_seed(3)
        with torchlike.set_grad_enabled(grad == "not a leaf"):
            del seen[:]
            made = op(tensor, *args, generator=generator, **kwargs)
        assert made is tensor
        assert made.requires_grad is (grad != "no grad")
        return len(seen), made.tolist()

    _, first = draw()
    for _ in range(1 + FIRST_CALLS):  # the one whose result is held against the schema does not count
        draw()  # in a pipeline, the tensor holds a pending value since the first call
    assert draw() == (0, first)
    for each in (name, *(new for new, old in RETURNED.items() if old == name)):
        drawn = dc.registry.get(each).op(
            torchlike.ones(4), *args, generator=torchlike.Generator().manual_seed(3), **kwargs
        )
        assert drawn.tolist() == first
