"""What users get for a device of any backend: here one of two indices that the test registers."""

import os
import subprocess
import sys
import threading

import pytest
from logged_device import Device, NoRoomError

import dispatch_core as dc
import torchlike
from dispatch_aten.generator import hold_engine
from dispatch_core.runtime import list_accelerators


@pytest.fixture
def slate(monkeypatch):
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "slate")
    device = Device()
    with device.register():
        yield device


def test_there_is_a_module_while_there_is_a_device(slate):
    module = torchlike.slate
    assert module is torchlike.get_device_module("slate") is torchlike.get_device_module()
    assert module is torchlike.get_device_module(torchlike.device("slate:1"))
    assert module.is_available() and module.device_count() == 2 and module.draw() == "drawn"
    assert {"Stream", "memory_stats", "manual_seed_all", "draw"} <= {*dir(module)} - {"exchange", "open"}
    with pytest.raises(AttributeError, match=r"module 'torchlike\.slate' has no attribute 'fly'"):
        module.fly  # noqa: B018  # asking is what fails


def test_there_is_none_without_the_device():
    with pytest.raises(AttributeError, match="'torchlike' has no attribute 'slate'"):
        torchlike.slate  # noqa: B018  # asking is what fails
    with pytest.raises(RuntimeError, match="Device 'slate' does not have a corresponding module registered as"):
        torchlike.get_device_module("slate")
    with pytest.raises(RuntimeError, match=r"Invalid value of device '3', expect torch\.device, str, or None"):
        torchlike.get_device_module(3)


def test_indices_are_a_threads_own(slate):
    module = torchlike.slate
    assert not module.is_initialized() and module.memory_allocated() == 0
    with module.device(1):
        assert module.current_device() == 1 and torchlike.ones(2, device="slate").device.index == 1
        with module.device(None), module.device(-1):
            assert module.current_device() == 1
    assert module.current_device() == 0 and module.is_initialized()
    module.set_device("slate:1")
    assert torchlike.ones(2, device="slate").device.index == 1
    module.set_device(0)
    for call in (module.set_device, module.get_device_name, module.device(7).__enter__):
        with pytest.raises(RuntimeError, match="There is no device 'slate:7'"):
            call(*([] if call.__name__ == "__enter__" else [7]))
    with pytest.raises(ValueError, match="Expected a slate device, but got: cpu"):
        module.synchronize("cpu")
    assert (module.get_device_name(1), module.get_device_properties().total_memory) == ("Slate 1", 1000)
    module.synchronize(1)
    assert slate.log[-1] == "synchronize all of 1"


def test_streams_and_events_are_torchs(slate):
    module = torchlike.slate
    stream = module.Stream(1)
    assert isinstance(stream, torchlike.Stream) and stream.device == torchlike.device("slate:1")
    assert module.current_stream(1) == module.default_stream(1) != stream
    with module.stream(stream):
        assert module.current_device() == 1 and module.current_stream() == stream
        assert torchlike.accelerator.current_stream() == stream
        event = stream.record_event()
    assert isinstance(event, module.Event) and isinstance(event, torchlike.Event)
    with module.stream(None):
        assert module.current_device() == 0
    module.current_stream().wait_event(event)
    assert slate.log[-2:] == ["record event 1 in 101", "0 waits for event 1"]
    start, end = module.Event(enable_timing=True), torchlike.Event("slate", enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) == 1.5

    def choose():
        module.set_stream(stream)
        chosen.append(module.current_stream() == stream and module.current_device() == 1)

    chosen = []
    thread = threading.Thread(target=choose)
    thread.start()
    thread.join()
    assert chosen == [True] and module.current_device() == 0
    x = torchlike.ones(3, device="slate")
    x.record_stream(module.Stream())
    assert slate.log[-1] == "record (3,) on 2"
    with pytest.raises(TypeError, match=r"record_stream\(\): argument 's' must be Stream, not int"):
        x.record_stream(3)
    with pytest.raises(ValueError, match="Expected a tensor on slate, but got one on cpu"):
        torchlike.ones(1).record_stream(stream)


