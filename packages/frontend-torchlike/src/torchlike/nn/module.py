"""The base of all layers: parameters, buffers and submodules by name, found among a module's attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from dispatch_aten.dtypes import ScalarType

from ..autograd.functional import clear_gradient
from ..autograd.grad_mode import no_grad
from ..autograd.hooks import RemovableHandle
from ..dtypes import type_name
from ..functions import FUNCTIONS
from ..tensors import Tensor
from .parameter import Parameter
from .state import Stateful
from .tree import Tree

__all__ = ["Module"]


def _typename(value: object) -> str:
    """Give an object's type as messages call it."""
    if isinstance(value, Tensor):
        return type_name(value)
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


class Module(Tree, Stateful):
    """A layer or a whole network (source: ``torch.nn.Module``).

    Subclasses call ``super().__init__()``, assign parameters and modules as attributes, and define ``forward``.

    >>> import torchlike
    >>> class Scale(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = Parameter(torchlike.tensor(3.))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(torchlike.tensor([1., 2.]))
    tensor([3., 6.], grad_fn=<MulBackward0>)
    """

    training: bool

    def __init__(self) -> None:
        put = object.__setattr__  # the module's own would look each name up
        put(self, "training", True)
        put(self, "_non_persistent_buffers_set", set())
        for name in _DICTS:
            put(self, name, {})

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's result; every module defines its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for pre_hook in self._forward_pre_hooks.values():
            changed = pre_hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in self._forward_hooks.values():
            changed = hook(self, args, result)
            if changed is not None:
                result = changed
        return result

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, args)`` before every ``forward``; what it returns replaces the arguments."""
        return RemovableHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, args, result)`` after every ``forward``; what it returns replaces the result."""
        return RemovableHandle(self._forward_hooks, hook)

    # Attributes.

    def _take(self, kind: str, called: str) -> dict[str, Any]:
        """Give one of the dicts of parts; raises ``AttributeError`` where ``Module.__init__`` has not run."""
        try:
            found: dict[str, Any] = self.__dict__[kind]
        except KeyError:
            raise AttributeError(f"cannot assign {called} before Module.__init__() call") from None
        return found

    def _forget(self, name: str, keep: str) -> None:
        """Take ``name`` out of everything that an attribute may be in, but for the dict called ``keep``."""
        self.__dict__.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind != keep:
                self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __setattr__(self, name: str, value: Any) -> None:
        # A part that is assigned again keeps its place: dicts do that, as long as nothing is taken out first.
        own = self.__dict__
        if isinstance(value, Parameter):
            self._take("_parameters", "parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            self._allow(name, value, None, "parameter", "torchlike.nn.Parameter or None expected")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            modules = self._take("_modules", "module")
            self._forget(name, "_modules")
            modules[name] = value
        elif name in own.get("_modules", ()):
            self._allow(name, value, None, "child module", "torchlike.nn.Module or None expected")
            self._modules[name] = value
        elif name in own.get("_buffers", ()):
            self._allow(name, value, Tensor, "buffer", "torchlike.nn.Buffer, torchlike.Tensor or None expected")
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
        else:
            object.__setattr__(self, name, value)

    @staticmethod
    def _allow(name: str, value: Any, wanted: type | None, called: str, expected: str) -> None:
        if value is not None and (wanted is None or not isinstance(value, wanted)):
            raise TypeError(f"cannot assign '{_typename(value)}' as {called} '{name}' ({expected})")

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for kind in (self._parameters, self._buffers, self._modules):
            if name in kind:
                del kind[name]
                if kind is self._buffers:
                    self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def _check_name(self, name: str, called: str, among: dict[str, Any], taken_first: bool = False) -> None:
        """Refuse a name that a part cannot have, or that something else has; ``among`` holds the parts of its kind."""
        if not isinstance(name, str):
            raise TypeError(f"{called} name should be a string. Got {_typename(name)}")
        taken = hasattr(self, name) and name not in among
        if taken and taken_first:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{called} name can\'t contain "."' + (f", got: {name}" if taken_first else ""))
        if not name:
            raise KeyError(f'{called} name can\'t be empty string ""')
        if taken:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that is left out.

        Raises ``KeyError`` for a name with a dot, an empty one, or one that another attribute has; ``TypeError`` for what is
        no parameter, ``ValueError`` for one that is no leaf.
        """
        parameters = self._take("_parameters", "parameter")
        self._check_name(name, "parameter", parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                "(torchlike.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not trained; it belongs to the saved state if it is persistent.

        Raises ``KeyError`` and ``TypeError`` as ``register_parameter`` does.
        """
        buffers = self._take("_buffers", "buffer")
        self._check_name(name, "buffer", buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torchlike Tensor or None required)"
            )
        buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under ``name``; raises ``KeyError`` and ``TypeError`` as ``register_parameter`` does."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name(name, "module", self.__dict__.get("_modules", {}), taken_first=True)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule: ``add_module`` by another name."""
        self.add_module(name, module)

    # The state.

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

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for parameter in self.parameters():
            clear_gradient(parameter, set_to_none)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Put ``fn(tensor)`` in the place of every parameter's data, gradient, and buffer."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                with no_grad():
                    parameter.data = fn(parameter)
                    if parameter.grad is not None:
                        parameter._state.grad = fn(parameter.grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move all parameters and buffers; a dtype concerns floating-point ones only (source: ``torch.nn.Module.to``).

        Raises ``TypeError`` for a dtype that is neither floating-point nor complex.
        """
        for given in (*args, *kwargs.values()):
            dtype = given.dtype if isinstance(given, Tensor) else given
            if isinstance(dtype, ScalarType) and not dtype.is_differentiable:
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )

        def convert(tensor: Tensor) -> Tensor:
            moved: Tensor = tensor.to(*args, **kwargs)
            if moved.dtype != tensor.dtype and not tensor.dtype.is_differentiable:
                moved = tensor.to(moved.device)
            return moved

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move all parameters and buffers without their values."""
        return self._apply(lambda tensor: FUNCTIONS["empty_like"](tensor, device=device), recurse)

    def cpu(self) -> Self:
        return self._apply(lambda tensor: tensor.cpu())

    def type(self, dst_type: Any) -> Self:
        """Give all parameters and buffers a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        return self._cast(ScalarType.Float)

    def double(self) -> Self:
        return self._cast(ScalarType.Double)

    def half(self) -> Self:
        return self._cast(ScalarType.Half)

    def bfloat16(self) -> Self:
        return self._cast(ScalarType.BFloat16)

    def _cast(self, dtype: ScalarType) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    # Text.

    def extra_repr(self) -> str:
        """Give what is shown between the parentheses."""
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


#: What a module holds by name or by a hook's number.
_DICTS = (
    "_parameters",
    "_buffers",
    "_modules",
    "_forward_hooks",
    "_forward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
