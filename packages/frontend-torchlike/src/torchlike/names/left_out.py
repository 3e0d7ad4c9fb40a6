"""Names of torch that torchlike leaves out, each with the reason, for errors and for ``docs/operators.md``.

A name that torch has (`TORCH_NAMES`) and torchlike lacks is left out for the first reason whose pattern it fits.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

from dispatch_aten.torch_names import TORCH_NAMES

from .spelling import spell
from .torch_modules import REFUSED

__all__ = ["NOT_YET", "explain_missing", "explain_shell", "list_left_out", "reason_for"]

#: The reason for names that fit no pattern.
NOT_YET: Final = "it is not written yet"

#: Reason → the pattern of names that are left out for it, with their namespace where it matters.
_REASONS: Final = {
    "ops.quantized has operators of quantized tensors": (
        r"quantized_\w+|empty_quantized|fake_quantize_\w+|choose_qparams_optimized|fbgemm_\w+"
        r"|Q(U?)Int\w+Storage"
    ),
    "it changes a sparse tensor's sizes where they lie; torchlike.sparse_coo_tensor makes another one": (
        r"sparse_resize_(and_clear_)?"
    ),
    "the indices and values of a sparse tensor are tensors, which clone() copies": (
        r"((ccol_|col_|crow_|row_)?indices|values)_copy"
    ),
    "torchlike.sparse.spsolve solves systems of compressed matrices": r"sparse\.solve|sparse_support_notes",
    "it is for a layout of GPUs' own": r"SparseSemiStructured\w+|to_sparse_semi_structured",
    "nested tensors have a layout of their own, jagged, and a class with these methods": r"to_padded_tensor",
    "no backend has a dtype of less than 8 bits": r"u?int[1-7]|bit|bits\d\w*|bits\dx\d|float4_e2m1fn_x2|QUInt\dx\dStorage",
    "no backend has complex numbers of half precision": r"Tensor\.chalf",
    "no library of NumPy's world has this dtype": r"float8_e8m0fnu",
    "it calls a library for other hardware": r"(cudnn|miopen|mkldnn|xnnpack)_\w+|to_mkldnn|is_vulkan\w*|profiler_allow_\w+",
    "it is a step of SyncBatchNorm on several GPUs": r"batch_norm_(elemt|stats|gather\w*|backward\w*|update_stats)",
    "scaled and grouped products are kernels of GPUs": r"(scaled_|grouped_|scaled_grouped_)mm|ScalingType|SwizzleType",
    "torch has it for devices that no backend here provides": r"(is_)?(ipu|xpu|mtia|maia|hpu|ort|cuda|vulkan)",
    "a program is Python here, and there is no TorchScript": (
        r"\w+Type|Script\w+|LiteScriptModule|Graph\w*|Block|Node|Value|Use|Gradient|Argument\w*|CompleteArgumentSpec|Code|CallStack"
        r"|CompilationUnit|ConcreteModule\w+|ErrorReport|ExecutionPlan|FileCheck|FunctionSchema|IODescriptor|JITException"
        r"|AliasDb|Capsule|DeepCopyMemoTable|TracingState|StaticModule|OperatorInfo|parse_\w+|import_ir_module\w*|unify_type_list"
        r"|merge_type_from_type_comment|fork|wait|LoggerBase|LockingLogger|NoopLogger|torch\.(Buffer|Parameter|Module)Dict"
        r"|BroadcastingList\d|boolean_dispatch|PyTorchFile\w+|\w+StorageContext|Type|ThroughputBenchmark|BenchmarkConfig"
        r"|BenchmarkExecutionStats|AggregationType|AVG|SUM"
    ),
    "shapes are numbers here, never symbols": r"sym_(constrain\w+|fresh_size)|Sym(Bool|Float|Int)",
    "a program is Python here, with its own branches and loops": r"cond|while_loop",
    "a tensor's memory is an array of its backend; Tensor.storage and Tensor.untyped_storage only read it": (
        r"\w*Storage|StorageBase|storage_type|from_file"
    ),
    "torch itself has taken it away, and raises an error": (
        r"volatile|reinforce|(torch|Tensor)\.(lstsq|eig|solve|matrix_rank)"
    ),
    "autograd.detect_anomaly is the switch": r"set_anomaly_enabled",
    "dispatch_core has it: the dispatcher is a library of its own": r"DispatchKey(Set)?|ExcludeDispatchKeyGuard",
    "overrides and utils._python_dispatch have it": (
        r"DisableTorchFunction\w*|handle_torch_function|has_torch_function\w*|is_tensor_like|TorchDispatchMode|LoggingTensorMode"
    ),
    "it says how torch itself was built": r"has_(lapack|mkl|openmp|spectral)|compiled_with_\w+|USE_\w+|kineto_available",
    "it is torch's own machinery, and undocumented": (
        r"Tensor\.name|TYPE_CHECKING|PRIVATE_OPS|classproperty|bisect_right|init_num_threads|prepare_multiprocessing_environment"
        r"|thread_safe_generator|\w+_notes|\w*common_args|multi_dim_common|assert_int_or_pair|bind"
        r"|factory_kwargs|FatalError|OpaqueBase|is_opaque_reference_type|tree_map|DefaultDeviceType"
        r"|GraphExecGroup|SAC_IGNORED_OPS|capture_logs|check_backward_validity|copy_method_params"
        r"|is_traceable_wrapper_subclass|get_swap_module_params_on_conversion|SavedTensor"
        r"|enforce_grad_layout_policy|is_view_replay_enabled|module_load|argument_validation|runtime_validation\w*"
    ),
    "torch's module only imports it from elsewhere": (
        r"(nn\.(init|functional|utils\.\w+)|fft|special|optim\.lr_scheduler)\.(Tensor|Module|ModuleList|ModuleDict|Parameter"
        r"|Optimizer|inf)"
    ),
    "a part of torch's own profiler; torch.profiler.profile measures operators": r"Profiler\w+|DeviceType",
    "torch has moved its pipes of data to a library of their own": (
        r"\w*DataPipe|functional_datapipe|DataChunk|guaranteed_datapipes_determinism|non_deterministic"
    ),
}
_PATTERNS: Final = {reason: re.compile(pattern) for reason, pattern in _REASONS.items()}


def reason_for(namespace: str, name: str) -> str | None:
    """Return why a name of torch is left out, None for a name that torch lacks; "" is never a reason.

    >>> reason_for("torch", "crow_indices_copy"), reason_for("nn", "Flaten")
    ('the indices and values of a sparse tensor are tensors, which clone() copies', None)
    """
    if name not in TORCH_NAMES.get(namespace, ()):
        return None
    spelled = name, f"{namespace}.{name}"
    return next((reason for reason, pattern in _PATTERNS.items() if any(map(pattern.fullmatch, spelled))), NOT_YET)


def _owner(namespace: str) -> Any:
    """Return the object whose attributes a namespace is, or None where torchlike has none."""
    path = ["torchlike", *(() if namespace == "torch" else namespace.split("."))]
    if namespace == "Tensor":
        return import_module("torchlike").Tensor
    try:
        return import_module(".".join(path))
    except ModuleNotFoundError:
        return None


def list_left_out(namespace: str) -> list[str]:
    """Return torch's names of a namespace that torchlike lacks."""
    owner = _owner(namespace)
    there = set() if owner is None else {*dir(owner)}
    return sorted(TORCH_NAMES[namespace] - there)


