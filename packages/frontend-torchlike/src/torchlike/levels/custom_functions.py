"""Functions with gradients of the user's (`torch.autograd.Function`) in transforms, one level at a time.

At a level that differentiates, ``forward`` runs below, and the level records ``backward``. Under `vmap` a function brings
its own rule, the static method ``vmap``, or has one made: of its methods, each called under a `vmap` of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..autograd.function import IN_TRANSFORMS, Function
from ..history.grad_mode import no_grad
from ..tensors import Tensor
from ..utils.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .author_rules import run_rule, wrap_outputs
from .front import open_closed
from .grad_level import GradLevel
from .mapping import broadcast_to_leaves
from .stack import above, below, current_levels
from .tensors import Tracked, wrap_value
from .vmap_level import VmapLevel

__all__ = ["call_in_transforms"]

_LINK: Final = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def call_in_transforms(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function by the level on top; without levels, with the values of closed ones' tensors."""
    args = tuple(tree_map(lambda each: open_closed(each) if isinstance(each, Tensor) else each, list(args)))
    levels = current_levels()
    if not levels:
        return cls._run(args, kwargs)
    if cls.setup_context is None:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. {_LINK}"
        )
    level: Any = levels[-1]
    if isinstance(level, GradLevel):
        return _record(cls, level, args, kwargs)
    if isinstance(level, VmapLevel):
        return _batch(cls, level, args, kwargs)
    inner = tuple(level.value_of(arg) if isinstance(arg, Tensor) else arg for arg in args)
    with below():
        found = cls.apply(*inner, **kwargs)
    return tree_map(lambda value: level.hold(value) if isinstance(value, Tensor) else value, found)


def _record(cls: Any, level: GradLevel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function below a level, which records its backward."""
    entered = tuple(level.enter(arg, is_captured=True) for arg in args)
    inner = tuple(map(level.leave, entered))

    def compute(context: Any) -> Any:
        with below():
            found = cls.apply(*inner, **kwargs)
        # An input that was returned as it is, or changed, is the level's own.
        own = {id(each): whole for each, whole in zip(inner, entered, strict=True) if isinstance(each, Tensor)}

        def wrap(value: Any) -> Any:
            known = own.get(id(value))
            return known if known is not None else wrap_value(Tracked, value, level)

        output = tree_map(lambda value: wrap(value) if isinstance(value, Tensor) else value, found)
        with no_grad():
            cls.setup_context(context, entered, output)
        changed = {id(each) for each in context.dirty}

        def renew(value: Any) -> Any:
            is_input = isinstance(value, Tensor) and id(value) not in changed and any(value is each for each in entered)
            return wrap_value(Tracked, level.leave(value), level) if is_input else value

        # An input that was returned as it is is a result of its own.
        return tree_map(renew, output)

    return cls._run(entered, kwargs, compute)


def _batch(cls: Any, level: VmapLevel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function by its rule for batches."""
    if any(isinstance(each, Tensor) for each in tree_leaves(kwargs)):
        raise NotImplementedError(
            "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors to "
            f"autograd.Function. Got: {kwargs}"
        )
    if not any(map(level.owns, tree_leaves(args))):
        with below():
            return cls.apply(*args, **kwargs)
    has_rule = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and has_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {_LINK}"
        )
    if not cls.generate_vmap_rule and not has_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
            f"vmap staticmethod or set generate_vmap_rule=True. {_LINK}"
        )
    if has_rule:
        return run_rule(level, cls.vmap, args, kwargs, "autograd.Function's vmap staticmethod")
    dims = tuple(0 if level.owns(arg) else None for arg in args)
    made = _make_batched(cls, level, dims)
    with below():
        found = made.apply(*(_below(level, arg) for arg in args), **kwargs)
    return wrap_outputs(level, found, made.out_dims, cls.__name__)


class _RowContext:
    """The context that a function's methods see for one row: tensors pass between the batch and the row."""

    def __init__(self, context: Any, outer: Sequence[Any]) -> None:
        self.__dict__["_parts"] = [context, None, (), list(outer)]

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``."""
        context, level, _, _ = self._parts
        self._parts[2] = tuple(isinstance(each, Tensor) and level.owns(each) for each in tensors)
        context.save_for_backward(*[_below(level, each) for each in tensors])

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that ``forward`` saved, as those of a row."""
        context, level, flags, _ = self._parts
        pairs = zip(context.saved_tensors, flags, strict=True)
        return tuple(level.enter(each, 0) if batched else each for each, batched in pairs)

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Name the results that have no gradient."""
        context, level, _, _ = self._parts
        context.mark_non_differentiable(*[_below(level, each) for each in tensors])

    def mark_dirty(self, *tensors: Any) -> None:
        """Name the inputs that ``forward`` changed in place."""
        context, level, _, _ = self._parts
        context.mark_dirty(*[_below(level, each) for each in tensors])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parts[0], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._parts[0], name, value)


def _below(level: VmapLevel, value: Any) -> Any:
    return value._dispatch_data.value if level.owns(value) else value


def _make_batched(cls: Any, outer: VmapLevel, dims: tuple[int | None, ...]) -> Any:
    """Return a function of batches that calls the methods of a function of rows, each under a `vmap`."""

    def enter(level: VmapLevel, values: Sequence[Any], flags: Sequence[Any]) -> tuple[Any, ...]:
        pairs = zip(values, flags, strict=True)
        return tuple(value if flag is None or value is None else level.enter(value, 0) for value, flag in pairs)

    class BatchedFunction(Function):
        generate_vmap_rule = True
        out_dims: Any = 0

        @staticmethod
        def forward(*args: Any, **kwargs: Any) -> Any:
            level = VmapLevel(outer.size, outer.randomness)
            entered = enter(level, args, dims)
            with above(level):
                found = cls.forward(*entered, **kwargs)
            BatchedFunction.out_dims = tree_map(lambda each: 0 if level.owns(each) else None, found)
            return tree_map(lambda each: _below(level, each), found)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            level = VmapLevel(outer.size, outer.randomness)
            ctx.row = _RowContext(ctx, ())
            ctx.row._parts[1] = level
            leaves, spec = tree_flatten(output)
            ctx.out_dims = broadcast_to_leaves(BatchedFunction.out_dims, spec)
            entered = tree_unflatten(enter(level, leaves, ctx.out_dims), spec)
            with above(level):
                cls.setup_context(ctx.row, enter(level, inputs, dims), entered)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            level = VmapLevel(outer.size, outer.randomness)
            ctx.row._parts[1] = level
            entered = enter(level, grads, ctx.out_dims)
            with above(level):
                found = cls.backward(ctx.row, *entered)
            results = found if isinstance(found, tuple) else (found,)
            # An argument that all rows share takes the sum of their gradients.
            return tuple(
                each if each is None else level.leave(each, 0) if dim == 0 else level.leave(each, 0).sum(0)
                for each, dim in zip(results, (*dims, *[None] * len(results)), strict=False)
            )

    BatchedFunction.__name__ = f"Vmapped{cls.__name__}"
    return BatchedFunction


IN_TRANSFORMS.append(call_in_transforms)
