"""Modules of torch that are there by name only where torchlike stands in for torch."""

import subprocess
import sys

import pytest

from torchlike.shells import parts, table

pytestmark = pytest.mark.no_pipeline(reason="its programs run in a process of their own")

NAMED = """
import torch.ao.quantization.quantize_fx as quantize_fx
from torch.ao.pruning import BaseScheduler
from torch._inductor.graph import GraphLowering
from torch._dynamo.eval_frame import OptimizedModule
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from torch._C import _LinAlgError, ScriptObject

def annotated(x: BaseScheduler | None, *rest: "GraphLowering") -> list[BaseScheduler]: ...

class Mine(BaseScheduler, dict): ...

assert not isinstance(torch.nn.Linear(1, 1), (OptimizedModule, FullyShardedDataParallel, ScriptObject))
assert issubclass(OptimizedModule, torch.nn.Module) and issubclass(Mine, BaseScheduler)
assert not issubclass(BaseScheduler, Mine) and repr(quantize_fx.fuse_fx).startswith("<function fuse_fx")
assert type(x := ShardingStrategy.FULL_SHARD) is ShardingStrategy and x.name == "FULL_SHARD"
assert BaseScheduler.__module__ == "torch.ao.pruning.scheduler.base_scheduler"
try:
    raise _LinAlgError("singular")
except RuntimeError as error:
    print(error)
"""
USES = {
    "torch.ao.quantization.quantize_fx.fuse_fx(torch.nn.Linear(1, 1))": "torch.ao.quantization.quantize_fx.fuse_fx",
    "torch.ao.pruning.CubicSL()": "torch.ao.pruning.scheduler.cubic_scheduler.CubicSL",
    "torch.ao.nn.sparse.quantized.Linear(2, 2)": "torch.ao.nn.sparse.quantized.linear.Linear",
    "class Mine(torch.ao.pruning.CubicSL): pass\nMine()": "torch.ao.pruning.scheduler.cubic_scheduler.CubicSL",
}
WITHIN_A_PROPERTY = """
import torch.ao.quantization.quantize_fx as q
class Mine(torch.nn.Module):
    prepared = property(lambda self: q.prepare_fx(self))
Mine().prepared
"""
ABSENT = {
    "torch.ao.frobnicate": "MissingNameError: module 'torch.ao' has no attribute 'frobnicate'",
    "from torch.ao import frobnicate": "ImportError: cannot import name 'frobnicate' from 'torch.ao'",
    "import torch.ao.frobnicate": "ModuleNotFoundError: No module named 'torch.ao.frobnicate'",
    "import torch.utils.hipify": "ModuleNotFoundError: No module named 'torch.utils.hipify'",
    "import torch_xla": "ModuleNotFoundError: No module named 'torch_xla'",
}
NOTHING = """
from torch._dynamo import allow_in_graph, disable, is_compiling
from torch.jit import _overload_method, _script_if_tracing, ignore, unused
from torch.onnx.symbolic_helper import parse_args
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch._C import _get_tracing_state  # by name

def double(x):
    return 2 * x

for decorator in (allow_in_graph, disable, _overload_method, _script_if_tracing, unused, parse_args("v", "i"), ignore):
    assert decorator(double) is double, decorator
with TransformGetItemToIndex():
    assert double(2) == 4
torch.onnx.register_custom_op_symbolic("torchvision::nms", double, 11)
print(is_compiling(), torch.jit.is_scripting(), torch._C._functorch.is_batchedtensor(torch.ones(1)))
"""
SETTINGS = """
torch._dynamo.config.suppress_errors = True
assert torch._dynamo.config.suppress_errors and torch._inductor.config.max_autotune is False
with torch._dynamo.config.patch(verbose=True):
    pass
print(torch._dynamo.__name__, torch._dynamo.assume_constant_result(print) is print, torch._dynamo.is_compiling())
"""
COMPUTE = """
names = "float8_e8m0fnu float4_e2m1fn_x2 _scaled_grouped_mm fbgemm_linear_int8_weight"
assert not any(hasattr(torch, name) for name in names.split())
assert not any(hasattr(torch.nn.functional, name) for name in "grouped_mm scaled_mm".split())
assert not hasattr(torch.nn, "NoSuchLayer") and hasattr(torch, "SymInt") and hasattr(torch.jit, "RecursiveScriptModule")
"""
ABSENT_OPERATORS = """
handlers = {torch.ops.aten._pin_memory.default: 1, torch.ops.aten._sparse_addmm.default: 2, torch.ops.aten.add.Tensor: 3}
assert len(handlers) == 3 and torch.ops.aten._pin_memory.default in handlers
assert torch.ops.aten._aminmax.overloads() == ["default", "dim", "dim_out", "out"]
assert torch.ops.aten.add(torch.ones(1), 1) == 2
assert not hasattr(torch.ops.aten, "frobnicate") and not hasattr(torch.ops.aten._pin_memory, "out_of")
torch.ops.aten._pin_memory(torch.ones(1))
"""
IN_ANNOTATIONS = """
from torch.jit.annotations import BroadcastingList2, Dict, List
import typing
def pooled(sizes: BroadcastingList2[int], maps: List[torch.Tensor]) -> Dict[str, torch.Tensor]: ...
assert List is typing.List and Dict is typing.Dict
"""
NO_TRACE = """
assert torch._C._get_tracing_state() is None
with torch.backends.__allow_nonbracketed_mutation():
    pass
"""
BY_NAME_ALONE = """
import pickle
from torch.nn.utils._named_member_accessor import swap_tensor
from torch._functorch.vmap import _broadcast_to_and_flatten, _get_name
from torch.utils._pytree import tree_flatten
assert [str(each) for each in (torch.qint8, torch.quint4x2)] == ["torch.qint8", "torch.quint4x2"]
assert pickle.loads(pickle.dumps(torch.qint32)) is torch.qint32 and torch.quint8.itemsize == 1
layer = torch.nn.Linear(2, 1)
own, first = layer.weight, swap_tensor(layer, "weight", torch.ones(1, 2))
assert first is own and type(layer.weight) is torch.Tensor and swap_tensor(layer, "none", None, allow_missing=True) is None
from torch.distributed.tensor.placement_types import Partial, _Partial  # an older name of one
assert _Partial is Partial
from torch.distributed.constants import default_pg_timeout
assert default_pg_timeout.total_seconds() == 1800
assert _broadcast_to_and_flatten(0, tree_flatten([1, (2, 3)])[1]) == [0, 0, 0] and _get_name(len) == "len"
try:
    torch.ones(1, dtype=torch.qint8)
except RuntimeError as error:
    print(error)
"""
PARTS = "import torch.ao.quantization.quantize_fx, torch.ao.nn.sparse.quantized, torch.ao.pruning"
PROGRAMS = {
    "named": NAMED,
    **{use: f"{PARTS}\n{use}" for use in USES},
    "within a property": WITHIN_A_PROPERTY,
    **{use: f"import torch.ao\n{use}" for use in ABSENT},
    "nothing": NOTHING,
    "settings": SETTINGS,
    "compute": COMPUTE,
    "absent operators": ABSENT_OPERATORS,
    "in annotations": IN_ANNOTATIONS,
    "no trace": NO_TRACE,
    "by name alone": BY_NAME_ALONE,
}


