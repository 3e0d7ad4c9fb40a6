"""Options, questions, marks, types and graphs of ``torch_npu.npu``."""

import warnings

import pytest

import torchlike
from dispatch_torch_npu import NotServedError, npu

pytestmark = pytest.mark.usefixtures("npu")


def test_options_have_one_value():
    npu.set_compile_mode(jit_compile=False)
    npu.set_compile_mode()
    assert npu.is_jit_compile_false() and npu.get_mm_bmm_format_nd() and npu.are_compatible_impl_enabled()
    with pytest.warns(UserWarning, match=r"set_compile_mode\(jit_compile=True\): operators come compiled"):
        npu.set_compile_mode(jit_compile=True)
    npu.config.allow_internal_format = False
    npu.conv.allow_hf32 = True
    npu.matmul.cube_math_type = npu.CubeMathType.KEEP_DTYPE
    for switches, name, value in ((npu.config, "allow_internal_format", True), (npu.matmul, "allow_hf32", True)):
        with pytest.raises(
            NotServedError, match=rf"torch\.npu\.\w+\.{name} = {value} is not served: .*\nHint: it is False"
        ):
            setattr(switches, name, value)
    with pytest.raises(AttributeError, match=r"torch\.npu\.conv has no switch 'allow_tf32'; it has allow_hf32"):
        npu.conv.allow_tf32 = True
    assert repr(npu.conv) == "<switches torch.npu.conv: allow_hf32=True>"
    for call in (npu.set_mm_bmm_format_nd, npu.use_compatible_impl):
        call(True)
        with pytest.raises(NotServedError, match=r"\(False\) is not served"):
            call(False)


def test_options_of_the_compiler_are_checked():
    npu.set_option({"MM_BMM_ND_ENABLE": "enable", "jitCompile": "disable"})
    with pytest.warns(UserWarning, match=r"set_option\(ACL_OP_COMPILER_CACHE_MODE\): operators come compiled"):
        npu.set_option({"ACL_OP_COMPILER_CACHE_MODE": "enable"})
    with pytest.raises(TypeError, match="npu option must be a dict, not list"):
        npu.set_option([])
    with pytest.raises(ValueError, match=r"value of ACL_AICORE_NUM should be in \['1', .* but got 33"):
        npu.set_option({"ACL_AICORE_NUM": 33})
    with pytest.raises(NotServedError):
        npu.set_option({"MM_BMM_ND_ENABLE": "disable"})


