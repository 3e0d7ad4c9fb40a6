"""Plans that the runtime does again by one call: what they compute, when there are none, and what they leave behind."""

import ctypes
import gc
import logging
import threading
import warnings

import pytest

import dispatch_core as dc
import torchlike
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError, AclWarning
from dispatch_backend_npu.plan import graph
from dispatch_backend_npu.runtime import chips

pytestmark = pytest.mark.no_pipeline(reason="opens pipelines, and counts what they call")


@pytest.fixture
def quiet():
    """Failures of no call, which are warnings, are not looked at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AclWarning)
        yield


@pytest.fixture
def closed(simulator, monkeypatch):
    """A closed runtime, with graphs."""
    monkeypatch.setenv(graph.VARIABLE, "1")
    gc.collect()
    runtime.finalize(force=True)
    simulator.reset()
    yield simulator
    simulator.reset()
    gc.collect()
    runtime.finalize(force=True)
    assert simulator.counts() == {}


def _read(results):
    return [each.tolist() for each in results]


def _count(simulator, call):
    """Return what a call returns, how many first phases it took, and how many models it executed."""
    torchlike.npu.synchronize()
    simulator.reset()
    found = call()
    log = simulator.log()
    return found, sum(name.endswith("GetWorkspaceSize") for name in log), log.count("aclmdlRIExecuteAsync")


def _chain(x, w, total):
    h = (x @ w.T).relu()
    total.add_(h.sum())
    a, b = h.chunk(2, 1)
    return a * b + 1, h[0], total


def _views(x, w, total):
    total[None].mul_(2)
    rows = x[1:]
    return rows.relu(), rows.T, (w[:2] - 1).view(-1)[1:], x.unfold(1, 2, 1).sum(0)


def _writes(x, w, total):
    x[0].add_(w[0])
    w[:, 1].mul_(w[:, 0])
    y = torchlike.zeros_like(x)
    y[1] = x[0]
    return y.mul_(2), x + 0, w * 1


PROGRAMS = {"chain": _chain, "views": _views, "writes": _writes}


def _run(program, device, number, *, shares=False):
    """Return a program's results, and its inputs as it leaves them."""
    x = torchlike.arange(6.0).reshape(2, 3).to(device) + number
    w = torchlike.arange(12.0).reshape(4, 3).to(device) - 3 * number
    if shares:  # one block for both
        both = torchlike.cat([x, w])
        x, w = both[:2], both[2:]
    total = torchlike.zeros((), device=device)
    torchlike.accelerator.synchronize() if device == "npu" else None

    def call():
        with dc.pipeline():
            return program(x, w, total)

    return call, (x, w, total)


@pytest.mark.of_functions
@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_computes_what_the_plan_does(name, shares, closed):
    program, phases, executed, kept = PROGRAMS[name], [], [], []
    for number in range(5):
        call, inputs = _run(program, "cpu", number, shares=shares)
        expected = _read(call()), _read(inputs)
        call, inputs = _run(program, "npu", number, shares=shares)
        found, first, models = _count(closed, call)
        assert (_read(found), _read(inputs)) == expected, number
        phases.append(first)
        executed.append(models)
        kept.append((found, expected[0]))
    assert phases[0] > 0 and executed == [0, 1, 1, 1, 1]
    # What runs at once, before the block ends, is no part of a plan.
    assert phases[2:] == [phases[2]] * 3 and phases[2] <= 2
    # No later run writes to what an earlier one has returned.
    assert [_read(found) for found, _ in kept] == [expected for _, expected in kept]


@pytest.mark.of_functions
def test_inputs_may_lie_anywhere(closed):
    data = torchlike.arange(40.0).reshape(10, 4).to("npu")
    with dc.pipeline():
        y = data[0] * data[0]  # a plan of its own
    assert y.tolist() == [0, 1, 4, 9]
    executed = 0
    for row in range(10):
        part, other = data[row], torchlike.ones(4, device="npu")

        def call(part=part, other=other):
            with dc.pipeline():
                return (part * 2 + other).exp()

        found, _, models = _count(closed, call)
        executed += models
        assert torchlike.allclose(found.cpu(), (data[row].cpu() * 2 + 1).exp())
    assert executed == 9


@pytest.mark.of_functions
def test_a_captured_function_has_one_model_for_each_of_its_variants(closed):
    w = torchlike.arange(12.0).reshape(4, 3).to("npu")
    step = dc.capture(lambda x: (x @ w.T).softmax(1))
    executed = []
    for number in range(6):
        x = torchlike.full((2, 3), float(number), device="npu")
        found, _, models = _count(closed, lambda x=x: step(x))
        executed.append(models)
        assert torchlike.allclose(found.cpu(), (x.cpu() @ w.cpu().T).softmax(1))
    assert executed[-2:] == [1, 1]


def _train(device, steps=6):
    torchlike.manual_seed(1)
    net = torchlike.nn.Sequential(torchlike.nn.Linear(3, 4), torchlike.nn.Tanh(), torchlike.nn.Linear(4, 1)).to(device)
    for number, each in enumerate(net.parameters()):
        with torchlike.no_grad():
            each.copy_(torchlike.linspace(-1, 1, each.numel()).reshape(each.shape) + number / 9)
    optimizer = torchlike.optim.Adam(net.parameters(), 0.1)
    schedule = torchlike.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    x = torchlike.arange(15.0).reshape(5, 3).to(device) / 7

    @dc.capture
    def step(x):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for _ in range(steps):
        losses.append(step(x).item())
        schedule.step()
    return losses, [each.detach().cpu().reshape(-1).tolist() for each in net.parameters()]


