"""Hooks that all modules share (source: ``torch.nn.modules.module``).

>>> import torchlike
>>> seen = []
>>> with register_module_forward_hook(lambda module, args, result: seen.append(type(module).__name__)):
...     _ = torchlike.nn.Identity()(torchlike.ones(1))
>>> seen
['Identity']
"""

from __future__ import annotations

from typing import Final

from ..history.hooks import Hook, RemovableHandle

#: All of them by number, for the one look that a call without hooks takes.
ANY: Final[dict[int, bool]] = {}
FORWARD_PRE: Final[dict[int, Hook]] = {}
FORWARD: Final[dict[int, Hook]] = {}
FORWARD_WITH_KWARGS: Final[dict[int, bool]] = {}
FORWARD_ALWAYS: Final[dict[int, bool]] = {}
BACKWARD_PRE: Final[dict[int, Hook]] = {}
#: Hooks on the whole backward of a module, and those of the older kind on the node of its result.
BACKWARD: Final[dict[int, Hook]] = {}
BACKWARD_OF_RESULT: Final[dict[int, Hook]] = {}
#: Hooks on parts that are registered, by the dict of the parts.
REGISTRATION: Final[dict[str, dict[int, Hook]]] = {"_parameters": {}, "_buffers": {}, "_modules": {}}

BOTH_KINDS: Final = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of "
    "them."
)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before every module's ``forward``; its result replaces the arguments."""
    return RemovableHandle(FORWARD_PRE, hook, (ANY,))


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, result)`` after every module's ``forward``; its result replaces the result."""
    marks = (ANY,) + (FORWARD_WITH_KWARGS,) * with_kwargs + (FORWARD_ALWAYS,) * always_call
    return RemovableHandle(FORWARD, hook, marks)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before every module's backward; its result replaces the gradients."""
    return RemovableHandle(BACKWARD_PRE, hook, (ANY,))


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after every module's backward; its result replaces ``grad_input``."""
    if BACKWARD_OF_RESULT:
        raise RuntimeError(BOTH_KINDS)
    return RemovableHandle(BACKWARD, hook, (ANY,))


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the node of every module's result, torch's older way."""
    if BACKWARD:
        raise RuntimeError(BOTH_KINDS)
    return RemovableHandle(BACKWARD_OF_RESULT, hook, (ANY,))


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` before every registration; its result takes the parameter's place."""
    return RemovableHandle(REGISTRATION["_parameters"], hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` before every registration; its result takes the buffer's place."""
    return RemovableHandle(REGISTRATION["_buffers"], hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` before every registration; its result takes the submodule's place."""
    return RemovableHandle(REGISTRATION["_modules"], hook)
