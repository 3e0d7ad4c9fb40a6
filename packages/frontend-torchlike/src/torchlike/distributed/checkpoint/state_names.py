"""The names in states: those that a model without wrappers has, and one for each value of an optimizer's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...nn.modules.module import Module, OptimizedModule
from ...nn.parallel.distributed import DistributedDataParallel
from ...tensors.tensor import Tensor

__all__ = ["find_plain_name", "flatten", "unflatten"]


def find_plain_name(model: Module) -> Callable[[str], str]:
    """Return a function of a parameter's name that gives it without the parts that wrappers add."""
    added: list[tuple[str, str]] = []
    for path, each in model.named_modules():
        if isinstance(each, (DistributedDataParallel, OptimizedModule)):
            child = "module." if isinstance(each, DistributedDataParallel) else "_orig_mod."
            added.append((f"{path}." if path else "", child))
    added.sort(key=lambda each: -len(each[0]))  # a wrapper's own name has those of outer ones in it

    def find(name: str) -> str:
        for path, child in added:
            if name.startswith(path + child):
                name = path + name[len(path + child) :]
        return name

    return find


def flatten(found: dict[str, Any]) -> dict[str, Any]:
    """Return an optimizer's state with a name for each value: ``state.weight.exp_avg``, ``param_groups.weight.lr``.

    Raises ``NotImplementedError`` for values that are neither tensors nor numbers.
    """
    made: dict[str, Any] = {}

    def put(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, each in value.items():
                put(f"{name}.{key}", each)
        elif isinstance(value, (Tensor, int, float)):
            made[name] = value
        else:
            raise NotImplementedError(
                "Flattening optimizer state_dict only supports tensor, int, float, dict states now. "
                f"Type is {type(value)}."
            )

    put("state", found["state"])
    for group in found["param_groups"]:
        for name in group["params"]:
            made |= {f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"}
    return made


def unflatten(found: dict[str, Any], own: dict[str, Any], groups: list[list[str]]) -> dict[str, Any]:
    """Return the state of an optimizer of which `flatten` has made one with a name for each value.

    ``own`` is a state with the same structure, ``groups`` are the names of the parameters of each group. Raises
    ``RuntimeError`` where parameters of a group have other settings.
    """

    def take(name: str, like: Any) -> Any:
        if isinstance(like, Mapping):
            return {key: take(f"{name}.{key}", each) for key, each in like.items()}
        return found[name]

    made = []
    for names in groups:
        settings = [
            {key: value for name_of, value in found.items() if (key := _setting(name_of, name))} for name in names
        ]
        if any(each != settings[0] for each in settings):
            raise RuntimeError(
                "All the parameters in the same parameter group should have the same saved param_group value, "
                f"and those of {names} have not"
            )
        made.append((settings[0] if settings else {}) | {"params": names})
    return {"state": take("state", own), "param_groups": made}


def _setting(name: str, parameter: str) -> str:
    """Return the setting of a parameter's group that a name means; "" for all other names."""
    prefix = f"param_groups.{parameter}."
    key = name[len(prefix) :] if name.startswith(prefix) else ""
    return "" if "." in key else key
