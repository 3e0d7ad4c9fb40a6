"""``torchlike.compile`` and ``jit.trace``: functions run as they are, and with backend="capture" with the eager results."""

import copy
import random
import warnings

import numpy as np
import pytest

import torchlike
from dispatch_core import capture
from dispatch_core.errors import CaptureError
from torchlike import nn


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(.|\\n)*runs eagerly from now on", RuntimeWarning)
        yield


class State:
    """What a drawn function reads and changes besides its argument."""

    def __init__(self):
        self.count, self.log = 0, []
        self.random = random.Random(7)
        self.weight = torchlike.ones(3, requires_grad=True)
        self.buffer = torchlike.zeros(3)
        self.optimizer = torchlike.optim.SGD([self.weight], lr=0.1, momentum=0.5)
        self.before = (self.weight * 3).sum()


def _attribute(s, x):
    s.count += 1
    return x + s.count


def _random(s, x):
    return x * s.random.random()


def _item(s, x):
    s.log.append(x.sum().item())
    return x


def _branch(s, x):
    return x * 2 if x.sum() > 20 else x + 1


def _numpy(s, x):
    return x + torchlike.from_numpy(x.detach().numpy().copy())


def _write(s, x):
    s.buffer.add_(x.detach())
    return x * s.buffer


def _view(s, x):
    part = s.buffer[1:]
    part += 1
    return x + s.buffer


def _backward(s, x):
    (s.weight * x.detach()).sum().backward()
    return x + s.weight.grad


def _step(s, x):
    s.optimizer.zero_grad()
    (s.weight * x.detach()).sum().backward()
    s.optimizer.step()
    return x + s.weight.detach()


def _hook(s, x):
    y = s.weight * 2
    y.register_hook(lambda grad: s.log.append(grad.tolist()))
    y.sum().backward()
    return x + 1


def _old_graph(s, x):
    s.before.backward(retain_graph=True)
    return x + s.weight.grad


def _seed(s, x):
    torchlike.manual_seed(s.count)
    return x + torchlike.rand(3)


def _draw(s, x):
    return x + torchlike.rand(3)


def _cpu(s, x):
    return x.cpu().clone()


STATEMENTS = [
    _attribute,
    _random,
    _item,
    _branch,
    _numpy,
    _write,
    _view,
    _backward,
    _step,
    _hook,
    _old_graph,
    _seed,
    _draw,
    _cpu,
]


def _make(seed, state):
    """Return a function of one to four drawn statements."""
    chosen = random.Random(seed).choices(STATEMENTS, k=1 + seed % 4)

    def function(x):
        for statement in chosen:
            x = statement(state, x)
        return x, state.count

    return function


def s_count(state):
    return state.count


def _trace(seed, wrap):
    torchlike.manual_seed(seed)
    state = State()
    function = wrap(_make(seed, state))
    results = []
    for call in range(5):
        found, count = function(torchlike.arange(3.0) + call)
        results.append((found.tolist(), count))
    grad = None if state.weight.grad is None else state.weight.grad.tolist()
    return results, state.count, state.log, state.weight.tolist(), grad, state.buffer.tolist(), state.random.getstate()


# 2,000 were run once.
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_what_cannot_be_captured_gives_the_eager_values(first):
    def compiled(function):
        return torchlike.compile(function, backend="capture")

    for seed in range(first, first + 20):
        # As text: some programs end in nan.
        assert str(_trace(seed, compiled)) == str(_trace(seed, lambda function: function)), seed


def test_a_function_that_gives_up_says_so_once_with_its_line():
    function = torchlike.compile(lambda x: x * x.sum().item(), backend="capture")
    with pytest.warns(
        RuntimeWarning, match=r"(?s)runs eagerly from now on: .*reads a value.*test_compile\.py:"
    ) as said:
        found = [function(torchlike.ones(2)).tolist() for _ in range(4)]
    assert found == [[2, 2]] * 4
    assert len(said) == 1 and said[0].filename == __file__
    assert function.stats().eager == {"because it cannot be captured": 3}
    with pytest.raises(CaptureError, match="reads a value"):
        torchlike.compile(lambda x: x.item(), backend="capture", fullgraph=True)(torchlike.ones(1))


def test_a_generator_function_runs_as_it_is():
    def numbers(x):
        yield x

    with pytest.warns(RuntimeWarning, match="piece by piece"):
        assert list(torchlike.compile(numbers, backend="capture")(3)) == [3]


