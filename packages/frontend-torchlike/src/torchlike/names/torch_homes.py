"""The modules of torch that our classes and functions are said to be in: where it stands in for torch, and in files."""

from __future__ import annotations

from typing import Final

from .torch_modules import WITHIN, own_name

__all__ = ["HOMES", "find_home", "list_own_modules", "torch_name"]

#: Folders of torchlike that torch does not have under these names.
_INNER: Final = frozenset(
    (
        "__main__ capturing creation functions history integrations levels methods names overriding shells signatures"
        " surface tensors values"
    ).split()
)
#: How modules of ours begin that all are one module of torch.
_FOLDERS: Final = {
    "torchlike_distributions.transforms": "torch.distributions.transforms",
    "torchlike.values.pytree": "torch.utils._pytree",
}
#: torch's module → our modules all of whose names it has.
_MODULES: Final = {
    "torch": (
        "torchlike.amp.older_settings torchlike.amp.settings torchlike.sparse.compressed.construction"
        " torchlike.sparse.construction torchlike.sparse.hybrid_products"
    ),
    "torch.ao.nn.quantized.dynamic.modules.rnn": "torchlike.ao.nn.quantized.dynamic.cells",
    "torch.ao.quantization.observer": (
        "torchlike.ao.quantization.constructors torchlike.ao.quantization.histogram"
        " torchlike.ao.quantization.observer_bases"
    ),
    "torch.autograd": "torchlike.autograd.gradients",
    "torch.func": (
        "torchlike.levels.functionalization.functionalizing torchlike.levels.gradients torchlike.levels.jacobians"
        " torchlike.levels.mapping"
    ),
    "torch.nn.modules.container": "torchlike.nn.modules.parameter_container",
    "torch.nn.modules.rnn": "torchlike.nn.modules.rnn_cells",
    "torch.nn.parameter": "torchlike.nn.uninitialized",
    "torch.sparse": "torchlike.sparse.functions",
    "torch.utils.hooks": "torchlike.history.hooks",
}

