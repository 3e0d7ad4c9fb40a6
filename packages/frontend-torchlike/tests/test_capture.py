"""Captured functions: what tensors, modules, optimizers and schedules keep besides arrays is as without capture."""

import contextlib
import functools
import subprocess
import sys
from copy import deepcopy
from functools import partial

import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn, optim
from torchlike.nn import functional as F  # torch's own abbreviation
from torchlike.optim import lr_scheduler as schedules

pytestmark = pytest.mark.no_pipeline(reason="captured functions run outside of pipelines, or flush them")

OPTIMIZERS = {
    "ASGD": lambda given: optim.ASGD(given, lr=0.1, t0=2),
    "Adadelta": lambda given: optim.Adadelta(given, maximize=True),
    "Adagrad": lambda given: optim.Adagrad(given, lr_decay=0.1),
    "Adam": lambda given: optim.Adam(given, lr=0.1, weight_decay=0.1, amsgrad=True),
    "AdamW": lambda given: optim.AdamW(given, lr=0.1),
    "Adamax": optim.Adamax,
    "Muon": lambda given: optim.Muon([each for each in given if each.dim() == 2], lr=0.1),
    "NAdam": optim.NAdam,
    "RAdam": optim.RAdam,
    "RMSprop": lambda given: optim.RMSprop(given, centered=True, momentum=0.5),
    "Rprop": optim.Rprop,
    "SGD": lambda given: optim.SGD(given, lr=torchlike.tensor(0.1)),
    "SGD with momentum": lambda given: optim.SGD(given, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
}
SCHEDULES = {
    "OneCycleLR": lambda given: schedules.OneCycleLR(given, 0.5, total_steps=40),
    "CyclicLR": lambda given: schedules.CyclicLR(given, 0.01, 0.1, step_size_up=3),
    "StepLR": lambda given: schedules.StepLR(given, 2),
    "CosineAnnealingWarmRestarts": lambda given: schedules.CosineAnnealingWarmRestarts(given, 3),
    "SequentialLR": lambda given: schedules.SequentialLR(
        given, [schedules.ConstantLR(given), schedules.ExponentialLR(given, 0.9)], [4]
    ),
    "ChainedScheduler": lambda given: schedules.ChainedScheduler(
        [schedules.ConstantLR(given), schedules.LambdaLR(given, lambda step: 0.95**step)]
    ),
}


def make_net():
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 3))


def train(steps, *, captured, optimizer="SGD", schedule=None, inside=False, set_to_none=True, make=make_net):
    """Return everything that can be seen of a few training steps, and the figures of the captured function."""
    torchlike.manual_seed(0)
    net = make()
    chosen = OPTIMIZERS[optimizer](list(net.parameters()))
    plan = SCHEDULES[schedule](chosen) if schedule else None

    def step(x, target):
        chosen.zero_grad(set_to_none)
        loss = F.cross_entropy(net(x), target)
        loss.backward()
        chosen.step()
        if inside:
            plan.step()
        return loss

    called = dc.capture(step) if captured else step
    log = []
    for _ in range(steps):
        loss = called(torchlike.randn(7, 4), torchlike.randint(0, 3, (7,)))
        if plan is not None and not inside:
            plan.step()
        log.append((loss.item(), loss._version, loss.grad_fn.name(), loss.requires_grad))
    log.append(show(chosen.state_dict()))
    log += [(show(each), show(each.grad)) for each in net.parameters()]
    log += [show(each) for each in net.buffers()]
    if plan is not None:
        state = {name: value for name, value in plan.state_dict().items() if name not in ("_schedulers", "lr_lambdas")}
        log.append({name: value for name, value in state.items() if not callable(value)})
    return log, called.stats() if captured else None


