"""What the dispatcher asks about kernels and runners beyond calling them, kept beside the functions.

A kernel's traits are declared by its author, and read where the function for a table's slot is made or a kernel is named,
never in a call. A runner's traits are the core's own, and live as long as the tables that the runner stands in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from .._record import Record, replace

if TYPE_CHECKING:
    from ..operators.runners import DeviceChoice
    from .bodies import Body
    from .codegen import Inlined

#: A function from all arguments of a call, in the schema's order, to the caller's result: call tables have one for a mask.
Runner: TypeAlias = Callable[..., Any]
_K = TypeVar("_K", bound=Callable[..., object])


class AnswerKey(Protocol):
    """The key under which the answers of a shape rule may be kept: `dispatch_aten.shapes` has one for each rule."""

    @property
    def settings(self) -> Hashable:
        """Return the settings that the answers depend on."""

    def text(self, names: Sequence[str]) -> str:
        """Return the elements of the key as source, for arguments of these names."""

    def reads(self) -> tuple[str, Sequence[bool]]:
        """Return an attribute of the settings that each change replaces, and of which arguments the type alone counts."""

    def cache(self, ask: Callable[..., Any]) -> tuple[dict[Any, Any], Callable[..., Any]]:
        """Return the kept answers, and a function that asks for further ones."""


class KernelTraits(Record):
    """Properties of a kernel; calling them declares them for a function, beside those that it has.

    >>> @KernelTraits(runs_at_once="it reads values")
    ... def count(array): ...
    >>> found = traits_of(KernelTraits(is_exact=True)(count))
    >>> found.runs_at_once, found.is_exact
    ('it reads values', True)
    """

    #: Returns the function behind the kernel, or its name and place; see Note [The function behind a kernel] in
    #: `kernel_names`.
    stands_for: Callable[[], object] | None = None
    #: Why pipelines never record the kernel's calls, "" where they may.
    runs_at_once: str = ""
    #: Whether an alternative promises the bits of the device's own kernel.
    is_exact: bool = False
    #: Of a kernel under Meta: returns why its answer may not hold for other arrays than meta's, or "".
    doubts: Callable[..., str] | None = None
    #: Of a shape rule: returns the key under which pipelines may keep its answers.
    cache_key: Callable[[], AnswerKey] | None = None
    #: Of a composite: returns whether it serves arrays that can be written to or not, and that have strides or not.
    serves: Callable[[bool, bool], bool] | None = None
    #: Of a composite below Autograd: whether its results are tensors as its schema promises, and stay as they are.
    answers_for_results: bool = False
    #: Of a kernel under a device's key: whether it takes the caller's tensors, as a composite does, instead of arrays.
    takes_tensors: bool = False
    #: Of a hook or a custom autograd function: whether the operators that it calls are all that it does, as
    #: `capture.traceable` declares. A class declares it for its subclasses and their instances, too.
    is_traceable: bool = False
    #: Of a device's kernel: whether it takes arrays of several devices of its type, and copies between them, as a ``copy_``
    #: may do that goes from card to card.
    crosses_devices: bool = False
    #: Of a device's kernel: whether the host computes its results on copies of the arrays, as `host_kernel` does.
    on_host: bool = False

    def __repr__(self) -> str:
        own = (f"{name}={value!r}" for name in _FIELDS if (value := getattr(self, name)) != _DEFAULTS[name])
        return f"KernelTraits({', '.join(own)})"

    def __call__(self, kernel: _K) -> _K:
        """Declare these traits for a kernel, and return it."""
        known = traits_of(kernel)
        own = {name: value for name in _FIELDS if (value := getattr(self, name)) != _DEFAULTS[name]}
        _DECLARED[kernel] = self if known is _NONE else replace(known, **own)
        return kernel


_DECLARED: Final[WeakKeyDictionary[Callable[..., object], KernelTraits]] = WeakKeyDictionary()
_FIELDS: Final = KernelTraits.__match_args__
_NONE: Final = KernelTraits()
_DEFAULTS: Final = {name: getattr(_NONE, name) for name in _FIELDS}


def traits_of(kernel: object) -> KernelTraits:
    """Return the traits of a kernel: those declared for it, else its attributes of these names.

    >>> traits_of(print) == KernelTraits()
    True
    """
    if type(kernel) is FunctionType and not kernel.__dict__ and kernel not in _DECLARED:
        return _NONE
    try:
        found = _DECLARED.get(kernel)  # type: ignore[call-overload]  # any object may be a kernel
    except TypeError:  # neither hashed nor referred to weakly
        found = None
    if found is None:
        found = KernelTraits(**{name: getattr(kernel, name) for name in _FIELDS if hasattr(kernel, name)})
    return found


class RunnerTraits:
    """Properties of a runner: what a caller can do in its place, and whether its results are compared."""

    __slots__ = ("body", "choice", "inlined", "is_first", "is_watched")

    def __init__(
        self,
        *,
        body: Body | None = None,
        choice: DeviceChoice | None = None,
        inlined: Inlined | None = None,
        is_watched: bool | None = None,
        is_first: bool = False,
    ) -> None:
        #: The lines that call a device's kernel; those of a runner that goes by a ``device`` argument; those of a layer.
        self.body, self.choice, self.inlined = body, choice, inlined
        #: Whether results are compared now; None where the runner does not answer for that.
        self.is_watched = is_watched
        #: Whether it serves one call alone.
        self.is_first = is_first

    def end_watch(self, body: Body) -> None:
        """Compare results no longer, and offer callers the lines of the runner."""
        self.is_watched, self.body = False, body

    def offer(self, inlined: Inlined) -> None:
        """Offer callers the lines of a layer's runner."""
        self.inlined = inlined


#: The traits of a function that has none.
NO_TRAITS: Final = RunnerTraits()
