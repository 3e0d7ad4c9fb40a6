"""Kernels as they are registered: the function, how it wants to be called, and where it came from."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from .._record import Record
from ..arrays.protocols import Kernel
from ..bookkeeping.levels import Level
from ..bookkeeping.origins import Origin
from ..bookkeeping.transactions import current as current_transaction
from ..calls.traits import KernelTraits, traits_of
from ..errors import ArgumentError
from ..keys.keyset import DispatchKeySet
from ..keys.table import DispatchKey
from .overloads import OpOverload


def fallthrough_kernel(*args: object, **kwargs: object) -> NoReturn:
    """Represent "pass this key over" when registered as a kernel; recognised by identity, never run.

    Source: ``torch.library.fallthrough_kernel``.
    """
    raise NotImplementedError("fallthrough_kernel is a marker for registration; it cannot be called")


class KernelFactory(Record):
    """A kernel that is made when a table slot first needs it: ``make(op, keyset)`` returns the function to call."""

    make: Callable[[OpOverload, DispatchKeySet], Kernel]
    #: Whether that function takes all arguments by position, in schema order, and nothing before them.
    in_order: bool = False
    #: Whether that function calls the functional overload, and copies the result into the argument.
    is_derived: bool = False
    #: Whether it calls a fake; see Note [Kernels under Meta that are shape rules] in `conformance`.
    is_fake: bool = False
    #: Whether the function takes the caller's tensors instead of arrays, and answers for its results.
    takes_tensors: bool = False


def kernel_factory(
    make: Callable[[OpOverload, DispatchKeySet], Kernel],
    *,
    in_order: bool = False,
    is_derived: bool = False,
    takes_tensors: bool = False,
) -> KernelFactory:
    """Register the kernel that ``make(op, keyset)`` returns, made on first use for each effective keyset.

    The keyset is a constant of the kernel that is made, so that a layer can work out once the kernel below it. With
    ``in_order`` the function takes all arguments by position, as the schema orders them, which saves a call for operators
    with keyword-only arguments; a fallback is then not given the operator either. ``is_derived`` says of a composite kernel
    of an in-place overload that it calls the functional one and copies the result: where arrays cannot be written to, the
    dispatcher binds that result instead. A kernel that ``takes_tensors`` sees the caller's arguments under a device's key,
    too, as a composite does, and its results are the call's.

    >>> kernel_factory(lambda op, keyset: print).in_order
    False
    """
    return KernelFactory(make, in_order, is_derived, takes_tensors=takes_tensors)


#: The folders of code that registers for its callers: the core's own, and those of `registers_for_callers`.
_folders: Final = [os.path.dirname(os.path.dirname(__file__))]  # noqa: PTH120  # pathlib is slow to import


def registers_for_callers(folder: str) -> None:
    """Take what the code in a folder registers for its callers': errors and warnings name the place that called it.

    >>> registers_for_callers("/an/example")
    """
    _folders.append(folder)


def caller_origin() -> Origin:
    """Return the place of the code outside the core that is registering now."""
    frame, folders = sys._getframe(1), tuple(_folders)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(folders):
        frame = frame.f_back
    transaction = current_transaction()
    return Origin(frame.f_code.co_filename, frame.f_lineno, None if transaction is None else transaction.distribution)


class KernelProvider:
    """Kernels for the arrays of a device that another distribution provides: the object that an entry point names.

    ``kernels`` maps names of operators, with namespace and overload, to functions that take and return the device's arrays
    as its own kernels do. A function that returns ``NotImplemented``, before it has written to anything, leaves the call
    to the kernel that runs without it. One with the trait ``is_exact`` promises results with the bits of the backend's
    own: functions of the backend that compute several operators at once go on doing so where it is on.

    >>> provider = KernelProvider("cpu", {"aten::relu": lambda self: NotImplemented})
    >>> provider
    <KernelProvider for cpu, 1 kernel>
    """

    __slots__ = ("device", "kernels", "origin")

    def __init__(self, device: str, kernels: Mapping[str, Kernel | KernelFactory]) -> None:
        if not isinstance(device, str):
            raise ArgumentError(f"a provider of kernels is for a device's name, not {type(device).__name__}")
        self.device = device
        self.kernels = dict(kernels)
        #: Where its kernels say that they come from.
        self.origin = caller_origin()

    def __repr__(self) -> str:
        count = len(self.kernels)
        return f"<KernelProvider for {self.device}, {count} kernel{'s' * (count != 1)}>"


class Registration(Record):
    """One kernel of one operator under one key, or one fallback under a key.

    ``when`` names an argument and the only value of it that the kernel serves (a specialized kernel); the kernel is then
    called without that argument. ``boxed`` kernels are fallbacks and take the operator before its arguments. Of several
    in one place the first by ``level`` and ``number``, which grows with time, wins; ``is_meant`` says that it was
    registered to take another one's place.
    """

    key: DispatchKey
    fn: Kernel | KernelFactory
    origin: Origin
    with_keyset: bool = False
    boxed: bool = False
    when: tuple[str, Any] | None = None
    level: Level = Level.PROGRAM
    number: int = 0
    is_meant: bool = False
    #: Whether it is a short way; see `candidates`.
    is_short: bool = False

    # Two registrations of one function are two.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def traits(self) -> KernelTraits:
        """Return the traits that the kernel's author has declared."""
        return traits_of(self.fn)

    @property
    def takes_tensors(self) -> bool:
        """Return whether it takes the caller's tensors under whatever key."""
        return self.fn.takes_tensors if isinstance(self.fn, KernelFactory) else self.traits.takes_tensors

    @property
    def may_decline(self) -> bool:
        """Return whether it may leave a call to the next candidate by ``NotImplemented``; see `candidates`."""
        return self.is_short or self.key.target is not None

    @property
    def is_fallthrough(self) -> bool:
        """Return whether the registration passes its key over."""
        return self.fn is fallthrough_kernel

    def is_above(self, other: Registration) -> bool:
        """Return whether this one wins over another in the same place; see Note [Levels] in `levels`."""
        return (self.level, self.number) > (other.level, other.number)


Registrations = tuple[Registration, ...]
#: Numbers for registrations, in the order of time.
next_number: Final = itertools.count(1).__next__


def insert_by_level(held: Registrations, new: Registration) -> Registrations:
    """Return the registrations of one place with a further one, the winner first."""
    if not held:
        return (new,)
    below = next((place for place, found in enumerate(held) if new.is_above(found)), len(held))
    return (*held[:below], new, *held[below:])
