"""The part of `Module` that calls ``forward``, with the hooks around it.

Order: the hooks of all modules (`global_hooks`) before the module's own, and each kind in the order of registration.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..history.captures import current_part
from ..history.hooks import Hook, RemovableHandle
from ..names.lazy_names import import_lazily
from ..tensors.tensor import Tensor
from . import global_hooks
from .tree import Tree

if TYPE_CHECKING:
    from .backward_hooks import BackwardHook
else:
    BackwardHook = import_lazily("torchlike.nn.backward_hooks", "BackwardHook")

ForwardHook: TypeAlias = (
    Callable[[Any, tuple[Any, ...], Any], Any] | Callable[[Any, tuple[Any, ...], dict[str, Any], Any], Any]
)
ForwardPreHook: TypeAlias = (
    Callable[[Any, tuple[Any, ...]], Any] | Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
)


class _OfModule:
    """A hook on a node that takes the module first; holds the module weakly."""

    def __init__(self, hook: Hook, module: Any) -> None:
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)


class Hooked(Tree):
    """The hooks of a module around forward and backward."""

    _forward_hooks: dict[int, Hook]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks: dict[int, Hook]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _backward_hooks: dict[int, Hook]
    _backward_pre_hooks: dict[int, Hook]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: ForwardPreHook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before every ``forward``; its result replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, which returns both, or None.
        """
        marks = (self._forward_pre_hooks_with_kwargs,) * bool(with_kwargs)
        return RemovableHandle(self._forward_pre_hooks, hook, marks, prepend)

    def register_forward_hook(
        self, hook: ForwardHook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, result)`` after every ``forward``; its result replaces the result.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, result)``; with ``always_call`` it is called also where
        ``forward`` raises, with None for the result.
        """
        marks = (self._forward_hooks_with_kwargs,) * bool(with_kwargs) + (self._forward_hooks_always_called,) * bool(
            always_call
        )
        return RemovableHandle(self._forward_hooks, hook, marks, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the module's backward; its result replaces ``grad_output``."""
        return RemovableHandle(self._backward_pre_hooks, hook, (), prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the module's backward; its result replaces ``grad_input``."""
        self._choose_backward_hooks(full=True)
        return RemovableHandle(self._backward_hooks, hook, (), prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the backward of the node that made the result."""
        self._choose_backward_hooks(full=False)
        return RemovableHandle(self._backward_hooks, hook)

    def _choose_backward_hooks(self, *, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of "
                "them."
            )
        self._is_full_backward_hook = full

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``forward`` and all hooks around it."""
        if (part := current_part()) is not None:
            part.modules.see(self)
        called: set[int] = set()
        result = None
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            around = self._make_backward_hook()
            if around is not None:
                args = around.setup_input_hook(args)
            result = self.forward(*args, **kwargs)  # type: ignore[attr-defined]  # every module has one
            for number, hook, with_kwargs, _ in self._iterate_forward_hooks():
                called.add(number)
                changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if changed is not None:
                    result = changed
        except Exception:
            for number, hook, with_kwargs, always in self._iterate_forward_hooks():
                if always and number not in called:
                    self._call_after_error(hook, (args, kwargs) if with_kwargs else (args,), result)
            raise
        if around is not None:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                    f"{type(result)}",
                    UserWarning,
                    stacklevel=3,
                )
            result = around.setup_output_hook(result)
        self._hook_result(result)
        return result

    def _iterate_forward_hooks(self) -> Iterator[tuple[int, Hook, bool, bool]]:
        """Yield number, hook, and whether it takes keywords and is always called."""
        for hooks, keywords, always in (
            (global_hooks.FORWARD, global_hooks.FORWARD_WITH_KWARGS, global_hooks.FORWARD_ALWAYS),
            (self._forward_hooks, self._forward_hooks_with_kwargs, self._forward_hooks_always_called),
        ):
            for number, hook in list(hooks.items()):
                yield number, hook, number in keywords, number in always

    def _call_after_error(self, hook: Hook, given: tuple[Any, ...], result: Any) -> None:
        try:
            hook(self, *given, result)
        except Exception as error:  # noqa: BLE001  # the error of ``forward`` is the one to report
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                f"raised in forward: {error}",
                UserWarning,
                stacklevel=4,
            )

    def _run_pre_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for number, hook in (*global_hooks.FORWARD_PRE.items(), *self._forward_pre_hooks.items()):
            if number in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _make_backward_hook(self) -> BackwardHook | None:
        own = self._backward_hooks if self._is_full_backward_hook else _NONE
        hooks = [*global_hooks.BACKWARD.values(), *own.values()]
        before = [*global_hooks.BACKWARD_PRE.values(), *self._backward_pre_hooks.values()]
        if not hooks and not before:
            return None
        from .backward_hooks import BackwardHook  # imports autograd, which most calls do without

        return BackwardHook(self, hooks, before)

    def _hook_result(self, result: Any) -> None:
        """Put the backward hooks of the older kind on the node that made the result."""
        own = self._backward_hooks if self._is_full_backward_hook is False else _NONE
        hooks = [*global_hooks.BACKWARD_OF_RESULT.values(), *own.values()]
        if not hooks:
            return
        while not isinstance(result, Tensor):
            if isinstance(result, dict):
                result = next(value for value in result.values() if isinstance(value, Tensor))
            else:
                result = result[0]
        if result.grad_fn is not None:
            for hook in hooks:
                result.grad_fn.register_hook(_OfModule(hook, self))


_NONE: Mapping[int, Hook] = {}
