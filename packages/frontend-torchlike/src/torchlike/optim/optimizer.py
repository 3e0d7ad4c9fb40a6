"""The base of all optimizers: groups of parameters with their settings, and state for each parameter."""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import chain
from typing import Any, ClassVar, Final, TypeAlias

from dispatch_aten.placing import place_like
from dispatch_core.keys import LAYOUTS
from dispatch_core.tracebacks import api_boundary

from ..autograd.gradients import clear_gradient
from ..functions.operator_functions import FUNCTIONS
from ..history.captures import OPTIMIZERS, current_part
from ..history.grad_mode import enable_grad, set_grad_enabled
from ..tensors.tensor import Tensor
from ..utils._foreach_utils import _foreach_supported_types, _group_tensors_by_device_and_dtype  # noqa: F401  # as below
from .authors import (  # noqa: F401  # torch has them here
    _capturable_doc,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _differentiable_doc,
    _disable_dynamo_if_unsupported,
    _foreach_doc,
    _fused_doc,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _maximize_doc,
    _params_doc,
    _stack_if_compiling,
    _to_scalar,
    _use_grad_for_differentiable,
    _view_as_real,
)
from .hooks import (
    HOOKS,
    STEP_HOOKS,
    Hooks,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)
from .numbers import make_number, read_number, to_plain, write_number
from .settings import check_capturable, check_implementation

__all__ = [
    "Optimizer",
    "ParamsT",
    "params_t",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]

#: The first argument of an optimizer (source: ``torch.optim.optimizer.ParamsT``).
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
params_t = ParamsT