def explain_missing(namespace: str, name: str) -> str:
    """Return the end of an error's text about a name that is not there: why it is left out, and the nearest names.

    >>> explain_missing("torch", "crow_indices_copy").partition(";")[0]
    ': torch has it, and it is left out, because the indices and values of a sparse tensor are tensors, which clone() copies'
    >>> explain_missing("nn", "Sequentail")
    '; did you mean Sequential?'
    >>> explain_missing("optim", "Adamw")
    '; did you mean AdamW?'
    """
    import difflib  # only an error needs it

    owner = _owner(namespace)
    there = [each for each in getattr(owner, "__all__", dir(owner)) if not each.startswith("_")]
    elsewhere = [_spell(other, name) for other in TORCH_NAMES if other != namespace and _has(other, name)]
    same = [each for each in there if each.lower() == name.lower()]
    refused = REFUSED.get(f"torch.{name}") if namespace == "torch" else None
    if refused is not None:
        return f": torch has it, and it is left out, because {refused}"
    reason = reason_for(namespace, name)
    # A name of torch's is not misspelt: names that look like it say little, and only those nearest to it are of use.
    cutoff = 0.6 if reason is None else 0.8
    near = same or elsewhere[:2] or difflib.get_close_matches(name, there, n=3, cutoff=cutoff)
    if reason is None:
        return f"; did you mean {' or '.join(near)}?" if near else ""
    return f": torch has it, and it is left out, because {reason}" + (f"; near it {_are(near)}" if near else "")


def explain_shell(path: str) -> str:
    """Return the end of an error's text about a use of a name that is there by name only; ``path`` is torch's.

    >>> explain_shell("torch.ao.pruning.CubicSL")
    ': torch has it, and it is left out, because of torch.ao there is quantization in eager mode'
    """
    module, _, name = path.rpartition(".")
    reason = next((REFUSED[each] for each in _prefixes(module) if each in REFUSED), None)
    reason = reason or reason_for(module.removeprefix("torch.") if "." in module else "torch", name) or NOT_YET
    near = [_spell(other, name) for other in TORCH_NAMES if _has(other, name)][:2]
    return f": torch has it, and it is left out, because {reason}" + (f"; near it {_are(near)}" if near else "")


def _prefixes(path: str) -> list[str]:
    """Return a module's name and those of its packages, the nearest first."""
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _are(near: list[str]) -> str:
    return f"{'is' if len(near) == 1 else 'are'} {', '.join(near)}"


def _spell(namespace: str, name: str) -> str:
    return spell(f"torchlike.{name}" if namespace == "torch" else f"torchlike.{namespace}.{name}")


def _has(namespace: str, name: str) -> bool:
    return name in TORCH_NAMES[namespace] and name in dir(_owner(namespace))