@pytest.mark.no_pipeline(reason="a pipeline takes memory later")
def test_memory(slate):
    module = torchlike.slate
    x = torchlike.ones(100, device="slate")
    assert module.memory_allocated() >= x.nbytes and module.max_memory_allocated() == 2048
    assert module.memory_reserved() == 4096 and module.mem_get_info(1) == (100, 1001)
    assert torchlike.accelerator.memory_stats()["num_ooms"] == 1
    assert torchlike.accelerator.get_memory_info() == (100, 1000)
    summary = module.memory_summary()
    assert "slate memory summary, device 0" in summary and "OOMs: 1" in summary and "4096 B" in summary
    module.reset_peak_memory_stats(1)
    module.empty_cache()
    assert slate.log[-2:] == ["reset peaks 1", "empty cache"]


@pytest.mark.no_pipeline(reason="a pipeline takes memory later")
def test_figures_and_names_that_follow_from_others(slate):
    module = torchlike.slate
    x = torchlike.ones(4, device="slate")
    assert module.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == x.nbytes
    assert module.device_memory_used(1) == 901 and not module.is_current_stream_capturing()
    with pytest.raises(RuntimeError, match="doesn't support a capability"):
        module.get_device_capability()
    for name in ("memory_snapshot", "ipc_collect", "utilization"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(module, name)

    @torchlike.capture
    def ask(value):
        seen.append(module.is_current_stream_capturing())
        return value + 1

    seen = []
    ask(x)
    assert seen == [True]


def test_a_capability_is_told_by_the_properties():
    with Device("stone").register(properties=lambda index: {"major": 9, "minor": index}):
        assert torchlike.ones(1, device="stone").is_stone
        assert torchlike.stone.get_device_capability("stone:1") == (9, 1)


def test_a_device_has_torchs_older_names_of_autocast(slate):
    amp = torchlike.slate.amp
    x = torchlike.ones(2, 2, device="slate")
    with pytest.warns(FutureWarning, match=r"Please use `torch\.amp\.autocast"):
        context = amp.autocast(dtype=torchlike.bfloat16)
    with context:
        assert torchlike.is_autocast_enabled("slate")
        assert (x @ x).dtype is torchlike.bfloat16
    with pytest.warns(FutureWarning, match=r"GradScaler\('slate'"):
        scaler = amp.GradScaler(init_scale=8.0)
    assert scaler.scale(x).tolist() == [[8, 8], [8, 8]] and set(amp.__all__) >= {"custom_fwd", "custom_bwd"}


def test_the_accelerator_has_its_functions(slate):
    accelerator = torchlike.accelerator
    assert accelerator.is_available() and accelerator.device_count() == 2
    assert accelerator.current_accelerator() == torchlike.device("slate")
    with accelerator.device_index(1):
        assert accelerator.current_device_index() == 1
    accelerator.set_device_index("slate:1")
    assert torchlike.Stream().device == torchlike.device("slate:1")
    accelerator.set_device_index(0)
    accelerator.synchronize()
    assert torchlike.float32 in accelerator.get_device_capability()["supported_dtypes"]


def test_an_index_alone_is_the_accelerators(slate):
    assert torchlike.device(1) == torchlike.device("slate:1")
    x = torchlike.ones(2, device=1)
    assert x.device == torchlike.device("slate:1")
    assert x.to(0).device == torchlike.device("slate:0") and torchlike.ones(2).to(1).device.index == 1
    assert x.to(1) is x and x.to(0, torchlike.float64).dtype is torchlike.float64
    assert torchlike.nn.Linear(1, 1).to(1).weight.device == torchlike.device("slate:1")
    with torchlike.device(1):
        assert torchlike.ones(1).device == torchlike.device("slate:1")
    with pytest.raises(TypeError, match="must not be negative"):
        torchlike.ones(1, device=-1)


def test_without_an_accelerator_an_index_is_refused(monkeypatch):
    monkeypatch.delenv("DISPATCH_ACCELERATOR", raising=False)
    if torchlike.accelerator.is_available():
        pytest.skip("there is an accelerator")
    for call in (
        lambda: torchlike.ones(1, device=0),
        lambda: torchlike.ones(1).to(1),
        lambda: torchlike.device(0),
        lambda: torchlike.Stream(0),
        torchlike.accelerator.synchronize,
        torchlike.accelerator.memory_allocated,
    ):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
            call()


def test_tensors_modules_and_sequences_have_its_methods(slate):
    x = torchlike.ones(2, 1)
    assert not x.is_slate and x.slate().is_slate
    assert x.slate(1).device.index == x.slate("slate:1").device.index == 1
    with torchlike.slate.device(1):
        assert x.slate(non_blocking=True).device.index == 1
    with pytest.raises(RuntimeError, match="Invalid device, must be slate device"):
        x.slate("cpu")
    with pytest.raises(AttributeError):
        x.is_slate = True
    net = torchlike.nn.Linear(1, 1).slate(1)
    assert net.weight.is_slate and net.weight.device.index == 1
    packed = torchlike.nn.utils.rnn.pack_sequence([torchlike.ones(2, 1)])
    assert not packed.is_slate and packed.slate().is_slate and packed.slate().data.is_slate
    assert not hasattr(net, "slates") and not hasattr(packed, "slates")


def test_classes_have_the_methods_too(slate):
    nn, x = torchlike.nn, torchlike.ones(2, 1)
    packing = nn.utils.rnn.PackedSequence
    assert hasattr(nn.Module, "slate") and nn.Module.slate(nn.Linear(1, 1), 1).weight.device.index == 1
    assert packing.slate(nn.utils.rnn.pack_sequence([x])).is_slate and hasattr(packing, "is_slate")
    for kind in (nn.Module, packing, torchlike.Tensor, type(x.slate())):
        assert "slate" in dir(kind)
    assert "is_slate" in dir(torchlike.Tensor) and "slate" in dir(nn.Linear(1, 1)) and "slate" in dir(x)
    storage = x.untyped_storage()
    assert not storage.is_slate and storage.slate(1).is_slate and storage.slate(1).device.index == 1
    assert type(x.storage().slate(0, False)) is torchlike.TypedStorage and hasattr(torchlike.UntypedStorage, "is_slate")

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.slate = nn.Linear(1, 1)

    assert isinstance(Net().slate, nn.Linear) and list(Net()._modules) == ["slate"]


def test_the_methods_go_with_the_device():
    with Device("tablet").register():
        x = torchlike.ones(1)
        assert not x.is_tablet
    for each in (x, torchlike.nn.Linear(1, 1), torchlike.nn.Module, torchlike.Tensor):
        assert not hasattr(each, "tablet")
    assert "tablet" not in dir(torchlike.Tensor)
    assert not hasattr(x, "is_tablet")


def test_a_device_whose_name_is_taken_has_no_module_and_no_method():
    with Device("relu").register():
        assert torchlike.relu(torchlike.ones(1)).item() == torchlike.ones(1).relu().item() == 1
        with pytest.raises(RuntimeError, match="Device 'relu' does not have a corresponding module"):
            torchlike.get_device_module("relu")
        assert torchlike.ones(1, device="relu").device.type == "relu"


def test_parts_that_are_lacking_are_named(monkeypatch):
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "slate")
    lacking = dict.fromkeys(("streams", "events", "memory", "host_allocator", "exchange", "properties", "empty_cache"))
    with Device().register(**lacking):
        torchlike.ones(1, device="slate")
        for call, part in (
            (torchlike.slate.Stream, "streams"),
            (torchlike.slate.Event, "events"),
            (torchlike.slate.memory_allocated, "memory statistics"),
        ):
            with pytest.raises(RuntimeError, match=f"Backend slate doesn't support {part}"):
                call()
        torchlike.slate.empty_cache()
        assert torchlike.slate.get_device_name() == "slate"


