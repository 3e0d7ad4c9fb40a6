"""The protocols of frontends: what a tensor class may implement beyond its two attributes.

Note [The boundary contract]
    A frontend's tensor has two instance attributes, ``_dispatch_mask`` (its keys and its frontend's marker bit) and
    ``_dispatch_data`` (the backend's array). A frontend that does more gives `register_frontend` an object for each of these
    protocols that it implements, and derives the object's class from the protocol: the methods that it leaves out then do
    what is usual. Generated code calls the objects' methods without asking for them again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar

from .._record import Record
from ..devices import Device
from ..errors import DeviceMismatchError
from ..keys.keyset import DispatchKeySet
from ..keys.table import MARKERS, DispatchKey
from ..keys.type_sets import name_types
from .access import device, to_data
from .owners import TYPE_MASKS, is_tensor
from .types import Array, Dtype

if TYPE_CHECKING:
    from ..operators.candidates import ShortGradient
    from ..operators.overloads import OpOverload
    from ..pipelines import CapturePart, Recording
else:
    # Type hints are read at run time, too, where these classes of modules above may not be loaded.
    CapturePart = OpOverload = Recording = ShortGradient = Any

#: A tensor of the class that a frontend has registered: the frontend names the class itself where it implements a protocol.
OwnTensor: TypeAlias = Any
#: A function that serves an operator's calls under a key. It takes the operator's arguments, with arrays instead of tensors
#: where it is a device's, and mostly keyword-only ones by name.
Kernel: TypeAlias = Callable[..., Any]
#: The functions of an `AutogradFormula`, which says their arguments.
Backward: TypeAlias = Callable[..., Any]
SetupContext: TypeAlias = Callable[..., Any]
#: A rule of `register_vmap`, ``(info, in_dims, *args, **kwargs) -> (output, out_dims)``.
BatchingRule: TypeAlias = Callable[..., Any]

T = TypeVar("T")

_PIPELINE = DispatchKey.Pipeline.value


class Tensor(Protocol):
    """A tensor of any frontend, as the dispatcher sees it; see Note [The boundary contract]."""

    _dispatch_mask: int
    _dispatch_data: Array


class AutogradFormula(Record):
    """How to differentiate an operator, as its author wrote it (source: ``torch.library.register_autograd``).

    ``backward(ctx, *grads)`` gives one gradient for each positional argument, or None. ``setup_context(ctx, inputs,
    output)`` keeps the values for backward; it is called by keyword, with ``keyword_only_inputs`` too where the schema has
    such arguments. ``backward`` is None where no formula was given: the operator has a history that cannot be followed.
    """

    backward: Backward | None = None
    setup_context: SetupContext | None = None


class AutocastInputs(Record):
    """How to call an operator where autocast is on for a device (source: ``torch.library.register_autocast``).

    Its floating-point tensors are cast to ``dtype``, and it runs with autocast off for the device, whose key is ``key``.
    """

    device_type: str
    dtype: Dtype
    key: DispatchKey


class ViewCode(Record):
    """How generated code makes a view of some tensors instead of `Views.view`: it gets a mask and one attribute.

    Its value, and the condition that the tensor must meet besides its mask, if any, are text. There ``{base}`` represents
    the tensor that is viewed, ``{rest}`` for the further arguments as the items of a tuple, ``__op`` for the operator;
    ``constants`` have names that begin with two underscores.

    ``parts`` say the same to compiled callers, which ask `Views.view` without them: the items of a tuple, each a name with
    what belongs to it. ``base``, ``operator`` and ``rest`` (as a tuple) are what the text names so; ``attribute`` is the
    attribute of the base, ``first`` its first item, and the condition is that it is a tuple; ``called`` is what its function
    returns, ``choice`` the second or the third of its objects, as the first, a function, returns true or false;
    ``constant`` is its object. ``made`` alone is no item, but what its function returns for base, operator and rest.
    """

    base_mask: int
    condition: str
    mask: int
    attribute: str
    value: str
    constants: dict[str, Any]
    parts: tuple[tuple[Any, ...], ...] | None = None


class RecordedCall(Record):
    """How a frontend's kernel under an Autograd key records a call, for compiled callers.

    They do as the kernel: where ``enabled`` is true in the context, they find the edges of the arguments in ``edges``, of
    each tensor where these are lists. A tensor whose mask has one of ``keys`` has a state, in a slot that ``attribute``
    names: a tuple, of which the first item is another tensor, represents a state that ``complete`` returns for the tensor,
    or ``no_history`` where that other one has none of the keys. A state with ``requires_grad`` is the edge itself, one of
    the class ``view`` has it as ``edge``.

    Where there is an edge, a ``node`` is made. Its attributes are ``next``, the edges; ``counts``, how many each argument
    has, where there are lists; ``seq``, the next number of ``sequence``; ``meta``, shape and dtype of the result's array, or
    ``metas`` of several ``results`` (0: a call decides how many); ``saved``, the arguments in ``saved`` (each with those
    whose gradients use it) and the results in ``kept``; ``versions``, those of the saved arguments, by their state's
    ``storage.version``, or ``version`` for a tuple; and ``values``, the arguments in ``values`` and facts, unless all are
    ``defaults``. A fact in ``facts`` is an argument, or the number of a result, and its reader, None for the shape of the
    array. A kept result is ``keep(result, storage)`` with the node's new ``storage``, or ``keep_result(result, number)``.
    Classes with slots of the usual names are not called: a ``storage`` has no ``aliases``, and 0 as ``version`` and
    ``written``; an object of ``keep`` has the ``kind``, ``data`` and ``mask`` of a plain result, its ``storage``, no
    ``parts``, and 0 as ``version`` and ``number``.

    The node is the state of a lone result. Its mask is ``mask``, if it was ``usual``; else ``mark`` gives it its keys. With
    ``is_view`` the node is the ``history`` of a result's state of the class ``view``. Or else ``attach`` gives the results
    and the node to each other, for several results before any is kept. With ``may_be_integral`` a result for which
    ``is_differentiable`` is false, which ``differentiable`` may tell by the array's dtype, has no history. ``below`` is the
    runner below.

    A call in place has a ``check`` of the tensor that is written to, before a ``copy`` of it is kept. With ``forward`` one
    function of the arrays returns the result's array and the values that the node has as ``kept``, with the ``call`` and
    the ``versions`` of all tensors. It may return ``NotImplemented`` or raise: then ``usual_way`` serves the call, and as
    often as the first number in ``debt`` says, and where the argument of a pair in ``needed`` was made by a node while no
    argument in its set has an edge.
    """

    enabled: Any
    below: Kernel
    keys: int
    usual: int
    mask: int
    attribute: str
    node: type
    view: type
    no_history: Any
    sequence: Any
    storage: Callable[[], Any]
    keep: Callable[[Any, Any], Any]
    complete: Callable[[Any], Any]
    version: Callable[[Any], int]
    mark: Callable[[Any], None]
    is_differentiable: Callable[[Any], bool]
    differentiable: dict[Any, bool]
    edges: tuple[str, ...]
    saved: tuple[tuple[str, tuple[str, ...]], ...] = ()
    values: tuple[str, ...] = ()
    facts: tuple[tuple[str | int, Callable[[Any], Any] | None], ...] = ()
    defaults: tuple[Any, ...] | None = None
    kept: tuple[int, ...] = ()
    results: int = 1
    may_be_integral: bool = False
    is_view: bool = False
    check: Callable[[Any], object] | None = None
    copy: Callable[[Any], Any] | None = None
    attach: Callable[[Any, Any], object] | None = None
    keep_result: Callable[[Any, int], Any] | None = None
    forward: Callable[..., Any] | None = None
    usual_way: Kernel | None = None
    debt: list[int] | None = None
    needed: tuple[tuple[str, tuple[str, ...]], ...] = ()


class FunctionalBlock(Protocol):
    """A block of a program in which a frontend computes values instead of writes."""

    def begin(self) -> None:
        """Enter the block."""

    def end(self) -> None:
        """Leave the block, unless that was done; no operator is called."""

    def finish(self) -> None:
        """Write to the tensors from outside the values that they should hold, once each; called after the end."""

    def leave(self, tensor: T) -> T:
        """Return the tensor that stands, after that, for one of the block; another one as it is."""

    def settle(self) -> None:
        """Turn the tensors of the block that are still in use into ordinary ones; the last call."""


class Views(Protocol):
    """How a frontend makes the tensors of results that a schema calls views; without it they are fresh tensors."""

    @abstractmethod
    def view(self, base: OwnTensor, data: Array, op: OpOverload, args: tuple[Any, ...], /) -> OwnTensor:
        """Return the tensor of a view of ``base``, a result ``Tensor(a)``; ``data`` is its array."""

    def views(self, base: OwnTensor, parts: list[Array], op: OpOverload, args: tuple[Any, ...], /) -> list[OwnTensor]:
        """Return the tensors of a list of views of ``base``, a result ``Tensor(a)[]``."""
        return [self.view(base, part, op, args) for part in parts]

    def view_code(self, op: OpOverload, mask: int, /) -> list[ViewCode]:
        """Return how generated code makes views of tensors with this mask, and of their views, in writable arrays."""
        return []


class Writes(Protocol):
    """What a frontend does where tensors are written to."""

    def note_write(self, tensor: OwnTensor, /) -> None:
        """Take note that an operator has written to a tensor: count versions here."""
        return

    def rebind(self, tensor: OwnTensor, data: Array, /) -> None:
        """Store another array in a tensor, as in-place calls do where arrays cannot be written to; `bind` does it."""
        bind(tensor, data)

    def become(self, tensor: OwnTensor, view: OwnTensor, /) -> None:
        """Turn a tensor into another view, of itself (``t_``) or another (``set_``), whose array cannot be written."""
        self.rebind(tensor, to_data(view))

    def check_write(self, tensor: OwnTensor, name: str, /) -> None:
        """Raise where the operator ``name`` must not give a tensor another array instead of a write."""
        return


class Autograd(Protocol):
    """A frontend's engine for gradients; the core has none."""

    def autograd_kernel(self, op: OpOverload, keyset: DispatchKeySet, formula: AutogradFormula, /) -> Kernel | None:
        """Return the kernel of an operator with a formula under the Autograd keys of ``keyset``; asked once for each.

        It goes on with ``op.redispatch`` below these keys. None passes the formula over.
        """
        return None

    def has_history(self, tensor: OwnTensor, /) -> bool:
        """Return whether a tensor with an Autograd key may need a gradient; where none does, a call may take a short way."""
        return True

    def records(self) -> bool:
        """Return whether calls are recorded for backward here at all."""
        return True

    def recorded_call(self, runner: Kernel, /) -> RecordedCall | None:
        """Return how a kernel under an Autograd key records, for compiled callers; None where they call it.

        Asked once for each runner; `renew_targets` makes them ask again.
        """
        return None

    def prepare(self, key: DispatchKey, /) -> None:
        """Register the kernels under an Autograd key, if need be: a first call arrives there."""
        return

    def short_gradient(
        self, op: OpOverload, mask: int, gradient: ShortGradient, usual: Kernel, short: Kernel, /
    ) -> Kernel | None:
        """Return the kernel of calls with this mask of an operator whose short way has a gradient, a `ShortGradient`.

        It makes a node, or goes on with ``usual``, and where nothing is recorded with ``short``. None leaves it to
        `has_history`.
        """
        return None