def test_without_the_backend_nothing_is_captured():
    net = nn.Linear(2, 2)
    assert torchlike.compile(net) is net and torchlike.jit.script(net) is net
    net.compile()
    assert "forward" not in vars(net)
    count = 0

    @torchlike.compile(mode="max-autotune", dynamic=True)
    def double(x):
        nonlocal count
        count += 1
        return x * count

    assert [double(torchlike.ones(1)).item() for _ in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("wrap", ["compile", "method", "copy"])
@pytest.mark.no_pipeline(reason="captured functions run outside of pipelines")
def test_a_compiled_module_trains_as_itself(wrap):
    def train(is_compiled):
        torchlike.manual_seed(3)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
        model = net
        if is_compiled and wrap == "method":
            net.compile(backend="capture")
        elif is_compiled:
            model = torchlike.compile(net, backend="capture")
            model = copy.deepcopy(model) if wrap == "copy" else model
        optimizer = torchlike.optim.Adam(model.parameters())
        losses = []
        for _ in range(6):
            optimizer.zero_grad()
            loss = model(torchlike.ones(3, 4)).square().sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if is_compiled:
            assert model.forward.stats().replays > 0
        return losses, model.eval()(torchlike.ones(1, 4)).tolist()

    assert train(True) == train(False)


def test_a_compiled_module_hands_on_attributes():
    net = nn.Linear(2, 3)
    compiled = torchlike.compile(net, backend="capture")
    compiled.note = 1
    assert net.note == 1 and compiled.out_features == 3 and compiled._orig_mod is net
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    compiled.eval()
    assert not net.training and not compiled.training
    with pytest.raises(AttributeError, match="nothing"):
        _ = compiled.nothing


def test_backends_have_names():
    with pytest.raises(RuntimeError, match=r"Invalid backend: 'captur'.*did you mean 'capture'"):
        torchlike.compile(lambda x: x, backend="captur")
    assert torchlike.compiler.list_backends() == ["capture"]
    torchlike.compiler.set_default_backend("capture")
    try:
        assert isinstance(torchlike.compile(lambda x: x), capture)
    finally:
        torchlike.compiler.set_default_backend(None)
    assert torchlike.compiler.get_default_backend() == "inductor"


@pytest.mark.parametrize("limit", [0, -1, 2.0, True, "8"])
def test_a_limit_of_recordings_is_a_positive_integer(limit):
    with pytest.raises(ValueError, match="recompile_limit must be an integer from 1 on"):
        torchlike.compile(lambda x: x, backend="capture", recompile_limit=limit)


def test_a_function_of_arrays_becomes_one_of_tensors():
    @torchlike.compiler.wrap_numpy
    def scale(pair, *, by=1):
        assert all(isinstance(each, np.ndarray) for each in pair)
        return {"sum": np.add(*pair) * by, "same": pair[0], "kind": "sum", "total": float(pair[0].sum())}

    x, y = torchlike.ones(2, 3), torchlike.full((2, 1), 4, dtype=torchlike.int32)
    made = scale((x, y), by=torchlike.tensor([1.0, 2.0, 3.0]))
    assert made["sum"].tolist() == [[5, 10, 15]] * 2 and made["sum"].dtype is torchlike.float64
    assert (made["kind"], made["total"], scale.__name__) == ("sum", 6.0, "scale")
    made["same"][0, 0] = 7  # the same memory
    assert x[0, 0] == 7
    with pytest.raises(RuntimeError, match="requires grad"):
        scale((x.requires_grad_(), y))


@pytest.mark.no_pipeline(reason="captured functions run outside of pipelines")
def test_traces_are_captures():
    layer = nn.Linear(2, 3)
    traced = torchlike.jit.trace(layer, torchlike.ones(1, 2))
    assert traced.forward.stats().recordings == 2 and list(traced.state_dict()) == ["weight", "bias"]
    assert traced.weight is layer.weight
    for batch in (1, 5, 5, 5):
        x = torchlike.ones(batch, 2)
        assert traced(x).tolist() == layer(x).tolist()
    assert traced.forward.stats().replays == 2
    with pytest.warns(RuntimeWarning, match="differ"):
        torchlike.jit.trace(lambda x: x * random.random(), (torchlike.ones(1),))
    with pytest.raises(RuntimeError, match="example_inputs"):
        torchlike.jit.trace(layer)
    assert not isinstance(layer, torchlike.jit.ScriptModule)


def test_unknown_modes_and_values_that_are_not_functions_are_refused():
    with pytest.raises(RuntimeError, match=r"Unrecognized mode=max-autotun, .*did you mean 'max-autotune'"):
        torchlike.compile(lambda x: x, mode="max-autotun")
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'> is provided"):
        torchlike.compile(3)
    assert torchlike.compile(lambda x: x + 1, mode="max-autotune")(1) == 2
    # As in torch, only inductor has modes.
    assert torchlike.compile(lambda x: x + 1, mode="fast", backend="eager")(1) == 2


def test_a_traced_module_says_what_to_save_instead():
    traced = torchlike.jit.trace(nn.Linear(3, 2), torchlike.ones(1, 3))
    with pytest.raises(NotImplementedError, match=r"writes code of TorchScript.*; save a state_dict"):
        traced.save("model.pt")
    assert "save" not in traced.state_dict()
