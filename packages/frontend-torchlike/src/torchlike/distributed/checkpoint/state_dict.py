"""The states of a model and its optimizers by the names of parameters (source: ``torch.distributed.checkpoint.state_dict``).

An optimizer's own state counts its parameters; here each has its name, so that a checkpoint fits whatever the order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ...nn.modules.module import Module
from ...tensors.tensor import Tensor
from .state_moves import broadcast_from_first, gather, spread
from .state_names import find_plain_name, flatten, unflatten

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
    """How states are taken and loaded (source: ``torch.distributed.checkpoint.state_dict.StateDictOptions``).

    ``full_state_dict`` gathers tensors on a mesh, and loads states of whole tensors, which each process has, or with
    ``broadcast_from_rank0`` process 0 alone. ``cpu_offload`` copies tensors to the host; with ``full_state_dict`` process 0
    alone has a state then, that of the others is empty. ``flatten_optimizer_state_dict`` gives an optimizer's state one name
    for each value. ``strict=False`` loads states in which something is missing.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"

    def __post_init__(self) -> None:
        if self.broadcast_from_rank0 and not self.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")


def get_model_state_dict(model: Module, *, submodules: Any = None, options: Any = None) -> dict[str, Any]:
    """Return the state of a model by name, without the parts of names that ``DistributedDataParallel`` adds.

    ``submodules`` leaves out all but theirs.
    """
    chosen, plain = options or StateDictOptions(), find_plain_name(model)
    found = {plain(name): value for name, value in model.state_dict().items()}
    if submodules:
        prefixes = [f"{plain(name)}." for name, each in model.named_modules() if each in {*submodules}]
        found = {
            name if chosen.keep_submodule_prefixes else name[len(prefix) :]: value
            for name, value in found.items()
            for prefix in prefixes
            if name.startswith(prefix)
        }
    if chosen.ignore_frozen_params:
        frozen = {plain(name) for name, each in model.named_parameters() if not each.requires_grad}
        found = {name: value for name, value in found.items() if name not in frozen}
    return gather(found, full=chosen.full_state_dict, to_host=chosen.cpu_offload)


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
        names, found = _names(model, optimizer), _state_of(optimizer)
        state |= {names[number]: each for number, each in found["state"].items()}
        groups += [each | {"params": [names[number] for number in each["params"]]} for each in found["param_groups"]]
    made: dict[str, Any] = {"state": state, "param_groups": groups}
    if chosen.flatten_optimizer_state_dict:
        made = flatten(made)
    return gather(made, full=chosen.full_state_dict, to_host=chosen.cpu_offload)


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the states of a model and of its optimizers."""
    found = get_model_state_dict(model, submodules=submodules, options=options)
    return found, get_optimizer_state_dict(model, optimizers, options=options)


def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *, options: Any = None) -> Any:
    """Load the state of a model; tensors of it stay where they lie, and those without numbers are replaced.

    Returns the names that were missing or unexpected, which raise ``RuntimeError`` unless ``strict`` is False.
    """
    chosen, own, plain = options or StateDictOptions(), model.state_dict(), find_plain_name(model)
    state = model_state_dict
    if chosen.broadcast_from_rank0:
        state = broadcast_from_first(state, own)
    names = {plain(name): name for name in own}
    state = {names.get(name, name): value for name, value in state.items()}
    assign = False
    if chosen.full_state_dict:
        state = spread(state, own)
        assign = any(isinstance(each, Tensor) and each.is_meta for each in own.values())
    return model.load_state_dict(state, strict=chosen.strict, assign=assign)


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: Any = None
) -> None:
    """Load the state of optimizers that `get_optimizer_state_dict` has given.

    Raises ``ValueError`` for parameters that the model has not, ``RuntimeError`` for parameters without a state unless
    ``strict`` is False.
    """
    chosen = options or StateDictOptions()
    listed = _as_list(optimizers)
    firsts = [_state_of(each) for each in listed]
    named = [_names(model, each) for each in listed]
    own = {
        names[number]: each
        for names, first in zip(named, firsts, strict=True)
        for number, each in first["state"].items()
    }
    found = optim_state_dict
    if chosen.broadcast_from_rank0:
        found = broadcast_from_first(found, own)
    if "state" not in found:
        found = unflatten(found, own, [each["params"] for each in _named_groups(listed, named)])
    state = spread(found["state"], own) if chosen.full_state_dict else found["state"]
    groups = list(found["param_groups"])
    for optimizer, names in zip(listed, named, strict=True):
        numbers = {name: number for number, name in names.items()}
        mine, groups = groups[: len(optimizer.param_groups)], groups[len(optimizer.param_groups) :]
        if missing := sorted({name for each in mine for name in each["params"]} - {*numbers}):
            raise ValueError(f"set_optimizer_state_dict: the optimizer has no parameter {missing[0]!r}")
        if (
            chosen.strict
            and state
            and (missing := sorted(name for name in numbers if name in own and name not in state))
        ):
            raise RuntimeError(
                f"Missing optimizer state for parameter {missing[0]!r} in checkpoint.\n"
                "Hint: StateDictOptions(strict=False) loads the others"
            )
        packed = [each | {"params": [numbers[name] for name in each["params"]]} for each in mine]
        own_state = {numbers[name]: dict(each) for name, each in state.items() if name in numbers}
        optimizer.load_state_dict({"state": own_state, "param_groups": packed})


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


def _init_optim_state(optim: Any) -> None:
    """Give an optimizer that has not stepped the state that a first step begins with."""
    if not optim.state:
        optim.load_state_dict(_make_first_state(optim))


def _as_list(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _names(model: Module, optimizer: Any) -> dict[int, str]:
    """Return the names of an optimizer's parameters by their numbers in its state."""
    plain = find_plain_name(model)
    names = {id(each): plain(name) for name, each in model.named_parameters()}
    listed = [each for group in optimizer.param_groups for each in group["params"]]
    return {number: names.get(id(each), f"parameter {number}") for number, each in enumerate(listed)}


def _named_groups(optimizers: list[Any], named: list[dict[int, str]]) -> list[Any]:
    """Return the groups of optimizers with the names of parameters."""
    return [
        each | {"params": [names[number] for number in each["params"]]}
        for optimizer, names in zip(optimizers, named, strict=True)
        for each in optimizer.state_dict()["param_groups"]
    ]


def _state_of(optimizer: Any) -> dict[str, Any]:
    found: dict[str, Any] = optimizer.state_dict()
    return found if optimizer.state else _make_first_state(optimizer)


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