@pytest.fixture(scope="module")
def outcomes(run_programs):
    return run_programs(PROGRAMS)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("named", "singular"),
        ("nothing", "False False False"),
        ("settings", "torch._dynamo True False"),
        ("compute", ""),
        ("in annotations", ""),
        ("no trace", ""),
    ],
)
def test_programs_name_what_they_do_not_run(outcomes, name, printed):
    assert outcomes[name] == (printed, "")


@pytest.mark.parametrize(("use", "name"), USES.items())
def test_a_use_is_refused_with_the_reason(outcomes, use, name):
    error = outcomes[use][1]
    assert error.startswith(f"NotImplementedError: {name}")
    assert (
        "is there by name only: torch has it, and it is left out, because of torch.ao there is quantization in eager mode"
        in error
    )


def test_a_used_name_is_listed_at_the_end():
    command = [sys.executable, "-m", "torchlike", "run", "-c"]
    code = "import torch.ao.pruning as p\np.CubicSL()"
    done = subprocess.run([*command, code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and done.stderr.strip().endswith(
        "are missing:\n  torch.ao.pruning.scheduler.cubic_scheduler.CubicSL"
    )


def test_a_use_within_a_property_of_a_module_is_no_missing_attribute(outcomes):
    assert outcomes["within a property"][1].startswith(
        "NotImplementedError: torch.ao.quantization.quantize_fx.prepare_fx"
    )


@pytest.mark.parametrize(("use", "error"), ABSENT.items())
def test_names_that_torch_lacks_or_that_stay_absent(outcomes, use, error):
    assert error in outcomes[use][1]


def test_nothing_pretends_outside():
    code = "import torchlike, sys; assert not hasattr(torchlike, 'SymInt') and 'torchlike.shells' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_name_of_the_table_can_be_made():
    for module in table.list_modules():
        for name, entry in table.read_module(module).items():
            if entry.kind not in ("from", "module"):
                parts.make(f"{module}.{name}", entry.kind, entry.detail, lambda path: None)
            else:
                assert table.has_module(entry.detail.partition(":")[0]), (module, name)


def test_a_table_of_facts_is_small():
    assert len(table._blocks()) > 1000 and sum(map(len, table._blocks().values())) < 600_000


def test_an_operator_that_is_not_ours_is_a_key_and_refuses_calls(outcomes):
    error = outcomes["absent operators"][1]
    assert error.startswith("NotImplementedError: torch.ops.aten._pin_memory is there by name only: torch has it")


def test_what_tensordict_imports_is_there(outcomes):
    shown, error = outcomes["by name alone"]
    assert error == "" and "no arrays of dtype torch.qint8" in shown and "quantize_per_tensor" in shown
