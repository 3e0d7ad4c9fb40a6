"""Classes of tensors: how they are made, kept and trained, and those that get the calls of operators below autograd."""

import copy
import pickle

import pytest

import torchlike
from torchlike import Tensor
from torchlike.utils._python_dispatch import TorchDispatchMode
from torchlike.utils.dispatch_rules import add_rule


class Kept(Tensor):
    """A class of tensors that overrides nothing itself, with attributes."""


class Wrapper(Tensor):
    """A class without elements that wraps another tensor, and notes the operators called."""

    calls: list = []  # noqa: RUF012  # emptied by each test

    @staticmethod
    def __new__(cls, held, requires_grad=False):
        made = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            dtype=held.dtype,
            device=held.device,
            requires_grad=requires_grad,
        )
        made.held = held
        return made

    def __repr__(self):
        return f"Wrapper({self.held.tolist()})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(value):
            return [unwrap(each) for each in value] if isinstance(value, list) else getattr(value, "held", value)

        cls.calls.append((func.overloadpacket.name, types))
        found = func(*map(unwrap, args), **{name: unwrap(value) for name, value in (kwargs or {}).items()})
        return cls(found) if isinstance(found, Tensor) else found


@pytest.fixture(autouse=True)
def _no_calls():
    Wrapper.calls.clear()


def names_of_calls():
    return [name.partition("::")[2] for name, _ in Wrapper.calls]


def test_classes_survive_copies_and_files():
    x = torchlike.arange(4.0).as_subclass(Kept)
    x.note = "kept"
    for made in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Kept
        assert made.tolist() == [0, 1, 2, 3]
        assert made.note == "kept"
    assert not hasattr(x + 1, "note")


def test_a_parameter_of_a_class_has_the_class_and_is_a_parameter():
    layer = torchlike.nn.Linear(2, 2)
    layer.weight = torchlike.nn.Parameter(torchlike.eye(2).as_subclass(Kept))
    assert type(layer.weight) is Kept
    assert isinstance(layer.weight, torchlike.nn.Parameter)
    assert not isinstance(torchlike.eye(2).as_subclass(Kept), torchlike.nn.Parameter)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert type(layer.state_dict()["weight"]) is Kept
    out = layer(torchlike.ones(1, 2))
    assert type(out) is Kept
    out.sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [1, 1]]
    torchlike.optim.SGD(layer.parameters(), lr=1.0).step()
    assert layer.weight.tolist() == [[0, -1], [-1, 0]]


def test_tensors_of_classes_are_made_with_their_own_new():
    class Tagged(Tensor):
        @staticmethod
        def __new__(cls, data, tag):
            return super().__new__(cls, data)

        def __init__(self, data, tag):
            self.tag = tag

    made = Tagged([1.0, 2.0], "first")
    assert (type(made), made.tag, made.tolist()) == (Tagged, "first", [1, 2])
    shared = torchlike.zeros(2)
    kept = Tensor._make_subclass(Kept, shared, True)
    assert (type(kept), kept.requires_grad, kept.is_leaf) == (Kept, True, True)
    shared[0] = 3
    assert kept.tolist() == [3, 0]


def test_a_class_gets_the_calls_of_operators():
    x, plain = Wrapper(torchlike.tensor([1.0, 2.0, 3.0])), torchlike.ones(3)
    assert (x.shape, x.dtype, x.device.type, x.stride(), x.is_cpu) == ((3,), torchlike.float32, "cpu", (1,), True)
    for found, expected in (
        (x + plain, [2, 3, 4]),
        (plain * x, [1, 2, 3]),
        (x.view(3, 1).t(), [[1, 2, 3]]),
        (torchlike.cat([x, plain]), [1, 2, 3, 1, 1, 1]),
    ):
        assert type(found) is Wrapper
        assert found.held.tolist() == expected
    assert x.add_(plain) is x
    assert x.held.tolist() == [2, 3, 4]
    assert names_of_calls() == ["add", "mul", "view", "t", "cat", "add_"]
    assert all(types == (Wrapper,) for _, types in Wrapper.calls)


