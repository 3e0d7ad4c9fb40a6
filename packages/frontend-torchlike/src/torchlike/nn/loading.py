"""Loading a module's state by name: ``load_state_dict``, and the hooks around it.

As in torch, each module loads its own part, and subclasses may override how (``_load_from_state_dict``). Where no module
of the tree does, and none has a hook, all names and shapes are checked first, so that a load that fails has copied
nothing. The effects of an override or a hook are unknown; there a failing load may be half made, as torch's is.
"""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dispatch_core.escapes import to_printable
from dispatch_core.tracebacks import api_boundary

from ..history.grad_mode import no_grad
from ..history.hooks import Hook, RemovableHandle
from ..names.lazy_names import import_lazily
from ..names.spelling import spell
from ..tensors.tensor import Tensor
from .parameter import Parameter
from .saving import EXTRA_STATE, Saving

if TYPE_CHECKING:
    from .modules.module import Module
else:
    Module = import_lazily("torchlike.nn.modules.module", "Module")


class _IncompatibleKeys(NamedTuple):
    """The names that ``load_state_dict(strict=False)`` did not find, and those that it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def _to_mapping(value: object) -> str:
    """Return a hint on how to get the mapping that was meant."""
    if isinstance(value, (str, os.PathLike)):
        return "\nHint: read the file first, with torchlike.load"
    return "\nHint: pass its state_dict()" if hasattr(value, "state_dict") else ""


class _Faults(NamedTuple):
    """The faults that a load has found so far; overrides and hooks may add to the lists and remove from them."""

    missing: list[str]
    unexpected: list[str]
    errors: list[str]

    def refuse(self, name: str, *, strict: bool) -> None:
        """Raise ``RuntimeError`` where there is something to report."""
        errors = [to_printable(each, keep="\n\t") for each in self.errors]
        if strict:
            for title, keys in (("Unexpected", self.unexpected), ("Missing", self.missing)):
                if keys:
                    names = ", ".join(f'"{to_printable(key)}"' for key in keys)
                    errors.insert(0, f"{title} key(s) in state_dict: {names}. ")
        if errors:
            text = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {name}:\n\t{text}{self._find_prefix()}")

    def _find_prefix(self) -> str:
        """Return a hint where all names differ by a prefix, as of a model that was saved within another."""
        prefix = "".join(self.unexpected[:1]).partition(".")[0] + "."
        if not self.missing or {*self.unexpected} != {prefix + key for key in self.missing}:
            return ""
        call = f"{spell()}.nn.modules.utils.consume_prefix_in_state_dict_if_present(state_dict, {prefix!r})"
        return f"\nHint: all keys begin with {prefix!r}; take it off by {call}"


class _WithoutModule:
    """A hook before loading that does not take the module."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    def __call__(self, module: Module, *args: Any) -> Any:
        return self.hook(*args)


