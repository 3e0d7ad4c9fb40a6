"""A frontend of the dispatcher that feels like torch: tensors, autograd, networks, optimizers.

Devices are plugins: ``device="cpu"`` loads the backend that provides the cpu, and no backend is imported before it is
needed.

>>> import torchlike
>>> x = torchlike.tensor([1., 2., 3.], requires_grad=True)
>>> (x ** 2).sum().backward()
>>> x.grad
tensor([2., 4., 6.])
"""

import sys as _sys
from functools import partial as _partial
from math import e, inf, nan, pi
from typing import Any

import dispatch_aten  # noqa: F401  # defines the operators that everything below calls
from dispatch_aten.dtypes import get_default_dtype, set_default_dtype
from dispatch_core.tracebacks import hide_frames as _hide_frames
from dispatch_core.tracebacks import trim_traceback as _trim_traceback

from . import autograd
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .creation.factories import FACTORIES, as_tensor, tensor
from .functions.operator_functions import FUNCTIONS
from .names.docstrings import complete_all as _complete_all
from .names.docstrings import complete_function as _complete_function
from .names.lazy_names import call_late as _call_late
from .names.lazy_names import load_names as _load_names
from .names.public_paths import AliasFinder as _AliasFinder
from .names.public_paths import DeviceFinder as _DeviceFinder
from .overriding.listed_functions import convert as _convert
from .surface import tensor_class  # noqa: F401  # completes the Tensor class
from .tensors.arrays import from_numpy
from .tensors.tensor import Tensor
from .values.devices import device, get_default_device, set_default_device
from .values.dtypes import DTYPES, can_cast, dtype, finfo, iinfo, memory_format, promote_types, result_type
from .values.layouts import layout
from .values.size import Size

__version__ = "0.1.0"
_hide_frames(__name__)
_sys.meta_path.insert(0, _AliasFinder)

newaxis = None
contiguous_format, preserve_format, channels_last, channels_last_3d = memory_format
legacy_contiguous_format = contiguous_format


#: Parts that are imported when first used: the public names of each module, or the module itself.
_NAMES = {
    "functions.arrangements": "broadcast_shapes detach_ is_distributed is_storage typename unique unravel_index",
    "ao": "",
    "autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled",
    "functions.moving_ranges": "fused_moving_avg_obs_fake_quant",
    "fft": "",
    "func": "vmap",
    "fx": "",
    "linalg": "",
    "functions.tensor_questions": "get_device is_complex is_floating_point is_signed is_tensor numel",
    "functions.matrices": "eig lstsq lu matrix_rank pca_lowrank solve svd_lowrank symeig",
    "serialization": "load save",
    "signal": "",
    "tensors.arrays": "_rebuild _rebuild_meta",
    "tensors.printing": "set_printoptions",
    "tensors.storages": "TypedStorage UntypedStorage",
    "creation.sources": "asarray from_dlpack frombuffer to_dlpack",
    "sparse": "",
    "sparse.construction": "sparse_coo_tensor",
    "sparse.methods": "resize_as_sparse_",
    "sparse.hybrid_products": "hsmm hspmm saddmm smm sspaddmm",
    "sparse.compressed.construction": "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor"
    " sparse_csr_tensor",
    "special": "",
    "surface.futures": "Future",
    "surface.stand_in": "install_as_torch",
    "device_modules.absent_devices": "cpu",
    "device_modules.modules": "_register_device_module get_device_module",
    "accelerator": "",
    "amp": "GradScaler autocast is_autocast_available",
    "amp.settings": "autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_dtype"
    " is_autocast_cache_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_dtype set_autocast_enabled",
    "amp.older_settings": "get_autocast_cpu_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype"
    " is_autocast_cpu_enabled is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_cpu_dtype"
    " set_autocast_cpu_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled"
    " set_autocast_xla_dtype set_autocast_xla_enabled",
    "backends": "",
    "functions.inner": "_assert_async _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo"
    " _fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine _sample_dirichlet"
    " _shape_as_tensor _softmax_backward_data _standard_gamma dsmm is_inference spmm",
    "functions.symbols": "sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum",
    "surface.conditions": "_assert _check _check_index _check_not_implemented _check_tensor_all _check_tensor_all_with"
    " _check_type _check_value _check_with",
    "compiler": "_dynamo _inductor compile",
    "cuda": "AcceleratorError OutOfMemoryError",
    "distributed": "",
    "distributions": "",
    "futures": "",
    "hub": "",
    "jit": "",
    "library": "",
    "library.tags": "Tag",
    "values.dtypes": "chalf complex32 qint32 qint8 quint2x4 quint4x2 quint8",
    "values.qschemes": "per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine"
    " per_tensor_symmetric qscheme",
    "quantization": "",
    "quantized": "",
    "quantized.construction": "_empty_affine_quantized _empty_per_channel_affine_quantized"
    " _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor quantize_per_channel quantize_per_tensor"
    " quantize_per_tensor_dynamic",
    "quantized.methods": "dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale"
    " q_zero_point quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d",
    "values.script_objects": "ScriptObject",
    "values.layouts": "jagged sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr strided",
    "creation.legacy_types": "BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor"
    " DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor set_default_tensor_type",
    "multiprocessing": "",
    "nested": "",
    "nn": "",
    "onnx": "",
    "optim": "",
    "profiler": "",
    "quasirandom": "",
    "random": "Generator default_generator get_rng_state initial_seed manual_seed seed set_rng_state",
    "return_types": "",
    "values.settings": "are_deterministic_algorithms_enabled get_deterministic_debug_mode get_file_path"
    " get_float32_matmul_precision get_num_interop_threads get_num_threads is_deterministic_algorithms_warn_only_enabled"
    " is_warn_always_enabled set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal"
    " set_num_interop_threads set_num_threads set_warn_always use_deterministic_algorithms",
    "testing": "",
    "utils": "",
    "version": "",
}

