"""Kernels that another distribution provides for a device: switched on and off, above the backend's, below the program's."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import dispatch_core as dc
import torchlike

PROVIDERS = {
    "swift": "swift_kernels",
    "second": "swift_kernels:SECOND",
    "chip": "swift_kernels:CHIP",
    "ice": "swift_kernels:ICE",
}
FAULTY = {
    "absent": ("import nothing_there", "it needs the module 'nothing_there'"),
    "misspelt": ('PROVIDER = dc.KernelProvider("cpu", {"aten::rleu": len})', "did you mean aten::relu?"),
    "foreign": ('PROVIDER = dc.KernelProvider("cpu", {"acme::relu": len})', "no operator has that name"),
    "nothing": ("", "which is not a provider of kernels"),
    "uncallable": ('PROVIDER = dc.KernelProvider("cpu", {"aten::relu": 3})', "is not callable: int"),
    "nowhere": ('PROVIDER = dc.KernelProvider("abacus", {"aten::relu": len})', "provides the device 'abacus'"),
    "shapes": ('PROVIDER = dc.KernelProvider("meta", {"aten::relu": len})', "the shape rules of all devices"),
    "sly": (
        'dc.Library("aten", "IMPL", "CPU").impl("relu", len)\nPROVIDER = dc.KernelProvider("cpu", {"aten::tanh": len})',
        "registers aten::relu under CPU",
    ),
}


def install(site):
    """Write a distribution with every provider of these tests."""
    folder = site / "swift_kernels-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: swift-kernels\nVersion: 1.0\n")
    points = PROVIDERS | {name: f"faulty_{name}" for name in FAULTY}
    text = "".join(f"{name} = {value}\n" for name, value in points.items())
    (folder / "entry_points.txt").write_text(f"[dispatch_core.kernels]\n{text}")
    (site / "swift_kernels.py").write_text(Path(__file__).with_name("swift_kernels.py").read_text())
    for name, (source, _) in FAULTY.items():
        (site / f"faulty_{name}.py").write_text(f"import dispatch_core as dc\n{source}\n")
    return site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = install(tmp_path_factory.mktemp("site"))
    sys.path.insert(0, str(site))
    dc.refresh()
    yield site
    sys.path.remove(str(site))
    dc.refresh()


@pytest.fixture
def ran(site):
    """What the providers' kernels note."""
    dc.use_kernels("swift", "second")
    found = sys.modules["swift_kernels"].RAN
    found.clear()
    return found


@pytest.fixture
def everywhere(site, monkeypatch):
    """Set ``DISPATCH_KERNELS``."""

    def set_names(names):
        monkeypatch.setenv("DISPATCH_KERNELS", names)
        dc.refresh()

    yield set_names
    monkeypatch.undo()
    dc.refresh()


