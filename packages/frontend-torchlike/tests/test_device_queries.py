"""What programs ask of devices, libraries and settings, and the older types of tensors."""

import asyncio
import threading

import pytest

import torchlike
from torchlike import nn


def test_absent_devices_are_absent_and_refuse_work():
    for device in (torchlike.cuda, torchlike.mps, torchlike.xpu):
        assert not device.is_available() and device.device_count() == 0
        device.manual_seed_all(1)
        device.empty_cache()
        assert device.memory_allocated() == 0
        for call in (device.synchronize, device.current_device, device.Stream, device.get_device_name):
            with pytest.raises(AssertionError, match=r"Torch not compiled with (CUDA|MPS|XPU) enabled"):
                call()
    assert torchlike.accelerator.is_available() == torchlike.npu.is_available()
    assert torchlike.distributed.is_available() and not torchlike.distributed.is_initialized()
    with pytest.raises(
        RuntimeError, match=r"init_process_group: (environment variable RANK|processes do not communicate)"
    ):
        torchlike.distributed.init_process_group("gloo")


def test_libraries_keep_settings_and_are_not_available():
    backends = torchlike.backends
    assert not backends.mps.is_available() and not backends.mps.is_built() and backends.cudnn.version() is None
    backends.cudnn.benchmark = True
    with backends.cudnn.flags(enabled=False, benchmark=False):
        assert not backends.cudnn.enabled and not backends.cudnn.benchmark
    assert backends.cudnn.enabled and backends.cudnn.benchmark
    backends.cudnn.benchmark = False
    assert backends.cuda.matmul.allow_tf32 is False
    with backends.cuda.sdp_kernel(enable_flash=False), backends.mkl.verbose(backends.mkl.VERBOSE_ON):
        assert not backends.cuda.is_flash_attention_available()


def test_settings_are_kept():
    torchlike.use_deterministic_algorithms(True, warn_only=True)
    assert torchlike.are_deterministic_algorithms_enabled() and torchlike.get_deterministic_debug_mode() == 1
    torchlike.use_deterministic_algorithms(False)
    torchlike.set_num_threads(3)
    assert torchlike.get_num_threads() == 3
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        torchlike.set_num_threads(0)
    torchlike.set_float32_matmul_precision("high")
    assert torchlike.get_float32_matmul_precision() == "high"
    torchlike.set_float32_matmul_precision("highest")
    assert torchlike.set_flush_denormal(False) and not torchlike.set_flush_denormal(True)


def test_older_types_make_and_recognise_tensors():
    made = torchlike.LongTensor([[1, 2]])
    assert made.dtype is torchlike.int64 and made.tolist() == [[1, 2]] and isinstance(made, torchlike.LongTensor)
    assert torchlike.FloatTensor(2, 3).shape == (2, 3) and torchlike.DoubleTensor().numel() == 0
    assert not isinstance(made, (torchlike.FloatTensor, torchlike.cuda.LongTensor))
    with pytest.raises(TypeError, match="Torch not compiled with CUDA enabled"):
        torchlike.cuda.FloatTensor(2)
    assert torchlike.ones(2).type(torchlike.LongTensor).dtype is torchlike.int64
    with pytest.raises(TypeError, match="dtype must be a type, str, or dtype object"):
        torchlike.ones(2).type(3)
    torchlike.set_default_tensor_type(torchlike.DoubleTensor)
    try:
        assert torchlike.zeros(1).dtype is torchlike.ones(1, dtype=torchlike.int64).type(torchlike.Tensor).dtype
        assert torchlike.zeros(1).dtype is torchlike.float64
    finally:
        torchlike.set_default_tensor_type("torch.FloatTensor")
    with pytest.raises(TypeError, match="only floating-point types"):
        torchlike.set_default_tensor_type(torchlike.LongTensor)


def test_a_default_device_is_that_of_new_tensors():
    torchlike.set_default_device("meta")
    try:
        assert torchlike.zeros(2).is_meta and torchlike.tensor([1]).is_meta
        assert torchlike.get_default_device().type == "meta"
    finally:
        torchlike.set_default_device(None)
    assert torchlike.zeros(2).is_cpu


def test_mixed_precision_leaves_programs_as_they_are():
    net = nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        context = torchlike.autocast("cuda")
    with context:
        assert net(torchlike.ones(1, 2)).dtype is torchlike.float32
    with torchlike.autocast("cpu", enabled=False):
        pass
    with pytest.raises(NotImplementedError, match=r"torch\.hub\.load downloads"):
        torchlike.hub.load("a/b", "c")