def test_several_accelerators_are_named(slate, monkeypatch):
    monkeypatch.delenv("DISPATCH_ACCELERATOR")
    monkeypatch.setattr(
        "dispatch_core.runtime.accelerators.list_accelerators", lambda available=False: ("slate", "stone")
    )
    for call in (torchlike.accelerator.current_accelerator, lambda: torchlike.ones(1, device=0)):
        with pytest.raises(dc.BackendError, match="this machine has several accelerators: slate, stone"):
            call()


class CountingEngine:
    """An engine of the device's own."""

    def __init__(self, index):
        self.count = 0

    def seed(self, seed):
        self.count = seed

    def get_state(self):
        return self.count.to_bytes(8, "little")

    def set_state(self, state):
        self.count = int.from_bytes(state, "little")


def draw(index, name="slate"):
    return torchlike.rand(3, device=f"{name}:{index}").tolist()


def test_each_index_has_a_generator_and_one_seed_draws_the_same(slate):
    module = torchlike.slate
    torchlike.manual_seed(3)
    first = draw(0)
    assert draw(1) == first != draw(0)
    module.manual_seed_all(3)
    assert draw(1) == first == draw(0)
    with module.device(1):
        module.manual_seed(3)
        assert module.initial_seed() == 3 and torchlike.rand(3, device="slate").tolist() == first
    assert draw(0) != first
    assert [each.device for each in module.default_generators] == [torchlike.device("slate", n) for n in (0, 1)]
    module.seed_all()
    assert module.default_generators[0].initial_seed() == module.default_generators[1].initial_seed() != 3


