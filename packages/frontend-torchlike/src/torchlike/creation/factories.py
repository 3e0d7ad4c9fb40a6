"""Functions that make tensors from sizes, numbers, nested lists and arrays.

The dispatcher's factories return a backend's raw array, because without a tensor among the arguments it cannot know whose
tensor is wanted; here they are wrapped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context
from typing import Any, Final, cast

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, as_dtype, get_default_dtype
from dispatch_core.caches import LazyTable

from ..names.operator_table import SIZED_FACTORIES
from ..names.spelling import spell
from ..overriding.handling import PLAIN, Override, make_override
from ..overriding.mode_stack import ENTERED
from ..signatures.descriptions import describe
from ..tensors.arrays import give_class, keep_class, put
from ..tensors.foreign_data import copy_array, is_foreign, read_foreign, share_array
from ..tensors.overriding_classes import is_wrapper
from ..tensors.tensor import Tensor, wrap
from ..values.argument_types import DeviceLike
from ..values.chunks import make_in_chunks
from ..values.devices import as_device, default_device, factory_device
from ..values.dtypes import to_numpy_dtype
from ..values.layouts import strided
from ..values.size import Size
from .factory_layouts import EMPTY, SPARSE, read_layout, refuse_layout_of
from .factory_memory import check_pinning, pin_made
from .literals import is_sequence, read


def wrap_result(made: Any, requires_grad: bool) -> Tensor:
    """Wrap the result of a factory; raises ``RuntimeError`` where gradients are asked for an integer tensor."""
    result = made if isinstance(made, Tensor) else wrap(made)
    if requires_grad:
        if not result.dtype.is_differentiable:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients\n"
                f"Hint: the elements are {result.dtype!r}; write 1. for 1, or pass dtype=torchlike.float32"
            )
        result._require_grad()
    return result


_ask_tensor: Final = make_override(lambda: tensor)
_ask_normal: Final = make_override(lambda: FACTORIES["normal"])
_ask_as_tensor: Final = make_override(lambda: as_tensor)

#: Numbers below it fit into every dtype that they are given here.
_LARGE: Final = 6e4
_INT64: Final = np.dtype(np.int64)
_FLOATS: Final = {ScalarType.Float: np.dtype(np.float32), ScalarType.Double: np.dtype(np.float64)}


def _read_small(number: float, dtype: ScalarType | None) -> np.ndarray[Any, Any] | None:
    """Return a small number as an array of ``dtype``, or of the one that torch infers; None where that takes more."""
    if type(number) is int and (dtype is None or dtype is ScalarType.Long):
        return np.array(number, _INT64)
    kind: Any = _FLOATS.get(get_default_dtype() if dtype is None else dtype)
    return None if kind is None else np.array(number, kind)


def tensor(
    data: Any,
    *,
    dtype: ScalarType | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    chunks: Any = None,
) -> Tensor:
    """Make a tensor from a number, nested sequences, an array or a table, by copying (source: ``torch.tensor``).

    Arrays and tables are those of any library that has DLPack, ``__array__`` or ``__array_interface__``. Raises
    ``ValueError`` for rows of different lengths, ``TypeError`` for elements that are not numbers.

    >>> tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> tensor(2.5, requires_grad=True)
    tensor(2.5000, requires_grad=True)
    """
    if ENTERED:
        given = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
        overridden = _ask_tensor((data,), {name: value for name, value in given.items() if value})
        if overridden is not NotImplemented:
            return cast("Tensor", overridden)
    if pin_memory is not False and check_pinning("tensor", pin_memory, none=False):
        return wrap_result(pin_made(tensor(data, dtype=dtype, device=device, chunks=chunks)), requires_grad)
    if chunks is not None:
        given = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return make_in_chunks(tensor, chunks, (data,), given)
    dtype = None if dtype is None else as_dtype(dtype)
    device = factory_device(device)
    kind = type(data)
    if (kind is float or kind is int) and -_LARGE < data < _LARGE and (made := _read_small(data, dtype)) is not None:
        return wrap_result(put(made, device), requires_grad)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torchlike.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        with _pass_class(data):
            copy = data.detach().to(device=device, dtype=dtype, copy=True)
        return wrap_result(copy, requires_grad)
    if isinstance(data, np.ndarray):
        array = copy_array(data)
    elif kind is not list and is_foreign(data):
        found = read_foreign(data)
        if isinstance(found, Tensor):
            return wrap_result(found.to(device=device, dtype=dtype, copy=True), requires_grad)
        array = copy_array(found)
    else:
        array, dtype = read(data, dtype)
    return wrap_result(_convert(array, dtype, device), requires_grad)


def _convert(array: np.ndarray[Any, Any], dtype: ScalarType | None, device: Any) -> Tensor:
    if dtype is None:
        return put(array, device)
    try:
        wanted = to_numpy_dtype(dtype)
    except TypeError:
        return put(array, device).to(dtype)  # a dtype that NumPy lacks: the backend converts
    if array.dtype != wanted:
        try:
            array = _quiet.run(array.astype, wanted)
        except RuntimeError:  # another thread is in the context
            with np.errstate(all="ignore"):
                array = array.astype(wanted)
    return put(array, device)


#: A context in which NumPy does not warn; it is entered in a fraction of the time that ``np.errstate`` takes.
_quiet: Final = Context()
_quiet.run(np.seterr, all="ignore")


def _pass_class(data: Tensor) -> AbstractContextManager[object]:
    """Return a block in which the class of a tensor is asked for no overrides, as torch asks none for copies."""
    return nullcontext() if type(data) is Tensor else dc.exclude_keys("TorchFunction")


def as_tensor(data: Any, dtype: ScalarType | None = None, device: DeviceLike = None) -> Tensor:
    """Make a tensor, sharing memory with an array or tensor where dtype and device allow (source: ``torch.as_tensor``)."""
    if ENTERED and (overridden := _ask_as_tensor((data,), {"dtype": dtype, "device": device})) is not NotImplemented:
        return cast("Tensor", overridden)
    dtype = None if dtype is None else as_dtype(dtype)
    device = factory_device(device)
    if isinstance(data, Tensor):
        with _pass_class(data):
            return data.to(device=device, dtype=dtype)
    found = read_foreign(data) if is_foreign(data) else data
    if isinstance(found, np.ndarray):
        shared = share_array(found)
        if shared is None:
            return _convert(copy_array(found), dtype, device)
    elif isinstance(found, Tensor):
        shared = found
    else:
        return _convert(*read(data, dtype), device)
    return shared if dtype is None and device is None else shared.to(device=device, dtype=dtype)


def construct(cls: type[Tensor], *args: Any, device: DeviceLike = None) -> Tensor:
    """Make a tensor by its class (source: ``torch.Tensor``): of sizes, of data in the default dtype, or of another tensor.

    Raises ``TypeError`` for anything else.
    """
    device = device or "cpu"  # whatever the default is
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        (data,) = args
        if isinstance(data, Tensor):
            if is_wrapper(data):
                return keep_class(data, cls)
            with dc.exclude_keys("TorchFunction"):
                made: Tensor = dc.ops.aten.alias.default(data)
        elif isinstance(data, np.ndarray) or is_sequence(data):
            made = as_tensor(data, get_default_dtype(), device)
        else:
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    else:
        made = FACTORIES["empty"](*(args or (0,)), device=device)
    return give_class(made, cls)


def _to_number(value: Any) -> Any:
    """Return the number of a tensor of one element or of NumPy's, and anything else as it is."""
    if isinstance(value, Tensor) and (value.dim() or value.is_meta or value.requires_grad):
        return value  # without a number to read, or one that gradients pass; the operator knows whether it needs one
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def _read_sizes(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Read sizes that are written one by one, as one sequence, or by keyword."""
    if "size" in kwargs:
        if args:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
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


#: The keyword-only arguments of factories that take no tensor, some of which take a generator before them.
_OPTIONS: Final = {"dtype", "layout", "device", "pin_memory"}


def _find_forms(packet: Any, more: frozenset[str] = frozenset()) -> dict[int, Any]:
    """Return the overloads that take no tensor, by the number of their positional arguments where that tells them apart.

    They take the keywords ``more`` beside those of all factories.
    """
    found: dict[int, list[Any]] = {}
    for name in packet.overloads():
        overload = getattr(packet, name)
        schema = overload.schema
        keywords = {argument.name for argument in schema.keyword_only}
        if keywords - {"memory_format"} == _OPTIONS | more and "Tensor" not in str(
            [argument.type for argument in schema.positional]
        ):
            found.setdefault(len(schema.positional), []).append(overload)
    return {count: overloads[0] for count, overloads in found.items() if len(overloads) == 1}


def _find_default_dtype(form: Any) -> dict[str, Callable[[], Any]]:
    """Return functions that give the schema's dtype, where it has one, for None; the operators take None for a float."""
    own = next((each.default for each in form.schema.keyword_only if each.name == "dtype"), None)
    numbered = {each.value: each for each in ScalarType}
    return {} if own is None else {"dtype": lambda: numbered[own]}


#: Represents arguments that a call leaves out.
_MISSING: Final = object()


def _make_factory(name: str) -> Callable[..., Tensor]:
    """Make a function that is an overload itself, for the calls that it takes as they stand; others are looked at."""
    packet = getattr(dc.ops.aten, name)
    forms, drawn = _find_forms(packet), _find_forms(packet, frozenset({"generator"}))
    is_sized = name in SIZED_FACTORIES
    names = [each.name for each in forms[max(forms)].schema.positional] if forms else []
    named = frozenset(each.name for form in forms.values() for each in form.schema.positional)

    def make_generally(
        *args: Any,
        dtype: ScalarType | None = None,
        device: DeviceLike = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
        generator: Any = None,
        layout: Any = None,
        pin_memory: bool = False,
        chunks: Any = None,
        **kwargs: Any,
    ) -> Tensor:
        wanted = None if layout is None else read_layout(name, layout)
        if pin_memory is not False and check_pinning(name, pin_memory) and out is None:
            given = {"dtype": dtype, "device": device, "generator": generator, "layout": layout, "chunks": chunks}
            given = {key: value for key, value in given.items() if value is not None}
            return wrap_result(pin_made(make_generally(*args, **given, **kwargs)), requires_grad)
        if chunks is not None:
            given = {
                "dtype": dtype,
                "device": device,
                "requires_grad": requires_grad,
                "out": out,
                "generator": generator,
            }
            return make_in_chunks(find(), chunks, args, given | {"layout": wanted} | kwargs)
        if is_sized and not args and "size" not in kwargs:
            hint = "\nHint: its name is size, not shape" if "shape" in kwargs else ""
            raise TypeError(f'{name}() missing 1 required positional arguments: "size"{hint}')
        args = _read_sizes(name, args, kwargs) if is_sized else tuple(_to_number(value) for value in args)
        kwargs = {key: _to_number(value) for key, value in kwargs.items()}
        if generator is not None:
            kwargs["generator"] = generator
        if out is not None:
            _check_output(out, dtype, device)
            if wanted is not None:
                raise RuntimeError(f"layout {wanted} does not match layout of out parameter ({strided})")
            found = packet(*args, out=out, **kwargs)
            return found._require_grad() if requires_grad else found
        if wanted is not None:
            if name not in SPARSE or wanted not in EMPTY:
                raise refuse_layout_of(name, wanted)
            return wrap_result(EMPTY[wanted](args[0], dtype, factory_device(device)), requires_grad)
        if dtype is not None:
            kwargs["dtype"] = dtype
        overload = (
            packet if generator is None or len(kwargs) > 1 + (dtype is not None) else drawn.get(len(args), packet)
        )
        if (place := factory_device(device)) is not None:
            kwargs["device"] = place
        return wrap_result(overload(*args, **kwargs), requires_grad)

    def make_otherwise(*args: Any, **kwargs: Any) -> Tensor:
        """Serve a call of a direct form, which has put ``_MISSING`` and None for omitted ones."""
        if kwargs.get("requires_grad") is True and kwargs.get("out") is None:
            del kwargs["requires_grad"]
            return wrap_result(function(*args, **kwargs), True)
        given = {key: value for key, value in kwargs.items() if value is not None}
        if _MISSING in args:
            count = args.index(_MISSING)
            given |= {key: value for key, value in zip(names, args, strict=False) if value is not _MISSING}
            given = {key: value for key, value in given.items() if key not in names[:count]}
            args = args[:count]
        return make_generally(*args, **given)

    override = Override()
    directs = {
        count: dc.rename_arguments(
            form,
            name,
            Tensor,
            make_otherwise,
            # A call that gives the argument goes to `make_generally`.
            names={"pin_memory": "_pin_memory"},
            missing=_MISSING,
            star="size" if is_sized else "",
            fill={"device": default_device, **_find_default_dtype(form)},
            override=override.hook if len(forms) == 1 else None,  # only modes override it, as it takes no tensor
        )
        for count, form in forms.items()
    }

    def make(*args: Any, **kwargs: Any) -> Any:
        if ENTERED and (found := override.hook(args, kwargs)) is not NotImplemented:
            return found
        # An argument by name tells which form is meant as well as the number of places does.
        direct = directs.get(len(args)) if named.isdisjoint(kwargs) else None
        return make_generally(*args, **kwargs) if direct is None else direct(*args, **kwargs)

    function: Any = make
    if len(directs) == 1:
        (function,) = directs.values()

    def find() -> Any:
        """Return the function, whose type mypy takes for that of the last value assigned."""
        return function

    function = _ADAPTED[name](function) if name in _ADAPTED else function
    function.__name__, function.__qualname__, function.__module__ = name, name, spell()
    override.public = function
    describe(function, name, "factory")
    return function


def _adapt_arange(plain: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def arange(start: Any = _MISSING, end: Any = None, step: Any = 1, **kwargs: Any) -> Tensor:
        """Make the numbers from ``start`` on, ``step`` apart, up to but without ``end`` (source: ``torch.arange``)."""
        if end is None:
            if start is _MISSING:
                raise TypeError("arange() missing 1 required positional argument: 'end'")
            start, end = 0, start
        return plain(0 if start is _MISSING else start, end, step, **kwargs)

    return arange


def _adapt_normal(plain: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def normal(mean: Any, std: Any = 1.0, size: Any = None, **kwargs: Any) -> Tensor:
        """Draw normal numbers of these means and standard deviations, tensors or numbers (source: ``torch.normal``)."""
        if type(mean) not in PLAIN or type(std) not in PLAIN or (ENTERED and size is None):
            found = _ask_normal((mean, std), kwargs)
            if found is not NotImplemented:
                return cast("Tensor", found)
        if size is not None:
            kwargs["device"] = kwargs.get("device") or "cpu"  # whatever the default is
            return plain(float(mean), float(std), tuple(size), **kwargs)
        given = {key: value for key, value in kwargs.items() if value is not None}
        return cast("Tensor", dc.ops.aten.normal(mean, std, **given))

    return normal


_ADAPTED: Final = {"arange": _adapt_arange, "normal": _adapt_normal}
#: The factories by name, each made when it is first looked up.
FACTORIES: Final[LazyTable[Callable[..., Tensor]]] = LazyTable(
    _make_factory,
    dict.fromkeys(
        "arange bartlett_window blackman_window empty empty_permuted empty_strided eye full hamming_window hann_window"
        " kaiser_window linspace normal logspace ones rand randint randn randperm range scalar_tensor tril_indices"
        " triu_indices zeros".split()
    ),
)
