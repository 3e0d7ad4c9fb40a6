"""Functions that make tensors from sizes, numbers, nested lists and arrays.

The dispatcher's factories return a backend's raw array, because without a tensor among the arguments it cannot know whose
tensor is wanted; here they are wrapped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, as_dtype, get_default_dtype

from .chunks import make_in_chunks
from .devices import as_device, default_device, factory_device
from .dtypes import to_numpy_dtype
from .interop import as_subclass, check_dtype, from_numpy, put
from .layouts import layout as Layout  # noqa: N812  # torch's name is that of an argument
from .layouts import strided
from .literals import is_sequence, read
from .size import Size
from .tensors import Tensor, frontend, wrap


def wrap_result(made: Any, requires_grad: bool) -> Tensor:
    """Wrap the result of a factory; raises ``RuntimeError`` where gradients are asked for an integer tensor."""
    result = made if isinstance(made, Tensor) else wrap(made)
    if requires_grad:
        if not result.dtype.is_differentiable:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        result.requires_grad_()
    return result


#: Numbers below it fit into every dtype that they are given here.
_LARGE: Final = 6e4
_FLOATS: Final = {ScalarType.Float: np.dtype(np.float32), ScalarType.Double: np.dtype(np.float64)}


def _read_small(number: float, dtype: ScalarType | None) -> tuple[np.ndarray[Any, Any]] | None:
    """Return a small number as an array of ``dtype``, or of the one that torch infers; None where that takes more."""
    if type(number) is int and (dtype is None or dtype is ScalarType.Long):
        return (np.array(number, np.int64),)
    kind: Any = _FLOATS.get(get_default_dtype() if dtype is None else dtype)
    return None if kind is None else (np.array(number, kind),)


def tensor(
    data: Any,
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    chunks: Any = None,
) -> Tensor:
    """Make a tensor from a number, nested sequences or an array, by copying (source: ``torch.tensor``).

    Raises ``ValueError`` for rows of different lengths, ``TypeError`` for what is no number.

    >>> tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> tensor(2.5, requires_grad=True)
    tensor(2.5000, requires_grad=True)
    """
    if chunks is not None:
        given = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return make_in_chunks(tensor, chunks, (data,), given)
    dtype = None if dtype is None else as_dtype(dtype)
    device = factory_device(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torchlike.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        copy = data.detach().to(device=device, dtype=dtype, copy=True)
        return wrap_result(copy, requires_grad)
    if isinstance(data, np.ndarray):
        check_dtype(data)
        array = data.copy()
    elif type(data) in (float, int) and -_LARGE < data < _LARGE and (made := _read_small(data, dtype)):
        (array,), dtype = made, None
    else:
        array, dtype = read(data, dtype)
    return wrap_result(_convert(array, dtype, device), requires_grad)


def _convert(array: np.ndarray[Any, Any], dtype: ScalarType | None, device: Any) -> Tensor:
    if dtype is None:
        return put(array, device)
    try:
        wanted = to_numpy_dtype(dtype)
    except TypeError:
        return put(array, device).to(dtype)  # a dtype that NumPy has not: the backend converts
    if array.dtype != wanted:
        with np.errstate(all="ignore"):
            array = array.astype(wanted)
    return put(array, device)


def as_tensor(data: Any, dtype: ScalarType | None = None, device: Any = None) -> Tensor:
    """Make a tensor, sharing memory with an array or tensor where dtype and device allow (source: ``torch.as_tensor``)."""
    dtype = None if dtype is None else as_dtype(dtype)
    device = factory_device(device)
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if not isinstance(data, np.ndarray):
        return _convert(*read(data, dtype), device)
    shared: Tensor = from_numpy(data)
    return shared if dtype is None and device is None else shared.to(device=device, dtype=dtype)


def construct(cls: type[Tensor], *args: Any, device: Any = None) -> Tensor:
    """Make a tensor by its class (source: ``torch.Tensor``): of sizes, of data in the default dtype, or of another tensor.

    Raises ``TypeError`` for anything else.
    """
    device = device or "cpu"  # whatever the default is
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        (data,) = args
        if isinstance(data, Tensor):
            made: Tensor = dc.ops.aten.alias.default(data)
        elif isinstance(data, np.ndarray) or is_sequence(data):
            made = as_tensor(data, get_default_dtype(), device)
        else:
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    else:
        made = FACTORIES["empty"](*(args or (0,)), device=device)
    return made if cls is Tensor else as_subclass(cls, made.detach())


def _to_number(value: Any) -> Any:
    """Return the number of a tensor of one element or of NumPy's, and anything else as it is."""
    if isinstance(value, Tensor) and (value.dim() or value.is_meta or value.requires_grad):
        return value  # without a number to read, or one that gradients pass; the operator knows whether it needs one
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def _read_sizes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Read sizes that are written one by one, as one sequence, or by keyword."""
    if "size" in kwargs:
        return (kwargs.pop("size"),)
    given = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return (tuple(_to_number(size) for size in given),)


def _check_output(out: Any, dtype: Any, device: Any) -> None:
    """Refuse an ``out=`` tensor of another dtype or device than those that are asked for beside it."""
    if not isinstance(out, Tensor):
        return  # which the operator refuses
    if dtype is not None and as_dtype(dtype) != out.dtype:
        raise RuntimeError(f"dtype {as_dtype(dtype).name} does not match dtype of out parameter ({out.dtype.name})")
    place = as_device(device)
    if place is not None and place.type != out.device.type:
        raise RuntimeError(f"device type {place.type} does not match device type of out parameter ({out.device.type})")


#: The types of arguments that need no conversion; a size among them is checked by the operator.
PLAIN: Final = frozenset({bool, int, float, tuple, list})
_wrap: Final = frontend.wrap


def _find_forms(packet: Any) -> dict[int, Any]:
    """Return the overloads that take no tensor, by the number of their positional arguments where that tells them apart."""
    found: dict[int, list[Any]] = {}
    for name in packet.overloads():
        overload = getattr(packet, name)
        schema = overload.schema
        keywords = {argument.name for argument in schema.keyword_only}
        if keywords - {"memory_format"} == {"dtype", "layout", "device", "pin_memory"} and "Tensor" not in str(
            [argument.type for argument in schema.positional]
        ):
            found.setdefault(len(schema.positional), []).append(overload)
    return {count: overloads[0] for count, overloads in found.items() if len(overloads) == 1}


def _make_factory(name: str, kind: str) -> Callable[..., Tensor]:
    packet: Any = None
    forms: dict[int, Any] = {}
    is_sized = kind == "sizes"

    def make_sized(*args: Any, dtype: ScalarType | None = None, device: Any = None, **options: Any) -> Tensor:
        if not options:
            size = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
            try:
                form, place = forms[bool(args)], default_device() if device is None else as_device(device)
                found = form(size, device=place) if dtype is None else form(size, dtype=dtype, device=place)
            except (TypeError, KeyError):
                pass  # of arguments that are converted below, or refused
            else:
                return _wrap(found)
        return make_generally(*args, dtype=dtype, device=device, **options)

    def make(*args: Any, dtype: ScalarType | None = None, device: Any = None, **options: Any) -> Tensor:
        if not options and PLAIN.issuperset(map(type, args)):
            try:
                form, place = forms[len(args)], default_device() if device is None else as_device(device)
                found = form(*args, device=place) if dtype is None else form(*args, dtype=dtype, device=place)
            except (TypeError, KeyError):
                pass
            else:
                return _wrap(found)
        return make_generally(*args, dtype=dtype, device=device, **options)

    def make_generally(
        *args: Any,
        dtype: ScalarType | None = None,
        device: Any = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
        generator: Any = None,
        layout: Any = None,
        pin_memory: bool = False,
        chunks: Any = None,
        **kwargs: Any,
    ) -> Tensor:
        nonlocal packet
        if chunks is not None:
            given = {
                "dtype": dtype,
                "device": device,
                "requires_grad": requires_grad,
                "out": out,
                "generator": generator,
            }
            return make_in_chunks(function, chunks, args, given | {"layout": layout, "pin_memory": pin_memory} | kwargs)
        if packet is None:
            packet = getattr(dc.ops.aten, name)
            forms.update(_find_forms(packet))
        if is_sized and not args and "size" not in kwargs:
            raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
        args = _read_sizes(args, kwargs) if is_sized else tuple(_to_number(value) for value in args)
        kwargs = {key: _to_number(value) for key, value in kwargs.items()}
        if generator is not None:
            kwargs["generator"] = generator
        if out is not None:
            _check_output(out, dtype, device)
            if isinstance(layout, Layout) and layout is not strided:
                raise RuntimeError(f"layout {layout} does not match layout of out parameter ({strided})")
            found = packet(*args, out=out, **kwargs)
            return found.requires_grad_() if requires_grad else found
        if dtype is not None:
            kwargs["dtype"] = dtype
        return wrap_result(packet(*args, device=factory_device(device), **kwargs), requires_grad)

    function: Any = make_sized if is_sized else make
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Make a tensor (source: ``torch.{name}``); ``aten::{name}`` on ``device``, the cpu if left out."
    return function


#: Name → how its arguments are written: sizes one by one, or anything else as the schema says.
_KINDS: Final = {
    "arange": "",
    "bartlett_window": "",
    "blackman_window": "",
    "empty": "sizes",
    "empty_permuted": "",
    "empty_strided": "",
    "eye": "",
    "full": "",
    "hamming_window": "",
    "hann_window": "",
    "kaiser_window": "",
    "linspace": "",
    "normal": "",
    "logspace": "",
    "ones": "sizes",
    "rand": "sizes",
    "randint": "",
    "randn": "sizes",
    "randperm": "",
    "range": "",
    "scalar_tensor": "",
    "tril_indices": "",
    "triu_indices": "",
    "zeros": "sizes",
}
FACTORIES: Final = {name: _make_factory(name, kind) for name, kind in _KINDS.items()}


def _arange(start: Any = 0, end: Any = None, step: Any = 1, **kwargs: Any) -> Tensor:
    """Make the numbers from ``start`` on, ``step`` apart, up to but without ``end`` (source: ``torch.arange``)."""
    if end is None:
        start, end = 0, start
    return _plain_arange(start, end, step, **kwargs)


_plain_arange = FACTORIES["arange"]
_arange.__name__ = _arange.__qualname__ = "arange"
FACTORIES["arange"] = _arange


def _normal(mean: Any, std: Any = 1.0, size: Any = None, **kwargs: Any) -> Tensor:
    """Draw normal numbers of these means and standard deviations, tensors or numbers (source: ``torch.normal``)."""
    if size is not None:
        kwargs["device"] = kwargs.get("device") or "cpu"  # whatever the default is
        return _plain_normal(float(mean), float(std), tuple(size), **kwargs)
    return dc.ops.aten.normal(mean, std, **{key: value for key, value in kwargs.items() if value is not None})


_plain_normal = FACTORIES["normal"]
_normal.__name__ = _normal.__qualname__ = "normal"
FACTORIES["normal"] = _normal
