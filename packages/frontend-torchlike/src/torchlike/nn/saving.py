"""Saving a module's state by name: ``state_dict``, and the hooks around it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from ..history.hooks import Hook, RemovableHandle
from ..tensors.tensor import Tensor
from .tree import Tree

#: The name under which a module's extra state is saved.
EXTRA_STATE: Final = "_extra_state"


class Saving(Tree):
    """The part of `Module` that saves its state."""

    #: Saved beside the state, for a subclass that reads files of its older versions.
    _version: int = 1

    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: dict[int, Hook]
    _state_dict_pre_hooks: dict[int, Hook]

    def get_extra_state(self) -> Any:
        """Return the state to save beside parameters and buffers; a subclass that has it defines both methods."""
        raise RuntimeError("get_extra_state() is defined by modules that have extra state, and only called there")

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the module's own parameters and persistent buffers."""
        for name, value in self._parameters.items():
            if value is not None:
                yield name, value
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Put the module's own state, its submodules' left out, into ``destination``."""
        for name, value in self._own_state():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Saving.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return all parameters and persistent buffers by their dotted names; they share memory with the module's."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: destination, prefix, keep_vars.",
                FutureWarning,
                stacklevel=2,
            )
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])[:3]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, metadata)
            if changed is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = changed
        return destination

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the module's state is saved."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after; it may change ``state_dict``."""
        if not callable(hook):
            raise TypeError(f"hook must be callable, not {type(hook).__name__}")
        try:
            hook._from_public_api = True  # type: ignore[attr-defined]  # such a hook may return nothing, as in torch
        except AttributeError:
            raise TypeError(f"hook must take attributes, which {type(hook).__name__} does not") from None
        return RemovableHandle(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook`` as above; its result takes the place of the root module's result."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return RemovableHandle(self._state_dict_hooks, hook)
