"""torch's modules whose names differ from the names of ours, and those that are refused; `stand_in` reads both."""

from __future__ import annotations

from typing import Final

__all__ = ["MODULES", "REFUSED", "WITHIN", "own_name"]

#: A module of ours → torch's modules that it, or an object in it (after the colon), stands for.
_GROUPS: Final = {
    "torchlike": "functional",
    "torchlike.device_modules.absent_devices:cpu": "cpu",
    "torchlike.accelerator": "accelerator.memory",
    "torchlike.amp.autocasting": "amp.autocast_mode",
    "torchlike.ao.nn.intrinsic": "nn.intrinsic",
    "torchlike.ao.nn.intrinsic.fused": "ao.nn.intrinsic.modules.fused ao.nn.intrinsic.modules nn.intrinsic.modules",
    "torchlike.ao.nn.intrinsic.qat": (
        "ao.nn.intrinsic.qat.modules ao.nn.intrinsic.qat.modules.conv_fused ao.nn.intrinsic.qat.modules.linear_fused"
        " ao.nn.intrinsic.qat.modules.linear_relu nn.intrinsic.qat nn.intrinsic.qat.modules"
    ),
    "torchlike.ao.nn.intrinsic.quantized": "nn.intrinsic.quantized",
    "torchlike.ao.nn.intrinsic.quantized.dynamic": (
        "ao.nn.intrinsic.quantized.dynamic.modules ao.nn.intrinsic.quantized.dynamic.modules.linear_relu"
        " nn.intrinsic.quantized.dynamic"
    ),
    "torchlike.ao.nn.intrinsic.quantized.layers": (
        "ao.nn.intrinsic.quantized.modules ao.nn.intrinsic.quantized.modules.bn_relu"
        " ao.nn.intrinsic.quantized.modules.conv_add ao.nn.intrinsic.quantized.modules.conv_relu"
        " ao.nn.intrinsic.quantized.modules.linear_relu nn.intrinsic.quantized.modules"
    ),
    "torchlike.ao.nn.qat": "nn.qat",
    "torchlike.ao.nn.qat.dynamic": "ao.nn.qat.dynamic.modules ao.nn.qat.dynamic.modules.linear nn.qat.dynamic",
    "torchlike.ao.nn.qat.trained": (
        "ao.nn.qat.modules ao.nn.qat.modules.conv ao.nn.qat.modules.embedding_ops ao.nn.qat.modules.linear nn.qat.modules"
    ),
    "torchlike.ao.nn.quantizable": "ao.nn.quantizable.modules nn.quantizable nn.quantizable.modules",
    "torchlike.ao.nn.quantizable.attention": "ao.nn.quantizable.modules.activation nn.quantizable.modules.activation",
    "torchlike.ao.nn.quantizable.rnn": "ao.nn.quantizable.modules.rnn nn.quantizable.modules.rnn",
    "torchlike.ao.nn.quantized.composed": "ao.nn.quantized.modules.rnn nn.quantized.modules.rnn",
    "torchlike.ao.nn.quantized": "ao.nn.quantized.modules nn.quantized nn.quantized.modules",
    "torchlike.ao.nn.quantized.activation": "ao.nn.quantized.modules.activation nn.quantized.modules.activation",
    "torchlike.ao.nn.quantized.conv": "ao.nn.quantized.modules.conv nn.quantized.modules.conv",
    "torchlike.ao.nn.quantized.dynamic": "ao.nn.quantized.dynamic.modules nn.quantized.dynamic nn.quantized.dynamic.modules",
    "torchlike.ao.nn.quantized.dynamic.conv": "ao.nn.quantized.dynamic.modules.conv nn.quantized.dynamic.modules.conv",
    "torchlike.ao.nn.quantized.dynamic.linear": (
        "ao.nn.quantized.dynamic.modules.linear nn.quantized.dynamic.modules.linear"
    ),
    "torchlike.ao.nn.quantized.dynamic.rnn": "ao.nn.quantized.dynamic.modules.rnn nn.quantized.dynamic.modules.rnn",
    "torchlike.ao.nn.quantized.embedding_ops": "ao.nn.quantized.modules.embedding_ops nn.quantized.modules.embedding_ops",
    "torchlike.ao.nn.quantized.entrances": "ao.nn.quantized.modules.dropout nn.quantized.modules.dropout",
    "torchlike.ao.nn.quantized.functional": "nn.quantized.functional",
    "torchlike.ao.nn.quantized.functional_modules": (
        "ao.nn.quantized.modules.functional_modules nn.quantized.modules.functional_modules"
    ),
    "torchlike.ao.nn.quantized.linear": "ao.nn.quantized.modules.linear nn.quantized.modules.linear",
    "torchlike.ao.nn.quantized.normalization": (
        "ao.nn.quantized.modules.normalization ao.nn.quantized.modules.batchnorm nn.quantized.modules.normalization"
        " nn.quantized.modules.batchnorm"
    ),
    "torchlike.ao.nn.quantized.utils": "ao.nn.quantized.modules.utils nn.quantized.modules.utils",
    "torchlike.ao.quantization": "quantization",
    "torchlike.ao.quantization.conversion": "ao.quantization.quantize quantization.quantize",
    "torchlike.ao.quantization.fusion": "ao.quantization.fuse_modules quantization.fuse_modules",
    **{
        f"torchlike.ao.quantization.{name}": f"quantization.{name}"
        for name in ("fake_quantize fuser_method_mappings observer qconfig quantization_mappings stubs utils".split())
    },
    "torchlike.amp.scaler": "amp.grad_scaler",
    "torchlike.surface.annotations": "types",
    "torchlike.autograd.numerical_check": "autograd.gradcheck",
    "torchlike.surface.configuration": "__config__",
    "torchlike.device_modules.cpu_amp": "cpu.amp cpu.amp.autocast_mode cpu.amp.grad_scaler",
    "torchlike.cuda": "cuda.memory cuda.random cuda.streams",
    "torchlike.cuda.amp": "cuda.amp.autocast_mode cuda.amp.common cuda.amp.grad_scaler",
    "torchlike.distributed": "distributed.constants distributed.distributed_c10d",
    "torchlike.distributed.tensor": (
        "distributed.tensor.placement_types distributed._tensor.api distributed._tensor.placement_types"
    ),
    "torchlike.distributed.tensor.parallel": (
        "distributed.tensor.parallel.style distributed.tensor.parallel.api distributed.tensor.parallel.loss"
    ),
    "torchlike.distributions.distribution": "distributions.exp_family",
    "torchlike.history.grad_mode": "autograd.grad_mode",
    "torchlike.hub": "utils.model_zoo",
    "torchlike.library.fakes": "_library.fake_impl",
    "torchlike.library.inference": "_library.infer_schema",
    "torchlike.library.internals": "_library",
    "torchlike.library.internals.list_functions": "_library.autograd",
    "torchlike.library.internals.registry": "_library.simple_registry",
    "torchlike.library.internals.utilities": "_library.utils",
    "torchlike.library.older": "_custom_op",
    "torchlike.library.older.functions": "_custom_ops",
    "torchlike.library.older.registrations": "_custom_op.impl",
    "torchlike.library.operators": "_library.custom_ops",
    "torchlike.library.triton": "_library.triton",
    "torchlike.nn.convolution_gradients": "nn.grad",
    "torchlike.nn.modules": "nn.modules.pooling",
    "torchlike.nn.native": "_C._nn",
    "torchlike.nn.parallel": "nn.parallel.data_parallel nn.parallel.distributed",
    "torchlike.nn.utils.spectral_normalization": "nn.utils.spectral_norm",
    "torchlike.nn.utils.weight_normalization": "nn.utils.weight_norm",
    "torchlike.optim.adagrad": "optim.adadelta optim.rmsprop",
    "torchlike.optim.adam": "optim.adamax optim.adamw optim.nadam optim.radam",
    "torchlike.optim.averages": "optim.asgd",
    "torchlike.optim.sgd": "optim.rprop",
    "torchlike.tensors.printing": "_tensor_str",
    "torchlike.profiler": "autograd.profiler profiler.profiler",
    "torchlike.signal.windows": "signal.windows.windows",
    "torchlike.creation.sources": "utils.dlpack",
    "torchlike.tensors.storages": "storage",
    "torchlike.tensors.tensor": "_tensor",
    "torchlike.utils.data.collation": "utils.data._utils.collate",
    "torchlike.utils.data.fetching": "utils.data._utils.fetch",
    "torchlike.utils.data.pinning": "utils.data._utils.pin_memory",
    "torchlike.utils.data.worker": "utils.data._utils.worker",
    "torchlike.utils.pytree": "utils._pytree",
    "torchlike.version": "torch_version",
}
#: torch's module → ours, for those whose names differ.
MODULES: Final = {f"torch.{name}": ours for ours, names in _GROUPS.items() for name in names.split()}
#: Modules of ours that torch has by their own path, too; for the others torch's first name is theirs.
_ALIASED: Final = frozenset(
    """
    torchlike torchlike.accelerator torchlike.ao.nn.intrinsic torchlike.ao.nn.intrinsic.qat
    torchlike.ao.nn.intrinsic.quantized torchlike.ao.nn.intrinsic.quantized.dynamic torchlike.ao.nn.qat
    torchlike.ao.nn.qat.dynamic torchlike.ao.nn.quantizable torchlike.ao.nn.quantized torchlike.ao.nn.quantized.dynamic
    torchlike.ao.nn.quantized.functional torchlike.ao.quantization torchlike.ao.quantization.fake_quantize
    torchlike.ao.quantization.fuser_method_mappings torchlike.ao.quantization.observer torchlike.ao.quantization.qconfig
    torchlike.ao.quantization.quantization_mappings torchlike.ao.quantization.stubs torchlike.ao.quantization.utils
    torchlike.cuda torchlike.cuda.amp torchlike.distributed torchlike.distributed.tensor
    torchlike.distributed.tensor.parallel torchlike.distributions.distribution torchlike.hub
    torchlike.nn.modules torchlike.nn.parallel torchlike.optim.adagrad torchlike.optim.adam torchlike.optim.sgd
    torchlike.profiler torchlike.signal.windows torchlike.version
    """.split()
)
_NAMES: Final = {ours: f"torch.{names.split()[0]}" for ours, names in _GROUPS.items() if ours not in _ALIASED}
#: Modules of torch that are packages of ours: what lies in ours is theirs.
WITHIN: Final = (
    "torch.distributions.transforms",
    "torch.library",
    "torch.nn.functional",
    "torch.optim.lr_scheduler",
    "torch.overrides",
    "torch.serialization",
    "torch.utils._pytree",
)


