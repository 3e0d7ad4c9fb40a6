"""Steps for all parameters of a group by one call of an operator, where settings and tensors are plain.

What is not plain is left to the optimizer's ``update``, parameter by parameter, before anything is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_core.frontends import included_mask
from dispatch_core.keys import DispatchKey, keys_of

from ..history.captures import current_part
from ..tensors.tensor import Tensor
from .numbers import read_number, write_number

#: Parameters with their gradients.
Pairs: TypeAlias = list[tuple[Any, Any]]

_prims: Final = dc.ops.prims
_ndarray: Final[Any] = np.ndarray
_PIPELINE: Final = DispatchKey.Pipeline.value
#: The keys of plain tensors on the cpu, those whose calls may be recorded among them.
_PLAIN: Final = frozenset({DispatchKey.CPU, DispatchKey.AutogradCPU, DispatchKey.Pipeline})
#: The dtypes of parameters on a device that has a kernel for the step.
_FLOATS: Final = frozenset({ScalarType.Float, ScalarType.Double, ScalarType.Half, ScalarType.BFloat16})
#: The keys that a context may include: others, such as a mode's, are to see each operator.
_QUIET: Final = _PIPELINE | DispatchKey.Profiler.value | DispatchKey.Tracer.value
#: The classes of settings that are numbers; live ones of a captured call say that they are of these, too.
_NUMBERS: Final = frozenset({float, int})
_FLOAT: Final = ScalarType.Float
_DOUBLE: Final = ScalarType.Double


def _are_numbers(*settings: Any) -> bool:
    return all(each.__class__ in _NUMBERS for each in settings)


@cache
def _has_plain_keys(mask: int) -> bool:
    return _PLAIN.issuperset(keys_of(mask))


@cache
def _has_keys_of_kernel(mask: int, name: str) -> bool:
    """Return whether the keys are those of a plain tensor on a device that has a kernel for the step."""
    keys = [each for each in keys_of(mask) if each is not DispatchKey.Pipeline]
    kernels = dc.registry.get(name).kernels
    return any(
        each in kernels and all(other is each or other.name == f"Autograd{each.name}" for other in keys)
        for each in keys
    )


def _are_plain(pairs: Pairs, name: str) -> bool:
    """Return whether parameters and gradients are plain tensors of real numbers on the cpu, or on one device that serves."""
    if included_mask() & ~_QUIET:
        return False
    for param, grad in pairs:
        mask = param._dispatch_mask | grad._dispatch_mask
        if not _has_plain_keys(mask):
            return _are_on_device(pairs, name)
        dtype = param.dtype
        if dtype is not _FLOAT and dtype is not _DOUBLE:
            return False
    return True


def _are_on_device(pairs: Pairs, name: str) -> bool:
    """Return whether parameters and gradients are plain tensors of floats on one device that has a kernel for the step."""
    device = pairs[0][0].device
    return all(
        _has_keys_of_kernel(param._dispatch_mask | grad._dispatch_mask, name)
        and param.device == device
        and param.dtype in _FLOATS
        for param, grad in pairs
    )


def step_adam(optimizer: Any, pairs: Pairs, group: dict[str, Any], lr: Any) -> bool:
    """Make a step of `Adam` for parameters with their gradients; return whether it was made."""
    decay, eps, (beta1, beta2) = group["weight_decay"], group["eps"], group["betas"]
    if group["amsgrad"] or group["differentiable"] or group["capturable"]:
        return False
    if not (_are_numbers(lr, decay, eps, beta1, beta2) and _are_plain(pairs, "prims::adam_")):
        return False
    found: list[tuple[Any, Any, Any, Any]] = []
    state_of = optimizer.state
    read = read_number if current_part() is not None or included_mask() else _read_count
    for param, grad in pairs:
        state = state_of[param] or optimizer._begin_state(param, grad, group)
        found.append((param, grad, state, read(state["step"]) + 1))
    for first, last in _find_runs([row[3] for row in found]):
        rows = found[first:last]
        states, step = [row[2] for row in rows], rows[0][3]
        params, squares = [row[0] for row in rows], [state["exp_avg_sq"] for state in states]
        was_param, was_square = params[0]._version, squares[0]._version
        _prims.adam_(
            params,
            [row[1] for row in rows],
            [state["exp_avg"] for state in states],
            squares,
            step=step,
            lr=lr,
            beta1=beta1,
            beta2=beta2,
            weight_decay=decay,
            eps=eps,
            decoupled=bool(group["decoupled_weight_decay"]),
            maximize=bool(group["maximize"]),
        )
        _count_writes(squares, was_square, 2)
        if decay and group["decoupled_weight_decay"]:
            _count_writes(params, was_param, 2)
        for row in rows:
            write_number(row[2], "step", row[3])
    return True


def step_sgd(optimizer: Any, pairs: Pairs, group: dict[str, Any], lr: Any) -> bool:
    """Do the same for `SGD`; first steps with momentum, which make the buffers, are left."""
    momentum, dampening, decay = group["momentum"], group["dampening"], group["weight_decay"]
    if group["differentiable"] or not (
        _are_numbers(lr, momentum, dampening, decay) and _are_plain(pairs, "prims::sgd_")
    ):
        return False
    if lr.__class__ is int and not lr:
        return False  # As a float it had another sign when it is turned.
    buffers: list[Any] = []
    if momentum:
        state_of = optimizer.state
        for param, _ in pairs:
            buffer = state_of[param].get("momentum_buffer")
            if buffer is None:
                return False
            buffers.append(buffer)
    was_buffer = buffers[0]._version if buffers else 0
    _prims.sgd_(
        [pair[0] for pair in pairs],
        [pair[1] for pair in pairs],
        buffers,
        lr=lr,
        momentum=momentum,
        dampening=dampening,
        weight_decay=decay,
        nesterov=bool(group["nesterov"]),
        maximize=bool(group["maximize"]),
    )
    if buffers:
        _count_writes(buffers, was_buffer, 2)
    return True


def _count_writes(written: list[Any], before: int, times: int) -> None:
    """Count the writes of the operators that a step is made of, also where one kernel stands for them."""
    for _ in range(before + times - written[0]._version):
        for each in written:
            each._count_write()


def _read_count(counter: Any) -> float:
    """Return the number of steps in a plain tensor."""
    data: Any = counter._dispatch_data if type(counter) is Tensor else None
    number: float = data.item() if type(data) is _ndarray and not data.ndim else read_number(counter)
    return number


def _find_runs(steps: list[Any]) -> Iterator[tuple[int, int]]:
    """Yield where runs of equal numbers begin and end."""
    first = 0
    for place in range(1, len(steps)):
        if steps[place] != steps[first]:
            yield first, place
            first = place
    yield first, len(steps)