def assert_close(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def take_notes(ran):
    found = ran[:]
    ran.clear()
    return found


X = [-1.0, 0.0, 2.0]
#: Calls, and what notes a provider's kernel for it: the composite's part, the overload with a tensor, its own.
CALLS = {
    "tanh": lambda t: t.tanh(),
    "add.Tensor": lambda t: t.add(2, alpha=3),
    "mul.Tensor": lambda t: t * 2,
    "relu": lambda t: t.relu(),
    "square": lambda t: t.square(),
}


def run(call, mode, dtype):
    t = torchlike.tensor(X, dtype=dtype, requires_grad=mode == "grad")
    if mode != "pipeline":
        return call(t).detach()
    for _ in range(2):  # the second block finds the plan of the first
        with torchlike.pipeline():
            found = call(t).neg().neg()
    return found


@pytest.mark.parametrize("mode", ["eager", "grad", "pipeline"])
@pytest.mark.parametrize("dtype", [torchlike.float32, torchlike.float64])
@pytest.mark.parametrize("how", ["context", "variable"])
def test_calls_run_the_kernels_that_are_on_with_equal_results(ran, everywhere, how, mode, dtype):
    everywhere("swift" if how == "variable" else "")
    with dc.use_kernels(*["swift"] * (how == "context")):
        for name, call in CALLS.items():
            found = run(call, mode, dtype)
            # Above Autograd ``square`` is its parts.
            served = dtype is torchlike.float32 if name == "mul.Tensor" else (name, mode) != ("square", "grad")
            times = 2 if mode == "pipeline" else 1
            assert take_notes(ran) == [f"swift {name}"] * served * times
            with dc.use_kernels(only=True):
                assert_close(found, run(call, mode, dtype))
            assert take_notes(ran) == []


@pytest.mark.parametrize("interpreted", [False, True])
def test_arrays_of_no_frontend_reach_them(ran, interpreted):
    found = dc.ops.aten.relu if not interpreted else lambda array: dc.dispatch("aten::relu", array)
    with dc.use_kernels("swift"):
        assert found(np.array(X)).tolist() == [0, 0, 2]
    found(np.array(X))
    assert take_notes(ran) == ["swift relu"]


def test_what_was_switched_on_last_stands_highest(ran, everywhere):
    t = torchlike.tensor(X)

    def who(*names, **options):
        with dc.use_kernels(*names, **options):
            t.relu(), t.tanh()
        return [each.partition(" ")[0] for each in take_notes(ran)]

    for names in ("", "second", "swift,second"):
        everywhere(names)
        base = {"": [], "second": ["second"], "swift,second": ["swift", "swift"]}[names]
        assert who() == base
        assert who(only=True) == []
        assert who("swift") == ["swift", "swift"]
        assert who("second", "swift") == ["second", "swift"]
        assert who("swift", "second") == ["swift", "swift"]
        assert who("second", only=True) == ["second"]
        with dc.use_kernels("swift"):
            assert who("second") == ["second", "swift"]
            with dc.use_kernels("second"), dc.use_kernels("swift"):
                assert who() == ["swift", "swift"]
                assert who(only=True) == []
        assert who() == base


def test_a_call_that_is_declined_reaches_the_next_provider_and_the_backend(ran):
    double = torchlike.tensor(X, dtype=torchlike.float64)
    with dc.use_kernels("second", "swift"):
        assert (double * double).tolist() == [1, 0, 4]
        explained = dc.explain("aten::mul.Tensor", double, double)
    assert take_notes(ran) == []
    assert "> CPU_second_2" in str(explained) and "registered under CPU_second at swift-kernels 1.0" in str(explained)
    asked = [(each.registered_under, each.serves) for each in explained.candidates if not each.reason]
    assert [key for key, _ in asked] == ["CPU_second", "CPU_swift", "CPU"]
    assert [serves for _, serves in asked] == ["always, unless it declines"] * 2 + ["always"]


def test_the_programs_kernels_stand_above_them(ran):
    t = torchlike.tensor(X)
    with dc.use_kernels("swift"), dc.Library("aten", "IMPL", "CPU") as program:
        for name in ("relu", "add.Tensor"):
            program.impl(
                name, lambda self, *rest, name=name, **options: (ran.append(name), self)[1], allow_override=True
            )
        t.relu(), t + 2, t + t
        explanation = dc.explain("aten::relu", t)
        assert take_notes(ran) == ["relu", "add.Tensor", "add.Tensor"]
        passed = next(step for step in explanation.steps if step.key == "CPU_swift")
        assert passed.reason == "the program has a kernel under CPU"
        program.close()
        t.relu(), t + 2
        assert take_notes(ran) == ["swift relu", "swift add.Tensor"]


def test_the_programs_specialized_kernel_stands_above_them(ran):
    t = torchlike.tensor(X)
    with dc.use_kernels("swift"), dc.Library("aten", "IMPL", "CPU") as program:
        program.impl(
            "add.Tensor", lambda self, other: (ran.append("special"), self)[1], when=("alpha", 1), allow_override=True
        )
        t + t, t.add(t, alpha=2)
    assert take_notes(ran) == ["special", "swift add.Tensor"]


def test_another_devices_arrays_do_not_reach_them(ran):
    with dc.use_kernels("chip", "swift"):
        assert torchlike.tensor(X).relu().tolist() == [0, 0, 2]
        assert torchlike.ones(2, device="meta").relu().device.type == "meta"
        step = next(step for step in dc.explain("aten::relu", np.ones(2)).steps if step.key == "NPU_chip")
    assert take_notes(ran) == ["swift relu"]
    assert (step.outcome, step.reason) == ("passed over", "not for its device")


def test_each_device_has_its_own(ran, npu, frozen_backend):
    with dc.use_kernels("chip", "ice", "swift"):
        for device, expected in (("cpu", "swift relu"), ("npu", "chip relu"), ("frozen", "ice relu")):
            for mode in ("eager", "grad", "pipeline"):
                t = torchlike.tensor(X).to(device).requires_grad_(mode == "grad")
                if mode == "pipeline":
                    with torchlike.pipeline():
                        found = (t.relu() + 1).cpu()
                else:
                    found = (t.relu() + 1).detach().cpu()
                assert found.tolist() == [1, 1, 3]
                assert [each for each in take_notes(ran) if "relu" in each] == [expected], (device, mode)


@pytest.mark.parametrize("mode", [torchlike.no_grad, torchlike.pipeline])
def test_a_write_to_arrays_that_cannot_be_written_to_computes_the_new_value_by_them(ran, frozen_backend, mode):
    t = torchlike.tensor(X).to("frozen")
    with dc.use_kernels("ice"), mode():
        t[1:].relu_()
        t.relu_()
    assert t.tolist() == [0, 0, 2]
    assert take_notes(ran) == ["ice relu", "ice relu"]


def test_a_call_that_the_backend_never_records_runs_at_once(ran, monkeypatch):
    noted = []

    def multiply(self, other):
        noted.append("backend")
        return self * other

    multiply.runs_at_once = "for this test"
    x = torchlike.tensor(X, dtype=torchlike.float64)
    with dc.registry.transaction(level="backend"):
        library = dc.Library("aten", "IMPL", "CPU")
        library.impl("mul.Tensor", multiply, allow_override=True)
    with library, dc.use_kernels("swift"), torchlike.pipeline():
        x * x
        assert noted == ["backend"]


def test_a_key_can_be_named_alone(ran):
    array = np.array(X)
    with dc.include_keys("CPU_swift"):
        dc.ops.aten.relu(array)
        with dc.exclude_keys("CPU_swift"):
            dc.ops.aten.relu(array)
    assert take_notes(ran) == ["swift relu"]
    assert dc.redispatch("aten::relu", ["CPU_swift", "CPU"], array).tolist() == [0, 0, 2]
    assert dc.call_direct("aten::relu", "CPU_swift", array).tolist() == [0, 0, 2]
    assert take_notes(ran) == ["swift relu", "swift relu"]
    assert dc.call_direct("aten::mul.Tensor", "CPU_swift", array, array).tolist() == [1, 0, 4]
    assert take_notes(ran) == []


def test_a_factory_chooses_its_device_before(ran):
    with dc.use_kernels("swift"):
        explanation = dc.explain("aten::ones", [2], device="cpu")
        assert torchlike.ones(2).tolist() == [1, 1]
    assert [step.key for step in explanation.then.steps] == ["CPU_swift", "CPU"]


def test_threads_and_tasks_have_their_own(ran):
    def relu():
        torchlike.tensor(X).relu()
        return bool(take_notes(ran))

    async def task(*names):
        found = []
        with dc.use_kernels(*names):
            for _ in range(3):
                await asyncio.sleep(0)
                found.append(relu())
        return found

    async def both():
        return await asyncio.gather(task("swift"), task())

    with dc.use_kernels("swift"):
        found = []
        thread = threading.Thread(target=lambda: found.append(relu()))
        thread.start()
        thread.join()
        assert found == [False]
    assert asyncio.run(both()) == [[True] * 3, [False] * 3]


def test_recorded_calls_keep_the_kernels_of_their_context(ran):
    t = torchlike.tensor(X)
    for _ in range(3):
        with torchlike.pipeline() as pipe:
            with dc.use_kernels("swift"):
                first = (t + 1).relu().tanh()
            second = (t + 1).relu().tanh()
            assert take_notes(ran) == []
        assert take_notes(ran) == ["swift add.Tensor", "swift relu", "swift tanh"]
        assert_close(first, second)
    with dc.use_kernels("swift"):
        pipe = torchlike.pipeline()
        pipe.__enter__()
        third = (t + 1).relu().tanh()
    pipe.__exit__(None, None, None)
    assert third.tolist() == first.tolist()
    assert take_notes(ran) == ["swift add.Tensor", "swift relu", "swift tanh"]


def test_plans_fuse_the_kernels_that_they_know(ran):
    t = torchlike.tensor(X)
    for names, fused in (((), 6), (("swift",), 2)):
        with dc.use_kernels(*names), torchlike.pipeline() as pipe:
            found = (t.exp().log() + 1).relu().tanh().neg()
            assert found.shape == (3,)
        assert pipe.stats().fused == fused, names


def test_gradients_go_through_them(ran):
    def grads():
        x = torchlike.tensor(X, requires_grad=True)
        ((x * 3).tanh() + x).relu().square().sum().backward()
        return x.grad

    expected = grads()
    with dc.use_kernels("swift"):
        assert_close(grads(), expected)
    assert {each.partition(" ")[2] for each in take_notes(ran)} >= {"mul.Tensor", "tanh", "add.Tensor", "relu"}


def test_kernels_that_return_something_else_than_the_rule_says_are_refused(site):
    code = "import dispatch_core as dc, torchlike\nwith dc.use_kernels('wrong'): torchlike.ones(3).relu()"
    done = python(code, site=wrong_site(site))
    assert "the result has shape (1,), where the shape rule" in done.stderr
    assert "registered by wrong-kernels 1.0" in done.stderr


def wrong_site(site):
    other = site.parent / "wrong"
    folder = other / "wrong_kernels-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong-kernels\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[dispatch_core.kernels]\nwrong = wrong_kernels\n")
    (other / "wrong_kernels.py").write_text(
        'import dispatch_core as dc\nPROVIDER = dc.KernelProvider("cpu", {"aten::relu": lambda self: self[:1]})\n'
    )
    return other