class Layers(Protocol):
    """A frontend's further layers: batching, autocast, values instead of writes, and calls over several devices."""

    def batching_kernel(self, op: OpOverload, keyset: DispatchKeySet, rule: BatchingRule, /) -> Kernel | None:
        """Return the kernel under ``FuncTorchBatched`` of an operator with a rule of `register_vmap`; None ignores it."""
        return None

    def autocast_kernel(self, op: OpOverload, keyset: DispatchKeySet, casts: AutocastInputs, /) -> Kernel | None:
        """Return the kernel under an Autocast key of an operator of `register_autocast`; None passes the casts over."""
        return None

    def functional_block(self) -> FunctionalBlock | None:
        """Return a block in which values take the place of writes, for ``trace(functional=True)``, or None."""
        return None

    def call_class(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
        """Return what the class of an argument makes of a call, or ``NotImplemented`` where none handles calls itself.

        Asked in calls whose tensors have the key ``Python`` themselves, where no mode has the call. ``args`` and ``kwargs``
        leave out defaults.
        """
        return NotImplemented

    def call_mixed(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
        """Return the result of a call with tensors of several devices; `refuse_mixed` refuses it by name."""
        return refuse_mixed(op, args, kwargs)


class Capture(Protocol):
    """The frontend's part in captured functions: a captured program sees tensors through it alone."""

    def capture_part(self, recording: Recording, /) -> CapturePart | None:
        """Return the `CapturePart` of one recorded call, which begins; None if tensors have no state besides arrays."""
        return None

    def environment(self) -> object:
        """Return a value of the settings on which a captured call depends, such as the grad mode; asked at each replay."""
        return None

    def passing_layers(self) -> int:
        """Return the keys, as a mask, of layers that see single calls and that a replay need not show its own."""
        return 0

    def remake(self, tensor: OwnTensor, /) -> bool:
        """Give a tensor whose array is used up another one, if it is a view of one that is there; return whether it is.

        Asked when a captured call has failed after it had used up the array.
        """
        return False


def bind(tensor: Tensor, data: Array) -> None:
    """Store ``data`` in ``tensor``, an array of its device or a value that will be one, and the keys that say which."""
    tensor._dispatch_data = data
    tensor._dispatch_mask = tensor._dispatch_mask & ~_PIPELINE | TYPE_MASKS.get(type(data), 0) & _PIPELINE


def refuse_mixed(op: OpOverload, args: tuple[object, ...], kwargs: dict[str, object]) -> NoReturn:
    """Refuse a call whose arrays lie on different devices, naming argument and device of each."""
    found: list[tuple[str, Device]] = []
    kinds: dict[type, None] = {}
    wrapped = False
    schema = op.schema
    names = list(map(str, range(len(args)))) if schema is None else [argument.name for argument in schema.arguments]
    values = dict(zip(names, args, strict=False)) | kwargs
    for name, value in values.items():
        for item in value if isinstance(value, list | tuple) else (value,):
            if is_tensor(item):
                found.append((name, device(item)))
                kinds[type(item)] = None
                wrapped = wrapped or bool(getattr(item, "_dispatch_mask", 0) & MARKERS)
    places = {place for _, place in found}
    # Two of one type are never allowed; those of two types may be.
    one_type = {place for place in places if any(place.type == each.type and place != each for each in places)}
    devices = sorted(map(str, one_type or places))
    where = ", ".join(f"'{name}' on {place}" for name, place in found)
    raise DeviceMismatchError(
        f"{op.name}: Expected all tensors to be on the same device, but found at least two devices,"
        f" {devices[0]} and {devices[-1]}! (arguments {where}){_list_sets(op)}",
        hint="move them to one device first" + ("" if wrapped or len(kinds) < 2 else _suggest_set(op, kinds)),
    )


def _list_sets(op: OpOverload) -> str:
    """Return a line that lists the sets of types for which an operator has kernels, or ""."""
    held = ", ".join(f"{found[0].key.label} ({found[0].origin})" for found in op._entry.for_types())
    return held and f"\nKernels for sets of types: {held}"


def _suggest_set(op: OpOverload, kinds: Iterable[type]) -> str:
    names = ", ".join(name_types(kinds))
    return f", or register a kernel for all of their types: Library.impl({op.name!r}, kernel, types=({names}))"
