"""Hooks of optimizers: functions of the user's around steps and states (source: ``torch.optim.Optimizer``)."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from itertools import chain
from typing import Any, Final

from dispatch_core.tracebacks import trim_traceback

from ..history.captures import current_part
from ..history.hooks import Hook, RemovableHandle

#: The attributes of an optimizer that hold its hooks.
HOOKS: Final = tuple(
    f"_optimizer_{when}_hooks"
    for when in "step_pre step_post state_dict_pre state_dict_post load_state_dict_pre load_state_dict_post".split()
)
_PRE: Final[dict[int, Hook]] = OrderedDict()
_POST: Final[dict[int, Hook]] = OrderedDict()
#: The hooks of all optimizers' steps.
STEP_HOOKS: Final = (_PRE, _POST)


def _register(hooks: dict[int, Hook], hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook)
    if prepend and isinstance(hooks, OrderedDict):
        hooks.move_to_end(handle.id, last=False)
    return handle


class Hooks:
    """The part of an optimizer that keeps its hooks."""

    _optimizer_step_pre_hooks: dict[int, Hook]
    _optimizer_step_post_hooks: dict[int, Hook]
    _optimizer_state_dict_pre_hooks: dict[int, Hook]
    _optimizer_state_dict_post_hooks: dict[int, Hook]
    _optimizer_load_state_dict_pre_hooks: dict[int, Hook]
    _optimizer_load_state_dict_post_hooks: dict[int, Hook]

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; a pair that it returns replaces the arguments."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before the state is read."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after the state was read; its result replaces the state."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before a state is loaded; its result replaces the state."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state was loaded."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer."""
    return _register(_PRE, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer."""
    return _register(_POST, hook)


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``step`` that calls the hooks around it."""

    @functools.wraps(step)
    def call(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        try:
            if (part := current_part()) is not None:
                part.optimizers.begin_step(self)
            if _PRE or self._optimizer_step_pre_hooks:
                args, kwargs = _call_before(self, step, args, kwargs)
            result = step(*args, **kwargs)
            if _POST or self._optimizer_step_post_hooks:
                for hook in chain(self._optimizer_step_post_hooks.values(), _POST.values()):
                    hook(self, args, kwargs)
            return result
        except Exception as error:
            trim_traceback(error)
            raise

    call.hooked = True  # type: ignore[attr-defined]
    return call


def _call_before(self: Hooks, step: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    for hook in chain(_PRE.values(), self._optimizer_step_pre_hooks.values()):
        changed = hook(self, args, kwargs)
        if changed is not None:
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            args, kwargs = changed
    return args, kwargs