def show(value):
    """Return values and versions of the tensors in a nested value."""
    if isinstance(value, torchlike.Tensor):
        return value.tolist(), value._version, value.stride()
    if isinstance(value, dict):
        return {name: show(item) for name, item in value.items()}
    return list(map(show, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_of_optimizers_after_replays_are_those_of_eager_steps(name):
    if name == "Muon":
        pytest.importorskip("ml_dtypes", reason="Muon computes in bfloat16")
    expected, _ = train(7, captured=False, optimizer=name, make=lambda: nn.Linear(4, 3))
    found, stats = train(7, captured=True, optimizer=name, make=lambda: nn.Linear(4, 3))
    assert found == expected
    assert stats.replays >= 1


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_change_the_rates_of_replays(name, inside):
    optimizer = "SGD with momentum" if name == "CyclicLR" else "AdamW"
    options = {"optimizer": optimizer, "schedule": name, "inside": inside, "make": lambda: nn.Linear(4, 3)}
    expected, _ = train(9, captured=False, **options)
    found, stats = train(9, captured=True, **options)
    assert found == expected
    assert stats.replays == 6


def test_gradients_that_are_set_to_zero_are_written_to():
    expected, _ = train(6, captured=False, set_to_none=False)
    found, stats = train(6, captured=True, set_to_none=False)
    assert found == expected
    assert stats.replays == 3


EVENTS = {
    "eval": lambda net, optimizer, call: net.train(call not in (4, 5)),
    "frozen": lambda net, optimizer, call: net.weight.requires_grad_(call not in (4, 5)),
    "state loaded": lambda net, optimizer, call: (
        call == 4 and optimizer.load_state_dict(deepcopy(optimizer.state_dict()))
    ),
    "state cleared": lambda net, optimizer, call: call == 4 and optimizer.state.clear(),
    "parameter replaced": lambda net, optimizer, call: (
        call == 4 and setattr(net, "bias", nn.Parameter(torchlike.ones(3)))
    ),
    "gradient set": lambda net, optimizer, call: call == 4 and setattr(net.bias, "grad", torchlike.ones(3)),
    "rate set": lambda net, optimizer, call: optimizer.param_groups[0].update(lr=0.1 / (call + 1)),
    "betas set": lambda net, optimizer, call: optimizer.param_groups[0].update(betas=(0.5, 0.9 + call / 100)),
    "maximized": lambda net, optimizer, call: optimizer.param_groups[0].update(maximize=call == 5),
    "data set": lambda net, optimizer, call: call == 4 and setattr(net.weight, "data", torchlike.ones(3, 4)),
    "written to": lambda net, optimizer, call: net.weight.data.mul_(0.5),
}


@pytest.mark.parametrize("event", EVENTS)
def test_what_changes_between_calls_is_seen(event):
    logs, zeroes = [], event[0] < "f"
    for captured in (False, True):
        torchlike.manual_seed(0)
        net = nn.Linear(4, 3)
        optimizer = optim.Adam(net.parameters(), lr=0.05)

        def step(x, net=net, optimizer=optimizer):
            if zeroes:
                optimizer.zero_grad()
            loss = F.dropout(net(x), 0.5, net.training).square().sum()
            loss.backward()
            optimizer.step()
            return loss

        called = dc.capture(step) if captured else step
        logs.append([])
        for call in range(8):
            EVENTS[event](net, optimizer, call)
            loss = called(torchlike.randn(7, 4))
            logs[-1].append((loss.item(), [(show(each), show(each.grad)) for each in net.parameters()]))
        logs[-1].append(show(optimizer.state_dict()))
    assert logs[0] == logs[1]
    assert called.stats().replays


class Parts(nn.Module):
    """A module that uses its descendants without calling the containers that hold them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.named = nn.ModuleDict({"a": nn.Linear(3, 3)})
        self.scales = nn.ParameterList([torchlike.ones(3), torchlike.ones(3)])
        self.shifts = nn.ParameterDict({"a": torchlike.ones(3)})
        self.head = nn.Sequential(nn.Linear(3, 3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for layer in self.named.values():
            x = layer(x)
        for scale in self.scales:
            x = x * scale
        x = x + sum(self.shifts.values())
        return F.linear(x, self.head[0].weight, self.head[0].bias)


EDITS = {
    "layer added": lambda net: net.layers.append(nn.Linear(3, 3)),
    "layer wrapped": lambda net: net.layers.__setitem__(0, nn.Sequential(net.layers[0], nn.ReLU())),
    "layer removed": lambda net: net.layers.__delitem__(-1),
    "named layer": lambda net: net.named.update({"b": nn.Linear(3, 3)}),
    "scale": lambda net: net.scales.__setitem__(0, nn.Parameter(torchlike.full((3,), 2.0))),
    "scale added": lambda net: net.scales.append(nn.Parameter(torchlike.full((3,), 2.0))),
    "shift": lambda net: net.shifts.update({"a": nn.Parameter(torchlike.full((3,), 2.0))}),
    "weight of a layer": lambda net: setattr(net.head[0], "weight", net.layers[0].weight),
    "module replaced": lambda net: setattr(net, "head", nn.Sequential(nn.Linear(3, 3))),
}


@pytest.mark.parametrize("call", ["called", "walked", "read"])
@pytest.mark.parametrize("edit", EDITS)
def test_parts_of_called_modules_are_guards(edit, call):
    torchlike.manual_seed(0)
    net = Parts()
    functions = {"called": net, "walked": lambda x: x * sum(each.sum() for each in net.parameters())}
    functions["read"] = partial(Parts.forward, net)
    captured, x = dc.capture(functions[call]), torchlike.ones(2, 3)
    for _ in range(3):
        captured(x)
    kept = [*net.modules(), *net.parameters()]
    EDITS[edit](net)
    for _ in range(3):
        assert captured(x).tolist() == functions[call](x).tolist()
    assert captured.stats().replays == 2
    assert kept


class Square(torchlike.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torchlike.zeros(3))

    def forward(self, x):
        self.total = self.total + x
        return self.total


class Counting(optim.Optimizer):
    """An optimizer that counts its steps in a number of Python's."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    def step(self):
        for param in self.param_groups[0]["params"]:
            self.state[param]["steps"] = self.state[param].get("steps", 0) + 1


def make_hooked(register, *, of_module=False):
    """Return a function whose backward, or call, meets a hook."""
    leaf, net = torchlike.ones(3, requires_grad=True), nn.Linear(3, 3)
    getattr(net if of_module else leaf, register)(lambda *given: None)
    return lambda: (net(leaf) if of_module else leaf * 2).sum().backward()


def use_schedule_first():
    leaf = torchlike.ones(3, requires_grad=True)
    optimizer = optim.SGD([leaf], lr=0.1)
    schedule = schedules.StepLR(optimizer, 1)
    leaf.sum().backward()
    optimizer.step()
    return lambda: (schedule.step(), optimizer.step())


def set_rate():
    optimizer = optim.SGD([torchlike.ones(3, requires_grad=True)], lr=0.1)
    return lambda: optimizer.param_groups[0].update(lr=optimizer.param_groups[0]["lr"] / 2)


def pack():
    with torchlike.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        return torchlike.ones(3, requires_grad=True).exp()


REFUSED = {
    "hook on a gradient": lambda: make_hooked("register_hook"),
    "A hook on a gradient": lambda: make_hooked("register_post_accumulate_grad_hook"),
    "hook of Linear": lambda: make_hooked("register_forward_hook", of_module=True),
    "A hook of Linear": lambda: make_hooked("register_full_backward_hook", of_module=True),
    "registration of a hook": lambda: (
        lambda: (torchlike.ones(3, requires_grad=True) * 2).register_hook(lambda grad: grad)
    ),
    "custom autograd function Square": lambda: lambda: Square.apply(torchlike.ones(3, requires_grad=True)),
    "hook on saved tensors": lambda: pack,
    "graph that was made before": lambda: partial((torchlike.ones(3, requires_grad=True) * 2).sum().backward),
    "random number generator": lambda: lambda: torchlike.manual_seed(0),
    "after a step of its schedule": use_schedule_first,
    "'lr' is given another value": set_rate,
    "changes 1 to 2 in its state": lambda: partial(Counting([torchlike.ones(1, requires_grad=True)]).step),
    "Sums.total": lambda: partial(Sums(), torchlike.ones(3)),
    "grad mode": lambda: lambda: torchlike.set_grad_enabled(False),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_replays_would_skip_is_refused_by_name(words):
    captured = dc.capture(REFUSED[words]())
    with torchlike.enable_grad(), pytest.raises(dc.CaptureError, match=f"(?i){words}") as caught:
        for _ in range(3):
            captured()
    assert "Hint: " in str(caught.value)


def test_hooks_and_functions_that_are_traceable_are_captured():
    leaf = torchlike.ones(3, requires_grad=True)
    leaf.register_hook(dc.capture.traceable(lambda grad: grad * 2))
    traced = dc.capture.traceable(type("Traced", (Square,), {}))
    captured = dc.capture(lambda: traced.apply(leaf * 3).sum().backward())
    for _ in range(5):
        leaf.grad = None
        captured()
        assert leaf.grad.tolist() == [36, 36, 36]
    assert captured.stats().replays == 3


def _wrap(hook):
    @functools.wraps(hook)
    def call(*args):
        return hook(*args)

    return call


class _Hooks:
    @dc.capture.traceable
    def method(self, grad):
        return grad * 2

    def other(self, grad):
        return grad * 2


TraceableBase = dc.capture.traceable(type("TraceableBase", (), {"__call__": lambda self, grad: grad * 2}))
HOOKS = {
    "a method": (_Hooks().method, True),
    "a method beside": (_Hooks().other, False),
    "a wrapper": (_wrap(dc.capture.traceable(lambda grad: grad * 2)), True),
    "a wrapped method": (_wrap(_Hooks().method), True),
    "an object": (TraceableBase(), True),
    "an object of a subclass": (type("Derived", (TraceableBase,), {})(), True),
    "a function": (lambda grad: grad * 2, False),
    "a wrapper of a function": (_wrap(lambda grad: grad * 2), False),
}


@pytest.mark.parametrize("kind", HOOKS)
def test_a_declaration_holds_for_methods_wrappers_and_subclasses(kind):
    hook, is_traceable = HOOKS[kind]
    leaf = torchlike.ones(3, requires_grad=True)
    leaf.register_hook(hook)
    captured = dc.capture(lambda: (leaf * 3).sum().backward())
    assert hasattr(hook, "__dict__") and "_dispatch_traceable" not in vars(hook)
    with contextlib.nullcontext() if is_traceable else pytest.raises(dc.CaptureError, match="mark it"):
        for _ in range(4):
            leaf.grad = None
            captured()
            assert leaf.grad.tolist() == [6, 6, 6]
    assert captured.stats().replays == 2 * is_traceable


def test_the_graph_of_a_replay_is_an_ordinary_one():
    captured = dc.capture(lambda x, y: (x * y).exp().sum())
    for _ in range(4):
        x, y = torchlike.ones(3, requires_grad=True), torchlike.full((3,), 2.0, requires_grad=True)
        found, expected = captured(x, y), (x * y).exp().sum()
        for result in (found, expected):
            (slope,) = torchlike.autograd.grad(result, [x], create_graph=True, retain_graph=True)
            slope.sum().backward(retain_graph=True)
        assert found.grad_fn.name() == expected.grad_fn.name()
        assert torchlike.equal(*torchlike.autograd.grad([found, expected], [y, x], allow_unused=True)) is False
        with pytest.raises(RuntimeError, match="second time"):
            found.backward()
    found = captured(x, y)
    with torchlike.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.backward()


RELATED = {
    "a view": lambda y: (y, y[0]),
    "the view first": lambda y: (y[0], y),
    "the view alone": lambda y: y[0],
    "views of views": lambda y: (y, y[:1].view(3), y[:1][0]),
    "views of a dropped base": lambda y: (y[0], y[1]),
    "split": lambda y: y.split(1),
    "chunk": lambda y: (y, *y.chunk(3, 1)),
    "unbind": lambda y: (y, *y.unbind()),
    "detached": lambda y: (y, y.detach(), y.detach()[0]),
    "written to": lambda y: (y, y[0].mul_(2), y[1]),
    "two of them": lambda y: (y, y[0], z := y + 1, z[0]),
}


@pytest.mark.parametrize("name", RELATED)
@pytest.mark.parametrize("grad", [False, True])
def test_results_and_their_views_are_related_as_in_eager_calls(name, grad):
    """Writes to one of them count in all, and are found where another one was saved."""

    def look(function):
        with torchlike.set_grad_enabled(grad):
            found = function(torchlike.ones(2, 3))
        found = found if isinstance(found, (tuple, list)) else (found,)
        found = [*found, *(each._base for each in found if each._base is not None)]
        seen = [(each._is_view(), [each._base is other for other in found]) for each in found]
        losses = [(torchlike.ones_like(each).requires_grad_() * each).sum() for each in found]
        for each in found:
            with torchlike.no_grad():
                each.zero_()
            seen.append([other._version for other in found])
        for loss in losses:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                loss.backward()
        return seen

    def function(x):
        return RELATED[name](x * 2)

    captured = dc.capture(function)
    expected = look(function)
    assert [look(captured) for _ in range(4)] == [expected] * 4
    assert captured.stats().replays == 2


#: Description → a function of a leaf, a base and a view of it, which returns a tensor.
LEFT = {
    "a node keeps a view that is written to again": lambda leaf, base, view: view.tanh_().copy_(leaf[1:] * 1),
    "a node keeps a base that is written to again": lambda leaf, base, view: (base.tanh_(), view.copy_(leaf[1:] * 1))[
        1
    ],
    "a result has had a gradient": lambda leaf, base, view: drop_gradient(view * 2),
}


def drop_gradient(tensor):
    tensor.grad = tensor.detach()
    tensor.grad = None
    return tensor


@pytest.mark.parametrize("words", LEFT)
def test_states_of_tensors_that_nodes_keep(words):
    def run(wrap):
        leaf, base = torchlike.ones(2, requires_grad=True), torchlike.zeros(3)
        view = base[0:1]
        call = wrap(lambda: LEFT[words](leaf, base, view))
        result = [call() for _ in range(5)][-1]
        shown = [(each.requires_grad, each._version, each.tolist()) for each in (result, base, view)]
        try:
            (base.sum() + leaf.sum()).backward()
        except RuntimeError as error:
            shown.append(str(error))  # what a node keeps was written to
        return shown, leaf.grad

    one, other = run(torchlike.capture), run(lambda function: function)
    assert str(one) == str(other)


#: Description → a function that is given one row of a matrix after another, and whether that is written to before.
PLACED = {
    "written to": (lambda row: row.mul_(3).sum(), False),
    "written to in part": (lambda row: row[:1].mul_(3).sum(), False),
    "read after a write": (lambda row: (row * 2).sum(), True),
}


@pytest.mark.parametrize("order", [(0, 0, 0, 1, 2, 1, 0), (2, 1, 0, 0)])
@pytest.mark.parametrize("words", PLACED)
def test_the_place_of_an_argument_in_its_base(words, order):
    function, is_written = PLACED[words]

    def run(wrap):
        leaf = torchlike.ones(3, 2, requires_grad=True)
        matrix, call, results = leaf * 1, wrap(function), []
        for index in order:
            row = matrix[index]
            if is_written:
                matrix.mul_(2)
            results.append(call(row))
        (matrix.sum() + sum(results)).backward()
        return [*map(float, results)], matrix.tolist(), leaf.grad.tolist()

    assert run(torchlike.capture) == run(lambda function: function)


FIRST_CAPTURES = """
import random, sys, threading
import torchlike

sys.setswitchinterval(1e-6)
draw, threads = random.Random(int(sys.argv[1])), 6
names = "exp sin cos tanh sigmoid neg square erf sinh cosh atan asinh expm1 log1p relu abs".split()
classes, errors = [], []
for _ in range(len(names) // 2):
    chosen, barrier = [names.pop(draw.randrange(len(names))) for _ in range(2)], threading.Barrier(threads)

    @torchlike.capture
    def chain(x):
        for name in chosen:
            x = getattr(torchlike, name)(x)
        return x

    def work(kinds):
        x = torchlike.full((2,), 0.25, requires_grad=True)
        barrier.wait()
        try:
            for _ in range(3):
                found = chain(x)
                kinds.add(type(found.grad_fn))
        except RuntimeError as error:
            errors.append(error)

    classes.append(set())
    running = [threading.Thread(target=work, args=(classes[-1],)) for _ in range(threads)]
    for each in running:
        each.start()
    for each in running:
        each.join()
print(errors, [len(each) for each in classes])
"""


@pytest.mark.parametrize("seed", ["1"])
def test_first_captures_of_operators_in_several_threads(seed):
    found = subprocess.run([sys.executable, "-c", FIRST_CAPTURES, seed], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == f"[] {[1] * 8}", found.stdout + found.stderr