_late, _load, _list = _load_names(__name__, _NAMES, _partial(_complete_function, namespace="torch"), _convert)


def __getattr__(name: str) -> Any:
    """Make an operator's function or a device's module, import a name that few programs use, or hand on the core's."""
    if name in ("Event", "Stream", "capture", "ops", "pipeline", "synchronize"):
        import dispatch_core

        if name == "ops":
            from .surface import quantized_operators  # noqa: F401  # announces the operators of quantized tensors

        return getattr(dispatch_core, name)
    if name == "load_ipython_extension":  # notebooks ask for it, and no program
        from .surface.stand_in import load_ipython_extension

        return load_ipython_extension
    if name == "types":  # the name of a module of Python's own, and so no file's here
        from .surface import annotations

        return annotations
    for table in (FUNCTIONS, FACTORIES):
        if name in table:
            found = globals()[name] = table[name]
            return found
    if name.startswith("_foreach_"):
        from .functions.foreach import make_foreach

        made = make_foreach(name.removeprefix("_foreach_"))
        if made is not None:
            globals()[name] = made
            return made
    try:
        return _load(name)
    except Exception as error:
        if isinstance(error, AttributeError) and name[:1] != "_" and (module := _find_device(name)) is not None:
            return module
        _trim_traceback(error)
        raise


_find_device = _call_late(f"{__name__}.device_modules.modules", "find_module")
_sys.meta_path.append(_DeviceFinder(_find_device))  # type: ignore[arg-type]  # it has a finder's method


def __dir__() -> list[str]:
    own = ("Event", "Stream", "capture", "ops", "pipeline", "synchronize", "types")
    return [*{*_list(), *FUNCTIONS, *FACTORIES, *own}]


globals().update(DTYPES)

__all__ = [
    "Event",
    "Generator",
    "Size",
    "Stream",
    "Tensor",
    "as_tensor",
    "autograd",
    "can_cast",
    "capture",
    "default_generator",
    "device",
    "dtype",
    "e",
    "enable_grad",
    "finfo",
    "from_numpy",
    "get_default_device",
    "get_default_dtype",
    "get_rng_state",
    "iinfo",
    "inf",
    "inference_mode",
    "initial_seed",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "layout",
    "load",
    "manual_seed",
    "memory_format",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "ops",
    "optim",
    "pi",
    "pipeline",
    "promote_types",
    "result_type",
    "save",
    "seed",
    "set_default_device",
    "set_default_dtype",
    "set_grad_enabled",
    "set_printoptions",
    "set_rng_state",
    "synchronize",
    "tensor",
]
_complete_all(globals(), __all__, "torch")
__all__ += [name for name in (*FUNCTIONS, *FACTORIES, *DTYPES, *_late) if name not in __all__ and name[0] != "_"]
