"""Forward-mode derivatives by dual numbers (source: ``torch.autograd.forward_ad``).

A dual tensor is one with a tangent. Inside `dual_level` a layer under ``FuncTorchGradWrapper`` gives the results of a call
their tangents: backward's formulas are linear in their gradient, so the derivative along a direction is the gradient of that
linear function. Every operator whose formula can be differentiated by its gradient thus has a forward derivative; views,
which are linear themselves, are called on the tangent.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Final, NamedTuple, Protocol

import dispatch_core as dc
from dispatch_aten.decompositions import IMPLICIT
from dispatch_aten.derivatives import NOT_DIFFERENTIABLE
from dispatch_aten.variants import functional_of
from dispatch_core.lazy_text import repr_by_attributes

from ..functions.operator_functions import FUNCTIONS
from ..history import tangents
from ..history.grad_mode import enable_grad, is_grad_enabled
from ..history.tangents import FOLLOW, find_base, has_no_tangent, read_tangent, set_tangent
from ..history.transforms import is_in_transform
from ..history.view_chains import replay
from ..tensors.arguments import check_tensor
from ..tensors.tensor import Tensor
from .gradients import grad
from .rules.fallback import find_tensors
from .rules.forward_rules import find_forward_rule

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "push_forward",
    "unpack_dual",
]

_KEY: Final = dc.DispatchKey.FuncTorchGradWrapper
_NESTED: Final = dc.DispatchKey.AutogradNestedTensor.value
_numbers: Final = itertools.count(1)
_level: Final = tangents.dual_level


class DualLevels(Protocol):
    """How dual numbers take part in function transforms."""

    def open_level(self, number: int) -> AbstractContextManager[Any]:
        """Return the block of a `dual_level` in a transform; raises ``RuntimeError`` where that knows no dual numbers."""

    def below_level(self) -> AbstractContextManager[Any]:
        """Return a block whose calls pass by the level of dual numbers on top."""


#: How dual numbers take part in function transforms; set by them.
IN_TRANSFORMS: Final[list[DualLevels]] = []


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor; the tangent is None where it has none."""

    primal: Tensor
    tangent: Tensor | None


def _require_level(name: str) -> int:
    level = _level.get()
    if not level:
        raise RuntimeError(
            f"Trying to {name} outside of a dual level: open one with torchlike.autograd.forward_ad.dual_level()"
        )
    return level


class dual_level:  # noqa: N801  # torch's name
    """Compute forward derivatives in the block; its tangents are gone when it ends. Levels do not nest.

    In a function of ``func.grad`` or ``func.vjp`` the derivatives are the transform's, in turn; other transforms refuse it.

    >>> import torchlike
    >>> with dual_level():
    ...     x = make_dual(torchlike.tensor([2.0, 3.0]), torchlike.tensor([1.0, 0.0]))
    ...     unpack_dual((x * x).sum()).tangent
    tensor(4.)
    """

    __repr__ = repr_by_attributes()

    def __enter__(self) -> int:
        if _level.get():
            raise RuntimeError("Nested forward mode AD is not supported at the moment")
        number = next(_numbers)
        block: AbstractContextManager[Any] = dc.include_keys(_KEY)
        if is_in_transform():
            if not IN_TRANSFORMS:
                raise RuntimeError("forward_ad.dual_level() is not supported inside of a level of your own")
            block = IN_TRANSFORMS[0].open_level(number)
        self._stack = ExitStack()
        self._stack.callback(_level.reset, _level.set(number))
        self._stack.enter_context(block)
        return 0

    def __exit__(self, *exc: object) -> None:
        self._stack.close()


def __getattr__(name: str) -> Any:
    # Programs read whether a level is open from torch's own variable.
    if name == "_current_level":
        return 0 if _level.get() else -1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def _outside() -> AbstractContextManager[Any]:
    """Return a block whose calls pass the layer by."""
    return IN_TRANSFORMS[0].below_level() if IN_TRANSFORMS and is_in_transform() else dc.exclude_keys(_KEY)


_entered: Final[list[dual_level]] = []