def own_name(name: str) -> str | None:
    """Return torch's name for a module of ours whose path differs from torch's; None for the others."""
    return _NAMES.get(name)


#: torch's modules that are there by name only where torchlike stands in for torch, with the reason.
REFUSED: Final = {
    "torch._C": "it is torch's machine code",
    "torch._dynamo": "functions are not compiled to graphs here",
    "torch._functorch": "functions are not compiled to graphs here",
    "torch._higher_order_ops": "functions are not compiled to graphs here",
    "torch._inductor": "no code is generated for graphs of torch's kind here",
    "torch._export": "programs are not exported to graphs of torch's operators",
    "torch._subclasses": "the device meta has shapes without values, and there are no fake tensors",
    "torch.distributed": "of it there are groups of processes, meshes, tensors on them, fully_shard and checkpoints",
    "torch.nn.attention": "attention is torchlike.nn.functional.scaled_dot_product_attention",
    "torch.jit": "a program is Python here, and there is no TorchScript",
    "torch.ao": "of torch.ao there is quantization in eager mode",
    "torch.export": "programs are not exported to graphs of torch's operators",
    "torch.masked": "no tensor is masked here",
    "torch.package": "packages of torch carry code in pickles, which is never executed",
    "torch.quantization": "of torch.ao there is quantization in eager mode",
    "torch.utils.cpp_extension": "it builds extensions upon torch's machine code",
}
