"""Functions with gradients of the user's (`torch.autograd.Function`) in transforms, one level at a time.

At a level that differentiates, ``forward`` runs below, and the level records ``backward``; one that does so along directions
records ``jvp``, if the function has it. Under `vmap` a function brings its own rule, the static method ``vmap``, or has one
made: of its methods, each called under a `vmap` of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from ..autograd.function import IN_TRANSFORMS, Function, find_backward
from ..history.grad_mode import no_grad
from ..tensors.tensor import Tensor
from ..values.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..values.pytree.walks import _broadcast_to_and_flatten as broadcast_to_leaves
from .author_rules import run_rule, wrap_outputs
from .custom_tangents import keep_call, make_pushing
from .dual_level import DualLevel, push_function
from .front import open_closed
from .grad_level import ForwardLevel, GradLevel
from .stack import above, below, current_levels
from .tensors import Tracked, wrap_value
from .vmap_level import VmapLevel

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
    if isinstance(level, DualLevel):
        return push_function(cls, level, args, kwargs)
    inner = tuple(level.value_of(arg) if isinstance(arg, Tensor) else arg for arg in args)
    with below():
        found = cls.apply(*inner, **kwargs)
    return tree_map(lambda value: level.hold(value) if isinstance(value, Tensor) else value, found)


def _record(cls: Any, level: GradLevel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function below a level, which records its backward, or its ``jvp`` where it differentiates along directions."""
    entered = tuple(level.enter(arg, is_captured=True) for arg in args)
    inner = tuple(map(level.leave, entered))
    pushes = isinstance(level, ForwardLevel) and level.pushes and cls.jvp is not Function.jvp

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
        if pushes:
            numbers = {id(each): number for number, each in enumerate(entered) if isinstance(each, Tensor)}
            results = list(output) if isinstance(output, tuple) else [output]
            keep_call(context, level, entered, results, [numbers.get(id(each)) for each in results])
        changed = {id(each) for each in context.dirty}

        def renew(value: Any) -> Any:
            is_input = isinstance(value, Tensor) and id(value) not in changed and any(value is each for each in entered)
            return wrap_value(Tracked, level.leave(value), level) if is_input else value

        # An input that was returned as it is is a result of its own.
        return tree_map(renew, output)

    recorded = make_pushing(cls) if pushes else cls
    return level.run_recorded(partial(recorded._run, entered, kwargs, compute), ())


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

    def __init__(self, context: Any, level: VmapLevel, batched: dict[str, list[bool]], method: str) -> None:
        #: Which of the tensors are batched that were saved for a method, and the method that is called.
        vars(self).update(_context=context, _level=level, _batched=batched, _method=method)

    def _keep(self, method: str, tensors: tuple[Any, ...]) -> list[Any]:
        self._batched[method] = [isinstance(each, Tensor) and self._level.owns(each) for each in tensors]
        return [_below(self._level, each) for each in tensors]

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``."""
        self._context.save_for_backward(*self._keep("backward", tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self._context.save_for_forward(*self._keep("jvp", tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that ``forward`` saved, as those of a row."""
        pairs = zip(self._context.saved_tensors, self._batched.get(self._method, ()), strict=True)
        return tuple(self._level.enter(each, 0) if batched else each for each, batched in pairs)

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Name the results that have no gradient."""
        self._context.mark_non_differentiable(*[_below(self._level, each) for each in tensors])

    def mark_dirty(self, *tensors: Any) -> None:
        """Name the inputs that ``forward`` changed in place."""
        self._context.mark_dirty(*[_below(self._level, each) for each in tensors])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._context, name, value)


def _below(level: VmapLevel, value: Any) -> Any:
    return value._dispatch_data.value if level.owns(value) else value


def _sum_to_shape(gradient: Any, shape: Any) -> Any:
    """Return a gradient of a row in the shape of its argument, over which it was broadcast."""
    is_same = shape is None or gradient is None or gradient.shape == shape
    return gradient if is_same else gradient.sum_to_size(shape)


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
            leaves, spec = tree_flatten(output)
            out_dims: Any = broadcast_to_leaves(BatchedFunction.out_dims, spec)
            batched: dict[str, list[bool]] = {}
            # A function of batches of batches shares its context with the function of batches.
            if not hasattr(ctx, "of_rows"):
                ctx.of_rows = {}
            rows = enter(level, inputs, dims)
            shapes = [each.shape if isinstance(each, Tensor) else None for each in rows]
            ctx.of_rows[BatchedFunction] = batched, out_dims, shapes
            entered = tree_unflatten(enter(level, leaves, out_dims), spec)
            with above(level):
                cls.setup_context(_RowContext(ctx, level, batched, "setup_context"), rows, entered)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            level = VmapLevel(outer.size, outer.randomness)
            batched, out_dims, shapes = ctx.of_rows[BatchedFunction]
            entered = enter(level, grads, out_dims)
            with above(level):
                found = find_backward(cls)(_RowContext(ctx, level, batched, "backward"), *entered)
                results = found if isinstance(found, tuple) else (found,)
                # The engine sums gradients of broadcast arguments, but not behind a batch.
                results = tuple(map(_sum_to_shape, results, (*shapes, *[None] * len(results))))
            # An argument that all rows share takes the sum of their gradients.
            return tuple(
                each if each is None else level.leave(each, 0) if dim == 0 else level.leave(each, 0).sum(0)
                for each, dim in zip(results, (*dims, *[None] * len(results)), strict=False)
            )

    def jvp(ctx: Any, *tangents: Any) -> Any:
        level = VmapLevel(outer.size, outer.randomness)
        batched, out_dims, _ = ctx.of_rows[BatchedFunction]
        entered = enter(level, tangents, dims)
        with above(level):
            found = cls.jvp(_RowContext(ctx, level, batched, "jvp"), *entered)
        results = found if isinstance(found, tuple) else (found,)
        # A result that all rows share has one tangent.
        return tuple(
            each if not isinstance(each, Tensor)
            else level.leave(each, 0) if dim == 0
            else each._dispatch_data.value[0] if level.owns(each)
            else each
            for each, dim in zip(results, (*out_dims, *[0] * len(results)), strict=False)
        )  # fmt: skip

    if cls.jvp is not Function.jvp:
        BatchedFunction.jvp = staticmethod(jvp)  # type: ignore[method-assign]  # as the function has one
    BatchedFunction.__name__ = f"Vmapped{cls.__name__}"
    return BatchedFunction


IN_TRANSFORMS.append(call_in_transforms)