class Loading(Saving):
    """The part of `Module` that loads its state."""

    _load_state_dict_pre_hooks: dict[int, Hook]
    _load_state_dict_post_hooks: dict[int, Hook]

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of ``get_extra_state``."""
        raise RuntimeError("set_extra_state() is defined by modules that have extra state, and only called there")

    def _match(self, state_dict: Mapping[str, Any], prefix: str, strict: bool, faults: _Faults) -> dict[str, Tensor]:
        """Return the values for the module's own tensors by their names, and add those that do not fit to ``faults``."""
        found: dict[str, Tensor] = {}
        own = dict(self._own_state())
        for name, value in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    faults.missing.append(key)
                continue
            given = state_dict[key]
            if not isinstance(given, Tensor):
                faults.errors.append(
                    f'While copying the parameter named "{to_printable(key)}", expected torchlike.Tensor or Tensor-like '
                    f"object from checkpoint but received {type(given)}"
                )
                continue
            if hasattr(type(value), "cls_to_become"):
                continue  # Of a lazy module, and given without values too.
            if not value.shape and given.shape == (1,):
                given = given[0]  # Very old files hold numbers so.
            if given.shape != value.shape:
                faults.errors.append(
                    f"size mismatch for {to_printable(key)}: copying a param with shape {given.shape} from checkpoint, "
                    f"the shape in current model is {value.shape}."
                )
                continue
            found[name] = given
        extra = prefix + EXTRA_STATE
        if strict:
            has_extra = type(self).set_extra_state is not Loading.set_extra_state
            if has_extra is not (extra in state_dict):
                (faults.missing if has_extra else faults.unexpected).append(extra)
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        faults.unexpected.append(key)
        return found

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the module's own state, its submodules' left out; faults are appended to the lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = dict(self._own_state())
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, given in self._match(
            state_dict, prefix, strict, _Faults(missing_keys, unexpected_keys, error_msgs)
        ).items():
            value, shown = own[name], to_printable(prefix + name)
            if value.is_meta and not given.is_meta and not assign:
                warnings.warn(
                    f"for {shown}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                    "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
                    "dictionary to their corresponding key in the module instead of copying them in place?)",
                    UserWarning,
                    stacklevel=2,
                )
            try:
                with no_grad():
                    if assign:
                        setattr(self, name, _to_assign(value, given))
                    else:
                        value.copy_(given)
            except Exception as error:  # noqa: BLE001  # reported with the others, as in torch
                error_msgs.append(
                    f'While copying the parameter named "{shown}", whose dimensions in the model are {value.shape} '
                    f"and whose dimensions in the checkpoint are {given.shape}, an exception occurred : {error.args}."
                )
        if type(self).set_extra_state is not Loading.set_extra_state and prefix + EXTRA_STATE in state_dict:
            self.set_extra_state(state_dict[prefix + EXTRA_STATE])

    @api_boundary
    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy values into parameters and buffers by name (source: ``torch.nn.Module.load_state_dict``).

        Raises ``RuntimeError`` naming every missing or unexpected key (unless not ``strict``) and every shape that differs;
        then nothing has been copied, unless a module loads in a way of its own. ``TypeError`` for anything but a mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.{_to_mapping(state_dict)}")
        for name in state_dict:
            if not isinstance(name, str):
                raise TypeError(f"state_dict keys must be str, not {type(name).__name__}")
        metadata = getattr(state_dict, "_metadata", None)
        given: Any = OrderedDict(state_dict)  # a copy: overrides and hooks may change it
        if metadata is not None:
            given._metadata = metadata
        if all(_loads_plainly(module) for module in cast("Module", self).modules()):
            faults = _Faults([], [], [])
            for module, prefix, part in _walk_parts(self, given):
                module._match(part, prefix, True, faults)
            faults.refuse(type(self).__name__, strict=strict)
        faults = _Faults([], [], [])
        self._load(given, "", metadata, assign, faults)
        faults.refuse(type(self).__name__, strict=strict)
        return _IncompatibleKeys(faults.missing, faults.unexpected)

    def _load(self, part: Any, prefix: str, metadata: Any, assign: bool, faults: _Faults) -> None:
        """Load the module's own state and its submodules'."""
        local = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = assign
        self._load_from_state_dict(part, prefix, local, True, *faults)
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}{name}."
                module._load(_select_below(part, path), path, metadata, assign, faults)
        keys = _IncompatibleKeys(faults.missing, faults.unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise RuntimeError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                    "if incompatible_keys need to be modified, it should be done inplace."
                )

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, *arguments of _load_from_state_dict)`` before; it may change ``state_dict`` and the lists."""
        return RemovableHandle(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        """Call ``hook`` as above, without the module as a rule."""
        return RemovableHandle(self._load_state_dict_pre_hooks, hook if with_module else _WithoutModule(hook))

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading; it may change the lists of keys."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)


def _loads_plainly(module: Loading) -> bool:
    """Return whether neither the module's class nor a hook changes how its state is loaded."""
    return (
        type(module)._load_from_state_dict is Loading._load_from_state_dict
        and not module._load_state_dict_pre_hooks
        and not module._load_state_dict_post_hooks
    )


def _select_below(state_dict: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key: value for key, value in state_dict.items() if key.startswith(prefix)}


def _walk_parts(
    module: Loading, part: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[Loading, str, Mapping[str, Any]]]:
    """Yield every module of the tree with its prefix and the part of ``state_dict`` that lies below it."""
    yield module, prefix, part
    for name, child in module._modules.items():
        if child is not None:
            path = f"{prefix}{name}."
            yield from _walk_parts(child, _select_below(part, path), path)


def _to_assign(value: Tensor, given: Tensor) -> Tensor:
    """Return the tensor that takes the place of ``value``: a parameter for a parameter, which requires grad where it did."""
    if not isinstance(value, Parameter):
        return given
    if isinstance(given, Parameter):
        given.requires_grad_(value.requires_grad)
        return given
    return Parameter(given, value.requires_grad)
