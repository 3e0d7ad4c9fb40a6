"""``torch_npu.npu``: each of its public names is served, or refused by name."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch_npu_programs as programs

import dispatch_torch_npu as torch_npu
import torchlike
from dispatch_torch_npu.npu.table import OWN, REFUSED

#: The public names of torch_npu.npu, as of August 2026.
NAMES = """
is_initialized init set_dump synchronize device_count can_device_access_peer set_device current_device get_device_name
get_device_properties get_device_capability mem_get_info is_available device device_of StreamContext stream set_stream
current_stream default_stream set_sync_debug_mode get_sync_debug_mode init_dump utilization finalize_dump manual_seed
manual_seed_all seed seed_all initial_seed caching_allocator_alloc caching_allocator_delete
get_per_process_memory_fraction set_per_process_memory_fraction empty_cache empty_virt_addr_cache memory_stats
memory_stats_as_nested_dict reset_accumulated_memory_stats reset_peak_memory_stats reset_max_memory_allocated
reset_max_memory_cached memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached
max_memory_cached memory_snapshot memory_summary MemPool use_mem_pool get_allocator_backend NPUPluggableAllocator
change_current_allocator Stream Event set_option CubeMathType set_aoe set_compile_mode set_mm_bmm_format_nd
get_mm_bmm_format_nd get_npu_overflow_flag clear_npu_overflow_flag stress_detect get_rng_state set_rng_state
get_rng_state_all set_rng_state_all is_jit_compile_false get_amp_supported_dtype is_autocast_enabled is_bf16_supported
set_autocast_enabled get_autocast_dtype set_autocast_dtype BoolStorage ByteStorage ShortStorage LongStorage IntStorage
HalfStorage CharStorage DoubleStorage FloatStorage BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor
HalfTensor IntTensor LongTensor ShortTensor BFloat16Tensor BFloat16Storage current_blas_handle stop_device
restart_device check_uce_in_memory config matmul conv enable_deterministic_with_backward
disable_deterministic_with_backward mstx SyncLaunchStream NPUGraph graph graph_pool_handle is_current_stream_capturing
make_graphed_callables ExternalEvent ExternalStream graph_task_group_begin graph_task_group_end
graph_task_update_begin graph_task_update_end set_device_limit get_device_limit set_stream_limit reset_stream_limit
get_stream_limit ipc_collect obfuscation_initialize obfuscation_finalize obfuscation_calculate set_op_timeout_ms
host_empty_cache host_memory_stats host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats
reset_peak_host_memory_stats set_deterministic_level use_compatible_impl are_compatible_impl_enabled NpuGraphOpHandler
register_npu_graph_handler super_kernel_scope_begin super_kernel_scope_end npurt
""".split()
SERVED = 120


def test_names_are_served_or_refused():
    assert len(NAMES) == 142
    device = {*dir(torchlike.get_device_module("npu"))} | {"can_device_access_peer"}
    assert torchlike.npu.can_device_access_peer
    assert {*OWN} & {*REFUSED} == set() and {*REFUSED} & device == set()
    assert [name for name in NAMES if name not in device | {*OWN} | {*REFUSED}] == []
    assert len([name for name in NAMES if name not in REFUSED]) >= SERVED
    assert {*OWN} | {*REFUSED} <= {*NAMES}


@pytest.mark.parametrize("name", OWN)
def test_a_served_name_is_there(name):
    module = importlib.import_module(f"dispatch_torch_npu.npu.{OWN[name]}")
    assert getattr(torch_npu.npu, name) is getattr(module, name) and name in dir(torch_npu.npu)


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_name_says_so_when_it_is_called(name):
    reason, hint = REFUSED[name]
    with pytest.raises(torch_npu.NotServedError) as caught:
        getattr(torch_npu.npu, name)()
    assert f"torch_npu.npu.{name}" in str(caught.value) and reason in str(caught.value)
    assert str(caught.value).endswith(f"Hint: {hint}") and isinstance(caught.value, NotImplementedError)


def test_a_name_that_torch_npu_may_have_is_refused_with_the_nearest():
    with pytest.raises(
        AttributeError, match=r"torch_npu\.npu_rms_normm is not served: .*\nHint: did you mean 'npu_rms_norm'"
    ):
        torch_npu.npu_rms_normm  # noqa: B018
    with pytest.raises(AttributeError, match=r"torch_npu\.testing is not served\nHint: torch\.testing compares"):
        torch_npu.testing  # noqa: B018
    assert not hasattr(torch_npu, "npu_ifmr") and {*torch_npu.OPERATORS} <= {*dir(torch_npu)}


def test_nothing_changes_where_torchlike_does_not_stand_in():
    assert torchlike.npu is not torch_npu.npu and torchlike.npu is torchlike.get_device_module("npu")


@pytest.mark.usefixtures("npu")
def test_the_modules_are_those_of_torch(tmp_path):
    program = """
import torch_npu
import torch
import torch.npu.amp
import torch_npu.npu.amp, torch_npu.contrib
from torch_npu.npu.amp import autocast, GradScaler
from torch_npu import npu_rms_norm
import sys
from pathlib import Path

assert torch.npu is torch_npu.npu is sys.modules["torch.npu"] and torch.npu.amp is torch_npu.npu.amp
assert sys.modules["torch_npu"] is sys.modules["dispatch_torch_npu"]
assert torch.ones(2).npu().device == torch.device("npu", 0) and torch.npu.is_available()
assert torch.nn.Linear(1, 1).npu().weight.is_npu
assert isinstance(torch.ones(1).npu(), torch.npu.FloatTensor) and torch.distributed.is_hccl_available()
assert torch.accelerator.current_accelerator().type == "npu"
try:
    import torch_npu.testing
except ModuleNotFoundError as error:
    print(error)
"""
    assert programs.run(program, tmp_path) == "No module named 'torch_npu.testing'\n"


def test_it_is_not_found_where_torchlike_does_not_stand_in(tmp_path):
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(programs.write_metadata(tmp_path))!r})
import torchlike
try:
    import torch_npu
except ModuleNotFoundError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "No module named 'torch_npu'\n"


DOCUMENT = Path(__file__).parents[3] / "docs" / "npu.md"


@pytest.mark.skipif(not DOCUMENT.is_file(), reason="the page lies in the checkout")
def test_the_page_lists_every_name():
    text = DOCUMENT.read_text(encoding="utf-8").partition("## Programs that import torch_npu")[2].partition("\n## ")[0]
    served, _, refused = text.partition("Every other name")
    listed = {*re.findall(r"`(\w+)`", refused.partition("`torch_npu.OPERATORS`")[0])} - {"NotServedError"}
    assert listed == {*REFUSED}
    own = {name for name in OWN if not name.endswith(("Tensor", "Storage"))}
    assert own <= {*re.findall(r"`(\w+)`", served)}
    assert f"Of the {len(NAMES)} public names of `torch_npu.npu` {len(NAMES) - len(REFUSED)} are served" in text
    assert f"`amp`: {len([name for name in NAMES if name not in OWN and name not in REFUSED])} names" in text