def test_states_are_bytes_and_dicts_are_read(slate):
    module = torchlike.slate
    torchlike.manual_seed(5)
    state = module.get_rng_state(1)
    assert state.dtype is torchlike.uint8 and state.is_cpu and torchlike.equal(state, torchlike.get_rng_state())
    first = draw(1)
    states = module.get_rng_state_all()
    second = draw(1)
    module.set_rng_state(state, 1)
    assert draw(1) == first
    module.set_rng_state_all(states)
    assert draw(1) == second
    generator = module.default_generators[1]
    plain = generator.read_state()
    third = draw(1)
    generator.set_state(plain)
    assert draw(1) == third
    with torchlike.random.fork_rng(range(2), device_type="slate"):
        forked = draw(0), torchlike.rand(2).tolist()
    assert forked == (draw(0), torchlike.rand(2).tolist())
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        module.set_rng_state(torchlike.zeros(3, dtype=torchlike.uint8))
    with pytest.raises(TypeError, match=r"expected a torch\.ByteTensor, but got int"):
        module.set_rng_state(3)
    mine = torchlike.Generator("slate:1").manual_seed(5)
    assert torchlike.rand(3, device="slate:1", generator=mine).tolist() == first


def test_a_device_brings_engines_of_its_own(monkeypatch):
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "stone")
    with Device("stone").register(generator=CountingEngine):
        torchlike.manual_seed(4)
        with hold_engine("stone:1") as engine:
            assert type(engine) is CountingEngine and engine.count == 4
            engine.count += 1
        state = torchlike.stone.get_rng_state(1)
        assert state.tolist() == [4, *[0] * 7, 8, *[0] * 7, 5, *[0] * 7]
        first = draw(1, "stone")  # by the host
        both = torchlike.stone.get_rng_state(1)
        second = draw(1, "stone")
        torchlike.stone.set_rng_state(both, 1)
        assert draw(1, "stone") == second
        torchlike.stone.set_rng_state(state, 1)
        assert draw(1, "stone") == first
        with hold_engine("stone:1") as engine:
            assert engine.count == 5


