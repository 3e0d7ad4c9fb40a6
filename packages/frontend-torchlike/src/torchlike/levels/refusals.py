"""Calls that `vmap` refuses, before anything runs: values that rows would not share, and writes that rows would share."""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import bool_ as _BOOL  # noqa: N812  # a constant

from .calls import shape_of, tensors_of, written_tensors

__all__ = ["NotBatchableError", "check_call", "check_writes", "closed_error", "may_refuse"]


class NotBatchableError(RuntimeError):
    """A call that `vmap` refuses; where a composite made it, the composite's own operator runs row by row."""


_ITEM: Final = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
    "try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, "
    "please file a bug report."
)
_CONTROL: Final = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
    "please file an issue at https://github.com/pytorch/pytorch/issues ."
)
_DYNAMIC: Final = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {}. Please file an "
    "issue at https://github.com/pytorch/pytorch/issues if you need this feature."
)
_WORDS: Final = {
    "aten::item": _ITEM,
    "aten::_local_scalar_dense": _ITEM,
    "aten::is_nonzero": _CONTROL,
    "aten::allclose": (
        "vmap over torch.allclose isn't supported yet. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    ),
    "aten::equal": "Batching rule not implemented for aten::equal. We could not generate a fallback.",
    "aten::masked_select": (
        "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each "
        "batch this would return a differently shaped Tensor. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    ),
    "prims::device_get": (
        "Cannot access data pointer of Tensor that doesn't have storage: under vmap the elements of a tensor are those of "
        "all rows, so numpy(), tolist() and the like are refused"
    ),
}
#: The tensor of the mask, of operators that read by one, and the refusal of a batched mask.
_MASKS: Final = {
    "aten::masked_select": _WORDS.pop("aten::masked_select"),
    "aten::index.Tensor": (
        "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
        "a boolean mask."
    ),
}
#: Operators whose results have a shape that the shapes of the arguments tell, though the schema's tag says otherwise.
_STATIC: Final = frozenset({"aten::_ctc_loss", "aten::linalg_lstsq", *_MASKS})
#: The tags of operators whose results depend on the elements.
_TAGS: Final = frozenset({"data_dependent_output", "dynamic_output_shape"})

#: Operators that write to arguments that their schemas do not name: these, and the argument that tells whether they do.
_UNNAMED_WRITES: Final = dict.fromkeys(
    ("aten::batch_norm", "aten::native_batch_norm"), (("running_mean", "running_var"), "training")
) | {"aten::instance_norm": (("running_mean", "running_var"), "use_input_stats")}
_STATISTICS: Final = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were "
    "not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be False."
)


def may_refuse(op: Any) -> bool:
    """Return whether `check_call` may refuse a call of an operator."""
    name = op.name
    is_named = name in _WORDS or name in _MASKS or name in _UNNAMED_WRITES
    return is_named or not op.tags.isdisjoint(_TAGS) or bool(shape_of(op).writes)


def check_call(op: Any, values: tuple[Any, ...], level: Any) -> None:
    """Refuse a call with batched tensors whose result would depend on the row's values, or whose rows would share a write.

    Raises ``RuntimeError``, in torch's words.
    """
    name = op.name
    if not op.tags.isdisjoint(_TAGS) or name in _WORDS:
        _check_name(op, values)
    if name in _MASKS and any(level.owns(each) and dc.dtype(each) is _BOOL for each in _flatten(values[1])):
        raise NotBatchableError(_MASKS[name])
    if written_tensors(op, values) and any(each.is_write and each.kwarg_only for each in op.schema.arguments):
        raise NotBatchableError(
            f"Batching rule not implemented for {name}; the fallback path doesn't work on out= or view ops."
        )
    if name in _UNNAMED_WRITES:
        _check_statistics(op, values, level, *_UNNAMED_WRITES[name])
    check_writes(op, values, level)


def check_writes(op: Any, values: tuple[Any, ...], level: Any) -> None:
    """Refuse a call that writes row-dependent values to a tensor that rows share; raises ``RuntimeError``."""
    shared = [tensor for tensor in written_tensors(op, values) if not level.owns(tensor)]
    if shared and any(map(level.owns, tensors_of(op, values))):
        _refuse_shared_write(op, values, level)


def _check_name(op: Any, values: tuple[Any, ...]) -> None:
    """Refuse an operator by its tags, or by its name."""
    name = op.name
    if "data_dependent_output" in op.tags or name in _WORDS:
        raise NotBatchableError(_WORDS.get(name, _CONTROL))
    if "dynamic_output_shape" in op.tags and name not in _STATIC and (name != "aten::one_hot" or values[1] < 0):
        raise NotBatchableError(_DYNAMIC.format(name.partition(".")[0]))


def _check_statistics(op: Any, values: tuple[Any, ...], level: Any, names: tuple[str, ...], switch: str) -> None:
    """Refuse to write statistics of rows into tensors that rows share."""
    given = {argument.name: value for argument, value in zip(op.schema.arguments, values, strict=True)}
    written = [given[name] for name in names if given[name] is not None]
    if given[switch] and level.owns(values[0]) and not all(map(level.owns, written)):
        raise NotBatchableError(_STATISTICS)


def _flatten(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


def _refuse_shared_write(op: Any, values: tuple[Any, ...], level: Any) -> None:
    names = [
        argument.name
        for argument, value in zip(op.schema.arguments, values, strict=True)
        if any(map(level.owns, _flatten(value)))
    ]
    name = op.name.partition(".")[0]
    raise NotBatchableError(
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `{names[0]}` in extra_args that has "
        "more elements than `self`. This happened due to "
        f"`{names[0]}` being vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
        f"operators instead of {name}. If said operator is being called inside the PyTorch framework, please file a bug "
        "report instead."
    )


def closed_error(tensor: Any) -> RuntimeError:
    """Return the error for a tensor whose `vmap` is over."""
    return RuntimeError(
        f"a tensor of shape {list(tensor.shape)} has escaped from inside a function being vmapped: its vmap (level "
        f"{tensor._dispatch_data.level.number}) is over\nHint: return it from the function"
    )
