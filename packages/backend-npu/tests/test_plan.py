"""Plans of pipelines for the npu, on the simulator, whose log shows every call in order."""

import functools
import gc

import numpy as np
import pytest

torchlike = pytest.importorskip("torchlike", reason="a frontend records")

import dispatch_core as dc  # noqa: E402  # after the skip
from dispatch_backend_npu.aclnn import pools  # noqa: E402
from dispatch_pipelines.program import plan as plans  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("npu"),
    pytest.mark.no_pipeline(reason="the plans of these tests are what is looked at"),
]


@pytest.fixture(autouse=True)
def _fresh():
    """Clear prepared calls and plans before and after each test."""
    plans.clear()
    pools.clear()
    yield
    plans.clear()
    pools.clear()


def tensor(*values, dtype=torchlike.float32):
    return torchlike.tensor(list(values), dtype=dtype, device="npu")


def phases(simulator):
    """Return the operators' phases, synchronisations and copies, in the order of their calls."""
    return [
        name.removeprefix("acl") for name in simulator.log() if name.startswith(("aclnn", "aclrtSync", "aclrtMemcpy"))
    ]


FIRST = ["nnAddGetWorkspaceSize", "nnReluGetWorkspaceSize", "nnReduceSumGetWorkspaceSize"]
SECOND = ["nnAdd", "nnRelu", "nnReduceSum", "rtSynchronizeStream"]


@pytest.mark.of_functions
def test_everything_is_prepared_then_executed_then_waited_for_once(simulator):
    a, b = tensor(1.0, 2.0), tensor(3.0, 4.0)
    simulator.reset()
    with dc.pipeline():
        found = (a + b).relu().sum().to("cpu")
    assert found.item() == 10.0
    assert phases(simulator) == [*FIRST, *SECOND, "rtMemcpy"]


def test_a_kernel_of_the_user_that_wraps_ours_is_called():
    ran = []

    def wrapping(name):
        before = dc.registry.get(f"aten::{name}").kernels[dc.DispatchKey.NPU]

        @functools.wraps(before)
        def kernel(*args, **kwargs):
            ran.append(name)
            return before(*args, **kwargs)

        return kernel

    a = tensor(1.0, -2.0)
    with dc.Library("aten", "IMPL", "NPU") as library:
        for name in ("relu", "full_like"):
            library.impl(name, wrapping(name), allow_override=True)
        with dc.pipeline():
            found = torchlike.full_like(a.neg(), 3.0) + a.relu()
        assert found.tolist() == [4.0, 3.0]
    assert ran == ["full_like", "relu"]


@pytest.mark.of_functions
def test_a_repeated_plan_repeats_its_executors(simulator):
    a, b = tensor(1.0, 2.0), tensor(3.0, 4.0)

    def run():
        with dc.pipeline():
            found = (a + b).relu().sum()
        return found

    first, second = run(), run()
    simulator.reset()
    third = run()
    assert phases(simulator) == SECOND
    assert [each.item() for each in (first, second, third)] == [10.0, 10.0, 10.0]


def test_a_repeated_plan_follows_its_inputs():
    results = []
    for start in range(6):
        a, b = tensor(start, 2.0), tensor(3.0, 4.0)
        with dc.pipeline():
            found = ((a * b).exp().log() + a).sum()
        results.append(found.item())
        del a, b
    assert results == pytest.approx([10.0, 14.0, 18.0, 22.0, 26.0, 30.0], rel=1e-5)


def test_unused_results_share_one_allocation(simulator):
    a = tensor(*range(1000))
    with dc.pipeline():
        found = ((((a + 1) * 2) - 3) / 4).sum()
    expected = float(((np.arange(1000, dtype=np.float32) + 1) * 2 - 3).sum() / 4)
    assert found.item() == pytest.approx(expected)
    with dc.pipeline():
        kept = a + 1
        found = (kept * 2).sum()
    assert found.item() == pytest.approx(2 * (np.arange(1000) + 1).sum())
    assert kept.cpu().numpy()[-1] == 1000.0


def test_a_number_that_changes_is_prepared_again():
    a = tensor(1.0, 2.0)
    results = []
    for factor in (0.5, 0.25, 0.25, -1.0, float("nan")):
        with dc.pipeline():
            found = (a * factor + 1.0).sum()
        results.append(found.item())
    assert results[:4] == [3.5, 2.75, 2.75, -1.0]
    assert np.isnan(results[4])


