"""Steps of optimizers: one function for each parameter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import contiguous, is_expanded

from ..aclnn.dtypes import takes
from ..aclnn.launch import CallFloat, allocate_result, forbid_collecting, launch
from ..arrays import AclArray
from ..runtime.device import chip

_FUNCTION: Final = "aclnnApplyAdamWV2"
_NAME: Final = "prims::adam_"
_KEYS: Final = dc.DispatchKeySet(["NPU"])


def _compose(*lists: Sequence[AclArray], **settings: Any) -> None:
    """Make the step operator by operator."""
    forbid_collecting()
    dc.get_kernel(_NAME, "CompositeExplicitAutograd").call_boxed(_KEYS, *map(list, lists), **settings)


def _adam(
    self: Sequence[AclArray],
    grads: Sequence[AclArray],
    exp_avgs: Sequence[AclArray],
    exp_avg_sqs: Sequence[AclArray],
    *,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    decoupled: bool,
    maximize: bool,
) -> None:
    """Make a step of Adam for each parameter.

    The function takes the number of steps before this one, and decays as AdamW alone, so that Adam adds its decay before.
    """
    lists = self, grads, exp_avgs, exp_avg_sqs
    settings = {
        "step": step,
        "lr": lr,
        "beta1": beta1,
        "beta2": beta2,
        "weight_decay": weight_decay,
        "eps": eps,
        "decoupled": decoupled,
        "maximize": maximize,
    }
    # Known before anything is written.
    taken = takes(_FUNCTION, chip().family)
    if taken is None or len({*map(len, lists)}) > 1:
        _compose(*lists, **settings)
        return
    count: AclArray | None = None
    # A number that each run of a plan brings may be zero.
    adds = not decoupled and not (type(weight_decay) is float and weight_decay == 0)
    numbers = [_as_live(each) for each in (lr, beta1, beta2, 0.0 if adds else weight_decay, eps)]
    for row in zip(*lists, strict=True):
        param, grad, mean, square = row
        if not param.spec.numel:
            continue
        if not _is_taken(row, taken["varRef"]):
            _compose(*[[each] for each in row], **settings)
            continue
        if count is None:
            count = allocate_result(contiguous((1,), ScalarType.Float))
            if type(step) is float:
                launch("aclnnInplaceFillScalar", count, step - 1)
            else:  # each run of a plan brings it
                launch("aclnnInplaceFillScalar", count, step)
                launch("aclnnInplaceAdds", count, -1.0, 1)
        if adds:
            total = allocate_result(contiguous(grad.spec.shape, grad.spec.dtype))
            launch("aclnnAdd", grad, param, -weight_decay if maximize else weight_decay, total)
            grad = total
        vectors = [_as_vector(each) for each in (param, mean, square, grad)]
        launch(_FUNCTION, *vectors[:3], None, vectors[3], count, *numbers, False, maximize)


def _as_live(number: float) -> float:
    """Return a number that is not a part of the call's template; one that a plan brings is none already."""
    return CallFloat(number) if type(number) is float else number


def _is_taken(row: Sequence[AclArray], dtypes: Collection[ScalarType]) -> bool:
    """Return whether the function takes a parameter and its tensors: one shape, one dtype, elements of their own."""
    spec = row[0].spec
    return (
        spec.dtype in dtypes
        and all(each.spec.shape == spec.shape and each.spec.dtype is spec.dtype for each in row)
        and not any(is_expanded(each.spec) for each in (row[0], *row[2:]))
    )


def _as_vector(array: AclArray) -> AclArray:
    """Return an array without dimensions as one of one element, which the function demands."""
    return array if array.spec.shape else array.view((1,), (1,), array.storage_offset)


PRIMS: Final[dict[str, Callable[..., None]]] = {"adam_": _adam}