class _RequiredParameter:
    """The default of a setting that every group must have."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Final = _RequiredParameter()
#: The methods of an optimizer that make a step: a class that has its own makes its steps by them.
_OF_STEPS: Final = frozenset({"update", "make_state", "_update_one", "_has_state"})
_global_optimizer_pre_hooks, _global_optimizer_post_hooks = STEP_HOOKS


class Optimizer(Hooks):
    """The base of optimizers (source: ``torch.optim.Optimizer``).

    ``params`` is an iterable of tensors, of pairs of a name and a tensor, or of groups: dicts with ``"params"`` and settings
    that differ from the defaults. A subclass defines ``step``, or ``update`` for one parameter.
    Raises ``ValueError`` for no parameters or one in two groups, ``TypeError`` for anything but tensors.
    """

    #: The tensors of a parameter's state that begin as zeros like it.
    _zeros: ClassVar[tuple[str, ...]] = ()
    #: Whether a state counts its steps, and whether ``weight_decay`` is for the base to apply.
    _counts: ClassVar[bool] = True
    _decays: ClassVar[bool] = True
    #: Whether gradients may be sparse, and the rest of the error if not.
    _takes_sparse: ClassVar[bool] = False
    _instead: ClassVar[str] = ""
    #: Makes the step for all parameters of a group by one operator, or leaves them to `_update_one`: see `at_once`.
    _at_once: ClassVar[Callable[[Any, Any, dict[str, Any], Any], bool] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if _OF_STEPS & vars(cls).keys() and "_at_once" not in vars(cls):
            cls._at_once = None

    @api_boundary
    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if not isinstance(defaults, dict):
            raise TypeError(f"an optimizer's defaults are a dict, not {type(defaults).__name__}")
        self.defaults = defaults
        for name in HOOKS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        is_iterable = isinstance(params, Iterable) and not isinstance(params, Tensor)
        groups: list[Any] = list(params) if is_iterable else []
        # A ParameterList has parameters too, and gives them itself.
        owns_parameters = hasattr(params, "parameters") and not (
            is_iterable and all(isinstance(each, Tensor) for each in groups)
        )
        if owns_parameters or not is_iterable:
            hint = "\nHint: pass its parameters()" if owns_parameters else ""
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}{hint}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list\n"
                "Hint: parameters() can be read once, and finds the layers that are attributes, or in a ModuleList"
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)
        check_implementation(defaults)
        if defaults.get("fused"):
            self._step_supports_amp_scaling = True
        # Last: the traceback of a constructor that fails keeps its object, which has no groups.
        OPTIMIZERS.add(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        OPTIMIZERS.add(self)

    def _patch_step_function(self) -> None:
        """Wrap the class's own ``step`` so that it calls hooks; optimizers of libraries around others call this."""
        kind = type(self)
        if not getattr(kind.step, "hooked", False):
            kind.step = self.profile_hook_step(kind.step)  # type: ignore[method-assign]

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a ``step`` that calls the hooks around ``func`` (source: ``torch.optim.Optimizer.profile_hook_step``)."""
        return with_hooks(func)

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[Any]], with_indices: bool = False
    ) -> dict[Any, tuple[list[list[Any]], list[int]]]:
        """Return lists of tensors in groups of one device and dtype; steps of libraries treat each group by one call."""
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own.

        Raises ``TypeError`` for anything but a dict with tensors as its ``"params"``, ``ValueError`` for parameters that
        cannot be optimized and settings beyond a float's range.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError("param_group must be a dict with the key 'params'")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        param_group["params"] = [given] if isinstance(given, Tensor) else list(given)
        _split_names(param_group)
        params = param_group["params"]
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, value)
        for name, value in param_group.items():
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                raise ValueError(f"Invalid {name}: it is beyond a float's range")
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                which = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{which} to the optimizer"
                )
        known = {id(param) for group in self.param_groups for param in group["params"]}
        if any(id(param) in known for param in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                clear_gradient(param, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; ``closure`` computes the loss again first."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            self._update_all()  # a call alone: see Note [Where an interrupt falls] in `dispatch_core.interrupts`
        return loss

    def _update_all(self) -> None:
        groups = self.param_groups
        if (part := current_part()) is not None:
            groups = part.optimizers.find_groups(self)
        for group in groups:
            lr = to_plain(group.get("lr"))
            found = [(param, grad) for param in group["params"] if (grad := param.grad) is not None]
            for _, grad in found:
                self._check_layout(grad, group)
            if found and self._at_once is not None and self._at_once(found, group, lr):
                continue
            for param, grad in found:
                self._update_one(param, grad, group, lr)

    def _check_layout(self, grad: Tensor, group: dict[str, Any]) -> None:
        """Raise ``RuntimeError`` for a sparse gradient that the optimizer does not take, before anything is changed."""
        if grad._dispatch_mask & LAYOUTS and grad.is_sparse and not self._takes_sparse:
            raise RuntimeError(f"{_find_name(type(self))} does not support sparse gradients{self._instead}")

    def _update_one(self, param: Tensor, grad: Tensor, group: dict[str, Any], lr: Any) -> None:
        """Apply the settings that all optimizers have in common, and call ``update``."""
        if group.get("capturable"):
            check_capturable(param, group)
        if group.get("maximize"):
            grad = -grad
        state: dict[str, Any] = {}
        step = 0.0
        if self._has_state(group):
            state = self.state[param] or self._begin_state(param, grad, group)
            if self._counts:
                step = read_number(state["step"]) + 1
                write_number(state, "step", step)
        decay = group.get("weight_decay", 0) if self._decays else 0
        if isinstance(decay, Tensor) or decay:
            if group.get("decoupled_weight_decay"):
                param.mul_(1 - lr * decay)
            elif isinstance(decay, Tensor) and decay.requires_grad:
                grad = grad.addcmul(param.clone(), decay)
            else:
                grad = grad.add(param, alpha=read_number(decay))
        if param.is_complex():
            view_as_real = FUNCTIONS["view_as_real"]
            numbers = _Parts(state)
            self.update(view_as_real(param), view_as_real(grad), numbers, group, step, lr)
            numbers.keep()
        else:
            self.update(param, grad, state, group, step, lr)

    def _begin_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """Make a parameter's state, all or nothing: a step that fails for want of memory can be taken again."""
        state: dict[str, Any] = self.state[param]
        state |= {**({"step": make_number(0.0)} if self._counts else {}), **self.make_state(param, grad, group)}
        return state

    def _has_state(self, group: dict[str, Any]) -> bool:
        return True

    def make_state(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """Return a parameter's state before its first step, without the number of steps."""
        return {name: FUNCTIONS["zeros_like"](param) for name in self._zeros}

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float, lr: Any
    ) -> None:
        """Change one parameter in place by its gradient; complex numbers come as pairs of real ones."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return the state by the parameters' places, and the groups' settings."""
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        places: dict[int, int] = {}
        for param in self._each_param():
            places.setdefault(id(param), len(places))
        result: dict[str, Any] = {
            "state": {
                (places[id(param)] if isinstance(param, Tensor) else param): state
                for param, state in self.state.items()
            },
            "param_groups": [
                {
                    **{name: value for name, value in group.items() if name != "params"},
                    "params": [places[id(param)] for param in group["params"]],
                }
                for group in self.param_groups
            ],
        }
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def _each_param(self) -> Iterator[Any]:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Replace state and settings by those of ``state_dict``.

        Raises ``TypeError`` for anything but an optimizer's state, ``ValueError`` where groups or their sizes differ; the
        optimizer is as before then.
        """
        state_dict = state_dict.copy() if isinstance(state_dict, dict) else state_dict
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = pre_hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved, states = _read_parts(state_dict)
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        places = chain.from_iterable(group["params"] for group in saved)
        owners = dict(zip(places, self._each_param(), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for place, value in states.items():
            param = owners.get(place)
            state[place if param is None else param] = value if param is None else _fit(value, param)
        groups = []
        for before, group in zip(deepcopy(saved), self.param_groups, strict=True):
            names = {"param_names": group["param_names"]} if "param_names" in group else {}
            groups.append({**names, **before, "params": group["params"]})
        self.__setstate__({"state": state, "param_groups": groups})
        for param in self._each_param():
            own = state.get(param)
            if own and "step" in own and not isinstance(own["step"], Tensor) and self._counts:
                own["step"] = make_number(own["step"])
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            lines = [f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params"]
            text += f"\nParameter Group {number}\n{''.join(lines)}"
        return f"{text})"


class _Parts(dict[str, Any]):
    """A state whose complex tensors are seen as pairs of real numbers."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state
        self._seen = {name: _to_pairs(value) for name, value in state.items()}
        super().__init__(self._seen)

    def keep(self) -> None:
        """Put the assigned values into the state."""
        for name, value in self.items():
            if value is not self._seen.get(name):
                paired = isinstance(value, Tensor) and value.dim() and name not in ("step", "eta", "mu", "mu_product")
                self._state[name] = FUNCTIONS["view_as_complex"](value) if paired else value


