"""Dual numbers inside of a function that is differentiated by backward: a level above that of the transform.

A call with a dual number arrives here first. Its tangents are computed by calls one level below, so that the transform
records them: derivatives along directions are differentiated in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from dispatch_core import frontends

from ..autograd.forward_ad import IN_TRANSFORMS, run_dual
from ..autograd.function import Context
from ..autograd.function_tangents import push_forward
from ..history import tangents
from ..history.grad_mode import no_grad
from ..tensors.tensor import Tensor
from .calls import call_in_order, shape_of
from .grad_level import ForwardLevel, GradLevel
from .stack import TransformLevel, above, below, current_levels

_NESTED: Final = "Nested forward mode AD is not supported at the moment"
_REFUSED: Final = (
    "forward_ad.dual_level() is supported inside of grad and vjp alone, not inside of {}\n"
    "Hint: use torch.func.jvp there"
)
_INNER: Final = (
    "dual numbers are made and taken apart where their dual_level was opened, not in a transform inside of it\n"
    "Hint: do so before the transform, or after it"
)


class DualLevel(TransformLevel):
    """A level in which tensors may have tangents."""

    kind: ClassVar[str] = "dual"

    def __init__(self, number: int) -> None:
        super().__init__()
        #: The number of the `dual_level`.
        self.tangents = number

    def call(self, keyset: Any, op: Any, values: tuple[Any, ...]) -> Any:
        positional, keywords = shape_of(op).split(values)

        def call() -> Any:
            with _levels.below_level():
                return call_in_order(op, values)

        def call_parts() -> Any:
            composite = frontends.find_composite(op, "CompositeImplicitAutograd")
            return call() if composite is None else composite(*values)

        return run_dual(self.tangents, op, positional, keywords, call, call_parts)


class _Levels:
    """How dual numbers take part in transforms."""

    def open_level(self, number: int) -> above:
        """Return the block of a `dual_level`; raises ``RuntimeError`` in transforms that know no dual numbers."""
        levels = current_levels()
        if any(isinstance(each, ForwardLevel) for each in levels):
            raise RuntimeError(_NESTED)
        if not isinstance(levels[-1], GradLevel):
            raise RuntimeError(_REFUSED.format(levels[-1].kind))
        return above(DualLevel(number))

    @contextmanager
    def below_level(self) -> Iterator[None]:
        """Run a block below the level of dual numbers on top of the stack, where tensors have no tangents."""
        levels = current_levels()
        if not isinstance(levels[-1], DualLevel):
            raise RuntimeError(_INNER)
        token = tangents.dual_level.set(0)
        try:
            with below():
                yield
        finally:
            tangents.dual_level.reset(token)


_levels: Final = _Levels()
IN_TRANSFORMS.append(_levels)


def push_function(cls: Any, level: DualLevel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a custom function below the level, and give its results the tangents that its ``jvp`` returns."""
    moved = [tangents.read_tangent(each, level.tangents) for each in args]
    with _levels.below_level():
        output = cls.apply(*args, **kwargs)
        if all(each is None for each in moved):
            return output
        context = type(f"{cls.__name__}Backward", (Context,), {"function": cls})()
        with no_grad():
            cls.setup_context(context, args, output)
        inputs = [each if isinstance(each, Tensor) else None for each in args]
        results = list(output) if isinstance(output, tuple) else [output]
        numbers = {id(each): number for number, each in enumerate(inputs) if each is not None}
        push_forward(context, results, inputs, moved, [numbers.get(id(each)) for each in results], level.tangents)
    return output
