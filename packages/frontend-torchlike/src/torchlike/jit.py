"""TorchScript: functions and modules stay Python, which means the same (source: ``torch.jit``).

Files of TorchScript are not read or written.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NoReturn

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

#: Modules are never compiled, so there are no others.
ScriptModule: Final = Module
ScriptFunction: Final = Callable


def _keep(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a function, a class or a module unchanged."""
    return obj


script = export = unused = script_method = interface = script_if_tracing = freeze = optimize_for_inference = _keep


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return a function or a module unchanged: it is run as it is, with every input."""
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a module unchanged: its methods are run as they are."""
    return mod


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
