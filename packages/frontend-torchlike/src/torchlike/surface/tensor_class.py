"""The methods of tensors: importing this module completes the ``Tensor`` class.

The functions of operators, conversions, NumPy's and Python's protocols and autograd take tensors, so they stand above the
class and are added to it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME, NOT_IN_NUMPY, QUANTIZED
from dispatch_aten.torch_names import TORCH_NAMES
from dispatch_core.caches import LazyTable
from dispatch_core.devices import read_alias
from dispatch_core.frontends import CAPTURING, PLACES, make_question, on_devices
from dispatch_core.keys import AUTOGRAD, LAYOUTS

from ..creation.factories import construct, tensor
from ..creation.factory_layouts import EMPTY
from ..functions.operator_functions import FUNCTIONS, METHODS
from ..history.device_keys import AUTOGRAD_BITS
from ..history.differentiable import Differentiable
from ..history.metadata import SCALAR_TYPES, SIZES, STRIDES
from ..history.node import Leaf
from ..methods.conversions import CASTS, cpu, to, type_
from ..methods.python_operators import PYTHON_OPERATORS
from ..methods.ufuncs import call_ufunc, wrap_array
from ..names.docstrings import complete_all, complete_function
from ..names.lazy_attributes import LazyAttribute, LazyProperty, set_lazily
from ..names.lazy_names import LeftOut
from ..overriding.handling import make_override
from ..overriding.public_attributes import publish
from ..overriding.wrapping import make_method
from ..tensors.arrays import data_ptr, read_printable, reduce, refuse_wrapper, to_array, to_numpy
from ..tensors.deepcopy import deep_copy
from ..tensors.overriding_classes import ASK, COMPLETE, DISABLED_DISPATCH, ROOT
from ..tensors.tensor import Tensor, TensorAutograd, TensorCapture, TensorLayers, frontend
from ..values.layouts import layout, layout_of, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from . import host_memory

__all__: list[str] = []


def _tolist(self: Tensor) -> Any:
    """Return the elements as nested lists of Python's numbers (source: ``torch.Tensor.tolist``)."""
    if type(self) is not Tensor:
        refuse_wrapper(self, ".tolist()")
    if hasattr(self._dispatch_data, "placements"):  # a record's, of one part
        raise RuntimeError(
            ".tolist() is not supported for a tensor on a mesh of processes, of which this one has a part\n"
            "Hint: full_tensor().tolist() has all elements"
        )
    return read_printable(self).tolist()


def _new_tensor(self: Tensor, data: Any, **kwargs: Any) -> Tensor:
    """Make a tensor of the same dtype and device from data."""
    return tensor(data, **{"dtype": self.dtype, "device": self.device, **kwargs})


def _cover(key: dc.DispatchKey) -> None:
    if key is dc.DispatchKey.AutogradNestedTensor:
        return  # its kernels are those of `nested`, which make no nodes
    from ..autograd.rules.register import cover  # the engine, which programs without gradients do without

    cover(key)


def _make_capture_part(recording: Any) -> Any:
    from ..capturing.part import CapturedState  # it imports networks and optimizers

    return CapturedState(recording)


def _make_value_block() -> Any:
    from ..levels.functionalization.functionalizing import ValueBlock  # few programs trace without writes

    return ValueBlock()


def _make_autograd_kernel(op: Any, keyset: Any, formula: Any) -> Callable[..., Any]:
    from ..autograd.custom import make_kernel  # few programs define operators

    return make_kernel(op, keyset, formula)


def _make_batching_kernel(op: Any, keyset: Any, rule: Any) -> Callable[..., Any]:
    from ..levels.author_rules import make_kernel  # few programs define operators

    return make_kernel(op, keyset, rule)


def _make_autocast_kernel(op: Any, keyset: Any, casts: Any) -> Callable[..., Any]:
    from ..amp.author_casts import make_kernel

    return make_kernel(op, keyset, casts)