def test_a_generator_draws_for_its_own_type_of_device(monkeypatch):
    def uniform(self, low=0.0, high=1.0, *, generator=None):
        with hold_engine(dc.device(self), generator) as engine:
            engine.count += 1
        return self

    monkeypatch.setenv("DISPATCH_ACCELERATOR", "stone")
    draws = {
        "rand": lambda generator: torchlike.rand(2, device="stone", generator=generator),
        "bernoulli": lambda generator: torchlike.bernoulli(torchlike.ones(2, device="stone"), generator=generator),
        "randn": lambda generator: torchlike.randn(2, device="stone", generator=generator),
    }
    with Device("stone").register(generator=CountingEngine):
        library = dc.Library("aten", "IMPL", dc.device_key("stone"))
        library.impl("uniform_", uniform)
        try:
            for name, draw in draws.items():
                with pytest.raises(RuntimeError, match="Expected a 'stone' device type for generator but found 'cpu'"):
                    print(name, draw(torchlike.Generator()))
                draw(torchlike.Generator("stone:1"))  # of another card: torch compares the types
            with pytest.raises(RuntimeError, match="Expected a 'stone:0' generator device but found 'cpu'"):
                torchlike.randperm(3, device="stone", generator=torchlike.Generator())
            with pytest.raises(RuntimeError, match="Expected a 'stone:0' generator device but found 'stone:1'"):
                torchlike.randperm(3, device="stone:0", generator=torchlike.Generator("stone:1"))
            assert len(torchlike.randperm(3, device="stone:1", generator=torchlike.Generator("stone:1"))) == 3
        finally:
            library.close()


@pytest.mark.no_pipeline(reason="a pipeline takes memory later")
def test_out_of_memory_is_torchs_error_with_the_devices_as_its_cause(slate):
    assert torchlike.cuda.OutOfMemoryError is torchlike.OutOfMemoryError
    x = torchlike.ones(300_000, device="slate", dtype=torchlike.uint8)
    with pytest.raises(torchlike.OutOfMemoryError, match="no room for 1200000 bytes") as caught:
        x.float()
    assert type(caught.value.__cause__) is NoRoomError and isinstance(caught.value, (RuntimeError, MemoryError))
    with torchlike.pipeline():
        z = (x * 2).double()
        with pytest.raises(torchlike.OutOfMemoryError, match="no room for 2400000 bytes"):
            z.sum().item()
    y = torchlike.ones(300_000, device="slate", dtype=torchlike.uint8).requires_grad_(False)
    assert (x + y).sum().item() == 600_000
    leaf = torchlike.ones(10, device="slate", requires_grad=True)
    loss = leaf.expand(150_000, 10)[:, 0].sum()
    slate.room = 1000
    with pytest.raises(torchlike.OutOfMemoryError):
        loss.backward()
    slate.room = 1 << 20
    (leaf * 2).sum().backward()
    assert leaf.grad.tolist() == [2.0] * 10


@pytest.mark.no_pipeline(reason="a pipeline takes memory later")
def test_an_error_of_another_class_stays_as_it_is(monkeypatch):
    with Device("stone").register(out_of_memory=None):
        x = torchlike.ones(300_000, device="stone", dtype=torchlike.uint8)
        with pytest.raises(NoRoomError):
            x.float()


@pytest.mark.no_pipeline(reason="a pipeline copies later")
def test_pinned_memory_is_the_devices(slate):
    x = torchlike.arange(6.0).reshape(2, 3).t()
    pinned = x.pin_memory()
    assert slate.log == ["pinned 24"] and pinned.stride() == x.stride() and torchlike.equal(pinned, x)
    assert not x.is_pinned() and pinned.is_pinned() and pinned[1:].is_pinned() and pinned.is_pinned("slate")
    assert pinned.pin_memory() is pinned and not (pinned + 1).is_pinned() and not pinned.is_pinned("npu")
    x.fill_(0)
    assert pinned.tolist() == [[0, 3], [1, 4], [2, 5]]
    pinned[0, 0] = 7
    assert torchlike.empty(0).pin_memory().shape == (0,) and torchlike.tensor(True).pin_memory().item() is True
    assert torchlike.tensor([1.0], pin_memory=True).is_pinned()
    packed = torchlike.nn.utils.rnn.pack_sequence([torchlike.ones(1, 1), torchlike.ones(2, 1)], enforce_sorted=False)
    assert packed.pin_memory().is_pinned() and not packed.is_pinned() and packed.pin_memory().sorted_indices.is_pinned()
    with pytest.raises(RuntimeError, match=r"cannot pin '.*' only dense CPU tensors can be pinned"):
        x.slate().pin_memory()
    with pytest.raises(RuntimeError, match="only dense CPU tensors"):
        torchlike.eye(2).to_sparse().pin_memory()
    del slate.log[:]
    assert pinned.slate(1, non_blocking=True).tolist() == pinned.tolist() and slate.log == ["upload to 1"]
    leaf = torchlike.ones(2).pin_memory().requires_grad_()
    (leaf.to("slate", non_blocking=True) * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3]
    del slate.log[:]
    for moved in (pinned.to(0), x.to(0, non_blocking=True), pinned.to(0, torchlike.float64, non_blocking=True)):
        assert moved.device.index == 0
    assert slate.log == ["put on 0"] * 3


