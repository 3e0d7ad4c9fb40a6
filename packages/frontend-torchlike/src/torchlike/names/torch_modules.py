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
    "torchlike.amp.scaler": "amp.grad_scaler",
    "torchlike.surface.annotations": "types",
    "torchlike.autograd.numerical_check": "autograd.gradcheck",
    "torchlike.surface.configuration": "__config__",
    "torchlike.device_modules.cpu_amp": "cpu.amp cpu.amp.autocast_mode cpu.amp.grad_scaler",
    "torchlike.cuda": "cuda.memory cuda.random cuda.streams",
    "torchlike.cuda.amp": "cuda.amp.autocast_mode cuda.amp.common cuda.amp.grad_scaler",
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
    torchlike torchlike.accelerator torchlike.cuda torchlike.cuda.amp torchlike.distributions.distribution torchlike.hub
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
    "torch.distributed": "a program is one process here",
    "torch.nn.attention": "attention is torchlike.nn.functional.scaled_dot_product_attention",
    "torch.jit": "a program is Python here, and there is no TorchScript",
    "torch.ao": "no tensor is quantized here",
    "torch.export": "programs are not exported to graphs of torch's operators",
    "torch.masked": "no tensor is masked here",
    "torch.package": "packages of torch carry code in pickles, which is never executed",
    "torch.quantization": "no tensor is quantized here",
    "torch.utils.cpp_extension": "it builds extensions upon torch's machine code",
}