@pytest.mark.parametrize("name", FAULTY)
def test_a_provider_that_fails_leaves_nothing_behind(ran, name):
    for _ in range(2):
        with pytest.raises(dc.BackendError, match=f"The provider of kernels '{name}' failed to load") as caught:
            dc.use_kernels(name)
        assert FAULTY[name][1] in str(caught.value)
        assert "nothing of it stayed registered" in str(caught.value)
    assert dc.kernel_providers()[name].state == "failed"
    assert torchlike.tensor(X).relu().tolist() == [0, 0, 2]


def test_the_variables_faults_are_told_once_and_the_others_are_on(ran, everywhere):
    everywhere("absent, swift,swfit")
    with pytest.raises(dc.BackendError) as caught:
        torchlike.tensor(X).relu()
    text = str(caught.value)
    assert "DISPATCH_KERNELS names kernels that cannot be used\n" in text
    assert "'absent' failed to load" in text and "No installed distribution provides kernels named 'swfit'\n" in text
    assert "  swift: loaded, swift-kernels 1.0\n" in text
    torchlike.tensor(X).relu()
    assert take_notes(ran) == ["swift relu"]
    everywhere("swfit")
    with pytest.raises(dc.BackendNotFoundError, match="named 'swfit'"):
        torchlike.tensor(X).relu()