_X = torchlike.arange(4.0).reshape(2, 2).t()
#: Calls of factories, each with the argument ``pin_memory`` to come.
FACTORIES = {
    "arange": lambda **pin: torchlike.arange(3, **pin),
    "arange from": lambda **pin: torchlike.arange(1, 3, **pin),
    "empty": lambda **pin: torchlike.empty(2, 3, **pin),
    "empty_like": lambda **pin: torchlike.empty_like(_X, **pin),
    "empty_permuted": lambda **pin: torchlike.empty_permuted((2, 3), (1, 0), **pin),
    "empty_strided": lambda **pin: torchlike.empty_strided((2, 3), (1, 2), **pin),
    "eye": lambda **pin: torchlike.eye(2, **pin),
    "fftfreq": lambda **pin: torchlike.fft.fftfreq(3, **pin),
    "full": lambda **pin: torchlike.full((2,), 7, **pin),
    "full_like": lambda **pin: torchlike.full_like(_X, 7, **pin),
    "hann_window": lambda **pin: torchlike.hann_window(3, **pin),
    "linspace": lambda **pin: torchlike.linspace(0, 1, 3, **pin),
    "logspace": lambda **pin: torchlike.logspace(0, 1, 3, **pin),
    "new_empty": lambda **pin: _X.new_empty((2, 3), **pin),
    "new_empty_strided": lambda **pin: _X.new_empty_strided((2, 3), (1, 2), **pin),
    "new_full": lambda **pin: _X.new_full((2,), 7, **pin),
    "new_ones": lambda **pin: _X.new_ones(2, **pin),
    "new_zeros": lambda **pin: _X.new_zeros((2,), **pin),
    "normal": lambda **pin: torchlike.normal(0.0, 1.0, (2,), **pin),
    "ones": lambda **pin: torchlike.ones((2, 3), **pin),
    "ones_like": lambda **pin: torchlike.ones_like(_X, **pin),
    "rand": lambda **pin: torchlike.rand(3, **pin),
    "rand_like": lambda **pin: torchlike.rand_like(_X, **pin),
    "randint": lambda **pin: torchlike.randint(3, (2,), **pin),
    "randint_like": lambda **pin: torchlike.randint_like(_X, 3, **pin),
    "randn": lambda **pin: torchlike.randn(3, **pin),
    "randn_like": lambda **pin: torchlike.randn_like(_X, **pin),
    "randperm": lambda **pin: torchlike.randperm(3, **pin),
    "scalar_tensor": lambda **pin: torchlike.scalar_tensor(2, **pin),
    "tensor": lambda **pin: torchlike.tensor([1, 2], **pin),
    "triu_indices": lambda **pin: torchlike.triu_indices(2, 2, **pin),
    "zeros": lambda **pin: torchlike.zeros(2, 3, **pin),
    "zeros_like": lambda **pin: torchlike.zeros_like(_X, **pin),
}
NOTHING_TO_PIN = "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available"


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_pin(slate, monkeypatch, name):
    make = FACTORIES[name]
    torchlike.manual_seed(0)
    plain = make(pin_memory=False)
    assert not plain.is_pinned() and not make(pin_memory=None if name != "tensor" else False).is_pinned()
    torchlike.manual_seed(0)
    pinned = make(pin_memory=True)
    assert pinned.is_pinned() and pinned.stride() == plain.stride() and pinned.dtype is plain.dtype
    if "empty" not in name:
        assert torchlike.equal(pinned, plain)
    if plain.is_floating_point():
        leaf = make(pin_memory=True, requires_grad=True)
        assert leaf.is_pinned() and leaf.requires_grad and leaf.is_leaf
    with pytest.raises(TypeError, match=r"argument 'pin_memory' must be bool, not int"):
        make(pin_memory=1)
    assert make(pin_memory=True, device="meta").is_meta
    if name != "fftfreq":
        with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
            make(pin_memory=True, device="slate")


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_refuse_to_pin_where_nothing_can(monkeypatch, name):
    monkeypatch.delenv("DISPATCH_ACCELERATOR", raising=False)
    if torchlike.accelerator.is_available():
        pytest.skip("there is an accelerator")
    with pytest.raises(RuntimeError, match=NOTHING_TO_PIN):
        FACTORIES[name](pin_memory=True)
    assert FACTORIES[name](pin_memory=True, device="meta").is_meta