def test_views_that_begin_elsewhere_are_followed():
    table = torchlike.arange(12, dtype=torchlike.float32, device="npu").view(4, 3)
    sums = []
    for row in (0, 1, 2, 3, 1):
        with dc.pipeline():
            found = (table[row] + 1.0).relu().sum()
        sums.append(found.item())
    for row in (0, 3, 2):
        part = table[row]
        with dc.pipeline():
            found = (part + 1.0).relu().sum()
        sums.append(found.item())
    assert sums == [6.0, 15.0, 24.0, 33.0, 15.0, 6.0, 33.0, 24.0]


def test_writes_in_place_are_planned_and_seen():
    a, b = tensor(1.0, 2.0), tensor(3.0, 4.0)
    for _ in range(3):
        with dc.pipeline():
            a.add_(b, alpha=2)
            a.mul_(0.5)
            found = a.sum()
    wanted = np.array([1.0, 2.0])
    for _ in range(3):
        wanted = (wanted + 2 * np.array([3.0, 4.0])) * 0.5
    assert a.cpu().numpy() == pytest.approx(wanted)
    assert found.item() == pytest.approx(wanted.sum())


def _three():
    return torchlike.arange(12, dtype=torchlike.float32, device="npu").view(3, 4)


#: Programs whose operators are no rows, and the functions that their repeated plans execute.
BY_HAND = {
    "copies": (lambda x: (x + 1).clone().to(torchlike.int64) * 2, "Adds InplaceCopy Cast Muls"),
    "lists": (lambda x: torchlike.cat([x * 1, x * 2]).sum(), "Muls Muls Cat ReduceSum"),
    "factories": (
        lambda x: torchlike.zeros_like(x * 2) + torchlike.full((4,), 0.5, device="npu"),
        "Muls InplaceZero InplaceFillScalar Add",
    ),
    "bounds": (lambda x: (x * 1).clamp(1.5, 4.5).clamp(min=2.5), "Muls Clamp ClampMin"),
    "extremes": (lambda x: (x.t() * 1).argmax() + 1, "Muls InplaceCopy ArgMax Adds"),
    "variances": (lambda x: (x * 1).var() + (x * 1).std(1), "Muls VarCorrection Muls Std Add"),
    "positions": (lambda x: (x * 1)[torchlike.arange(2, device="npu")] + 1, "Muls Arange Index Adds"),
    "masks": (
        lambda x: (x * 1).masked_fill(x > 5, -1.5),
        "Muls GtScalar InplaceCopy InplaceMaskedFillScalar",
    ),
    "losses": (
        lambda x: torchlike.nn.functional.cross_entropy(x * 1, torchlike.arange(3, device="npu")),
        "Muls Arange LogSoftmax InplaceOne NLLLoss",
    ),
}


@pytest.mark.of_functions
@pytest.mark.parametrize("name", BY_HAND)
def test_operators_that_are_no_rows_are_planned_too(simulator, name):
    program, functions = BY_HAND[name]
    expected = program(_three()).tolist()

    def run(x):
        with dc.pipeline():
            return program(x)

    x = _three()
    simulator.reset()
    first = run(x)
    firsts = [index for index, each in enumerate(phases(simulator)) if each.endswith("GetWorkspaceSize")]
    assert firsts == list(range(len(functions.split())))
    run(x)
    simulator.reset()
    again = run(x)
    assert phases(simulator) == [*(f"nn{each}" for each in functions.split()), "rtSynchronizeStream"]
    assert first.tolist() == again.tolist() == run(_three()).tolist() == expected


def test_numbers_of_operators_that_are_no_rows_may_change(simulator):
    x = _three()
    for least, most, value in ((1.5, 4.5, -1.0), (2.5, 3.5, 0.25), (2.5, 3.5, 8.0)):
        with dc.pipeline():
            found = torchlike.full((4,), value, device="npu") + x.clamp(least, most)
        assert found.tolist() == np.add(np.clip(np.arange(12.0).reshape(3, 4), least, most), value).tolist()


def test_a_size_that_a_number_decides_is_not_planned():
    for end in (4.5, 6.5):
        with dc.pipeline():
            found = torchlike.arange(0.5, end, 1.0, device="npu") * 2
        assert found.tolist() == [2 * each for each in np.arange(0.5, end)]


@pytest.mark.of_functions
def test_a_failure_among_several_functions_of_an_operator_is_that_operator_s(simulator):
    x = _three()

    def run():
        with dc.pipeline():
            return (x * 1).masked_fill(x > 5, -1.5).sum()

    expected = run().item()
    for function in (
        "aclnnInplaceMaskedFillScalarGetWorkspaceSize",
        "aclnnInplaceCopy",
        "aclnnInplaceMaskedFillScalar",
    ):
        plans.clear()
        pools.clear()
        simulator.fail_nth(function, 1, 561003)
        with pytest.raises(dc.DispatchError, match=rf"aten::masked_fill\.Scalar.*{function} failed with 561003"):
            run().item()
        simulator.reset()
        assert run().item() == expected


