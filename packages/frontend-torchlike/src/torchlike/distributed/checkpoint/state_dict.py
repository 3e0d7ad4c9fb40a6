"""The states of a model and its optimizers by the names of parameters (source: ``torch.distributed.checkpoint.state_dict``).

An optimizer's own state counts its parameters; here each has its name, so that a checkpoint fits whatever the order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ...nn.modules.module import Module
from ...tensors.tensor import Tensor

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


#: What moves a parameter by a step whose gradient is zero.
_MOVING: Final = ("lr", "weight_decay")


@dataclass
class StateDictOptions:
    """How states are taken: ``full_state_dict`` gathers tensors on a mesh, ``cpu_offload`` copies them to the host."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    strict: bool = True


def get_model_state_dict(model: Module, *, submodules: Any = None, options: Any = None) -> dict[str, Any]:
    """Return the state of a model by name."""
    chosen = options or StateDictOptions()
    frozen = {name for name, each in model.named_parameters() if not each.requires_grad}
    found = {
        name: value
        for name, value in model.state_dict().items()
        if not (chosen.ignore_frozen_params and name in frozen)
    }
    return {name: _take(value, chosen) for name, value in found.items()}


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: Any = None
) -> dict[str, Any]:
    """Return the state of optimizers, with names in the place of the numbers of parameters.

    Of an optimizer that has not stepped it is the state that a first step begins with, to be filled by a checkpoint; the
    optimizer itself stays as it is.
    """
    chosen = options or StateDictOptions()
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _as_list(optimizers):
        names = _names(model, optimizer)
        found = _make_first_state(optimizer) if not optimizer.state else optimizer.state_dict()
        for number, each in found["state"].items():
            state[names[number]] = {key: _take(value, chosen) for key, value in each.items()}
        groups += [each | {"params": [names[number] for number in each["params"]]} for each in found["param_groups"]]
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the states of a model and of its optimizers."""
    return get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers, options=options)


def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *, options: Any = None) -> Any:
    """Load the state of a model; tensors of it stay where they lie."""
    return model.load_state_dict(model_state_dict, strict=(options or StateDictOptions()).strict)


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: Any = None
) -> None:
    """Load the state of optimizers that `get_optimizer_state_dict` has given.

    Raises ``ValueError`` for parameters that the model has not.
    """
    groups = list(optim_state_dict["param_groups"])
    for optimizer in _as_list(optimizers):
        numbers = {name: number for number, name in _names(model, optimizer).items()}
        own, groups = groups[: len(optimizer.param_groups)], groups[len(optimizer.param_groups) :]
        if missing := sorted({name for each in own for name in each["params"]} - {*numbers}):
            raise ValueError(f"set_optimizer_state_dict: the optimizer has no parameter {missing[0]!r}")
        state = {numbers[name]: dict(each) for name, each in optim_state_dict["state"].items() if name in numbers}
        packed = [each | {"params": [numbers[name] for name in each["params"]]} for each in own]
        optimizer.load_state_dict({"state": state, "param_groups": packed})


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: Any = None,
) -> Any:
    """Load the states of a model and of its optimizers."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


def _as_list(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _names(model: Module, optimizer: Any) -> dict[int, str]:
    """Return the names of an optimizer's parameters by their numbers in its state."""
    names = {id(each): name for name, each in model.named_parameters()}
    listed = [each for group in optimizer.param_groups for each in group["params"]]
    return {number: names.get(id(each), f"parameter {number}") for number, each in enumerate(listed)}


def _make_first_state(optimizer: Any) -> dict[str, Any]:
    """Return the state of an optimizer that has not stepped, as after no step, and change neither it nor a parameter."""
    parameters = [each for group in optimizer.param_groups for each in group["params"] if each.requires_grad]
    before = [(group, name, group[name]) for group in optimizer.param_groups for name in _MOVING if name in group]
    gradients = [each.grad for each in parameters]
    for group, name, _ in before:
        group[name] = 0.0
    try:
        for each in parameters:
            each.grad = each.detach() * 0
        optimizer.step()
        for state in optimizer.state.values():
            if "step" in state:
                state["step"] = state["step"] * 0
    finally:
        for group, name, value in before:
            group[name] = value
        for each, gradient in zip(parameters, gradients, strict=True):
            each.grad = gradient
    found: dict[str, Any] = optimizer.state_dict()
    optimizer.state.clear()
    return found


def _take(value: Any, options: StateDictOptions) -> Any:
    if not isinstance(value, Tensor):
        return value
    if options.full_state_dict and hasattr(value, "full_tensor") and hasattr(value, "placements"):
        value = value.full_tensor()
    return value.cpu() if options.cpu_offload else value