def test_pinned_memory_in_pipelines_and_captured_functions(slate):
    x = torchlike.arange(3.0)
    with torchlike.pipeline():
        y = (x + 1).pin_memory()
        z = torchlike.zeros(3, pin_memory=True) + y
        assert y._pending and y.is_pinned()
    assert z.tolist() == [1, 2, 3] and not z.is_pinned()

    @torchlike.capture
    def double(value):
        return (value * 2).pin_memory(), torchlike.ones(2, pin_memory=True)

    results = [double(x + shift) for shift in range(4)]
    for shift, (doubled, ones) in enumerate(results):
        assert doubled.is_pinned() and ones.is_pinned() and ones.tolist() == [1, 1]
        assert doubled.tolist() == [2.0 * (each + shift) for each in range(3)]
    leaf = torchlike.ones(2, requires_grad=True)
    (leaf.pin_memory() * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3]
    rows = torchlike.vmap(lambda row: row.pin_memory() + 1)(x.reshape(3, 1))
    assert rows.tolist() == [[1], [2], [3]]


def test_a_loader_pins_its_batches(slate, monkeypatch):
    data = torchlike.utils.data.TensorDataset(torchlike.arange(4.0))
    for options in ({}, {"num_workers": 1}, {"pin_memory_device": "slate"}):
        loader = torchlike.utils.data.DataLoader(data, batch_size=2, pin_memory=True, **options)
        batches = [batch for (batch,) in loader]
        assert all(batch.is_pinned() for batch in batches) and torchlike.cat(batches).tolist() == [0, 1, 2, 3]
    monkeypatch.delenv("DISPATCH_ACCELERATOR")
    loader = torchlike.utils.data.DataLoader(data, pin_memory=True)
    if not torchlike.accelerator.is_available():
        with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
            (first,) = next(iter(loader))
        assert not first.is_pinned()


def test_what_tensor_says_where_nothing_can_be_pinned(monkeypatch):
    monkeypatch.delenv("DISPATCH_ACCELERATOR", raising=False)
    if torchlike.accelerator.is_available():
        pytest.skip("there is an accelerator")
    with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA or other accelerator backend"):
        torchlike.tensor(2, pin_memory=True)


def test_a_loader_warns_where_nothing_can_be_pinned(monkeypatch):
    data = torchlike.utils.data.TensorDataset(torchlike.arange(4.0))
    loader = torchlike.utils.data.DataLoader(data, pin_memory=True)
    monkeypatch.setenv("DISPATCH_ACCELERATOR", "stone")
    with Device("stone").register(host_allocator=None):
        with pytest.warns(UserWarning, match="is set as true but not supported on stone"):
            next(iter(loader))
        with pytest.raises(RuntimeError, match="Backend stone doesn't support pinned memory"):
            torchlike.ones(1).pin_memory()