def _call_class(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from ..overrides.dispatch import call_class  # few programs derive classes from tensors
    from ..utils.dispatch_rules import RULES

    return call_class(op, args, kwargs, RULES)


def _make_wrapper(*args: Any, **kwargs: Any) -> Tensor:
    """Return a tensor of a class without elements (source: ``torch.Tensor._make_wrapper_subclass``)."""
    from ..overrides.dispatch import make_wrapper

    return make_wrapper(*args, **kwargs)


def _call_mixed(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from ..methods.transfers import call_mixed  # few programs use two devices

    return call_mixed(op, args, kwargs)


def _note_devices(names: Iterable[str]) -> None:
    from ..device_modules.absent_names import PLAIN

    if others := [name for name in names if name not in PLAIN]:
        from ..device_modules.device_methods import note_devices

        note_devices(others)


def _make_short_runner(op: Any, mask: int, gradient: Any, usual: Any, short: Any) -> Callable[..., Any]:
    from ..autograd.rules.short_nodes import make_runner  # the engine, which programs without gradients do without

    return make_runner(op, mask, gradient, usual, short)


def _find_recording(runner: Any) -> Any:
    from ..autograd.rules.recordings import find_recording  # the engine, which programs without gradients do without

    return find_recording(runner)


def _set_part(name: str) -> Callable[[Tensor, Any], None]:
    def assign(self: Tensor, value: Any) -> None:
        part = FUNCTIONS[name](self)
        part.copy_(value) if isinstance(value, Tensor) else part.fill_(value)

    return assign


def _is_signed(self: Tensor) -> bool:
    """Return whether the dtype has negative values (source: ``torch.Tensor.is_signed``)."""
    return self.dtype.is_signed


def _export(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule of the tensor's memory (source: ``torch.Tensor.__dlpack__``)."""
    from ..tensors.dlpack import export_tensor  # few programs hand memory on so

    return export_tensor(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def _read_dlpack_device(self: Tensor) -> tuple[int, int]:
    """Return DLPack's numbers for the tensor's device (source: ``torch.Tensor.__dlpack_device__``)."""
    from ..tensors.dlpack import read_device

    return read_device(self)


def _to_html(self: Tensor) -> str | None:
    """Return the tensor as a notebook shows it."""
    from ..tensors.notebook_display import to_html  # few programs run in notebooks

    return to_html(self)


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """Return the array API standard's functions for tensors, ``torchlike.array_api`` (source: the standard).

    Raises ``ValueError`` for a version of the standard that there is not.
    """
    import torchlike_array_api as array_api  # programs that call torchlike's own functions need none of it

    if api_version is not None and api_version not in array_api.VERSIONS:
        raise ValueError(f"no array API of version {api_version!r}\nHint: there are {', '.join(array_api.VERSIONS)}")
    return array_api


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """Return the tensor on a device, itself if it is there already (source: the array API standard)."""
    if stream is not None:
        raise ValueError(f"to_device: streams are chosen by their device's own context, got stream={stream!r}")
    return to(self, device)


def _refuse_deleting(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


#: Methods that are no operator of the same name.
_OTHERS: Final[dict[str, Any]] = {
    "__array__": to_array,
    "__array_namespace__": _array_namespace,
    "__array_ufunc__": call_ufunc,
    "__array_wrap__": wrap_array,
    "__deepcopy__": deep_copy,
    "__dlpack__": _export,
    "__delitem__": _refuse_deleting,
    "__dlpack_device__": _read_dlpack_device,
    "__reduce_ex__": reduce,
    "__torch_dispatch__": DISABLED_DISPATCH,
    "_construct": staticmethod(construct),
    "_make_wrapper_subclass": staticmethod(_make_wrapper),
    "_repr_html_": _to_html,
    **host_memory.METHODS,
    "cpu": cpu,
    "data_ptr": data_ptr,
    "is_signed": _is_signed,
    "new_tensor": _new_tensor,
    "numpy": to_numpy,
    "to": to,
    "to_device": _to_device,
    "tolist": _tolist,
    "type": type_,
}


#: Methods of the frontend's protocols.
_PROTOCOLS: Final[dict[type, dict[str, Callable[..., Any]]]] = {
    TensorAutograd: {
        "autograd_kernel": _make_autograd_kernel,
        "short_gradient": _make_short_runner,
        "recorded_call": _find_recording,
    },
    TensorLayers: {
        "autocast_kernel": _make_autocast_kernel,
        "batching_kernel": _make_batching_kernel,
        "call_class": _call_class,
        "call_mixed": _call_mixed,
        "functional_block": _make_value_block,
    },
    TensorCapture: {"capture_part": _make_capture_part},
}


_RANK: Final = {"attribute": "ndim", "array_type": np.ndarray}
_COUNT: Final = {"attribute": "size", "array_type": np.ndarray}
_SIZES: Final = {"attribute": "shape", "array_type": np.ndarray, "answers": SIZES}
_BYTES: Final = {"attribute": "itemsize", "array_type": np.ndarray}
_KIND: Final = {"attribute": "dtype", "array_type": np.ndarray}
#: NumPy's dtypes that tensors have.
_OF_NUMPY: Final = [np.dtype(name) for name, dtype in BY_NAME.items() if dtype not in NOT_IN_NUMPY]
_STEPS: Final = {"attribute": "strides", "beside": "itemsize", "unless_zero": "size", "answers": STRIDES}


_HISTORY: Final = {"keys": AUTOGRAD, "state": "_autograd"}


#: Properties and methods that a compiled front answers at once.
_ANSWERED: Final[dict[type, dict[str, dict[str, Any]]]] = {
    Tensor: {
        "shape": _SIZES,
        "dtype": {"attribute": "dtype", "array_type": np.ndarray, "answers": SCALAR_TYPES},
        "device": {"attribute": "__class__", "array_type": np.ndarray, "answers": PLACES},
        **dict.fromkeys(("ndim", "dim", "ndimension"), _RANK),
        **dict.fromkeys(("numel", "nelement"), _COUNT),
        "size": {**_SIZES, "takes_index": True},
        "stride": {**_STEPS, "array_type": np.ndarray, "takes_index": True},
        "is_contiguous": {"attribute": "flags.c_contiguous", "array_type": np.ndarray},
        **dict.fromkeys(("element_size", "itemsize"), _BYTES),
        "nbytes": {"attribute": "nbytes", "array_type": np.ndarray},
        "is_floating_point": {**_KIND, "answers": {dtype: dtype.kind == "f" for dtype in _OF_NUMPY}},
        "is_complex": {**_KIND, "answers": {dtype: dtype.kind == "c" for dtype in _OF_NUMPY}},
    },
    Differentiable: {
        "requires_grad": {"attribute": "requires_grad", **_HISTORY},
        "is_leaf": {"attribute": "is_leaf", **_HISTORY, "absent": True, "sure": Leaf},
        "grad_fn": {"attribute": "grad_fn", **_HISTORY, "absent": None, "sure": Leaf},
        "grad": {"attribute": "grad", **_HISTORY, "absent": None, "sure": Leaf, "busy": CAPTURING},
    },
}


#: The same for properties, by the functions that make them.
_PROPERTIES: Final[dict[str, Callable[[], property]]] = {
    "H": lambda: property(dc.ops.aten.matrix_H.default, doc="The matrix transposed, and conjugated if complex."),
    # NumPy would ask `dtype` for it otherwise, and refuses dtypes there that are not its own.
    "__numpy_dtype__": lambda: property(lambda self: self.dtype.dtype, doc="NumPy's dtype of the elements."),
    "T": lambda: property(dc.ops.aten.numpy_T.default, doc="The tensor with the order of its dimensions reversed."),
    "imag": lambda: property(FUNCTIONS["imag"], _set_part("imag"), doc="The imaginary parts, in the same memory."),
    "mH": lambda: property(
        dc.ops.aten.mH.default, doc="The tensor with its last two dimensions exchanged, conjugated if complex."
    ),
    "mT": lambda: property(dc.ops.aten.mT.default, doc="The tensor with its last two dimensions exchanged."),
    "real": lambda: property(FUNCTIONS["real"], _set_part("real"), doc="The real parts, in the same memory."),
}


_UNCOMMON: Final = (
    "apply_ as_subclass const_data_ptr dim_order get_device is_distributed is_inference lstsq lu map2_ map_ new"
    " record_stream resize resize_as set_ storage symeig unique untyped_storage"
)


#: Methods that stand in the class itself, and take arguments.
_OWN: Final = "is_contiguous register_hook register_post_accumulate_grad_hook requires_grad_ size stride"


#: Methods for the sparse layout.
_SPARSE: Final = (
    "_coalesced_ _dimI _dimV _indices _nnz _values ccol_indices coalesce col_indices crow_indices dense_dim indices"
    " is_coalesced resize_as_sparse_ row_indices sparse_dim sparse_mask sspaddmm smm to_dense to_sparse to_sparse_bsc"
    " to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values"
)


#: Methods for quantized tensors.
_QUANTIZED: Final = (
    "dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme"
)


def _load_backward() -> Callable[..., None]:
    from ..autograd.gradients import backward_from  # the engine, which programs without gradients do without

    complete_function(backward_from, "Tensor", "backward")
    return backward_from


def _load_text() -> Callable[[Tensor], str]:
    from ..tensors.printing import format_tensor  # many programs print no tensor

    return format_tensor


def _find_overridable(keys: int) -> type:
    from ..overrides.subclasses import Overridable, begin  # few programs derive classes from tensors

    begin(keys)
    return Overridable


def _load_override() -> Any:
    from ..overrides.subclasses import default_torch_function  # few programs derive classes from tensors

    return classmethod(default_torch_function)


def _load_sparse(name: str) -> Any:
    from ..sparse import methods  # few programs use any

    found = getattr(methods, name)
    complete_function(found, "Tensor", name)
    return found


def _load_quantized(name: str) -> Any:
    from ..quantized import methods  # few programs use any

    found = getattr(methods, name)
    complete_function(found, "Tensor", name)
    return found


def _load_uncommon(name: str) -> Any:
    from . import uncommon_methods  # few programs use any

    found = getattr(uncommon_methods, name)
    # A function of torch's is described as one, whether it is first asked for so or as a method.
    complete_function(found, "Tensor" if found.__module__ == uncommon_methods.__name__ else "torch", name)
    return found


def _is_on(name: str) -> Callable[[], property]:
    return lambda: property(
        lambda self: not self._dispatch_mask & _CPU and self.device.type == read_alias(name),
        doc=f"Whether the tensor is on {name}.",
    )


def _has_layout(*names: str) -> Callable[[], property]:
    return lambda: property(
        lambda self: bool(self._dispatch_mask & LAYOUTS) and layout_of(self)._name in names,
        doc=f"Whether the tensor's layout is {' or '.join(names)}.",
    )


def _is_quantized(self: Tensor) -> bool:
    return self.dtype in QUANTIZED


def _is_never(kind: str) -> Callable[[], property]:
    return lambda: property(lambda self: False, doc=f"False: there are no {kind} tensors here.")


_CPU: Final = dc.DispatchKey.CPU.value


#: Questions about devices and kinds of tensors.
_QUESTIONS: Final = {
    "layout": lambda: property(layout_of, doc="How the elements lie in memory."),
    "is_nested": _has_layout("jagged"),
    "is_sparse": _has_layout("sparse_coo"),
    "is_sparse_csr": _has_layout("sparse_csr"),
    **{f"is_{name}": _is_on(name) for name in ("cuda", "ipu", "mps", "xla", "xpu")},
    "is_quantized": lambda: property(_is_quantized, doc="Whether the elements are integers that represent numbers."),
    "is_mkldnn": _is_never("mkldnn"),
}


def _make_sparse(size: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Return a sparse tensor without elements, for factories."""
    from ..sparse.construction import make_empty  # few programs use any

    return make_empty(size, dtype, device)


def _make_compressed(wanted: layout, size: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Return a tensor of compressed rows or columns without elements, for factories."""
    from ..sparse.compressed.construction import make_empty  # few programs use any

    return make_empty(wanted, size, dtype, device)


def _list_published() -> list[str]:
    """Return the names of methods and properties that look for no overrides themselves."""
    own = [
        name for kind in (Tensor, Differentiable) for name, value in vars(kind).items() if _is_published(name, value)
    ]
    return [
        *own,
        *(name for name in "_base _grad _is_view _version _indices _values _nnz _dimI _dimV _coalesced_".split()),
    ]


def _is_published(name: str, value: Any) -> bool:
    if name.startswith("_"):
        return False
    if type(value) is LazyAttribute:
        return name not in METHODS or name in _WRITTEN
    return isinstance(value, (FunctionType, property, LazyProperty))


#: Methods that are loaded late, and are not functions of operators.
_WRITTEN: Final = frozenset([*_UNCOMMON.split(), *_SPARSE.split(), *_QUANTIZED.split()])


_OVERRIDES: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    lambda name: make_override(lambda: getattr(Tensor, name)),
    "__bool__ __complex__ __contains__ __float__ __format__ __index__ __int__ __len__ __repr__ __reversed__".split(),
)


def _ask(name: str, args: tuple[Any, ...]) -> Any:
    """Ask for an override of a method that stands in the tensor class."""
    return _OVERRIDES[name](args, {})


#: Special methods that ask for overrides before they run.
_SPECIAL: Final = frozenset("__array__ __array_wrap__ __deepcopy__ __dlpack__ __dlpack_device__ __reduce_ex__".split())


def _complete() -> None:
    operators = {name: partial(METHODS.__getitem__, name) for name in METHODS.keys() - dir(Tensor)}
    set_lazily(Tensor, operators | PYTHON_OPERATORS | {"__repr__": _load_text, "backward": _load_backward})
    set_lazily(Tensor, {"__torch_function__": _load_override})
    set_lazily(Tensor, {"_make_subclass": lambda: staticmethod(_load_uncommon("_make_subclass"))})
    set_lazily(Tensor, {name: partial(_load_uncommon, name) for name in _UNCOMMON.split()})
    set_lazily(Tensor, {name: partial(_load_sparse, name) for name in _SPARSE.split()})
    set_lazily(Tensor, {name: partial(_load_quantized, name) for name in _QUANTIZED.split()})
    set_lazily(Tensor, _PROPERTIES | _QUESTIONS, LazyProperty)
    for protocol, methods in _PROTOCOLS.items():
        for name, method in methods.items():
            setattr(protocol, name, staticmethod(method))
    for name, method in (CASTS | _OTHERS).items():
        setattr(Tensor, name, make_method(method, partial(getattr, Tensor, name), name) if name in _SPECIAL else method)
    documented = {**CASTS, **_OTHERS, **{name: getattr(Tensor, name) for name in _OWN.split()}}
    complete_all(documented, [name for name in documented if not name.startswith("_")], "Tensor")
    AUTOGRAD_BITS.register = _cover
    COMPLETE.append(_find_overridable)
    ASK.append(_ask)
    ROOT.append(Tensor)
    EMPTY[sparse_coo] = _make_sparse
    EMPTY.update({each: partial(_make_compressed, each) for each in (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)})
    for owner, questions in _ANSWERED.items():
        for name, given in questions.items():
            plain = vars(owner)[name]
            made: Any = make_question(frontend, plain, **given)
            if made is not plain:
                type.__setattr__(owner, name, made)
                if hasattr(made, "__set_name__"):
                    made.__set_name__(owner, name)
    publish(_list_published())
    for name in TORCH_NAMES["Tensor"].difference(dir(Tensor)):
        setattr(Tensor, name, LeftOut(name))
    on_devices(_note_devices)


_complete()