@pytest.mark.of_functions
def test_all_functions_of_a_plan_share_one_workspace_of_the_largest_need(monkeypatch):
    from dispatch_backend_npu.plan import executor, state

    given, needs = [], []
    prepare, reserve = executor.RepeatedExecutor.prepare, state.RunState._reserve

    def noting(self, pointers, numbers):
        prepare(self, pointers, numbers)
        needs.append(self.size)
        second = self.second

        def execute(workspace, size, executor, stream):
            given.append((workspace, size))
            return second(workspace, size, executor, stream)

        self.second = execute

    monkeypatch.setattr(executor.RepeatedExecutor, "prepare", noting)
    reserved = []
    monkeypatch.setattr(state.RunState, "_reserve", lambda self: (reserve(self), reserved.append(self._workspace))[0])
    x = torchlike.arange(4000, dtype=torchlike.float32, device="npu").view(40, 100)
    with dc.pipeline():
        found = torchlike.cat([x * 1, x @ x.t() @ x]).clone().sum(0).sort()[0]
    assert found.shape == (100,)
    assert [size for _, size in given] == needs
    assert len({size for size in needs if size}) > 1
    assert len(reserved) == 1 and reserved[0].nbytes == max(needs)
    assert {workspace for workspace, _ in given} == {reserved[0].pointer}


def test_an_operator_that_the_host_computes_runs_its_kernel_in_between():
    a = tensor(3.0, -1.0, 2.0)
    for _ in range(3):
        with dc.pipeline():
            spread = (a * 2.0).var(correction=0.5)
            found = torchlike.cat([a + 1.0, a.neg()]).sum() + spread
    assert found.item() == pytest.approx(3.0 + 4 * np.var([3, -1, 2]) * 3 / 2.5, rel=1e-5)


@pytest.mark.of_functions
def test_making_a_plan_asks_the_host_for_nothing(host_calls):
    a = tensor(3.0, -1.0, 2.0)
    host_calls()
    for _ in range(3):
        with dc.pipeline():
            found = torchlike.nextafter(a * 2.0, a).sum()
        assert found.item() == pytest.approx(8.0)
    assert host_calls() == {"aten::nextafter": 3}


def test_inputs_of_a_kernel_behind_the_last_step_are_still_there():
    a = tensor(3.0, -1.0, 2.0)
    for _ in range(3):
        with dc.pipeline():
            found = (a + 1.0).exp().var(correction=0.5)
    assert found.item() == pytest.approx(np.var(np.exp([4.0, 0.0, 3.0])) * 3 / 2.5, rel=1e-5)


@pytest.mark.of_functions
def test_a_first_phase_that_fails_is_its_own_operator_s_error(simulator):
    a = tensor(1.0, 2.0)
    with pytest.raises(dc.DispatchError, match=r"aclnnNegGetWorkspaceSize failed with 561003"), dc.pipeline():
        good = (a + 1.0) * 2.0
        bad = good.neg()
        after = good.exp()
        simulator.fail_nth("aclnnNegGetWorkspaceSize", 1, 561003)
        bad.sum().item()
    assert good.cpu().numpy() == pytest.approx([4.0, 6.0])
    assert after.cpu().numpy() == pytest.approx(np.exp([4.0, 6.0]))


@pytest.mark.of_functions
def test_a_second_phase_that_fails_leaves_the_rest_and_the_next_run(simulator):
    a = tensor(1.0, 2.0)

    def run():
        with dc.pipeline():
            return (a + 1.0).exp().sum()

    expected = float(np.exp([2.0, 3.0]).sum())
    for _ in range(2):
        assert run().item() == pytest.approx(expected, rel=1e-6)
    simulator.fail_nth("aclnnExp", 1, 507015)
    with pytest.raises(dc.DispatchError, match="aclnnExp failed with 507015"):
        run()
    for _ in range(2):
        assert run().item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.of_functions
@pytest.mark.parametrize("fuse", [True, False])
def test_an_interrupt_in_a_first_phase_leaves_no_executor(simulator, monkeypatch, fuse):
    from dispatch_backend_npu import runtime
    from dispatch_backend_npu.acl import library

    bind, interrupts = library.bind, [KeyboardInterrupt()]

    def interrupted(name):
        function = bind(name)
        if name != "aclnnExpGetWorkspaceSize":
            return function

        def call(*args):
            status = function(*args)
            if interrupts:
                raise interrupts.pop()
            return status

        return call

    runtime.finalize(force=True)
    monkeypatch.setattr(library, "bind", interrupted)
    a = tensor(1.0, 2.0)
    with dc.pipeline(fuse=fuse) as pipe:
        found = (a + 1.0).exp().sum()
        with pytest.raises(KeyboardInterrupt):
            pipe.flush()
        assert found.item() == pytest.approx(27.4746, rel=1e-4)
    del found, pipe
    plans.clear()
    gc.collect()
    pools.clear()
    assert "executors" not in simulator.counts()


