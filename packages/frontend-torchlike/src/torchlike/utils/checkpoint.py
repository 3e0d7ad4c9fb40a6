"""A part of a network computed again during backward, instead of kept (source: ``torch.utils.checkpoint``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from dispatch_aten.generator import Generator
from dispatch_aten.generator import default_generator as generator_of
from dispatch_core import Device
from dispatch_core.runtime import resolve
from dispatch_core.tracebacks import api_boundary, warn_caller

from ..autograd.function import Function
from ..autograd.gradients import backward
from ..autograd.saved_hooks import saved_tensors_hooks
from ..device_modules.absent_names import PLAIN
from ..history.grad_mode import enable_grad, is_grad_enabled, no_grad
from ..history.graph_settings import current_autocast
from ..nn.modules.container import Sequential
from ..random import default_generator
from ..tensors.tensor import Tensor
from .pytree import tree_leaves

__all__ = [
    "CheckpointFunction",
    "checkpoint",
    "checkpoint_sequential",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing."""
    return nullcontext(), nullcontext()


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Do nothing: a part is always computed again to its end."""
    return nullcontext()


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the indices of devices, other than the cpu, that tensors among the arguments lie on, and generators' states."""
    generators = _find_generators(args)
    return [each.device.index or 0 for each in generators], [each.get_state() for each in generators]


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Restore states that `get_device_states` returned; those of the accelerator, where no type of devices is named."""
    for index, state in zip(devices, states, strict=True):
        generator_of(resolve(index) if device_type is None else Device(device_type, index)).set_state(state)


def _find_generators(values: Any) -> list[Generator]:
    """Return the generators of the devices, other than the cpu, that tensors among nested values lie on."""
    places = [each.device for each in tree_leaves(values) if isinstance(each, Tensor)]
    return [generator_of(place) for place in dict.fromkeys(places) if place.type not in PLAIN]


def _read_states(values: Any) -> list[tuple[Generator, Any]]:
    """Return the generators of the cpu and of the devices of tensors among nested values, with their states."""
    return [(each, each.get_state()) for each in (default_generator, *_find_generators(values))]


@contextmanager
def _drawing_again(states: list[tuple[Generator, Any]] | None) -> Iterator[None]:
    """Draw the numbers of states within a block, and go on with the present ones after it."""
    present = [(generator, generator.get_state()) for generator, _ in states or ()]
    try:
        for generator, state in states or ():
            generator.set_state(state)
        yield
    finally:
        for generator, state in present:
            generator.set_state(state)


def _computing_as(choices: Any) -> AbstractContextManager[None]:
    """Return a block in which autocast is on where it was on in the forward pass."""
    if current_autocast() == choices:
        return nullcontext()
    from ..amp.autocasting import choose_again  # loaded, as autocast is on here or was there

    return choose_again(choices)


class CheckpointFunction(Function):
    """A part that is computed again by its own backward, with gradients for its tensor arguments."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Compute the part without a graph."""
        ctx.run_function, ctx.states = run_function, _read_states(args) if preserve_rng_state else None
        ctx.choices = current_autocast()
        ctx.places = [place for place, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.others = [None if isinstance(value, Tensor) else value for value in args]
        ctx.save_for_backward(*(args[place] for place in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Compute the part again with a graph, and go back through it."""
        inputs = list(ctx.others)
        for place, value in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = value.detach()._require_grad(value.requires_grad)
        with _drawing_again(ctx.states), enable_grad(), _computing_as(ctx.choices):
            results = ctx.run_function(*inputs)
        results = (results,) if isinstance(results, Tensor) else results
        pairs = [
            (result, grad)
            for result, grad in zip(results, grads, strict=True)
            if isinstance(result, Tensor) and result.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([result for result, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *(value.grad if isinstance(value, Tensor) else None for value in inputs))


class _Recomputed:
    """The tensors that one call saved for backward: kept as numbers, computed again when one is needed."""

    def __init__(self, run: Callable[[], Any], states: Any, context: AbstractContextManager[Any]) -> None:
        self._run, self._states, self._context = run, states, context
        self._choices = current_autocast()
        self._count = 0
        self._found: dict[int, Tensor] = {}

    def pack(self, tensor: Tensor) -> tuple[int, Any]:
        """Return a number in place of a tensor, and the facts that must hold again."""
        self._count += 1
        return self._count - 1, (tuple(tensor.shape), tensor.dtype)

    def unpack(self, packed: tuple[int, Any]) -> Tensor:
        """Return the tensor of a number."""
        number, facts = packed
        if number not in self._found:
            self._compute()
        if number not in self._found:
            raise RuntimeError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {self._count}\nNumber of tensors saved during "
                f"recomputation: {len(self._found)}."
            )
        tensor = self._found.pop(number)
        if (tuple(tensor.shape), tensor.dtype) != facts:
            raise RuntimeError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                f"the forward pass.\ntensor at position {number}: saved {facts}, recomputed "
                f"{(tuple(tensor.shape), tensor.dtype)}"
            )
        return tensor

    def _compute(self) -> None:
        found: list[Tensor] = []

        def collect(tensor: Tensor) -> int:
            # The tensor itself may be the result of a node that keeps the hooks, and so this list.
            found.append(tensor.detach() if tensor.requires_grad else tensor)
            return len(found) - 1

        collecting = saved_tensors_hooks(collect, found.__getitem__)
        with _drawing_again(self._states), enable_grad(), _computing_as(self._choices), self._context, collecting:
            self._run()
        self._found = dict(enumerate(found))


_EXPLICIT: Final = (
    "the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True."
)


@api_boundary
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Return ``function(*args)``, whose intermediate results are computed again during backward.

    The numbers that it draws at random are the same. Raises ``ValueError`` for keywords with ``use_reentrant=True``.

    >>> import torchlike
    >>> x = torchlike.tensor([2.], requires_grad=True)
    >>> checkpoint(lambda x: x.exp().log(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([1.])
    """
    if use_reentrant is None:
        warn_caller(f"torch.utils.checkpoint: {_EXPLICIT}")
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if is_grad_enabled() and not any(isinstance(value, Tensor) and value.requires_grad for value in args):
            warn_caller("None of the inputs have requires_grad=True. Gradients will be None")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not is_grad_enabled():
        return function(*args, **kwargs)
    first, again = context_fn()
    states = _read_states((args, kwargs)) if preserve_rng_state else None
    kept = _Recomputed(lambda: function(*args, **kwargs), states, again)
    with first, saved_tensors_hooks(kept.pack, kept.unpack):
        return function(*args, **kwargs)


@api_boundary
def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Apply functions, or the layers of a ``Sequential``, in turn; all segments but the last are computed again."""
    if use_reentrant is None:
        warn_caller(f"torch.utils.checkpoint.checkpoint_sequential: {_EXPLICIT}")
        use_reentrant = True
    steps = list(functions.children()) if isinstance(functions, Sequential) else list(functions)

    def join(some: list[Any]) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in some:
                value = step(value)
            return value

        return run

    size, start = len(steps) // segments, 0
    for start in range(0, size * (segments - 1), size):
        part = join(steps[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return join(steps[size * (segments - 1) :])(input)