#: torch's module → the names that our other modules give to what torch has there.
_GROUPS: Final = {
    "torch": "torch.cuda.OutOfMemoryError torch.mtia.Event torch.mtia.Stream torch.library.Tag torch.compiler.compile",
    "torch._C._onnx": "torch.onnx.OperatorExportTypes torch.onnx.TrainingMode",
    "torch._C._profiler": "torch.profiler.ProfilerActivity",
    "torch._library.custom_ops": "torch.library.CustomOpDef",
    "torch._library.utils": "torch._library.fake_impl.Kernel",
    "torch.accelerator.memory": "torch.accelerator.empty_cache",
    "torch.ao.nn.quantized.modules": (
        "torch.ao.nn.quantized.modules.dropout.DeQuantize torch.ao.nn.quantized.modules.dropout.Quantize"
    ),
    "torch.ao.nn.quantized.modules.activation": "torch.ao.nn.quantized.modules.rnn.MultiheadAttention",
    "torch.ao.nn.quantized.modules.batchnorm": (
        "torch.ao.nn.quantized.modules.normalization.BatchNorm2d torch.ao.nn.quantized.modules.normalization.BatchNorm3d"
    ),
    "torch.ao.quantization": "torch.ao.quantization.quantize.default_eval_fn",
    "torch.ao.quantization.qconfig": (
        "torch.ao.quantization.qconfig_mapping.get_default_qat_qconfig_dict"
        " torch.ao.quantization.qconfig_mapping.get_default_qconfig_dict"
    ),
    "torch.autograd.grad_mode": "torch.autograd.multithreading.set_multithreading_enabled",
    "torch.autograd.graph": (
        "torch.Node torch.autograd.gradients.GradientEdge torch.autograd.saved_hooks.save_on_cpu"
        " torch.autograd.saved_hooks.saved_tensors_hooks"
    ),
    "torch.autograd.profiler": "torch.profiler.record_function",
    "torch.cuda.graphs": "torch.cuda.CUDAGraph torch.cuda.graph",
    "torch.cuda.streams": "torch.cuda.Event torch.cuda.ExternalStream torch.cuda.Stream",
    "torch.distributions.exp_family": "torch.distributions.distribution.ExponentialFamily",
    "torch.jit._fuser": "torch.jit.fuser torch.jit.optimized_execution",
    "torch.jit._script": "torch.jit.Attribute torch.jit.ScriptModule",
    "torch.jit._serialization": "torch.jit.load torch.jit.save",
    "torch.jit._trace": "torch.jit.is_tracing torch.jit.trace torch.jit.trace_module",
    "torch.mps.event": "torch.mps.Event",
    "torch.nn.modules.activation": "torch.nn.modules.multihead.MultiheadAttention",
    "torch.nn.modules.linear": "torch.nn.modules.multihead.NonDynamicallyQuantizableLinear",
    "torch.nn.modules.linear_cross_entropy_options": "torch.nn.modules.linear_cross_entropy.LinearCrossEntropyOptions",
    "torch.nn.modules.loss": "torch.nn.modules.linear_cross_entropy.LinearCrossEntropyLoss",
    "torch.nn.modules.module": (
        "torch.nn.global_hooks.register_module_forward_hook torch.nn.global_hooks.register_module_forward_pre_hook"
        " torch.nn.loading._IncompatibleKeys"
    ),
    "torch.nn.parallel.data_parallel": "torch.nn.parallel.DataParallel torch.nn.parallel.data_parallel",
    "torch.nn.parallel.distributed": "torch.nn.parallel.DistributedDataParallel",
    "torch.optim._adafactor": "torch.optim.factored.Adafactor",
    "torch.optim._muon": "torch.optim.factored.Muon",
    "torch.optim.adadelta": "torch.optim.adagrad.Adadelta",
    "torch.optim.adamax": "torch.optim.adam.Adamax",
    "torch.optim.adamw": "torch.optim.adam.AdamW",
    "torch.optim.asgd": "torch.optim.averages.ASGD",
    "torch.optim.nadam": "torch.optim.adam.NAdam",
    "torch.optim.optimizer": "torch.optim.hooks.register_optimizer_step_post_hook",
    "torch.optim.radam": "torch.optim.adam.RAdam",
    "torch.optim.rmsprop": "torch.optim.adagrad.RMSprop",
    "torch.optim.rprop": "torch.optim.sgd.Rprop",
    "torch.profiler.profiler": (
        "torch.profiler.ProfilerAction torch.profiler.profile torch.profiler.schedule torch.profiler.supported_activities"
        " torch.profiler.tensorboard_trace_handler"
    ),
    "torch.sparse": "torch.sparse.construction.check_sparse_tensor_invariants",
    "torch.storage": "torch.TypedStorage torch.UntypedStorage",
    "torch.testing._comparison": "torch.testing.closeness.assert_allclose torch.testing.closeness.assert_close",
    "torch.torch_version": "torch.version.TorchVersion",
    "torch.utils.benchmark.utils.common": "torch.utils.benchmark.Measurement",
    "torch.utils.benchmark.utils.compare": "torch.utils.benchmark.Compare",
    "torch.utils.benchmark.utils.timer": "torch.utils.benchmark.Timer",
    "torch.utils.data.dataloader": (
        "torch.utils.data.fetching._DatasetKind torch.utils.data.iterators._BaseDataLoaderIter"
        " torch.utils.data.iterators._MultiProcessingDataLoaderIter"
        " torch.utils.data.iterators._SingleProcessDataLoaderIter"
    ),
    "torch.xpu.streams": "torch.xpu.Event torch.xpu.Stream",
    "torch.fx._symbolic_trace": (
        "torch.fx.tracing.placeholders.PHBase torch.fx.tracing.placeholders.PHWithMeta"
        " torch.fx.tracing.tracer.ProxyableClassMeta torch.fx.tracing.tracer.Tracer torch.fx.tracing.wrapped.wrap"
    ),
    "torch.fx.graph": "torch.fx.generation.code.CodeGen torch.fx.generation.code.PythonCode",
    "torch.fx.node": "torch.fx.effects.has_side_effect",
}
#: The name that a class or a function has by its own module → torch's module.
HOMES: Final = {name: home for home, names in _GROUPS.items() for name in names.split()}
_WHOLE: Final = {own: home for home, owns in _MODULES.items() for own in owns.split()}


def torch_name(name: str) -> str:
    """Return torch's name of a module of ours, the empty text for one that only we have."""
    renamed = own_name(name)
    if renamed is not None:
        return renamed
    top, _, rest = name.partition(".")
    return "" if top != "torchlike" or rest.partition(".")[0] in _INNER else f"torch.{rest}" if rest else "torch"


def find_home(where: str, name: str) -> str:
    """Return the module of torch that a class or function of a module of ours is said to be in.

    >>> find_home("torchlike.optim.adam", "AdamW"), find_home("torchlike.nn.functional.activations", "relu")
    ('torch.optim.adamw', 'torch.nn.functional')
    """
    folder = next((each for each in _FOLDERS if where.startswith(each)), None)
    public = _FOLDERS[folder] if folder is not None else torch_name(where) or "torch"
    found = HOMES.get(f"{public}.{name}") or _WHOLE.get(where)
    return found or next((module for module in WITHIN if public.startswith(f"{module}.")), public)


def list_own_modules(home: str, name: str) -> list[str]:
    """Return the modules of ours, with torch in place of torchlike, that may define what torch has in another module.

    >>> list_own_modules("torch.optim.adamw", "AdamW")
    ['torch.optim.adam']
    """
    found = [path.rpartition(".")[0] for path, each in HOMES.items() if each == home and path.endswith(f".{name}")]
    return found + [f"torch{own.removeprefix('torchlike')}" for own in _MODULES.get(home, "").split()]
