"""Weak references and dictionaries by identity, as tensors need them (source: ``torch.utils.weak``)."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ..tensors.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref[Any]):
    """A weak reference with the hash and equality of its object's identity; dead ones are equal to themselves alone.

    >>> import torchlike
    >>> x = torchlike.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(x.clone())
    (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]  # typeshed has no __init__ for it

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        # The identity of a dead object may be that of another one by now.
        mine = self()
        theirs = other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else mine is theirs


class _WeakHashRef(WeakIdRef):
    """The same by the object's own hash."""

    __slots__ = ()

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)
        self._id = hash(key)

    __hash__ = WeakIdRef.__hash__

    def __eq__(self, other: object) -> bool:
        mine = self()
        theirs = other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else hash(mine) == hash(theirs)


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by the identity of its keys, which it does not keep alive.

    Args:
        dict: The first keys and values.
        ref_type: The class of its references.

    >>> import torchlike
    >>> x = torchlike.ones(2)
    >>> seen = WeakIdKeyDictionary({x: "x"})
    >>> x in seen, torchlike.ones(2) in seen
    (True, False)
    >>> del x
    >>> len(seen)
    0
    """

    def __init__(self, dict: Any = None, ref_type: type[WeakIdRef] = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def remove(reference: Any) -> None:
            alive = own()
            if alive is not None:
                alive.data.pop(reference, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # an object without weak references
            return False

    def __len__(self) -> int:
        return sum(reference() is not None for reference in list(self.data))

    def __iter__(self) -> Iterator[Any]:
        # A key may die, and leave the dictionary, between two steps.
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}>"

    def keyrefs(self) -> list[Any]:
        """Return weak references to the keys, some of which may be dead."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Return another dictionary with the same keys and values."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        found = type(self)(None, self.ref_type)
        for key, value in self.items():
            found[key] = copy.deepcopy(value, memo)
        return found

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        found = self.copy()
        found.update(other)
        return found

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        found = type(self)(other, self.ref_type)
        found.update(self)
        return found

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:  # noqa: PYI034  # a subclass may say otherwise
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]  # as of all dictionaries


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; raises ``AssertionError`` for anything else.

    >>> import torchlike
    >>> x = torchlike.ones(2)
    >>> TensorWeakRef(x)() is x
    True
    """

    def __init__(self, tensor: Tensor) -> None:
        assert isinstance(tensor, Tensor), f"expected torch.Tensor, got {type(tensor)}."
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        """Return the tensor, None where it is gone."""
        return self.ref()