@pytest.mark.of_functions
def test_work_that_was_queued_before_a_failure_is_waited_for(simulator, monkeypatch):
    from dispatch_backend_npu.plan.state import RunState

    begin = RunState.begin

    def disturbed(self, values):
        begin(self, values)
        # As another thread does that waits for the stream just now.
        torchlike.npu.current_stream().synchronize()

    monkeypatch.setattr(RunState, "begin", disturbed)
    a = tensor(1.0, 2.0)
    for function in ("aclnnExp", "aclnnExpGetWorkspaceSize"):
        simulator.fail_nth(function, 1, 561003)
        with dc.pipeline() as pipe:
            good = a + 1.0
            bad = good.exp()
            with pytest.raises(dc.DispatchError, match=f"{function} failed"):
                pipe.flush()
        assert good.tolist() == [2.0, 3.0]
        del bad


def test_a_fault_on_the_device_is_raised_by_the_flush(simulator):
    a = tensor(1.0, 2.0)
    simulator.fail_task(2)
    with pytest.raises(dc.DispatchError, match="aclrtSynchronizeStream failed with 507015"), dc.pipeline():
        _ = (a + 1.0).exp().sum()


@pytest.mark.of_functions
def test_plans_leave_nothing_once_they_are_dropped(simulator):
    before = simulator.counts()
    a = tensor(1.0, 2.0)
    for _ in range(3):
        with dc.pipeline():
            found = (a + 1.0).exp().sum()
    assert found.item() == pytest.approx(27.4746, rel=1e-4)
    assert simulator.counts()["executors"] >= 3
    del a, found
    plans.clear()
    gc.collect()
    pools.clear()
    after = simulator.counts()
    kinds = ("tensors", "scalars", "int_arrays", "executors", "tensor_lists")
    # Errors of other tests may still refer to their arrays.
    assert all(after.get(kind, 0) <= before.get(kind, 0) for kind in kinds)


@pytest.mark.of_functions
def test_without_fusing_every_operator_runs_by_itself(simulator):
    a = tensor(1.0, 2.0)
    simulator.reset()
    with dc.pipeline(fuse=False):
        found = (a + 1.0).relu()
    assert [name for name in phases(simulator) if name != "rtSynchronizeStream"] == [
        "nnAddsGetWorkspaceSize",
        "nnAdds",
        "nnReluGetWorkspaceSize",
        "nnRelu",
    ]
    assert found.cpu().numpy() == pytest.approx([2.0, 3.0])


def test_threads_that_run_one_structure_do_not_disturb_each_other():
    from concurrent.futures import ThreadPoolExecutor

    def work(start):
        a = tensor(float(start), 2.0)
        for _ in range(20):
            with dc.pipeline():
                found = ((a * 3.0).exp().log() / 3.0).sum()
            assert found.item() == pytest.approx(start + 2.0, rel=1e-4)
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


@pytest.mark.parametrize("asked", [1, 2, 3, 4])
def test_values_may_be_read_while_a_plan_runs(asked, monkeypatch):
    from dispatch_pipelines.run import executors as run

    # Report every step, and not only those of long flushes.
    monkeypatch.setattr(run, "reporter", lambda progress, total: lambda done: progress(done, total))
    a = tensor(1.0, 2.0)
    seen = []
    made = {}

    def look(done, total):
        if done == asked:
            seen.append(made["middle"].sum().item())

    for _ in range(3):
        with dc.pipeline(progress=look):
            made["middle"] = (a + 1.0) * 2.0
            found = (made["middle"].exp().log() + a).sum()
        assert found.item() == pytest.approx(13.0, rel=1e-5)
    # Reading is a flush of its own, whose steps may be reported, too.
    assert len(seen) >= 3
    assert seen == pytest.approx([10.0] * len(seen))


def test_a_list_of_one_view_is_made_ahead(npu):
    for number in range(3):
        x = torchlike.tensor([[1.0, 2.0]], device="npu") + number
        with dc.pipeline():
            y = x * 2
            (row,) = y.unbind(0)
            (part,) = y.split(2, 1)
            found = row + part, part.exp()
        assert found[0].tolist() == [[4.0 + 4 * number, 8.0 + 4 * number]]
        assert torchlike.allclose(found[1].cpu(), (x.cpu() * 2).exp())
