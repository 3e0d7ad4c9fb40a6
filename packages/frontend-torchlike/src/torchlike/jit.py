"""TorchScript: functions and modules stay Python, which means the same (source: ``torch.jit``).

Files of TorchScript are not read or written.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import partial
from typing import Any, Final, NoReturn

from dispatch_core import capture

from .nn import Module

__all__ = [
    "Attribute",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
]


class ScriptModule(Module):
    """The class of modules that are compiled, which no module of a program's own is."""


ScriptFunction: Final = Callable


def _keep(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a function, a class or a module unchanged."""
    return obj


script = export = unused = script_method = interface = script_if_tracing = freeze = optimize_for_inference = _keep


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    *args: Any,
    example_kwarg_inputs: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Return a function, or a copy of a module, whose calls are captured (source: ``torch.jit.trace``).

    It is called with the example, a tensor or a tuple of arguments, and once more with ``check_trace``. Other shapes are
    recorded when they come. What cannot be captured runs as it is, which a ``RuntimeWarning`` says.

    >>> import torchlike
    >>> traced = torchlike.jit.trace(lambda x: x * 2, torchlike.ones(2))
    >>> traced(torchlike.arange(2.0)), traced
    (tensor([0., 2.]), <captured <lambda>: 1 variant>)
    """
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("torch.jit.trace takes example_inputs or example_kwarg_inputs")
    named = example_kwarg_inputs or {}
    example = () if example_inputs is None else example_inputs
    placed = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    if isinstance(func, Module):
        traced = copy(func)
        # Not through the module's own dictionary of attributes, which the copy has by itself.
        traced.__dict__["forward"] = call = capture(func.forward, fullgraph=False)
        traced.__dict__["_traced"] = func  # a method is held weakly
        if not hasattr(traced, "save"):
            traced.__dict__["save"] = partial(save, None)
    else:
        traced = call = capture(func, fullgraph=False)
    for _ in range(1 + bool(check_trace)):
        call(*placed, **named)
    for each in check_inputs or ():
        call(*each)
    return traced


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """Return a copy of a module whose named methods are captured, each called with its example; see `trace`."""
    traced = copy(mod)
    for name, example in inputs.items():
        traced.__dict__[name] = trace(getattr(mod, name), example, *args, **kwargs)
    traced.__dict__["_traced"] = mod
    return traced


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return a function unchanged, or a decorator that does."""
    return drop if callable(drop) else _keep


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return a value as it is: its type is not declared to a compiler."""
    return the_value


def Attribute(value: Any, type: Any) -> Any:  # noqa: N802  # torch's name
    """Return a value as it is: its type is not declared to a compiler."""
    return value


def is_scripting() -> bool:
    """Return False: nothing is compiled."""
    return False


def is_tracing() -> bool:
    """Return False: nothing is traced."""
    return False


def fuser(name: str) -> AbstractContextManager[None]:
    """Do nothing within a block."""
    return nullcontext()


def optimized_execution(should_optimize: bool) -> AbstractContextManager[None]:
    """Do nothing within a block."""
    return nullcontext()


def load(f: Any, map_location: Any = None, **kwargs: Any) -> NoReturn:
    """Raise ``NotImplementedError``: such a file contains code."""
    raise NotImplementedError(
        "torch.jit.load reads code of TorchScript, which there is none of here; load a state_dict"
    )


def save(m: Any, f: Any, **kwargs: Any) -> NoReturn:
    """Raise ``NotImplementedError``: there is no code of TorchScript to write."""
    raise NotImplementedError(
        "torch.jit.save writes code of TorchScript, which there is none of here; save a state_dict"
    )


def _get_tracing_state() -> None:
    """Return None: no program is traced into TorchScript (source: ``torch._C._get_tracing_state``)."""
