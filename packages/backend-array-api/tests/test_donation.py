"""Captured programs on jax donate the buffers that they overwrite, and no others."""

import os
import random

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn, optim

jax = pytest.importorskip("jax")

pytestmark = pytest.mark.no_pipeline(reason="captured functions run outside of pipelines, or flush them")


@pytest.fixture
def traces(monkeypatch):
    """Yield a list that gets an entry for each function that JAX compiles."""
    from dispatch_backend_array_api import xla

    found, trace = [], xla.Compiled.trace

    def counted(self, *given):
        found.append(self.donated)
        return trace(self, *given)

    monkeypatch.setattr(xla.Compiled, "trace", counted)
    return found


def put(*values):
    return torchlike.tensor(values).to("jax")


def add_one(x):
    x.add_(1)


def capture_and_replay(function, *given, calls=3):
    """Return a captured function that has been replayed."""
    made = dc.capture(function)
    for _ in range(calls):
        made(*given)
    assert made.stats().replays
    return made


def address(x):
    # What a recorded call has made stays a value of its pipeline, until it is used.
    return getattr(x._dispatch_data, "value", x._dispatch_data).unsafe_buffer_pointer()


def test_a_training_step_donates_parameters_and_state(traces):
    def train(block):
        torchlike.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)).to("jax")
        optimizer = optim.Adam(net.parameters(), lr=0.01)

        def step(x, target):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), target)
            loss.backward()
            optimizer.step()
            return loss.detach()

        def memory():
            states = [value for state in optimizer.state.values() for value in state.values() if value.dim()]
            return {address(each) for each in (*net.parameters(), *states)}

        called, losses, reused = block(step), [], []
        for _ in range(8):
            x, target = torchlike.randn(4, 6).to("jax"), torchlike.randint(0, 3, (4,)).to("jax")
            optimizer.param_groups[0]["lr"] *= 0.9
            before = memory()
            losses.append(called(x, target).item())
            reused.append(len(before & memory()))
        return called, losses, [each.tolist() for each in net.parameters()], reused

    _, losses, parameters, _ = train(lambda step: step)
    step, found, others, reused = train(dc.capture)
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    for mine, expected in zip(others, parameters, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-3, atol=1e-5)
    # A new learning rate compiles nothing. Four parameters have two states each.
    assert step.stats().replays == 5
    assert [len(each) for each in traces] == [0, 0, 12]
    assert reused[3:] == [12] * 5
    assert "12 arrays donated" in step.explain()


#: What else refers to an array → a function of the tensor that makes it so, and returns what must keep its elements.
HELD = {
    "the array itself": lambda x: x._dispatch_data,
    "a NumPy array": lambda x: np.asarray(x._dispatch_data),
    "a DLPack capsule": lambda x: jax.dlpack.from_dlpack(x._dispatch_data),
    "a list": lambda x: [x._dispatch_data],
    "elements that were read": lambda x: x.tolist(),
}


@pytest.mark.parametrize("name", HELD)
def test_what_something_else_refers_to_is_kept(name):
    x = put(1.0, 2.0)
    step = capture_and_replay(add_one, x)
    held = HELD[name](x)
    step(x)
    np.testing.assert_array_equal(np.asarray(held).reshape(-1), [4, 5])
    assert x.tolist() == [5, 6]


#: Writes to a tensor by another one, and what a function gives back of it then.
WRITES = {
    "sub_": lambda w, x: w.sub_(x),
    "mul_ of a row": lambda w, x: w[0].mul_(x[1]),
    "copy_": lambda w, x: w.copy_(x * 2),
    "lerp_": lambda w, x: w.lerp_(x, 0.5),
    "a product": lambda w, x: w.addmm_(x, x),
    "a column": lambda w, x: w[:, 0].copy_(x[0]),
}
RESULTS = {
    "a clone": lambda w: w.detach().clone(),
    "itself": lambda w: w,
    "a view": lambda w: w.reshape(-1),
    "a sum": lambda w: w.sum(),
    "a contiguous one": lambda w: w.contiguous(),
    "a row's clone": lambda w: w[0].clone(),
}


@pytest.mark.parametrize("seed", range(int(os.environ.get("DISPATCH_DONATED_PROGRAMS", "6"))))
def test_results_of_earlier_replays_keep_their_values(seed):
    drawn = random.Random(seed)
    writes = drawn.choices(list(WRITES.values()), k=drawn.randint(1, 3))
    results = drawn.choices(list(RESULTS.values()), k=drawn.randint(1, 2))

    def run(device):
        w, x = (torchlike.tensor([[1.0, 2.0], [3.0, 4.0]]).to(device) / by for by in (1, 8))

        def step(x):
            for write in writes:
                write(w, x)
            return tuple(make(w) for make in results)

        step = torchlike.capture(step) if device == "jax" else step
        found = []
        for _ in range(5):
            made = step(x)
            found.append([*made, *(each.clone() for each in made)])
        return [each.tolist() for row in found for each in row]

    for found, right in zip(run("jax"), run("cpu"), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6)


def test_a_parameter_and_its_clone_may_both_be_results():
    w, x = put(1.0, 1.0), put(1.0, 1.0)

    def step(x):
        w.sub_(x)
        return w.detach().clone()

    step = torchlike.capture(step)
    assert [step(x).tolist()[0] for _ in range(5)] == [0, -1, -2, -3, -4]


