"""Functions whose gradients the user defines (source: ``torch.autograd.Function``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache, wraps
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, ClassVar, Final

import dispatch_core as dc
from dispatch_core.frontends import included_mask
from dispatch_core.tracebacks import api_boundary

from ..history import tangents
from ..history.captures import check_hook
from ..history.device_keys import autograd_bit
from ..history.grad_mode import is_grad_enabled, no_grad
from ..history.graph_settings import node_observers
from ..history.metadata import to_scalar_type
from ..history.node import Edge, Leaf, Node, Output, next_sequence
from ..history.transforms import FRONT
from ..history.views import CUSTOM
from ..tensors.tensor import Tensor, wrap
from ..values.argument_types import DeviceLike
from .accumulation import take_own
from .function_tangents import push_forward
from .inplace import check_inplace, check_marked, rebase
from .saved import Saved, make_released_error, make_version_error, restore_result

#: The function that calls one in function transforms; set by them.
IN_TRANSFORMS: Final[list[Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]]] = []
_FORWARD_MODE: Final = dc.DispatchKey.FuncTorchGradWrapper
_NESTED: Final = dc.DispatchKey.AutogradNestedTensor.value


class FunctionCtx:
    """The methods by which ``forward`` and ``setup_context`` tell of a call; nodes of `Function` have them.

    Annotations name it, and programs call their own ``backward`` with a context of this class.

    >>> ctx = FunctionCtx()
    >>> ctx.save_for_backward(3)
    >>> ctx.to_save
    (3,)
    """

    materialize = True
    dirty: tuple[Tensor, ...] = ()
    without_grad: tuple[Tensor, ...] = ()
    to_save: tuple[Any, ...] = ()
    for_forward: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``; they are checked for in-place changes when they are read."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``, which runs right after ``forward``."""
        self.for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Name the inputs that ``forward`` changed in place."""
        self.dirty = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Warn that nothing is left to do: tensors that share memory are known."""
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls to "
            "`set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Name the results that have no gradient."""
        self.without_grad = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether ``backward`` gets zeros (the default) or None for gradients that never arrive."""
        self.materialize = value


class Context(FunctionCtx, Node):
    """The context that ``forward`` and ``backward`` share; at the same time the node of the graph."""

    function: ClassVar[Any]
    #: How many inputs stand before those that the author counts.
    unnumbered: ClassVar[int] = 0
    #: The tensors given to ``save_for_backward``, each with its version; None once they were freed.
    saved: tuple[Any, ...] | None = ()
    needs_input_grad: tuple[bool, ...] = ()
    #: Whether a result that has no gradient gets zeros too.
    _materialize_non_diff_grads = True

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that ``forward`` saved."""
        if self.saved is None:
            raise make_released_error()
        found = []
        for value, version in self.saved:
            if isinstance(value, Saved):
                found.append(restore_result(value, self))
                continue
            if value is not None and value._state.version != version:
                raise make_version_error(value, version)
            found.append(value)
        return tuple(found)

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        # The function may write to its gradients, which the caller, hooks and other nodes may hold.
        grads = take_own(grads)
        if self.materialize:
            grads = [
                self._zeros(number) if grad is None and number not in self.left_undefined else grad
                for number, grad in enumerate(grads)
            ]
        results = find_backward(self.function)(self, *grads)
        if not isinstance(results, tuple):
            results = (results,)
        while len(results) > len(self.next) and results[-1] is None:
            results = results[:-1]
        if len(results) != len(self.next):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {len(self.next)}, got {len(results)})"
            )
        for index, grad in enumerate(results):
            if grad is not None and not isinstance(grad, Tensor):
                raise RuntimeError(
                    f"function {self.name()} returned a gradient at index {index - self.unnumbered}: expected Tensor or None"
                    f" (got {type(grad).__name__})\nHint: return a tensor of the input's shape, or None for a zero"
                )
        return results

    def _zeros(self, number: int) -> Tensor | None:
        meta = self.get_meta(number)
        if meta is None:
            return None
        return wrap(dc.ops.aten.zeros.default(meta[0], dtype=to_scalar_type(meta[1]), device=self.device))

    device: DeviceLike = None
    #: The numbers of results whose gradients stay None.
    left_undefined: tuple[int, ...] = ()

    def release(self) -> None:
        self.saved = None


#: torch's name of it.
BackwardCFunction = Context
#: torch's former name of it.
_ContextMethodMixin = FunctionCtx


class FunctionMeta(type):
    """The class of functions' classes, each of which has a class of nodes."""

    @property
    def _backward_cls(cls) -> type[Context]:
        """The class of the function's nodes."""
        made: type[Context] = cls._make_context()  # type: ignore[attr-defined]  # that of Function
        return made


class _SingleLevelFunction(FunctionCtx, metaclass=FunctionMeta):
    """The base that functions have in torch besides those of contexts."""