def test_an_unknown_name_is_refused_with_what_there_is(ran):
    with pytest.raises(dc.BackendNotFoundError, match="Hint: did you mean 'swift'") as caught:
        dc.use_kernels("swfit")
    assert "  second: loaded, swift-kernels 1.0\n" in str(caught.value)
    with pytest.raises(dc.ArgumentError, match="names of providers of kernels, not 3"):
        dc.use_kernels(3)


def python(*arguments, site, **environment):
    return subprocess.run(
        [sys.executable, *(["-c"] if len(arguments) == 1 else ["-m", "dispatch_core"]), *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(site), **environment},
        text=True,
        timeout=120,
    )


def test_the_commands_show_them(site):
    listed = python("list", "--json", site=site, DISPATCH_KERNELS="swift")
    rows = {row["name"]: row for row in json.loads(listed.stdout)["kernels"]}
    assert rows["swift"]["is_on"] and rows["swift"]["state"] == "installed" and not rows["second"]["is_on"]
    lines = [line.split() for line in python("list", "--all", site=site, DISPATCH_KERNELS="swift").stdout.splitlines()]
    assert ["swift", "swift-kernels", "1.0", "installed,", "on"] in lines
    examined = python("doctor", "swift", "misspelt", site=site)
    assert examined.returncode == 1
    assert "ok         kernels 'swift' of swift-kernels 1.0" in examined.stdout
    assert "note: 5 kernels under CPU_swift" in examined.stdout
    assert "failed     kernels 'misspelt'" in examined.stdout
    explained = python("explain", "relu", "--keys", "CPU", site=site, DISPATCH_KERNELS="swift").stdout
    assert "> CPU_swift  runs: " in explained and "CPU_swift  alternative kernel  CPU_swift" in explained
    code = "import torchlike as t; t.ones(2, dtype=t.float64) * t.ones(2, dtype=t.float64)"
    traced = python(code, site=site, DISPATCH_KERNELS="swift", DISPATCH_TRACE="1").stderr
    assert "(BackendSelect, CPU_swift, CPU) -> CPU_swift, swift_kernels.py:" in traced
    assert "(BackendSelect, CPU) -> CPU, dispatch_backend_cpu/plugin.py:" in traced


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forks_keep_them(ran, everywhere):
    everywhere("second")
    with dc.use_kernels("swift"):
        child = os.fork()
        if child == 0:
            torchlike.tensor(X).tanh()
            with dc.use_kernels(only=True), dc.use_kernels("second"):
                torchlike.tensor(X).relu()
            os._exit(take_notes(ran) != ["swift tanh", "second relu"])
        assert os.waitpid(child, 0)[1] == 0