def test_random_numbers_of_a_block_are_not_missed_after_it():
    torchlike.manual_seed(3)
    expected = torchlike.rand(2).tolist()
    torchlike.manual_seed(3)
    torchlike.rand(0)
    with torchlike.random.fork_rng():
        torchlike.rand(5)
    assert torchlike.rand(2).tolist() == expected


def test_tensors_stay_on_the_cpu_and_say_so():
    x = torchlike.ones(2)
    assert not x.is_pinned() and not x.is_shared() and torchlike.cpu.device_count() == 1
    for call, error in ((x.cuda, AssertionError), (x.pin_memory, RuntimeError), (x.share_memory_, NotImplementedError)):
        with pytest.raises(error):
            call()
    assert torchlike.get_device_module("cuda") is torchlike.cuda and not torchlike.is_autocast_enabled()
    torchlike._dynamo.config.suppress_errors = True


def test_a_device_is_entered_as_the_default_one():
    with torchlike.device("meta") as entered:
        assert entered == torchlike.get_default_device() == torchlike.device("meta")
        made = [torchlike.zeros(2), torchlike.tensor([1]), nn.Linear(2, 2).weight, torchlike.asarray([1.0])]
        assert all(each.is_meta for each in made)
        with torchlike.device("cpu"):
            assert torchlike.zeros(2).is_cpu
        kept = torchlike.ones(2, device="cpu")
        as_before = [kept, kept + 1, torchlike.ones_like(kept), kept.double(), torchlike.Tensor([1]), kept.new_zeros(1)]
        assert all(each.is_cpu for each in [*as_before, torchlike.FloatTensor(2), torchlike.normal(0.0, 1.0, (2,))])
        assert torchlike.as_tensor(kept).is_meta and torchlike.arange(3).is_meta
    assert torchlike.zeros(2).is_cpu

    with pytest.raises(KeyError), torchlike.device("meta"):
        raise KeyError
    assert torchlike.zeros(2).is_cpu


def test_a_device_is_a_tasks_own():
    async def make(kind):
        with torchlike.device(kind):
            await asyncio.sleep(0)
            return torchlike.ones(1).device.type

    async def both():
        return await asyncio.gather(make("meta"), make("cpu"), make("meta"))

    assert asyncio.run(both()) == ["meta", "cpu", "meta"]


def test_a_device_decorates_functions_and_is_a_threads_own():
    @torchlike.device("meta")
    def make(count):
        """Make ones."""
        return torchlike.ones(count)

    assert make(2).is_meta and make.__name__ == "make"
    found = []
    with torchlike.device("meta"):
        thread = threading.Thread(target=lambda: found.append(torchlike.ones(1).device.type))
        thread.start()
        thread.join()
    assert found == ["cpu"]


def test_streams_and_events_of_an_absent_device_are_classes():
    for name in ("Stream", "Event", "CUDAGraph", "ExternalStream"):
        each = getattr(torchlike.cuda, name)
        assert isinstance(each, type) and not isinstance(torchlike.ones(1), each) and each | None
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            each()


def test_a_library_of_operators_is_an_error_of_the_system():
    with pytest.raises(OSError, match=r"built upon torch's machine code"):
        torchlike.ops.load_library("libtorchvision.so")


@pytest.mark.parametrize("name", ["get_rank", "get_world_size", "barrier"])
def test_questions_about_processes_raise_the_error_that_torch_raises_without_a_group(name):
    with pytest.raises(
        ValueError, match=rf"{name}: Default process group has not been initialized(.|\n)*Hint: init_process_group"
    ):
        getattr(torchlike.distributed, name)()
    assert torchlike.distributed.group.WORLD is None is torchlike.distributed.GroupMember.WORLD


def test_marks_for_profilers_of_cuda_raise_torchs_error_when_they_are_set():
    from torchlike.cuda import nvtx

    @nvtx.range("step {}", 3)
    def step():
        return 3

    for call in (step, nvtx.range_pop, lambda: nvtx.range_push("step"), lambda: nvtx.mark("step")):
        with pytest.raises(RuntimeError, match=r"NVTX functions not installed"):
            call()


def test_devices_of_one_place_have_no_index():
    for device in ("cpu", "meta"):
        made = torchlike.ones(2, device=device)
        assert made.get_device() == torchlike.get_device(made) == -1
