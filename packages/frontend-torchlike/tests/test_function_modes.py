"""Modes that get the calls of functions, and blocks in which nothing is overridden."""

import pytest

import torchlike
from torchlike import Tensor, overrides
from torchlike.overrides import TorchFunctionMode


class Log(TorchFunctionMode):
    """A mode that notes the functions called and passes the calls on."""

    def __init__(self, name="log"):
        self.name, self.calls = name, []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((self.name, overrides.resolve_name(func)))
        return func(*args, **(kwargs or {}))


def names(function):
    """Return the names of the functions that a mode is given while a function runs."""
    log = Log()
    with log:
        function()
    return [name for _, name in log.calls]


@pytest.fixture(scope="module")
def x():
    return torchlike.ones(2, 2)


CALLS = {
    "torch.ones": lambda x: torchlike.ones(2),
    "torch.tensor": lambda x: torchlike.tensor([1.0]),
    "torch.arange": lambda x: torchlike.arange(3),
    "torch.randint": lambda x: torchlike.randint(3, (2,)),
    "torch.Tensor.add": lambda x: x + 1,
    "torch.Tensor.__getitem__": lambda x: x[0],
    "torch.Tensor.shape.__get__": lambda x: x.shape,
    "torch.Tensor.size": lambda x: x.size(),
    "torch.Tensor.float": lambda x: x.float(),
    "torch.Tensor.sum": lambda x: x.sum(),
    "torch.Tensor.__len__": len,
    "torch.Tensor.__repr__": repr,
    "torch.nn.functional.relu": torchlike.nn.functional.relu,
    "torch.nn.functional.linear": lambda x: torchlike.nn.functional.linear(x, x),
    "torch.cat": lambda x: torchlike.cat([x, x]),
    "aten.add.Tensor": lambda x: torchlike.ops.aten.add.Tensor(x, x),
    "aten.add": lambda x: torchlike.ops.aten.add(x, x),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("repeat", [1, 12])
def test_a_mode_gets_each_call_once(x, name, repeat):
    for _ in range(repeat):
        assert names(lambda: CALLS[name](x)) == [name]


def test_modes_nest_and_end(x):
    outer, inner = Log("outer"), Log("inner")
    with outer, inner:
        assert overrides._get_current_function_mode() is inner
        assert overrides._get_current_function_mode_stack() == [outer, inner]
        _ = x + 1
    assert inner.calls == [("inner", "torch.Tensor.add")]
    assert outer.calls == [("outer", "torch.Tensor.add")]
    _ = x + 1
    assert len(inner.calls) == 1
    assert overrides._get_current_function_mode() is None


def test_a_mode_stands_before_classes_and_may_decline(x):
    class Declining(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    class Own(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "own"

    own = x.as_subclass(Own)
    with Declining():
        assert own + 1 == "own"
        with pytest.raises(TypeError, match="mode object"):
            torchlike.add(x, 1)


def test_blocks_turn_overrides_off(x):
    own, log = x.as_subclass(type("Own", (Tensor,), {})), Log()
    with log, overrides.DisableTorchFunctionSubclass():
        assert type(own + 1) is Tensor
    assert log.calls == [("log", "torch.Tensor.add")]
    with log, overrides.DisableTorchFunction():
        assert type(own + 1) is Tensor
        assert not overrides._is_torch_function_enabled()
    assert len(log.calls) == 1
    assert type(own + 1) is type(own)


def test_a_mode_that_fails_ends(x):
    class Failing(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    for _ in range(12):
        with pytest.raises(KeyError, match="mine"), Failing():
            torchlike.add(x, 1)
    assert overrides._get_current_function_mode_stack() == []
