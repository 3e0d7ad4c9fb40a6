"""Names of ``torch._library`` that programs use, though torch calls them its own."""

from typing import Any

__all__ = ["autograd", "custom_ops", "fake_impl", "infer_schema", "simple_registry", "utils"]

#: torch's name of a module → ours, beside this folder or in it.
_MODULES = {
    "autograd": "internals.list_functions",
    "custom_ops": "operators",
    "fake_impl": "fakes",
    "infer_schema": "inference",
    "simple_registry": "internals.registry",
    "utils": "internals.utilities",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = import_module(f"{__package__.rpartition('.')[0]}.{_MODULES[name]}")
    return found