def test_gradients_of_wrappers_are_wrappers():
    x = Wrapper(torchlike.tensor([1.0, 2.0]), requires_grad=True)
    y = (x.exp() * x).sum()
    assert type(y) is Wrapper
    assert y.requires_grad
    y.backward()
    assert type(x.grad) is Wrapper
    plain = torchlike.tensor([1.0, 2.0], requires_grad=True)
    (plain.exp() * plain).sum().backward()
    assert torchlike.allclose(x.grad.held, plain.grad)
    assert names_of_calls()[:3] == ["exp", "mul", "sum"]


def test_a_class_with_elements_passes_calls_on():
    class Logged(Tensor):
        names: list = []  # noqa: RUF012  # of this test alone

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.names.append(func.name)
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = torchlike.ones(2).as_subclass(Logged)
    found = x * x
    assert type(found) is Tensor
    assert found.tolist() == [1, 1]
    assert Logged.names == ["aten::mul.Tensor"]


def test_modes_stand_before_classes():
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.overloadpacket.name)
            return func(*args, **(kwargs or {}))

    with Log():
        found = Wrapper(torchlike.ones(2)) * torchlike.ones(2)
    assert type(found) is Wrapper
    assert "aten::mul" in seen
    assert names_of_calls() == ["mul"]


def test_a_class_that_declines_is_named():
    class Declining(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="__torch_dispatch__ handlers returned NotImplemented"):
        torchlike.relu(torchlike.ones(2).as_subclass(Declining))
    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        Tensor._make_wrapper_subclass(Kept, (2,))


def test_wrappers_are_trained_as_parameters():
    weight = torchlike.nn.Parameter(Wrapper(torchlike.ones(2)))
    assert type(weight) is Wrapper
    assert isinstance(weight, torchlike.nn.Parameter)
    (weight * weight).sum().backward()
    torchlike.optim.SGD([weight], lr=0.5).step()
    assert weight.held.tolist() == [0, 0]


def test_a_rule_has_the_place_of_the_method_for_its_operator():
    forget = add_rule("aten::relu", Wrapper, lambda cls, func, types, args, kwargs: cls(-args[0].held))
    try:
        assert torchlike.relu(Wrapper(torchlike.ones(2))).held.tolist() == [-1, -1]
    finally:
        forget()
    assert names_of_calls() == []


def test_helpers_of_handlers():
    from torchlike.utils import _python_dispatch as helpers

    class Pair(Tensor):
        @staticmethod
        def __new__(cls, first, second):
            made = Tensor._make_wrapper_subclass(cls, first.shape, dtype=first.dtype)
            made.first, made.second = first, second
            return made

        def __tensor_flatten__(self):
            return ["first", "second"], None

        @staticmethod
        def __tensor_unflatten__(tensors, spec, size, stride):
            return Pair(tensors["first"], tensors["second"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            first, second = ([getattr(each, part, each) for each in args] for part in ("first", "second"))
            found = cls(func(*first, **(kwargs or {})), func(*second, **(kwargs or {})))
            return helpers.return_and_correct_aliasing(func, args, kwargs, found)

    pair = Pair(torchlike.ones(2), torchlike.zeros(2))
    assert helpers.is_traceable_wrapper_subclass(pair)
    assert not helpers.is_traceable_wrapper_subclass(torchlike.ones(2))
    assert (pair + pair).first.tolist() == [2, 2]
    assert pair.add_(pair) is pair
    changed = helpers.transform_subclass(pair, lambda name, inner: inner + (name == "second"))
    assert (changed.first.tolist(), changed.second.tolist()) == ([2, 2], [1, 1])
    with helpers.BaseTorchDispatchMode() as mode:
        assert helpers._get_current_dispatch_mode() is mode
        with helpers._disable_current_modes() as modes:
            assert modes == [mode]
            assert helpers._get_current_dispatch_mode_stack() == []