def enter_dual_level() -> int:
    """Open a level for good; `exit_dual_level` closes it."""
    block = dual_level()
    number = block.__enter__()
    _entered.append(block)
    return number


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level that `enter_dual_level` opened; ``RuntimeError`` where there is none."""
    if not _entered:
        raise RuntimeError("Trying to exit a forward AD level but no level is currently open")
    _entered.pop().__exit__()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of ``tensor`` with a tangent of the same shape, which is converted to its dtype.

    Raises ``RuntimeError`` outside of a level, where shapes differ, and for a complex tangent of a real tensor;
    ``ValueError`` for integers.
    """
    check_tensor(tensor, "make_dual", "tensor")
    check_tensor(tangent, "make_dual", "tangent")
    current = _require_level("make a dual tensor")
    for name, each in (("primal", tensor), ("tangent", tangent)):
        if not each.dtype.is_differentiable:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {each.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tensor._dispatch_mask & _NESTED:
        # The values have the tangent, as they have the history.
        nested: Tensor = tensor._dispatch_data.map_values(
            lambda values: make_dual(values, tangent._dispatch_data.values)
        )
        return nested
    if tensor.dtype.is_complex == tangent.dtype.is_complex:
        tangent = tangent.to(tensor.dtype)
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(f"Expected the tangent to have the primal's dtype, {tensor.dtype}, but got {tangent.dtype}")
    if read_tangent(tangent, current) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported."
        )
    if read_tangent(tensor, current) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    with _outside():
        dual = tensor.view_as(tensor)
        if is_in_transform():
            # A tensor of a batch has a tangent of its own in each row, which can be written to.
            tangent = FUNCTIONS["zeros_like"](tensor.detach()).copy_(tangent)
    set_tangent(dual, tangent, current)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the tensor without its tangent, and the tangent or None."""
    check_tensor(tensor, "unpack_dual", "tensor")
    current = _level.get()
    if not current:
        return UnpackedDualTensor(tensor, None)
    if tensor._dispatch_mask & _NESTED:
        record = tensor._dispatch_data
        primal, tangent = unpack_dual(record.values)
        wrap = record.leave_gradient
        return UnpackedDualTensor(wrap(primal), None if tangent is None else wrap(tangent))
    with _outside():
        primal = tensor.view_as(tensor)
    set_tangent(primal, None, current)
    return UnpackedDualTensor(primal, read_tangent(tensor, current))


def _run_dual(keyset: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a call below the layer, and give its results their tangents (the boxed fallback)."""
    below = keyset - _KEY

    def call() -> Any:
        return op.redispatch(below, *args, **kwargs)

    return run_dual(_level.get(), op, args, kwargs, call, call)


def run_dual(
    level: int,
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    call: Callable[[], Any],
    call_parts: Callable[[], Any],
) -> Any:
    """Run a call below a layer by ``call``, and give its results their tangents in a level.

    ``call_parts`` runs a composite of torch's, whose parts come to the layer.
    """
    if not any(read_tangent(each, level) is not None for each in find_tensors([*args, *kwargs.values()])):
        return _keep_without_tangents(op, call(), args, level)
    name = op.name.rpartition("::")[2]
    if name in IMPLICIT or (functional_of(name) in IMPLICIT and name not in NOT_DIFFERENTIABLE):
        return call_parts()
    schema = op.schema
    if any(argument.is_write and argument.kwarg_only for argument in schema.arguments):
        raise RuntimeError(f"{op.name}: functions with out=... arguments don't support forward mode differentiation")
    if any(each.alias is not None and not each.is_write for each in schema.returns):
        return _run_view(call, op, args, kwargs, level)
    if schema.arguments[0].is_write:
        return _run_write(call, op, args, kwargs, level)
    result, moved = _differentiate(op, args, kwargs, level)
    given = [read_tangent(each, level) for each in find_tensors([*args, *kwargs.values()])]
    held = {dc.storage_of(each) for each in given if each is not None}
    for tensor, tangent in zip(find_tensors(_to_sequence(result)), moved, strict=True):
        if tangent is not None:
            set_tangent(tensor, _own(tangent, held), level)
    return result


def _own(tangent: Tensor, held: set[Any]) -> Tensor:
    """Return a tangent that can be written to: of a copy it may be the very tangent of the original."""
    is_expanded = 0 in dc.strides(tangent) if dc.has_strides(tangent) else tangent._state.expanded
    if dc.storage_of(tangent) not in held and not is_expanded:
        return tangent
    with _outside():
        return tangent.clone()


def _to_sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _keep_without_tangents(op: Any, result: Any, args: tuple[Any, ...], level: int) -> Any:
    """Return a call's result; a view of a tensor that was made to have no tangent has none either."""
    if args and isinstance(args[0], Tensor) and has_no_tangent(args[0], level):
        for each in find_tensors(_to_sequence(result)):
            if find_base(each) is not None:
                set_tangent(each, None, level)
    return result


def _run_write(call: Callable[[], Any], op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], level: int) -> Any:
    """Run a call that writes to its first argument, and write the result's tangent to that of the argument."""
    written = args[0]
    owners = [each for each in (find_base(written), written) if each is not None]
    before = [read_tangent(each, level) for each in owners]
    _, moved = _differentiate(op, args, kwargs, level, inplace=True)
    result = call()
    # A recorded call gives the tensors that it writes to a new state, which knows no tangent.
    for each, tangent in zip(owners, before, strict=True):
        if tangent is not None:
            set_tangent(each, tangent, level)
    for tangent in moved:
        if tangent is not None:
            _write_tangent(written, tangent, level)
    return result


