"""Objects of torch's compiled classes in files: the name of a class, and a state of tensors and numbers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

__all__ = ["ScriptObject"]

_CLASS: Final = "__torch__.torch.classes."
#: The name of a class → the module of ours with the function that makes an object of a state, and its name.
_MAKERS: Final = {
    **{
        f"{_CLASS}quantized.{name}PackedParamsBase": ("torchlike.quantized.packed", f"restore_{name.lower()}")
        for name in ("Conv2d", "Conv3d", "Embedding", "Linear")
    },
    f"{_CLASS}rnn.CellParamsBase": ("torchlike.ao.nn.quantized.dynamic.steps", "restore_cell"),
}


class ScriptObject:
    """The base of packed parameters, which have a class of torch's in files (source: ``torch.ScriptObject``).

    A copy or a pickle has what was packed. One alone, as a file's reader makes it, becomes an object of the class that its
    state names; ``RuntimeError`` for other classes and states.
    """

    __module__ = "torchlike"
    _kind: str = ""

    def _type(self) -> str:
        """Return the name of the class."""
        return _CLASS + self._kind

    def _parts(self) -> Any:
        """Return the state as torch has it."""
        raise NotImplementedError

    def __getstate__(self) -> Any:
        return self._parts(), self._type()

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 2 or state[1] not in _MAKERS:
            named = state[1] if isinstance(state, tuple) and len(state) == 2 else state
            raise RuntimeError(
                f"no class of torch's is known by the name {named!r}\nHint: known are {', '.join(_MAKERS)}"
            )
        module, name = _MAKERS[state[1]]
        restore: Callable[[Any], ScriptObject] = getattr(import_module(module), name)
        try:
            made = restore(state[0])
        except (IndexError, TypeError, ValueError) as error:
            raise RuntimeError(f"the state of {state[1]} is no known one: {error}") from error
        vars(self).update(vars(made))
        self.__class__ = type(made)

    def __repr__(self) -> str:
        return f"ScriptObject({self._type()!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return ScriptObject, (), self.__getstate__()
