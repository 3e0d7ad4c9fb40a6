"""The base of all layers: parameters, buffers and submodules by name, found among a module's attributes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from ..autograd.grad_mode import no_grad
from ..autograd.node import RemovableHandle
from ..tensor import Tensor
from .parameter import Parameter

__all__ = ["Module"]


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict(strict=False)`` did not find, and what it did not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Module:
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
        for name in ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_non_persistent", set())
        object.__setattr__(self, "training", True)

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

    def _kinds(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        try:
            return self._parameters, self._buffers, self._modules
        except AttributeError:
            raise AttributeError("cannot assign module before Module.__init__() call") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Parameter, Module)):
            kinds = self._kinds()
            for kind in kinds:
                kind.pop(name, None)
            self.__dict__.pop(name, None)
            kinds[0 if isinstance(value, Parameter) else 2][name] = value
            return
        for attribute, wanted, called in _KINDS:
            kind = self.__dict__.get(attribute, {})
            if name in kind:
                if value is not None and not isinstance(value, wanted):
                    raise TypeError(
                        f"cannot assign '{type(value).__module__}.{type(value).__name__}' as {called} '{name}' "
                        f"({wanted.__module__.split('.')[0]}.{'nn.' if wanted is not Tensor else ''}{wanted.__name__} "
                        "or None expected)"
                    )
                kind[name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for kind in self._kinds():
            if name in kind:
                del kind[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that is left out."""
        if param is None:
            self._parameters[name] = None
        elif not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(torchlike.nn.Parameter or None required)"
            )
        else:
            setattr(self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module's state but is not trained."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torchlike Tensor or None required)"
            )
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        self._buffers[name] = tensor
        if not persistent:
            self._non_persistent.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under ``name``."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    # Walking.

    def named_children(self) -> Iterator[tuple[str, Module]]:
        for name, module in self._modules.items():
            if module is not None:
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "") -> Iterator[tuple[str, Module]]:
        memo = set() if memo is None else memo
        if self in memo:
            return
        memo.add(self)
        yield prefix, self
        for name, module in self.named_children():
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def _named(self, kind: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix) if recurse else iter([(prefix, self)])
        for path, module in modules:
            for name, value in getattr(module, kind).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        yield from self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """Find a submodule by its dotted path."""
        module: Module = self
        for name in filter(None, target.split(".")):
            found = module._modules.get(name)
            if found is None:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = found
        return module

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
        for module in self.modules():
            module.training = mode
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
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad = parameter.grad.detach().zero_()

    def _convert(self, convert: Callable[[Tensor], Tensor]) -> Self:
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    with no_grad():
                        parameter.data = convert(parameter.data)
                    if parameter.grad is not None:
                        parameter._state.grad = convert(parameter.grad)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = convert(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move all parameters and buffers; a dtype concerns floating-point ones only (source: ``torch.nn.Module.to``)."""

        def convert(tensor: Tensor) -> Tensor:
            moved: Tensor = tensor.to(*args, **kwargs)
            if moved.dtype != tensor.dtype and not (tensor.is_floating_point() or tensor.is_complex()):
                moved = tensor.to(moved.device)
            return moved

        return self._convert(convert)

    def cpu(self) -> Self:
        return self._convert(lambda tensor: tensor.cpu())

    def float(self) -> Self:
        return self._convert(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        return self._convert(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        return self._convert(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Give all parameters and persistent buffers by their dotted names; they share memory with the module's."""
        found: dict[str, Tensor] = OrderedDict()
        self._collect_state(found, prefix, keep_vars)
        return found

    def _collect_state(self, found: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        for name, value in self._own_state().items():
            found[prefix + name] = value if keep_vars else value.detach()
        for name, module in self.named_children():
            module._collect_state(found, f"{prefix}{name}.", keep_vars)

    def _own_state(self) -> dict[str, Tensor]:
        found = {name: value for name, value in self._parameters.items() if value is not None}
        persistent = {name: value for name, value in self._buffers.items() if name not in self._non_persistent}
        return found | {name: value for name, value in persistent.items() if value is not None}

    def load_state_dict(self, state_dict: Mapping[str, Tensor], strict: bool = True, assign: bool = False) -> Any:
        """Copy values into parameters and buffers by name (source: ``torch.nn.Module.load_state_dict``).

        Raises ``RuntimeError`` naming every missing or unexpected key (unless not ``strict``) and every shape that differs;
        then nothing has been copied.
        """
        own: dict[str, tuple[Module, str, Tensor]] = {}
        for path, module in self.named_modules():
            for name, value in module._own_state().items():
                own[f"{path}.{name}" if path else name] = (module, name, value)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        errors = []
        if strict and missing:
            errors.append("Missing key(s) in state_dict: " + ", ".join(f'"{name}"' for name in missing) + ". ")
        if strict and unexpected:
            errors.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{name}"' for name in unexpected) + ". ")
        for name, (_, _, value) in own.items():
            if name in state_dict and state_dict[name].shape != value.shape:
                errors.append(
                    f"size mismatch for {name}: copying a param with shape {state_dict[name].shape} from checkpoint, "
                    f"the shape in current model is {value.shape}."
                )
        if errors:
            text = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        with no_grad():
            for name, (module, local, value) in own.items():
                if name not in state_dict:
                    continue
                if not assign:
                    value.copy_(state_dict[name])
                elif isinstance(value, Parameter):
                    module._parameters[local] = Parameter(state_dict[name], value.requires_grad)
                else:
                    module._buffers[local] = state_dict[name]
        return _IncompatibleKeys(missing, unexpected)

    # Text.

    def extra_repr(self) -> str:
        """Give what is shown between the parentheses."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        body = "\n  ".join([*([extra] if extra else []), *lines])
        return f"{type(self).__name__}(\n  {body}\n)"


#: Where a module keeps its parts, what they must be, and what messages call them.
_KINDS: tuple[tuple[str, type, str], ...] = (
    ("_parameters", Parameter, "parameter"),
    ("_buffers", Tensor, "buffer"),
    ("_modules", Module, "child module"),
)