def test_autocast_chooses_dtypes_that_the_device_computes_with():
    with Device("stone").register(dtypes=(torchlike.float32, torchlike.float16)):
        torchlike.ones(1, device="stone")
        assert (
            torchlike.stone.get_amp_supported_dtype() == [torchlike.float16] and not torchlike.stone.is_bf16_supported()
        )
        with pytest.warns(UserWarning, match=r"STONE Autocast only supports dtypes of float16 currently"):
            context = torchlike.autocast("stone", dtype=torchlike.bfloat16)
        assert not context._enabled and torchlike.autocast("stone")._enabled


@pytest.mark.parametrize("name", ["xpu", "cuda"])
def test_a_device_of_torchs_names_answers_no_until_a_backend_brings_it(name):
    module = getattr(torchlike, name)
    assert not module.is_available() and module.device_count() == 0
    with pytest.raises(AssertionError, match=f"Torch not compiled with {name.upper()} enabled"):
        module.Stream()
    with Device(name).register():
        assert module is getattr(torchlike, name) is torchlike.get_device_module(name)
        assert module.is_available() and module.device_count() == 2
        assert isinstance(module.Stream(), torchlike.Stream) and module.memory_reserved() == 0
        x = getattr(torchlike.ones(2), name)(1)
        assert getattr(x, f"is_{name}") and x.device == torchlike.device(name, 1)
        assert getattr(torchlike.nn.Linear(1, 1), name)().weight.device == torchlike.device(name, 0)
    assert not module.is_available() and not getattr(torchlike.ones(1), f"is_{name}")
    with pytest.raises(AssertionError, match=f"Torch not compiled with {name.upper()} enabled"):
        getattr(torchlike.ones(1), name)()


PLUGIN = """
import dispatch_core as dc

class Array: ...

@dc.hookimpl
def dispatch_backend_info():
    array = dc.ArrayType(Array, shape=lambda array: (), dtype=lambda array: "float32", mutable=False)
    return dc.BackendInfo("{name}", array_types=(array,))

@dc.hookimpl
def dispatch_register(registry):
    pass

@dc.hookimpl
def dispatch_is_available():
    return dc.Availability({available}, "it is broken")

@dc.hookimpl
def dispatch_device_interface():
    return dc.DeviceInterface(properties=lambda index: {{"name": "Card"}})
"""
DECLARED = """
import sys
import torchlike, dispatch_core as dc
from dispatch_core import runtime
from dispatch_core.frontends import is_loaded
assert runtime.list_accelerators() == {names!r}, runtime.list_accelerators()
for name in {names!r}:
    assert type(getattr(torchlike, name)).__name__ == "module" and hasattr(torchlike.ones(1), name)
assert not hasattr(torchlike, "plain") and not hasattr(torchlike.ones(1), "plain")
assert not any(is_loaded(name) for name in ("stone", "slate", "plain"))
try:
    print(torchlike.accelerator.is_available(), torchlike.accelerator.current_accelerator())
except RuntimeError as error:
    print(error)
dc.load_backend("plain")
print(torchlike.plain.get_device_name())
"""


@pytest.mark.parametrize(("stone", "slate"), [(True, True), (True, False), (False, False)])
def test_distributions_say_that_their_device_is_an_accelerator(tmp_path, stone, slate):
    for name, available in {"stone": stone, "slate": slate, "plain": True}.items():
        info = tmp_path / f"{name}_plugin-1.0.dist-info"
        info.mkdir()
        lines = [f"Name: {name}-plugin", "Version: 1.0", "Requires-Dist: dispatch-core"]
        (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines, ""]))
        groups = ["backends", *([] if name == "plain" else ["accelerators"])]
        points = [f"[dispatch_core.{group}]\n{name} = {name}_module\n" for group in groups]
        (info / "entry_points.txt").write_text("".join(points))
        (tmp_path / f"{name}_module.py").write_text(PLUGIN.format(name=name, available=available))
    names = tuple(sorted({*list_accelerators(), "stone", "slate"}))
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    program = DECLARED.format(names=names)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    if stone and slate:
        assert first.startswith("this machine has several accelerators: slate, stone")
    else:
        assert first == ("True stone" if stone else "False None")
    assert rest[-1] == "Card"