class Function(_SingleLevelFunction):
    """A differentiable function defined by two static methods.

    ``forward(ctx, *args)`` computes, ``backward(ctx, *grads)`` returns one gradient for every argument of ``forward``, None
    for one that is not a tensor. With a third, ``setup_context(ctx, inputs, output)``, ``forward`` takes no ``ctx``.

    >>> import torchlike
    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = torchlike.tensor(3., requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """

    _context: ClassVar[type[Context] | None] = None
    _unnumbered: ClassVar[int] = 0

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Warn that a function is called by ``apply``, and never made."""
        warnings.warn(
            f"{cls} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
            "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )
        return super().__new__(cls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse a call of an object: ``apply`` is called, on the class."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """Compute the gradients of the arguments."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function"
        )

    #: Another name for ``backward``.
    vjp = backward

    @staticmethod
    def jvp(*args: Any, **kwargs: Any) -> Any:
        """Compute the results' tangents from those of the arguments, None for one that has none."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    if TYPE_CHECKING:

        @staticmethod
        def setup_context(*args: Any, **kwargs: Any) -> Any:
            """Save the values for ``backward``, where ``forward`` takes no ``ctx``."""

    else:
        setup_context = None

    #: Whether `vmap` makes its rule of the methods, which then call operators alone.
    generate_vmap_rule: ClassVar[bool] = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Compute the results for a batch, and say which dimension of each is the batch."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    @api_boundary
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function and record it."""
        check_hook(cls, "The custom autograd function")
        if cls.setup_context is not None:
            args, kwargs = _bind_defaults(cls.forward, args, kwargs)
        if included_mask() & FRONT or any(getattr(arg, "_dispatch_mask", 0) & FRONT for arg in args):
            return IN_TRANSFORMS[0](cls, args, kwargs)
        return cls._run(args, kwargs)

    @classmethod
    def _make_context(cls) -> type[Context]:
        """Return the class of the function's nodes, which the first call makes."""
        with dc.registry.lock:
            made: type[Context] | None = vars(cls).get("_context")
            if made is None:
                members = {"function": cls, "unnumbered": cls._unnumbered}
                made = cls._context = type(f"{cls.__name__}Backward", (Context,), members)
            return made

    @classmethod
    def _run(
        cls, args: tuple[Any, ...], kwargs: dict[str, Any], compute: Callable[[Context], Any] | None = None
    ) -> Any:
        """Compute the results and record them; ``compute`` takes the place of the user's functions."""
        kind = vars(cls).get("_context")
        if kind is None:
            kind = cls._make_context()
        context = kind()
        inputs = [arg if isinstance(arg, Tensor) else None for arg in args]
        context.needs_input_grad = tuple(arg is not None and arg.requires_grad for arg in inputs)
        recorded = is_grad_enabled() and any(context.needs_input_grad)
        edges: list[Edge | None] = [
            tensor._state.edge if needed and tensor is not None and recorded else None
            for tensor, needed in zip(inputs, context.needs_input_grad, strict=True)
        ]
        if recorded:
            _refuse_nested(cls, inputs)
        level = tangents.dual_level.get()
        moved = [tangents.read_tangent(tensor, level) for tensor in inputs] if level else []
        output = cls._compute(context, args, kwargs, level) if compute is None else compute(context)
        single = not isinstance(output, tuple)
        results = [output] if single else list(output)
        given = {id(tensor) for tensor in inputs if tensor is not None}
        if context.dirty:
            check_marked(context.dirty, results, given, recorded)
        kept = {id(tensor) for tensor in (*context.dirty, *context.without_grad)}
        with no_grad():
            # A result that is an input is a tensor of its own, else recording it would change the input's history.
            results = _detach_those(results, given - kept)
        if recorded:
            _refuse_nested(cls, results)
            _record(context, results, inputs, edges, single)
        if any(each is not None for each in moved):
            numbers = {id(arg): number for number, arg in enumerate(inputs) if arg is not None}
            sources = [numbers.get(id(each)) for each in ([output] if single else output)]
            push_forward(context, results, inputs, moved, sources, level)
        return results[0] if single else tuple(results)

    @classmethod
    def _compute(cls, context: Context, args: tuple[Any, ...], kwargs: dict[str, Any], level: int) -> Any:
        """Return the result of ``forward``."""
        setup_context: Any = cls.setup_context
        with no_grad(), dc.exclude_keys(_FORWARD_MODE) if level else nullcontext():
            if setup_context is None:
                return cls.forward(context, *args, **kwargs)
            output = cls.forward(*args, **kwargs)
            setup_context(context, args, output)
        return output


@lru_cache(maxsize=256)
def _read_signature(function: Callable[..., Any]) -> Signature:
    return signature(function)