@pytest.mark.parametrize("make", [lambda x: x.detach(), lambda x: x.view(2, 1), lambda x: x[:]])
def test_aliases_see_writes_and_old_graphs_their_values(make):
    x = put(1.0, 2.0)
    step = capture_and_replay(add_one, x)
    other, factor = make(x), torchlike.ones(2, device="jax", requires_grad=True)
    product = factor * x.clone()
    for _ in range(4):
        step(x)
    assert other.reshape(-1).tolist() == x.tolist() == [8, 9]
    product.sum().backward()
    assert factor.grad.tolist() == [4, 5]
    late = factor * x
    step(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        late.sum().backward()


def test_one_array_in_two_tensors():
    x, y = put(1.0, 2.0), put(0.0, 0.0)
    y.data = x.data

    def step(x, y):
        x.add_(1)
        return x * y

    made = dc.capture(step)
    for number in range(2, 6):
        assert made(x, y).tolist() == [number * number, (number + 1) ** 2]
    assert made.stats().replays


def test_two_arrays_in_one_buffer():
    x, y = put(1.0, 2.0), put(1.0, 2.0)
    step = capture_and_replay(lambda x, y: x.add_(y), x, y)
    y._dispatch_data = x._dispatch_data.to_device(x._dispatch_data.device)
    assert step(x, y).tolist() == x.tolist() == [8, 16]
    assert y.tolist() == [4, 8]


def test_arrays_that_were_used_up_are_deleted():
    x = put(1.0, 2.0)
    step = capture_and_replay(add_one, x, calls=4)
    before = address(x)
    step(x)
    assert address(x) == before
    undonated = dc.capture(add_one, donate=False)
    for _ in range(4):
        undonated(x)
    before = address(x)
    undonated(x)
    assert address(x) != before
    with dc.pipeline():
        x.add_(1).mul_(1)
    assert x.tolist() == [12, 13]


def test_a_dtype_or_shape_of_its_own_is_not_donated(traces):
    x, y = put(1.0, 2.0), torchlike.zeros(2, dtype=torchlike.int64, device="jax")
    mask = torchlike.tensor([True, False]).to("jax")

    def step():
        x.mul_(2)
        y.add_(x.long())
        mask.logical_not_()
        return x.sum(), x[:1]

    made = dc.capture(step)
    for _ in range(5):
        made()
    assert (x.tolist(), y.tolist(), mask.tolist()) == ([32, 64], [62, 124], [False, True])
    assert len(traces[-1]) == 3


@pytest.fixture
def failing():
    """Define an operator whose kernel calls back into Python, where it raises when it is told to."""
    library, state = dc.Library("failingtest", "DEF"), {"fails": False}

    def check(values):
        if state["fails"]:
            raise ArithmeticError("the callback has failed")
        return values

    library.define("check(Tensor x) -> Tensor")
    library.impl("check", lambda x: jax.pure_callback(check, jax.ShapeDtypeStruct(x.shape, x.dtype), x), "Jax")
    library.impl("check", lambda x: x, "Meta")
    yield dc.ops.failingtest.check, state
    library.close()


def test_a_program_that_fails_after_donation_marks_the_tensors(failing):
    check, state = failing
    x, y = put(1.0, 2.0), put(3.0, 4.0)

    def program(x, y):
        x.add_(check(y))
        y.mul_(2)

    step = capture_and_replay(program, x, y)
    held, versions = y._dispatch_data, (x._version, y._version)
    state["fails"] = True
    with pytest.raises(RuntimeError, match=r"(?s)one of \d+ calls that run as one program.*the callback has failed"):
        step(x, y)
    state["fails"] = False
    # What was donated was a copy of one of them.
    assert y.tolist() == held.tolist() == [24, 32]
    assert (x._version, y._version) == versions
    for read in (x.tolist, lambda: x + 1, lambda: step(x, y), lambda: x.add_(1), lambda: x.detach().cpu()):
        with pytest.raises(RuntimeError, match=r"(?s)failed in a captured replay.*the callback has failed"):
            read()
    assert tuple(x.shape) == (2,)
    x.data = put(1.0, 1.0)
    step(x, y)
    assert x.tolist() == [25, 33]


def test_a_view_whose_array_was_used_up_shows_its_base_again(failing):
    check, state = failing
    x = torchlike.zeros(4, device="jax")
    step = dc.capture(lambda view: view.add_(check(view) + 1))
    for _ in range(4):
        step(x[:2])
    view, state["fails"] = x[:2], True
    with pytest.raises(RuntimeError, match="the callback has failed"):
        step(view)
    state["fails"] = False
    assert (view.tolist(), x.tolist()) == ([15, 15], [15, 15, 0, 0])
    for _ in range(3):
        step(x[:2])
    assert (view.tolist(), x.tolist()) == ([127, 127], [127, 127, 0, 0])


@pytest.mark.parametrize("order", [(0, 0, 0, 1, 2), (0, 1, 2, 2)])
def test_the_place_of_a_view_that_is_written_to(order):
    function = dc.capture(lambda row: row.add_(1))
    x = torchlike.zeros(3, 2, device="jax")
    for index in order:
        function(x[index])
    assert x.tolist() == [[order.count(index)] * 2 for index in range(3)]