def test_numbers_that_change_train_as_on_the_cpu(closed):
    expected = _train("cpu")
    losses, weights = _train("npu")
    assert losses == pytest.approx(expected[0], rel=1e-3)
    for found, each in zip(weights, expected[1], strict=True):
        assert found == pytest.approx(each, rel=1e-2, abs=1e-3)


def test_what_is_drawn_is_in_no_model(closed):
    x = torchlike.ones(1000, device="npu")
    draw = dc.capture(lambda x: torchlike.nn.functional.dropout(x * 2, 0.5))
    masks = [tuple(draw(x).tolist()) for _ in range(5)]
    assert len(set(masks)) == 5


def test_a_chip_without_captures_runs_the_plan(simulator, monkeypatch, caplog):
    runtime.finalize(force=True)
    monkeypatch.setenv(graph.VARIABLE, "1")
    monkeypatch.setenv("DISPATCH_NPU_SIMULATE", "910A")
    monkeypatch.setenv(chips.VARIABLE, "1")
    with caplog.at_level(logging.INFO, "dispatch_core.pipelines"):
        for number in range(4):
            x = torchlike.full((2,), float(number), device="npu")
            with dc.pipeline():
                y = (x * 2).relu()
            assert torchlike.allclose(y.cpu(), (x.cpu() * 2).relu())
    assert sum("aclmdlRICaptureBegin" in record.getMessage() for record in caplog.records) == 1
    runtime.finalize(force=True)


def _steps(count=4):
    found = []
    for number in range(count):
        x = torchlike.arange(6.0).reshape(2, 3).to("npu") + number
        with dc.pipeline():
            y = (x * (2.5 + number) + 1).relu()
            x.add_(y)
        found.append((y.tolist(), x.tolist()))
    return found


def test_every_failure_leaves_nothing_and_the_next_run_is_right(closed, quiet):
    expected = _steps()
    closed.reset()
    assert _steps() == expected
    calls = closed.calls()
    runtime.finalize(force=True)
    refused = 0
    for n in range(1, calls + 8, 2):
        closed.reset()
        closed.fail_nth("", n, 507899)
        try:
            assert _steps() == expected
        except (AclError, dc.BackendError):
            refused += 1
        closed.reset()
        gc.collect()
        assert _steps() == expected, n
        runtime.finalize(force=True)
        assert closed.counts() == {}, n
    assert refused


def test_two_threads_have_graphs_of_their_own(closed):
    x = torchlike.arange(1000.0).to("npu")
    wrong = []

    def work(number):
        for _ in range(20):
            y = x + number
            with dc.pipeline():
                z = (y * (number + 0.5)).sqrt() + y
            if not torchlike.allclose(z.cpu(), (y.cpu() * (number + 0.5)).sqrt() + y.cpu()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


@pytest.mark.of_functions
def test_the_simulator_keeps_addresses_and_refuses_what_a_capture_cannot_have(closed):
    from dispatch_backend_npu.acl.library import bind, call
    from dispatch_backend_npu.runtime import allocator, memory

    stream = runtime.Stream()
    block = allocator.allocate(64)
    memory.fill(block.pointer, 64, 1)
    runtime.synchronize()
    call("aclmdlRICaptureBegin", stream.pointer, 1)
    assert bind("aclmdlRICaptureBegin")(stream.pointer, 1) == 107027
    assert bind("aclrtSynchronizeStream")(stream.pointer) == 107027
    memory.fill(block.pointer, 64, 2, stream)
    model = ctypes.c_void_p()
    with pytest.raises(AclError, match="107027"):
        memory.copy_to_host(block.pointer, 64)
    call("aclmdlRICaptureEnd", stream.pointer, ctypes.byref(model))
    assert bind("aclmdlRICaptureEnd")(stream.pointer, ctypes.byref(model)) == 107029
    runtime.synchronize()
    assert bytes(memory.copy_to_host(block.pointer, 64)) == b"\1" * 64
    call("aclmdlRIExecuteAsync", model, stream.pointer)
    assert bind("aclmdlRIDestroy")(model) == 107000
    runtime.synchronize()
    assert bytes(memory.copy_to_host(block.pointer, 64)) == b"\2" * 64
    call("aclmdlRIDestroy", model)
    assert bind("aclmdlRIExecuteAsync")(model, stream.pointer) == 107017


@pytest.mark.of_functions
def test_ways_in_which_inputs_lie_are_not_collected(closed):
    data = torchlike.arange(800.0).to("npu")
    kept = []
    take = graph.Graphs.take
    executed = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph.Graphs, "take", lambda self, values: (kept.append(self), take(self, values))[1])
        for number in (*range(100), *range(8), *range(8)):
            parts = data[number : number + 4], data[number + 1 : number + 5]

            def call(parts=parts):
                with dc.pipeline():
                    return (parts[0] * parts[1]).relu() - parts[0]

            found, _, models = _count(closed, call)
            executed += models
            assert found.tolist() == [(number + i) * (number + i + 1) - number - i for i in range(4)]
    assert executed > 0 and len({*map(id, kept)}) == 1
    assert len(kept[0]._free) == 4 and len(kept[0]._runs) <= 65
