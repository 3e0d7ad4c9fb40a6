"""Fakes: an operator's effect on shapes and dtypes, run for meta tensors (source: ``torch.library.register_fake``)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import dispatch_core as dc

from .callers import find_caller
from .kernels import make_kernel

__all__ = [
    "FakeImplCtx",
    "Kernel",
    "get_ctx",
    "list_fakes",
    "register_fake_kernel",
    "register_waiting",
    "stand_in_sizes",
]


class Kernel:
    """A fake or another function, and the place of the code that registered it."""

    def __init__(self, func: Callable[..., Any], source: str) -> None:
        self.func, self.source = func, source

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.func(*args, **kwargs)


class FakeImplCtx:
    """The context of a running fake, by `get_ctx`: it refuses sizes that depend on values, which meta tensors lack.

    (source: ``torch._library.fake_impl.FakeImplCtx``)
    """

    def __init__(self, name: str, place: str) -> None:
        self._name, self._place = name, place

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Refuse a size that only values know, but in `opcheck`, where a number represents it.

        Raises ``ValueError`` for limits that no size has, and ``RuntimeError`` otherwise: tensors here have sizes that are
        numbers.
        """
        for limit in (min, max):
            if limit is not None and type(limit) is not int:
                raise ValueError(f"new_dynamic_size takes plain numbers, and no SymInt: min={min}, max={max}")
        if min < 0:
            raise ValueError(f"expected min to be greater than or equal to 0, got {min}: sizes are not negative")
        taken = _stand_ins.get()
        if taken is not None:
            # No tensor of a check has so many elements in a dimension.
            taken.append(_FIRST_STAND_IN + len(taken))
            return taken[-1]
        raise RuntimeError(
            f"The fake of {self._name}, registered at {self._place}, asks for a size by get_ctx(): the operator has a "
            "data-dependent shape, and a tensor on the device meta has no values that would say which"
        )

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> int:
        """Do as `new_dynamic_size`, by its former name."""
        return self.new_dynamic_size(min=min, max=max)


_current: Final[ContextVar[FakeImplCtx | None]] = ContextVar("torchlike.fake", default=None)
#: The numbers that represent sizes which only values know, in a check; None elsewhere.
_stand_ins: Final[ContextVar[list[int] | None]] = ContextVar("torchlike.stand_in_sizes", default=None)
_FIRST_STAND_IN: Final = 104729
#: Operator → its fakes that libraries have registered, the newest last.
_fakes: Final[dict[str, list[Kernel]]] = {}


def get_ctx() -> FakeImplCtx:
    """Return the context of the fake that runs (source: ``torch.library.get_ctx``).

    Raises ``RuntimeError`` outside of a fake.
    """
    found = _current.get()
    if found is None:
        raise RuntimeError(
            "get_ctx() was called outside of a fake impl\nHint: call it in a function that is registered with "
            "torch.library.register_fake"
        )
    return found


def list_fakes(name: str) -> list[Kernel]:
    """Return an operator's fakes, the newest last."""
    return list(_fakes.get(name, ()))


@contextmanager
def stand_in_sizes() -> Iterator[list[int]]:
    """Give numbers for the sizes that fakes ask for within a block; the list has those that were given."""
    taken: list[int] = []
    token = _stand_ins.set(taken)
    try:
        yield taken
    finally:
        _stand_ins.reset(token)


@contextmanager
def _within(context: FakeImplCtx) -> Iterator[None]:
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)


def register_fake_kernel(
    library: dc.Library, name: str, fn: Callable[..., Any], *, allow_override: bool = True, is_listed: bool = True
) -> Callable[[], None]:
    """Register a fake of an operator, through a library of the dispatcher's; return the function that forgets it.

    One that is not ``is_listed`` is a kernel under Meta, and no fake where those are asked for.
    A fake for an operator of a namespace without any waits until the operator is defined: libraries bring fakes for
    operators of their machine code, which is not loaded here. Raises ``RuntimeError`` where the operator has a fake and
    ``allow_override`` is False, or where meta tensors go through its parts.
    """
    namespace = name.partition("::")[0]
    if (
        dc.registry.find_entry(name) is None
        and not dc.registry.awaits_library(namespace)
        and not _has_operators(namespace)
    ):
        return _wait(library, name, fn, allow_override=allow_override)
    entry = dc.registry.get(name)
    held = _fakes.get(name, [])
    if not allow_override:
        if held:
            raise RuntimeError(
                f"register_fake(...): the operator {name} already has a fake impl registered at {held[-1].source}."
            )
        if dc.DispatchKey.Meta in entry.kernels:
            raise RuntimeError(
                f"register_fake(...): the operator {name} already has a DispatchKey::Meta implementation via a "
                "pre-existing torch.library registration. Please either remove that registration or don't call "
                "register_fake."
            )
    if dc.DispatchKey.CompositeImplicitAutograd in entry.kernels:
        raise RuntimeError(
            f"register_fake(...): the operator {name} already has an implementation via a pre-existing registration to "
            "DispatchKey::CompositeImplicitAutograd. Such operators do not need a fake: they decompose, and their parts "
            "can have fakes."
        )
    place = str(find_caller())
    made = Kernel(fn, place)
    context = FakeImplCtx(name, place)

    @functools.wraps(fn)
    def fake(*args: Any, **kwargs: Any) -> Any:
        with _within(context):
            return fn(*args, **kwargs)

    if any(key.kind == "device" and _takes_arrays(entry, key) for key in entry.kernels):
        dc.register_fake(entry.op, fake, lib=library)
    else:
        library.impl(entry.op, make_kernel(fake), dc.DispatchKey.Meta)
    if is_listed:
        _fakes.setdefault(name, []).append(made)

    def forget() -> None:
        if made in _fakes.get(name, ()):
            _fakes[name].remove(made)

    return forget


def _takes_arrays(entry: Any, key: dc.DispatchKey) -> bool:
    """Return whether the kernel under a device's key is one of arrays, for which pipelines ask a fake of arrays."""
    held = entry.registrations(key)
    return bool(held) and not (held[0].takes_tensors or held[0].is_fallthrough)


#: Operator → functions that register the fakes which wait for it.
_waiting: Final[dict[str, list[Callable[[], object]]]] = {}


def _has_operators(namespace: str) -> bool:
    return bool(dc.registry.names_in(namespace))


def _wait(library: dc.Library, name: str, fn: Callable[..., Any], *, allow_override: bool) -> Callable[[], None]:
    forget: list[Callable[[], None]] = []

    def register() -> None:
        forget.append(register_fake_kernel(library, name, fn, allow_override=allow_override))

    _waiting.setdefault(name, []).append(register)

    def take_back() -> None:
        if register in _waiting.get(name, ()):
            _waiting[name].remove(register)
        for each in forget:
            each()

    return take_back


def register_waiting(name: str) -> None:
    """Register the fakes that have waited for an operator, which is defined now."""
    for register in _waiting.pop(name, ()):
        register()