def test_networks_are_copied_and_trained_under_them(ran):
    torchlike.manual_seed(0)
    net = torchlike.nn.Sequential(torchlike.nn.Linear(3, 4), torchlike.nn.Tanh(), torchlike.nn.Linear(4, 1))
    losses = []
    for names in ((), ("swift",)):
        twin = copy.deepcopy(net)
        optimizer = torchlike.optim.SGD(twin.parameters(), lr=0.1)
        with dc.use_kernels(*names):
            for _ in range(3):
                optimizer.zero_grad()
                loss = (twin(torchlike.tensor([X])) - 1).square().mean()
                loss.backward()
                optimizer.step()
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert ran


ORDERS = """
import itertools, os, random, sys, warnings
import dispatch_core as dc
import torchlike
import dispatch_backend_cpu.plan, dispatch_backend_meta.plugin, torchlike.autograd.rules.register
sys.path.insert(0, os.environ["SITE"])
from swift_kernels import KERNELS, RAN

warnings.simplefilter("ignore", dc.OverwriteWarning)
CALLS = {
    "add.Tensor": lambda t: t + t, "relu": lambda t: t.relu(), "mul.Tensor": lambda t: t * 2, "square": lambda t: t.square()
}

def winner(program, on, name):
    return "program" if program else "swift" if on else None

def check(program, on):
    t = torchlike.tensor([-1.0, 2.0])
    for name, call in CALLS.items():
        for pipeline in (False, True):
            RAN.clear()
            if pipeline:
                with torchlike.pipeline():
                    found = call(t).neg()
            else:
                found = call(t)
            found.tolist()
            who = winner(program, on, name)
            assert RAN == ([] if who is None else [f"{who} {name}"]), (name, pipeline, program, on, RAN)

def run(order):
    program, on = None, None
    for step in order:
        if step == "load":
            dc.load_backend("cpu")
        elif step == "fail":
            try:
                dc.use_kernels("absent")
            except dc.BackendError:
                pass
        elif step == "refresh":
            dc.refresh()
        elif step == "on":
            on = dc.use_kernels("swift")
            on.__enter__()
        elif step == "off" and on is not None:
            on = on.__exit__(None, None, None)
        elif step == "program":
            program = dc.Library("aten", "IMPL", "CPU")
            for name in CALLS:
                def kernel(*args, name=name, **kwargs):
                    RAN.append(f"program {name}")
                    return KERNELS[name](*args, **kwargs)
                program.impl(name, kernel)
        elif step == "close" and program is not None:
            program = program.close()
        elif step == "call":
            check(program is not None, on is not None)
    check(program is not None, on is not None)

draw = random.Random(2)
steps = ["load", "fail", "refresh", "on", "off", "program", "close", "call"]
for _ in range(6):
    order = draw.sample(steps, len(steps)) + draw.choices(steps, k=3)
    child = os.fork()
    if child == 0:
        try:
            run(order)
        except BaseException:
            import traceback
            print(order, file=sys.stderr)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert not os.waitpid(child, 0)[1]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="orders run in forks of one process")
def test_the_order_of_loading_registering_and_switching_does_not_matter(site):
    done = python(ORDERS, site="", SITE=str(site))
    assert done.returncode == 0, done.stderr
