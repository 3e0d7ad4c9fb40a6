"""Classes and modes that override functions of torchlike (source: ``torch.overrides``).

A class with a method ``__torch_function__(cls, func, types, args=(), kwargs=None)`` gets the calls of torch's functions in
which one of its objects is an argument, be it a class of tensors or any other.

>>> import torchlike
>>> class Metres:
...     def __init__(self, value):
...         self.value = value
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         return f"{func.__name__} of {len(args)}"
>>> torchlike.add(Metres(1), torchlike.ones(2))
'add of 2'
"""

from __future__ import annotations

from functools import partial
from typing import Final

from ..names.docstrings import complete
from ..names.lazy_names import load_names

_NAMES: Final = {
    "questions": "handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic"
    " is_tensor_like redispatch_function _is_torch_function_all_disabled _is_torch_function_enabled"
    " _is_torch_function_mode_enabled _len_torch_function_stack",
    "modes": "BaseTorchFunctionMode DisableTorchDispatch DisableTorchFunction DisableTorchFunctionSubclass TorchFunctionMode"
    " _EnableTorchFunction _enable_torch_function _get_current_function_mode _get_current_function_mode_stack"
    " _get_function_stack_at _pop_torch_function_stack _push_on_torch_function_stack"
    " _pop_mode_temporarily enable_reentrant_dispatch",
    "listing": "get_default_nowrap_functions get_ignored_functions get_overridable_functions get_testing_overrides"
    " is_tensor_method_or_property resolve_name wrap_torch_function",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES, partial(complete, namespace="overrides"))