def _write_tangent(tensor: Tensor, tangent: Tensor, level: int) -> None:
    """Write to a tensor's tangent, in the memory that its views share; where there is none, the base gets one of zeros."""
    before = read_tangent(tensor, level)
    if before is None:
        base = find_base(tensor)
        owner = tensor if base is None or has_no_tangent(tensor, level) else base
        with _outside():
            set_tangent(owner, FUNCTIONS["zeros_like"](owner.detach()), level)
        before = read_tangent(tensor, level)
    assert before is not None
    with _outside():
        before.copy_(tangent)


def _follow(view: Any, tangent: Tensor, level: int) -> Tensor:
    """Return the part of its base's tangent that a view has, and keep it."""
    state = view._state
    with _outside():
        part: Tensor = replay(tangent, state.chain, state.skip)
    set_tangent(view, part, level)
    return part


FOLLOW.append(_follow)


def _run_view(call: Callable[[], Any], op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], level: int) -> Any:
    result = call()
    tangent = read_tangent(args[0], level)
    if op.packet is dc.ops.aten.detach:  # which leaves every history
        set_tangent(result, None, level)
    elif tangent is not None:
        with _outside():
            views = op(tangent, *args[1:], **kwargs)
        for tensor, each in zip(_to_sequence(result), _to_sequence(views), strict=True):
            set_tangent(tensor, each, level)
    return result


def _replace(values: Any, replace: Callable[[Any], Any]) -> Any:
    if isinstance(values, (list, tuple)):
        return type(values)(_replace(each, replace) for each in values)
    return replace(values)


def _differentiate(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], level: int, *, inplace: bool = False
) -> tuple[Any, list[Tensor | None]]:
    """Run a call, and return its results with their tangents, None for those without."""
    rule = find_forward_rule(op)
    if rule is not None:
        values = rule.bind(args, kwargs)
        with _outside():
            computed = (rule.op if inplace else op)(*args, **kwargs)
            ways = {name: read_tangent(value, level) for name, value in values.items()}
            return computed, rule.compute(values, ways, list(find_tensors(_to_sequence(computed))))
    inputs: list[Tensor] = []
    directions: list[Tensor] = []
    recording = is_grad_enabled()

    def enter(value: Any) -> Any:
        tangent = read_tangent(value, level)
        if tangent is None:
            return value if recording or not isinstance(value, Tensor) else value.detach()
        if recording and value.requires_grad:
            entered = value.view_as(value)
            set_tangent(entered, tangent, level)  # backward's formulas read the saved tensor's
        else:
            entered = value.detach()._require_grad()
        inputs.append(entered)
        # The tangent of an argument that is written to is written to in its turn.
        directions.append(tangent.clone() if inplace and recording else tangent)
        return entered

    with _outside(), enable_grad():
        given, named = _replace(args, enter), {name: _replace(value, enter) for name, value in kwargs.items()}
        if inplace:
            given = (given[0].clone() if isinstance(given[0], Tensor) else given[0], *given[1:])
        result = op(*given, **named)
        results = list(find_tensors(_to_sequence(result)))
        differentiable = [each for each in results if each.requires_grad]
        found: dict[int, Tensor] = {}
        if differentiable:
            found = push_forward(differentiable, inputs, directions)
        keeps = recording and any(each.requires_grad for each in find_tensors([*args, *kwargs.values()]))
        moved = [found.get(id(each)) for each in results]
        if not keeps:
            if not (recording and any(each.requires_grad for each in directions)):
                moved = [None if each is None else each.detach() for each in moved]
            result = _replace(result, lambda each: each.detach() if isinstance(each, Tensor) else each)
    return result, moved


def push_forward(outputs: list[Tensor], inputs: list[Tensor], directions: list[Tensor]) -> dict[int, Tensor]:
    """Return the derivative of each output along the directions, by the output's identity."""
    weights = [FUNCTIONS["zeros_like"](each.detach())._require_grad() for each in outputs]
    pulled = grad(outputs, inputs, weights, create_graph=True, allow_unused=True)
    pairs = [
        (each, way) for each, way in zip(pulled, directions, strict=True) if each is not None and each.requires_grad
    ]
    if not pairs:
        return {id(each): FUNCTIONS["zeros_like"](each.detach()) for each in outputs}
    pushed = grad(
        [each for each, _ in pairs], weights, [way for _, way in pairs], create_graph=True, materialize_grads=True
    )
    return {id(each): tangent for each, tangent in zip(outputs, pushed, strict=True) if tangent is not None}


_library: Final = dc.Library("_", "IMPL")
with dc.registry.transaction(level="backend"):
    _library.fallback(_run_dual, _KEY, with_keyset=True)