def _to_pairs(value: Any) -> Any:
    return FUNCTIONS["view_as_real"](value) if isinstance(value, Tensor) and value.is_complex() else value


def _find_name(kind: type) -> str:
    """Return the name of the class that brings an optimizer's steps."""
    return next(each.__name__ for each in kind.__mro__ if "update" in vars(each))


def _split_names(group: dict[str, Any]) -> None:
    """Split pairs of names and parameters; raises ``ValueError`` where only some have names."""
    pairs = [param for param in group["params"] if isinstance(param, tuple)]
    if not pairs:
        return
    if len(pairs) != len(group["params"]):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    group["params"] = [pair[1] for pair in pairs]
    group["param_names"] = [pair[0] for pair in pairs]


def _fit(value: Any, param: Tensor, name: Any = None) -> Any:
    """Copy a saved state for a parameter: tensors come to its device and dtype, but the number of steps stays as it is."""
    if isinstance(value, Tensor):
        if name == "step":
            return value.clone()
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return place_like(value.detach().to(param.device, dtype, copy=True), param)
    if isinstance(value, dict):
        return {key: _fit(inner, param, key) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_fit(inner, param) for inner in value)  # type: ignore[call-arg]
    return value


def _read_parts(state_dict: Any) -> tuple[list[dict[str, Any]], dict[Any, dict[str, Any]]]:
    """Return the groups and the states of a state dict; raises ``TypeError`` for anything else."""
    groups, states = (
        (state_dict.get("param_groups"), state_dict.get("state")) if isinstance(state_dict, dict) else (None, None)
    )
    if (
        not isinstance(groups, list)
        or not isinstance(states, dict)
        or not all(isinstance(group, dict) and isinstance(group.get("params"), list) for group in groups)
        or not all(isinstance(state, dict) or not isinstance(place, int) for place, state in states.items())
        or not all(isinstance(place, int) for group in groups for place in group["params"])
    ):
        raise TypeError(
            "load_state_dict() takes the result of an optimizer's state_dict(): a dict of 'state' and 'param_groups'"
        )
    return groups, states
