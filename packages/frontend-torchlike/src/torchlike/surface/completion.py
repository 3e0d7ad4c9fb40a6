"""Modules of ours where torchlike stands in for torch: names that they lack are looked for among torch's (`shells`)."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

from ..names.torch_modules import MODULES

__all__ = ["complete", "complete_loaded", "torch_name"]

#: Folders of torchlike that torch has not under these names.
_INNER: Final = frozenset(
    (
        "__main__ capturing creation functions history integrations levels methods names shells signatures surface tensors"
        " values"
    ).split()
)
#: A module of ours → torch's, where the names differ.
_NAMES: Final = {ours: name for name, ours in reversed(MODULES.items()) if ":" not in ours}


def torch_name(name: str) -> str:
    """Return torch's name of a module of ours, the empty text for one that only we have."""
    if name in _NAMES:
        return _NAMES[name]
    _, _, rest = name.partition(".")
    return "" if rest.partition(".")[0] in _INNER else f"torch.{rest}" if rest else "torch"


def complete(module: ModuleType, name: str) -> None:
    """Complete a module of ours by torch's names; ``name`` is the one by which it is imported."""
    plain = vars(module).get("__getattr__")
    if isinstance(plain, _NameCompletion):
        plain.names.setdefault(name if name.startswith("torch.") else torch_name(name))
    else:
        names = {each: None for each in (name, torch_name(name)) if each.partition(".")[0] == "torch"}
        vars(module)["__getattr__"] = _NameCompletion(module, plain, names)


class _NameCompletion:
    """Gives the names that a module has not itself."""

    def __init__(self, module: ModuleType, plain: Any, names: dict[str, None]) -> None:
        self._module, self._plain, self.names = module, plain, names

    def __call__(self, name: str) -> Any:
        if self._plain is not None:
            try:
                return self._plain(name)
            except AttributeError as error:
                missing = error
        else:
            from ..names.lazy_names import missing_name

            missing = missing_name(self._module.__name__, name)
        if not (name.startswith("__") and name.endswith("__")):
            from ..shells.modules import MISSING, fill

            for each in self.names:
                found = fill(each, name)
                if found is not MISSING:
                    setattr(self._module, name, found)
                    return found
        raise missing


def complete_loaded() -> None:
    """Complete the modules that are loaded already."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torchlike" and torch_name(name) and module is not None:
            complete(module, name)