def _bind_defaults(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of ``forward`` with its defaults: ``setup_context`` and ``backward`` see all of them."""
    known = _read_signature(forward)
    if not kwargs and len(args) == len(known.parameters):
        return args, kwargs
    bound = known.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def find_backward(function: type[Function]) -> Callable[..., Any]:
    """Return the method that computes gradients; raises ``RuntimeError`` for a function that has both names of it."""
    if function.vjp is Function.vjp:
        return function.backward
    if function.backward is not Function.backward:
        raise RuntimeError(
            f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: {function.__name__}"
        )
    return function.vjp


def _refuse_nested(function: type, values: list[Any]) -> None:
    """Refuse to record nested tensors, whose history is that of their values."""
    if any(isinstance(each, Tensor) and each._dispatch_mask & _NESTED for each in values):
        raise TypeError(
            f"{function.__name__}.apply() records no tensors of layout torchlike.jagged\n"
            "Hint: pass x.values(), and make the nested tensor of the result by nested_tensor_from_jagged"
        )


def _detach_those(results: list[Any], numbers: set[int]) -> list[Any]:
    """Return the results, the tensors whose ``id`` is among ``numbers`` detached."""
    return [each.detach() if isinstance(each, Tensor) and id(each) in numbers else each for each in results]


class _Once(Node):
    """The history of a gradient that may not be differentiated again."""

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Run a ``backward`` without recording: its results have no gradients (source: ``torch.autograd.function``)."""

    @wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            found = fn(ctx, *args)
        given = [arg for arg in args if isinstance(arg, Tensor) and arg.requires_grad]
        if not (is_grad_enabled() and given):
            return found
        results = found if isinstance(found, tuple) else (found,)
        marked = tuple(_mark_once(each, given) if isinstance(each, Tensor) else each for each in results)
        return marked if isinstance(found, tuple) else marked[0]

    return wrapper


def _mark_once(tensor: Tensor, sources: list[Tensor]) -> Tensor:
    marked: Tensor = tensor.detach()
    node = _Once()
    node.seq, node.meta = next_sequence(), marked._shape_and_dtype()
    node.next = tuple(source._state.edge for source in sources)
    marked._autograd = node
    marked._dispatch_mask |= autograd_bit(marked._dispatch_mask)
    return marked


class InplaceFunction(Function):
    """A function with the attribute ``inplace`` (source: ``torch.autograd.function.InplaceFunction``)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A function with nested arguments in torch's oldest style, which torch refuses to run, too."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Raise ``NotImplementedError``: such functions are objects, and are not called any more."""
        raise NotImplementedError(
            f"{cls.__name__} is a NestedIOFunction, a function of torch's oldest style: its forward is not a static method\n"
            "Hint: subclass Function, and flatten the arguments by torch.utils._pytree.tree_flatten"
        )


def _record(
    context: Context, results: list[Any], inputs: list[Tensor | None], edges: list[Edge | None], single: bool
) -> None:
    dirty = {id(tensor) for tensor in context.dirty}
    plain = {id(tensor) for tensor in context.without_grad}
    differentiable = [
        isinstance(result, Tensor) and id(result) not in plain and result.dtype.is_differentiable for result in results
    ]
    context.next = tuple(edges)
    context.seq = next_sequence()
    metas = tuple(result._shape_and_dtype() if isinstance(result, Tensor) else None for result in results)
    if single:
        context.meta = metas[0]  # type: ignore[assignment]  # None for a result that is not a tensor
    else:
        context.metas = metas
    numbers = {}
    for number, (result, grows) in enumerate(zip(results, differentiable, strict=True)):
        if not grows:
            continue
        context.device = result.device
        numbers[id(result)] = number
        state: Any = context if single else Output(context, number)
        before = result._state
        if before.is_view:
            if id(result) in dirty and before.base is not None:
                _record_written_view(context, result, inputs, results)
                continue
            before.history, before.refusal, before.version_seen = state, CUSTOM, before.storage.version
        elif isinstance(before, Leaf) or id(result) in dirty:
            state.storage = before.storage
            result._autograd = state
        result._dispatch_mask |= autograd_bit(result._dispatch_mask)
    if not context._materialize_non_diff_grads:
        context.left_undefined = tuple(number for number, grows in enumerate(differentiable) if not grows)
    saved: list[Any] = []
    for tensor in context.to_save:
        if isinstance(tensor, Tensor) and id(tensor) in numbers:
            saved.append((Saved(tensor, tensor._state.shared_storage(), numbers[id(tensor)]), 0))
        else:
            saved.append((tensor, tensor._state.version if isinstance(tensor, Tensor) else 0))
    context.saved = tuple(saved)
    context.to_save = ()
    if observers := node_observers.get():
        from .observer import show

        show(context, results, observers)


def _record_written_view(context: Context, view: Tensor, inputs: list[Tensor | None], results: list[Any]) -> None:
    """Record a view that ``forward`` has changed in place: the history of its base goes through the function."""
    if len(results) > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
            "return more than one Tensor. Make a custom Function for each of them, or clone() the input before"
        )
    check_inplace(view)
    rebase(view, context, next(place for place, each in enumerate(inputs) if each is view))
