"""Modules that hold parameters (source: ``torch.nn.modules.container``)."""

from __future__ import annotations

__name__ = "torchlike.nn.modules.parameter_container"  # see Note [Public paths]

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from operator import index as as_index
from typing import Any, Self

from ....tensors.tensor import Tensor
from ....values.dtypes import format_type
from ...parameter import Parameter
from ..module import Module


def _to_parameter(value: Any) -> Any:
    """Return a tensor as a parameter, and anything else as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(value: Any, type_of: str) -> str:
    """Return the text for a tensor in a container."""
    if not isinstance(value, Tensor):
        return "Object of type: " + type(value).__name__
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    place = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    return f"{kind} containing: [{type_of} of size {'x'.join(map(str, value.shape))}{place}]"


class ParameterList(Module):
    """A list whose tensors are parameters (source: ``torch.nn.ParameterList``); it has no ``forward``.

    >>> import torchlike
    >>> ParameterList([torchlike.ones(2)])
    ParameterList(  (0): Parameter containing: [torchlike.float32 of size 2])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _get_name_at(self, idx: int) -> str:
        idx = as_index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[place] for place in range(len(self))[idx])
        return getattr(self, self._get_name_at(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._get_name_at(idx), _to_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({place}): {_describe(value, repr(getattr(value, 'dtype', None)))}" for place, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict whose tensors are parameters (source: ``torch.nn.ParameterDict``); it has no ``forward``."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _check_key(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._check_key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._check_key(key)] = None
        setattr(self, key, _to_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return a dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, after adding ``default`` for one that is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all values out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a value out."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take out the pair that was added last."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or ``default``."""
        return self[key] if key in self else default  # noqa: SIM401  # this is the method that it would call

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a dict with ``default`` for every key."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping, in the order of the keys if it is a plain one, or from pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(parameters).__name__}"
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Iterable[Any] = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = parameters
        for place, pair in enumerate(pairs):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ParameterDict update sequence element #{place} should be Iterable; is{type(pair).__name__}"
                )
            found = list(pair)
            if len(found) != 2:
                raise ValueError(
                    f"ParameterDict update sequence element #{place} has length {len(found)}; 2 is required"
                )
            self[found[0]] = found[1]

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({key}): {_describe(value, format_type(value) if isinstance(value, Tensor) else '')}"
            for key, value in self.items()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        found = self.copy()
        found.update(other)
        return found

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        found = other.copy()
        found.update(self)
        return found

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
