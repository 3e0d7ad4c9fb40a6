"""Names of torch's private modules that are real here: small functions, under a public name or in a module of ours.

A module of torch that is ours has its names from its own file; here are those of modules that are shells otherwise.
"""

from __future__ import annotations

from typing import Final

__all__ = ["OURS", "REAL"]

#: A shell → the module of ours whose names go before its own.
OURS: Final = {
    "torch._dynamo": "torchlike.compiler",
    "torch._dynamo.decorators": "torchlike.compiler",
    "torch._dynamo.eval_frame": "torchlike.compiler",
    "torch._C": "torchlike.library.internals.dispatcher",
    "torch._utils": "torchlike.surface.helpers",
    "torch._C._VariableFunctions": "torchlike",
    "torch._functorch.vmap": "torchlike.surface.mapping_parts",
    "torch.nn.utils._named_member_accessor": "torchlike.nn.utils.swapping",
    "torch._C._special": "torchlike.special",
    "torch._C._linalg": "torchlike.linalg",
    "torch._C._fft": "torchlike.fft",
}
#: A name of a shell → the object of ours: a module's, or after the colon one in it.
REAL: Final = {
    "torch.torch": "torchlike",
    "torch._C.DisableTorchFunction": "torchlike.overrides:DisableTorchFunction",
    "torch._C.DisableTorchFunctionSubclass": "torchlike.overrides:DisableTorchFunctionSubclass",
    "torch._C._disabled_torch_dispatch_impl": "torchlike.tensors.overriding_classes:DISABLED_DISPATCH",
    "torch._C._disabled_torch_function_impl": "torchlike.tensors.overriding_classes:DISABLED",
    "torch._C._has_torch_function": "torchlike.overrides:has_torch_function",
    "torch._C._has_torch_function_unary": "torchlike.overrides:has_torch_function_unary",
    "torch._C._has_torch_function_variadic": "torchlike.overrides:has_torch_function_variadic",
    "torch._C._is_torch_function_all_disabled": "torchlike.overrides:_is_torch_function_all_disabled",
    "torch._C._is_torch_function_enabled": "torchlike.overrides:_is_torch_function_enabled",
    "torch._C._is_torch_function_mode_enabled": "torchlike.overrides:_is_torch_function_mode_enabled",
    "torch._C._len_torch_function_stack": "torchlike.overrides:_len_torch_function_stack",
    "torch._C._EnableTorchFunction": "torchlike.overrides:_EnableTorchFunction",
    "torch._C._get_function_stack_at": "torchlike.overrides:_get_function_stack_at",
    "torch._C._pop_torch_function_stack": "torchlike.overrides:_pop_torch_function_stack",
    "torch._C._push_on_torch_function_stack": "torchlike.overrides:_push_on_torch_function_stack",
    "torch._C._DisableTorchDispatch": "torchlike.overrides:DisableTorchDispatch",
    "torch.autograd._disable_profiler": "torchlike.profiler:_disable_profiler",
    "torch.autograd._profiler_enabled": "torchlike.profiler:_profiler_enabled",
    "torch._jit_internal.Future": "torchlike.futures:Future",
    "torch._jit_internal.boolean_dispatch": "torchlike.surface.helpers:boolean_dispatch",
    **{f"torch._jit_internal.{name}": f"typing:{name}" for name in "Any Dict Final List Optional Tuple Union".split()},
    "torch._C.Future": "torchlike.futures:Future",
    "torch._ops.OpOverload": "dispatch_core:OpOverload",
    "torch._ops.OpOverloadPacket": "dispatch_core:OpOverloadPacket",
    "torch._C.Generator": "torchlike:Generator",
    "torch.PyTorchFileReader": "torchlike.serialization:PyTorchFileReader",
    "torch.PyTorchFileWriter": "torchlike.serialization:PyTorchFileWriter",
    "torch._C.PyTorchFileReader": "torchlike.serialization:PyTorchFileReader",
    "torch._C.PyTorchFileWriter": "torchlike.serialization:PyTorchFileWriter",
    "torch.serialization._get_restore_location": "torchlike.serialization.torch_files.restoring:get_restore_location",
    "torch.serialization._is_path": "torchlike.serialization.torch_files.restoring:is_path",
    "torch.serialization._is_zipfile": "torchlike.serialization.torch_files.restoring:is_zipfile",
    "torch._C.Size": "torchlike:Size",
    "torch.distributed.distributed_c10d._get_default_group": "torchlike.distributed.process_groups:get_default_group",
    "torch._C._get_tracing_state": "torchlike.jit:_get_tracing_state",
    "torch._C._nn": "torchlike.nn.native",
    "torch._C.TensorBase": "torchlike:Tensor",
    "torch._C._TensorBase": "torchlike:Tensor",
    "torch._C._TensorMeta": "torchlike.tensors.tensor:TensorConstructor",
    "torch._C.device": "torchlike:device",
    "torch._C.dtype": "torchlike:dtype",
    "torch._C.layout": "torchlike:layout",
    "torch._C.memory_format": "torchlike:memory_format",
    "torch.multiprocessing.reductions.StorageWeakRef": "torchlike.tensors.storages:StorageWeakRef",
    "torch.utils._dtype_abbrs.dtype_abbrs": "torchlike.values.dtype_abbreviations:ABBREVIATIONS",
    "torch._C._set_grad_enabled": "torchlike:set_grad_enabled",
    "torch._C.is_grad_enabled": "torchlike:is_grad_enabled",
    "torch._C.is_inference_mode_enabled": "torchlike:is_inference_mode_enabled",
    "torch._C.get_num_threads": "torchlike:get_num_threads",
    "torch._C.set_num_threads": "torchlike:set_num_threads",
}