def test_questions(monkeypatch):
    monkeypatch.delenv("TORCH_NPU_DEVICE_CAPABILITY", raising=False)
    with pytest.warns(UserWarning, match="TORCH_NPU_DEVICE_CAPABILITY"):
        assert npu.get_device_capability() is None
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "8.0")
    with pytest.warns(UserWarning, match="nothing of the device"):
        assert npu.get_device_capability(0) == (8, 0)
    with pytest.warns(UserWarning, match="does not use blas handle"):
        assert npu.current_blas_handle() is None
    with pytest.warns(UserWarning, match="does nothing on devices"):
        npu.clear_npu_overflow_flag()
    npu.set_sync_debug_mode("default")
    npu.set_sync_debug_mode(0)
    assert npu.get_sync_debug_mode() == 0
    with pytest.raises(NotServedError, match=r"set_sync_debug_mode\('warn'\) is not served"):
        npu.set_sync_debug_mode("warn")
    with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`"):
        npu.set_sync_debug_mode("loud")


def test_autocast_is_that_of_torch():
    assert not npu.is_autocast_enabled()
    with torchlike.autocast("npu", torchlike.bfloat16):
        assert npu.is_autocast_enabled() and npu.get_autocast_dtype() is torchlike.bfloat16
    npu.set_autocast_enabled(True)
    npu.set_autocast_dtype(torchlike.bfloat16)
    try:
        assert torchlike.is_autocast_enabled("npu") and torchlike.get_autocast_dtype("npu") is torchlike.bfloat16
    finally:
        npu.set_autocast_enabled(False)
        npu.set_autocast_dtype(torchlike.float16)


def test_deterministic_parts_of_a_model():
    seen = []
    x = torchlike.ones(2, device="npu", requires_grad=True)
    y = npu.enable_deterministic_with_backward(x)
    seen.append(torchlike.are_deterministic_algorithms_enabled())
    y = y * 2
    y.register_hook(lambda grad: seen.append(torchlike.are_deterministic_algorithms_enabled()))
    y = npu.disable_deterministic_with_backward(y)
    seen.append(torchlike.are_deterministic_algorithms_enabled())
    y.sum().backward()
    assert seen == [True, False, True] and not torchlike.are_deterministic_algorithms_enabled()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(UserWarning, match=r"calls torch\.use_deterministic_algorithms\(True\)"):
        npu.set_deterministic_level(1)
    assert torchlike.are_deterministic_algorithms_enabled()
    with pytest.warns(UserWarning, match=r"calls torch\.use_deterministic_algorithms\(False\)"):
        npu.set_deterministic_level(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        npu.set_deterministic_level(0)
    with pytest.raises(NotServedError, match=r"set_deterministic_level\(2\)"):
        npu.set_deterministic_level(2)


def test_marks_are_ranges_of_profiles():
    with torchlike.profiler.profile() as profile:
        number = npu.mstx.range_start("whole")
        npu.mstx.mark("begin")
        assert npu.mstx.range_push("outer") == 0 and npu.mstx.range_push("inner") == 1
        assert npu.mstx.range_pop() == 1 and npu.mstx.range_pop() == 0 and npu.mstx.range_pop() == -1

        @npu.mstx.mstx_range("called")
        def step():
            return 5

        assert step() == 5
        with npu.mstx.annotate("block"):
            pass
        npu.mstx.range_end(number)
        npu.mstx.range_end(number)
    found = {event.key for event in profile.key_averages()}
    assert {"whole", "begin", "outer", "inner", "called", "block"} <= found
    with pytest.raises(TypeError, match="a mark's message is a text, not ''"):
        npu.mstx.mark("")


def test_types_make_and_tell_tensors():
    x = npu.FloatTensor([1, 2])
    assert x.is_npu and x.dtype is torchlike.float32 and isinstance(x, npu.FloatTensor)
    assert npu.LongTensor(2, 3).shape == (2, 3) and npu.BoolTensor().numel() == 0
    assert not isinstance(x, npu.HalfTensor) and not isinstance(x.cpu(), npu.FloatTensor)
    storage = npu.IntStorage([1, 2, 3])
    assert storage.tolist() == [1, 2, 3] and storage.device.type == "npu"
    assert isinstance(storage, npu.IntStorage) and not isinstance(storage, npu.LongStorage)
    assert npu.HalfStorage(4).size() == 4
    with pytest.raises(TypeError, match="expected"):
        npu.FloatTensor(torchlike.ones(2).int())


def test_a_stream_that_launches_in_its_thread():
    stream = npu.SyncLaunchStream()
    assert isinstance(stream, torchlike.npu.Stream)
    with torchlike.npu.stream(stream):
        x = torchlike.ones(2, device="npu") * 3
    stream.synchronize()
    assert x.tolist() == [3.0, 3.0]


def test_warnings_are_about_the_users_line(recwarn):
    npu.set_compile_mode(jit_compile=True)
    npu.current_blas_handle()
    npu.set_option({"ACL_DEBUG_DIR": "here"})
    npu.set_deterministic_level(1)
    npu.set_deterministic_level(0)
    assert {each.filename for each in recwarn} == {__file__} and len(recwarn) == 5


def test_dumps_and_time_limits_are_the_toolkits(simulator, tmp_path):
    torchlike.npu.init()
    simulator.reset()
    npu.init_dump()
    (tmp_path / "dump.json").write_text("{}")
    npu.set_dump(str(tmp_path / "dump.json"))
    npu.finalize_dump()
    npu.set_op_timeout_ms(2000)
    names = ["aclmdlInitDump", "aclmdlSetDump", "aclmdlFinalizeDump", "aclrtSetOpExecuteTimeOutWithMs"]
    assert simulator.log() == names
    with pytest.raises(
        RuntimeError, match=r"there is no file 'nowhere.json' with a configuration of dumps\nHint: it is"
    ):
        npu.set_dump("nowhere.json")
    for number in (0, -1, 1.5, True, 1 << 32):
        with pytest.raises(RuntimeError, match=r"a whole number of milliseconds above 0, not .*\nHint: "):
            npu.set_op_timeout_ms(number)
    with pytest.raises(RuntimeError, match="aclmdlFinalizeDump failed with 100037"):
        npu.finalize_dump()
