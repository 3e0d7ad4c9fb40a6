"""The base of all layers: a call with its hooks, and methods for a whole tree of modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar

from dispatch_core.tracebacks import trim_traceback

from ...autograd.gradients import clear_gradient
from ...compiler import compile as compile_function
from ...device_modules.absent_names import add_moved
from ..conversions import Convertible
from ..global_hooks import ANY as _ANY_HOOK
from ..global_hooks import (
    BACKWARD,
    BACKWARD_PRE,
    FORWARD,
    FORWARD_ALWAYS,
    FORWARD_PRE,
    FORWARD_WITH_KWARGS,
    REGISTRATION,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ..hooked import Hooked
from ..loading import (
    Loading,
    _IncompatibleKeys,  # noqa: F401  # torch has it here
)
from ..registration import Registrar
from ..saving import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401  # torch has it here

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

#: The tables of hooks under torch's names.
_global_backward_hooks, _global_backward_pre_hooks = BACKWARD, BACKWARD_PRE
_global_forward_hooks, _global_forward_pre_hooks = FORWARD, FORWARD_PRE
_global_forward_hooks_always_called = FORWARD_ALWAYS
_global_forward_hooks_with_kwargs = FORWARD_WITH_KWARGS
_global_parameter_registration_hooks = REGISTRATION["_parameters"]
_global_buffer_registration_hooks = REGISTRATION["_buffers"]
_global_module_registration_hooks = REGISTRATION["_modules"]


def _has_any_global_hook() -> bool:
    """Return whether a hook is called at every module's call."""
    return bool(_ANY_HOOK)


_P = ParamSpec("_P")
_R_co = TypeVar("_R_co", covariant=True)


class _HasForward(Protocol[_P, _R_co]):
    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...


class Module(Registrar, Convertible, Loading, Hooked):
    """A layer or a whole network (source: ``torch.nn.Module``).

    Subclasses call ``super().__init__()``, assign parameters and modules as attributes, and define ``forward``.

    >>> import torchlike
    >>> class Scale(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torchlike.nn.Parameter(torchlike.tensor(3.))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(torchlike.tensor([1., 2.]))
    tensor([3., 6.], grad_fn=<MulBackward0>)
    """

    training: bool

    #: Whether ``__init__`` hands its arguments on to the class after this one, for classes with several bases.
    call_super_init: bool = False
    dump_patches: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        put = object.__setattr__  # the module's own would look each name up
        put(self, "training", True)
        put(self, "_is_full_backward_hook", None)
        put(self, "_non_persistent_buffers_set", set())
        for name in _DICTS:
            put(self, name, {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's result; every module defines its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or _ANY_HOOK
            ):
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    _wrapped_call_impl = _call_impl
    if TYPE_CHECKING:
        # A call takes and returns the same as the module's own ``forward``.
        def __call__(self: _HasForward[_P, _R_co], /, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

    else:
        __call__ = _call_impl

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Give it the ``forward`` that `torchlike.compile` makes of its own (source: ``torch.nn.Module.compile``)."""
        compiled = compile_function(self.forward, *args, **kwargs)
        if compiled != self.forward:
            self.__dict__["forward"] = compiled

    def _make_optimized(self, **options: Any) -> Module:
        """Return the module whose calls are replays of captured calls of this one."""
        return OptimizedModule(self, **options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # States of older versions lack some of them.
        for name in _DICTS:
            self.__dict__.setdefault(name, {})
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call ``fn`` on every submodule, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Choose between training and evaluation, for layers that differ."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that processes share (see ``Tensor.share_memory_``)."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for parameter in self.parameters():
            clear_gradient(parameter, set_to_none)

    def extra_repr(self) -> str:
        """Return the text between the parentheses."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        above = extra.split("\n") if extra else []
        below = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not below and len(above) < 2:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join([*above, *below])
        return f"{self._get_name()}(\n  {body}\n)"

    def _repr_html_(self) -> str | None:
        from ..notebook_tree import to_html  # most programs show no module

        return to_html(self)


def _addindent(s_: str, numSpaces: int) -> str:  # torch's names, which programs that print modules call
    """Return a text with all its lines but the first indented."""
    first, *rest = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line if line.strip() else "" for line in rest)])


#: The dicts of a module: its parts by name, and its hooks by number.
_DICTS = (
    "_parameters",
    "_buffers",
    "_modules",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class OptimizedModule(Module):
    """Calls a module by its captured replays; everything else is the module's own (source: ``torch._dynamo``).

    As in torch the names in its ``state_dict`` begin with ``_orig_mod.``.

    >>> import torchlike
    >>> layer = torchlike.nn.Linear(2, 3)
    >>> compiled = torchlike.compile(layer, backend="capture")
    >>> tuple(compiled(torchlike.ones(1, 2)).shape), compiled.out_features, compiled.weight is layer.weight
    ((1, 3), 3, True)
    """

    _orig_mod: Module

    def __init__(self, mod: Module, **options: Any) -> None:
        super().__init__()
        self._orig_mod = mod
        from dispatch_core import capture  # it imports the pipelines

        self.__dict__["forward"] = capture(mod, **options)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules[name]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # While it is made, and after: the attributes that every module has are its own.
        if name in self.__dict__ or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)


add_moved(Module, is_asked=False)
