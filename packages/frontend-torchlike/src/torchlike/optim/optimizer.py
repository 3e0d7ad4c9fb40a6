"""The base of all optimizers: groups of parameters with their settings, and state for each parameter."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from dispatch_core.tracebacks import api_boundary, trim_traceback

from ..autograd.gradients import clear_gradient
from ..history.grad_mode import enable_grad, no_grad
from ..tensors import Tensor


def check_implementation(
    *, differentiable: bool, foreach: bool | None, fused: bool | None, **more: Any
) -> dict[str, Any]:
    """Return torch's settings that choose how a step is computed: they are kept, and all choose the one way there is.

    Raises ``RuntimeError`` where torch refuses them together, ``NotImplementedError`` for steps that are recorded.
    """
    if differentiable:
        raise NotImplementedError("differentiable=True is not implemented: a step is not recorded for backward")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    return {"foreach": foreach, "differentiable": differentiable, "fused": fused, **more}


class Optimizer:
    """The base of optimizers (source: ``torch.optim.Optimizer``); subclasses define ``update`` for one parameter.

    ``params`` is an iterable of tensors, or of groups: dicts with ``"params"`` and settings that differ from the defaults.
    Raises ``ValueError`` for no parameters or one in two groups, ``TypeError`` for anything but tensors.
    """

    @api_boundary
    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}"
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own.

        Raises ``TypeError`` for anything but a dict with tensors as its ``"params"``, ``ValueError`` for parameters that
        cannot be optimized and settings beyond a float's range.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError("param_group must be a dict with the key 'params'")
        given = param_group["params"]
        params = [given] if isinstance(given, Tensor) else list(given)
        known = {id(param) for group in self.param_groups for param in group["params"]}
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not param.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(param) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        group = {**self.defaults, **param_group, "params": params}
        for name, value in group.items():
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                raise ValueError(f"Invalid {name}: it is beyond a float's range")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                clear_gradient(param, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; ``closure`` computes the loss again first."""
        try:
            loss = None
            if closure is not None:
                with enable_grad():
                    loss = closure()
            with no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        if param.grad is not None:
                            self.update(param, param.grad, self.state[param], group)
            return loss
        except Exception as error:
            trim_traceback(error)
            raise

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change one parameter in place by its gradient."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return the state by the parameters' places, and the groups' settings."""
        places: dict[int, int] = {}
        for group in self.param_groups:
            for param in group["params"]:
                places[id(param)] = len(places)
        groups = [{**group, "params": [places[id(param)] for param in group["params"]]} for group in self.param_groups]
        return {
            "state": {places[id(param)]: dict(state) for param, state in self.state.items()},
            "param_groups": groups,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Replace state and settings by those of ``state_dict``.

        Raises ``TypeError`` for anything but an optimizer's state, ``ValueError`` where groups or their sizes differ; the
        optimizer is as before then.
        """
        saved, states = _read_parts(state_dict)
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        self.state.clear()
        for before, group in zip(saved, self.param_groups, strict=True):
            group.update({name: value for name, value in before.items() if name != "params"})
            for place, param in zip(before["params"], group["params"], strict=True):
                if place in states:
                    self.state[param] = {
                        name: value.clone() if isinstance(value, Tensor) else value
                        for name, value in states[place].items()
                    }

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _read_parts(state_dict: Any) -> tuple[list[dict[str, Any]], dict[Any, dict[str, Any]]]:
    """Return the groups and the states of a state dict; raises ``TypeError`` for anything else."""
    groups, states = (
        (state_dict.get("param_groups"), state_dict.get("state")) if isinstance(state_dict, dict) else (None, None)
    )
    if (
        not isinstance(groups, list)
        or not isinstance(states, dict)
        or not all(isinstance(group, dict) and isinstance(group.get("params"), list) for group in groups)
        or not all(isinstance(state, dict) for state in states.values())
        or not all(isinstance(place, int) for group in groups for place in group["params"])
    ):
        raise TypeError(
            "load_state_dict() takes the result of an optimizer's state_dict(): a dict of 'state' and 'param_groups'"
        )
    return groups, states
