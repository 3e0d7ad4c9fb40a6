"""The modules of torch that define classes and functions which another module of ours defines; `completion` reads them."""

from __future__ import annotations

from typing import Final

__all__ = ["HOMES"]

#: torch's module → the names that our modules give to what torch has there.
_GROUPS: Final = {
    "torch": "torch.cuda.OutOfMemoryError torch.mtia.Event torch.mtia.Stream torch.library.Tag torch.compiler.compile",
    "torch._C": "dispatch_aten.generator.Generator",
    "torch._C._onnx": "torch.onnx.OperatorExportTypes torch.onnx.TrainingMode",
    "torch._C._profiler": "torch.profiler.ProfilerActivity",
    "torch._library.custom_ops": "torch.library.CustomOpDef",
    "torch.accelerator.memory": "torch.accelerator.empty_cache",
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
    "torch.nn.modules.container": (
        "torch.nn.modules.parameter_container.ParameterDict torch.nn.modules.parameter_container.ParameterList"
    ),
    "torch.nn.modules.linear_cross_entropy_options": "torch.nn.modules.linear_cross_entropy.LinearCrossEntropyOptions",
    "torch.nn.modules.loss": "torch.nn.modules.linear_cross_entropy.LinearCrossEntropyLoss",
    "torch.nn.modules.module": (
        "torch.nn.global_hooks.register_module_forward_hook torch.nn.global_hooks.register_module_forward_pre_hook"
        " torch.nn.loading._IncompatibleKeys"
    ),
    "torch.nn.modules.rnn": (
        "torch.nn.modules.rnn_cells.GRUCell torch.nn.modules.rnn_cells.LSTMCell torch.nn.modules.rnn_cells.RNNCell"
        " torch.nn.modules.rnn_cells.RNNCellBase"
    ),
    "torch.nn.parallel.data_parallel": "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.distributed": "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parameter": (
        "torch.nn.uninitialized.UninitializedBuffer torch.nn.uninitialized.UninitializedParameter"
        " torch.nn.uninitialized.UninitializedTensorMixin"
    ),
    "torch.optim._adafactor": "torch.optim.factored.Adafactor",
    "torch.optim._muon": "torch.optim.factored.Muon",
    "torch.optim.adadelta": "torch.optim.adagrad.Adadelta",
    "torch.optim.adamax": "torch.optim.adam.Adamax",
    "torch.optim.adamw": "torch.optim.adam.AdamW",
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
    "torch.utils.hooks": "torch.RemovableHandle",
    "torch.xpu.streams": "torch.xpu.Event torch.xpu.Stream",
    "torch.fx._symbolic_trace": (
        "torch.fx.tracing.placeholders.PHBase torch.fx.tracing.placeholders.PHWithMeta"
        " torch.fx.tracing.tracer.ProxyableClassMeta torch.fx.tracing.tracer.Tracer torch.fx.tracing.wrapped.wrap"
    ),
    "torch.fx.graph": "torch.fx.generation.code.CodeGen torch.fx.generation.code.PythonCode",
}
#: The name that a class or a function has by its own module → torch's module.
HOMES: Final = {name: home for home, names in _GROUPS.items() for name in names.split()}
