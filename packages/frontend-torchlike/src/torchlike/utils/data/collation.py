"""Batches of samples: tensors are stacked, numbers become tensors, containers keep their structure."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import float64

from ...creation.factories import as_tensor, tensor
from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor

default_collate_err_msg_format: Final = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
#: Kinds of NumPy's elements that are not numbers: text, bytes, objects.
np_str_obj_array_pattern: Final = re.compile(r"[SaUO]")


def _rebuild_mapping(sample: Any, convert: Callable[[Any], Any]) -> Any:
    """Return a mapping of the same type with other values, or a dict where its type cannot be made so."""
    values = {key: convert(key) for key in sample}
    try:
        if isinstance(sample, MutableMapping):
            clone = copy.copy(sample)
            clone.update(values)
            return clone
        return type(sample)(values)
    except TypeError:
        return values


def _rebuild_sequence(sample: Any, values: list[Any]) -> Any:
    """Return a sequence of the same type with other values, or a list where its type cannot be made so."""
    try:
        if isinstance(sample, MutableSequence):
            clone = copy.copy(sample)
            for place, value in enumerate(values):
                clone[place] = value
            return clone
        return type(sample)(values)
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """Convert NumPy's arrays and numbers to tensors, also in containers (source: ``torch.utils.data.default_convert``)."""
    if isinstance(data, (np.ndarray, np.generic)) and not np_str_obj_array_pattern.search(data.dtype.str):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple):
        values = [default_convert(each) for each in data]
        return type(data)(*values) if hasattr(data, "_fields") else values
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild_sequence(data, [default_convert(each) for each in data])
    return data


def collate(batch: Any, *, collate_fn_map: Mapping[Any, Callable[..., Any]] | None = None) -> Any:
    """Make one batch of samples of one structure, by functions for the types of its leaves.

    Raises ``TypeError`` for a type without one, ``RuntimeError`` for lists of different lengths.
    """
    sample = batch[0]
    functions = collate_fn_map or {}
    found = functions.get(type(sample))
    if found is None:
        found = next((function for kind, function in functions.items() if isinstance(sample, kind)), None)
    if found is not None:
        return found(batch, collate_fn_map=collate_fn_map)

    def again(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(sample, Mapping):
        return _rebuild_mapping(sample, lambda key: again([each[key] for each in batch]))
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*(again(samples) for samples in zip(*batch, strict=False)))
    if isinstance(sample, Sequence):
        if not all(len(each) == len(sample) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        values = [again(samples) for samples in zip(*batch, strict=True)]
        return values if isinstance(sample, tuple) else _rebuild_sequence(sample, values)
    raise TypeError(default_collate_err_msg_format.format(type(sample)))


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Make a batch of NumPy's arrays; raises ``TypeError`` for text and objects."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Stack tensors along a new first dimension."""
    return FUNCTIONS["stack"](list(batch), 0)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Make a tensor of NumPy's numbers."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Make a tensor of floats, of dtype float64."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Make a tensor of integers, or of booleans."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Return texts, or bytes, as they are."""
    return batch


#: Type → the function for a batch of it.
default_collate_fn_map: Final[dict[Any, Callable[..., Any]]] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Make a batch of samples: a new first dimension (source: ``torch.utils.data.default_collate``).

    >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
