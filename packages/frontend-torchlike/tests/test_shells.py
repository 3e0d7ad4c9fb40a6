"""Modules of torch that are there by name only where torchlike stands in for torch."""

import subprocess
import sys

import pytest

from torchlike.shells import parts, table

pytestmark = pytest.mark.no_pipeline(reason="its programs run in processes of their own")


def run(code):
    command = [sys.executable, "-W", "error", "-m", "torchlike", "run", "-c", f"import torch\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


NAMED = """
import torch.ao.quantization.quantize as quantize
from torch.ao.quantization import QConfig
from torch._inductor.graph import GraphLowering
from torch._dynamo.eval_frame import OptimizedModule
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from torch._C import _LinAlgError, ScriptObject

def annotated(x: QConfig | None, *rest: "GraphLowering") -> list[QConfig]: ...

class Mine(QConfig, dict): ...

assert not isinstance(torch.nn.Linear(1, 1), (OptimizedModule, FullyShardedDataParallel, ScriptObject))
assert issubclass(OptimizedModule, torch.nn.Module) and issubclass(Mine, QConfig) and not issubclass(QConfig, Mine)
assert type(x := ShardingStrategy.FULL_SHARD) is ShardingStrategy and x.name == "FULL_SHARD"
assert QConfig.__module__ == "torch.ao.quantization.qconfig" and repr(quantize.prepare).startswith("<function prepare")
try:
    raise _LinAlgError("singular")
except RuntimeError as error:
    print(error)
"""


def test_what_is_only_named_is_there():
    assert run(NAMED) == (0, "singular", "")


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("torch.ao.quantization.prepare(torch.nn.Linear(1, 1))", "torch.ao.quantization.quantize.prepare"),
        ("torch.ao.quantization.QuantStub()", "torch.ao.quantization.stubs.QuantStub"),
        ("torch.ao.nn.quantized.Linear(2, 2)", "torch.ao.nn.quantized.modules.linear.Linear"),
        ("class Mine(torch.ao.quantization.QuantStub): pass\nMine()", "torch.ao.quantization.stubs.QuantStub"),
    ],
)
def test_a_use_is_refused_with_the_reason(use, name):
    status, _, errors = run(f"import torch.ao.quantization, torch.ao.nn.quantized\n{use}")
    assert status == 1
    assert f"NotImplementedError: {name}" in errors
    assert "is there by name only: torch has it, and it is left out, because no tensor is quantized here" in errors
    assert errors.endswith(f"are missing:\n  {name}")


def test_a_use_within_a_property_of_a_module_is_no_missing_attribute():
    code = """
import torch.ao.quantization as q
class Mine(torch.nn.Module):
    prepared = property(lambda self: q.prepare(self))
Mine().prepared
"""
    assert "NotImplementedError: torch.ao.quantization.quantize.prepare" in run(code)[2]


@pytest.mark.parametrize(
    ("use", "error"),
    [
        ("torch.ao.frobnicate", "MissingNameError: module 'torch.ao' has no attribute 'frobnicate'"),
        ("from torch.ao import frobnicate", "ImportError: cannot import name 'frobnicate' from 'torch.ao'"),
        ("import torch.ao.frobnicate", "ModuleNotFoundError: No module named 'torch.ao.frobnicate'"),
        ("import torch.utils.hipify", "ModuleNotFoundError: No module named 'torch.utils.hipify'"),
        ("import torch_xla", "ModuleNotFoundError: No module named 'torch_xla'"),
    ],
)
def test_names_that_torch_lacks_or_that_stay_absent(use, error):
    status, _, errors = run(f"import torch.ao\n{use}")
    assert status == 1 and error in errors


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


def test_decorators_blocks_and_questions_do_nothing():
    assert run(NOTHING) == (0, "False False False", "")


SETTINGS = """
torch._dynamo.config.suppress_errors = True
assert torch._dynamo.config.suppress_errors and torch._inductor.config.max_autotune is False
with torch._dynamo.config.patch(verbose=True):
    pass
print(torch._dynamo.__name__, torch._dynamo.assume_constant_result(print) is print, torch._dynamo.is_compiling())
"""


def test_settings_of_the_compiler_are_kept():
    assert run(SETTINGS) == (0, "torch._dynamo True False", "")


@pytest.mark.long
def test_functions_and_dtypes_that_compute_are_absent():
    code = """
names = "float8_e8m0fnu float4_e2m1fn_x2 _scaled_grouped_mm fused_moving_avg_obs_fake_quant"
assert not any(hasattr(torch, name) for name in names.split())
assert not any(hasattr(torch.nn.functional, name) for name in "grouped_mm scaled_mm".split())
assert not hasattr(torch.nn, "NoSuchLayer") and hasattr(torch, "SymInt") and hasattr(torch.jit, "RecursiveScriptModule")
"""
    assert run(code)[:2] == (0, "")


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


ABSENT_OPERATORS = """
handlers = {torch.ops.aten._pin_memory.default: 1, torch.ops.aten._sparse_addmm.default: 2, torch.ops.aten.add.Tensor: 3}
assert len(handlers) == 3 and torch.ops.aten._pin_memory.default in handlers
assert torch.ops.aten._aminmax.overloads() == ["default", "dim", "dim_out", "out"]
assert torch.ops.aten.add(torch.ones(1), 1) == 2
assert not hasattr(torch.ops.aten, "frobnicate") and not hasattr(torch.ops.aten._pin_memory, "out_of")
torch.ops.aten._pin_memory(torch.ones(1))
"""


def test_an_operator_that_is_not_ours_is_a_key_and_refuses_calls():
    status, _, errors = run(ABSENT_OPERATORS)
    assert status == 1
    assert "NotImplementedError: torch.ops.aten._pin_memory is there by name only: torch has it" in errors


IN_ANNOTATIONS = """
from torch.jit.annotations import BroadcastingList2, Dict, List
import typing
def pooled(sizes: BroadcastingList2[int], maps: List[torch.Tensor]) -> Dict[str, torch.Tensor]: ...
assert List is typing.List and Dict is typing.Dict
"""


def test_names_in_annotations_take_brackets():
    assert run(IN_ANNOTATIONS) == (0, "", "")


NO_TRACE = """
assert torch._C._get_tracing_state() is None
with torch.backends.__allow_nonbracketed_mutation():
    pass
"""


def test_private_names_that_libraries_call_answer():
    assert run(NO_TRACE) == (0, "", "")


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
assert _broadcast_to_and_flatten(0, tree_flatten([1, (2, 3)])[1]) == [0, 0, 0] and _get_name(len) == "len"
try:
    torch.ones(1, dtype=torch.qint8)
except TypeError as error:
    print(error)
"""


def test_what_tensordict_imports_is_there():
    status, shown, errors = run(BY_NAME_ALONE)
    assert (status, errors) == (0, "")
    assert "qint8" in shown or "_QuantizedDtype" in shown
