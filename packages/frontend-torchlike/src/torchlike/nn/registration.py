"""Parameters, buffers and submodules: registered by name, and found among a module's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch_core.tracebacks import trim_traceback

from ..history.captures import current_part
from ..names.lazy_names import import_lazily
from ..names.spelling import spell
from ..tensors.tensor import Tensor
from ..values.dtypes import format_type
from .global_hooks import REGISTRATION
from .parameter import Buffer, Parameter
from .tree import Tree

if TYPE_CHECKING:
    from .modules.module import Module
else:
    Module = import_lazily("torchlike.nn.modules.module", "Module")


def _format_type_of(value: object) -> str:
    """Return the name of an object's type as messages write it."""
    if isinstance(value, Tensor):
        return format_type(value)
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _hint_at_module(value: object) -> str:
    """Return a hint for a value where a module is expected."""
    if isinstance(value, type) and issubclass(value, Tree):
        return f"\nHint: write {value.__name__}(), with its arguments: this is the class"
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, Tree) for each in value):
        return "\nHint: write a star before the list, or use ModuleList"
    return ""


def _check_capture(module: Any, name: str) -> None:
    """Refuse that a captured call assigns a part, and let it take note of a mode."""
    part = current_part()
    if part is not None:
        if any(name in module.__dict__.get(kind, ()) for kind in ("_parameters", "_buffers", "_modules")):
            part.modules.refuse_assignment(module, name)
        if name == "training" and name in module.__dict__:
            part.modules.see_tree(module)


class Registrar(Tree):
    """The part of `Module` that registers its parts."""

    _non_persistent_buffers_set: set[str]

    def _get_parts(self, kind: str, called: str) -> dict[str, Any]:
        """Return one of the dicts of parts; raises ``AttributeError`` where ``Module.__init__`` has not run."""
        try:
            found: dict[str, Any] = self.__dict__[kind]
        except KeyError:
            raise AttributeError(f"cannot assign {called} before Module.__init__() call") from None
        return found

    def _run_registration_hooks(self, kind: str, name: str, part: Any) -> Any:
        """Return the part that the hooks on registrations of this kind leave."""
        for hook in REGISTRATION[kind].values():
            changed = hook(self, name, part)
            if changed is not None:
                part = changed
        return part

    def _remove_other_parts(self, name: str, keep: str) -> None:
        """Take ``name`` out of everything that an attribute may be in, but for the dict called ``keep``."""
        self.__dict__.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind != keep:
                self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            # A part that is assigned again keeps its place: dicts do that, as long as nothing is taken out first.
            own = self.__dict__
            _check_capture(self, name)
            if isinstance(value, Parameter):
                self._get_parts("_parameters", "parameters")
                self._remove_other_parts(name, "_parameters")
                self.register_parameter(name, value)
            elif name in own.get("_parameters", ()):
                self._check_part_type(name, value, None, "parameter", f"{spell()}.nn.Parameter or None expected")
                self.register_parameter(name, value)
            elif isinstance(value, Tree):
                modules = self._get_parts("_modules", "module")
                self._remove_other_parts(name, "_modules")
                modules[name] = self._run_registration_hooks("_modules", name, value)
            elif name in own.get("_modules", ()):
                self._check_part_type(name, value, None, "child module", f"{spell()}.nn.Module or None expected")
                self._modules[name] = self._run_registration_hooks("_modules", name, value)
            elif isinstance(value, Buffer):
                self._get_parts("_buffers", "buffers")
                self._remove_other_parts(name, "_buffers")
                self.register_buffer(name, value, value.persistent)
            elif name in own.get("_buffers", ()):
                self._check_part_type(
                    name, value, Tensor, "buffer", f"{spell()}.nn.Buffer, {spell()}.Tensor or None expected"
                )
                self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
            else:
                object.__setattr__(self, name, value)
        except Exception as error:
            trim_traceback(error)
            raise

    @staticmethod
    def _check_part_type(name: str, value: Any, wanted: type | None, called: str, expected: str) -> None:
        if value is not None and (wanted is None or not isinstance(value, wanted)):
            raise TypeError(f"cannot assign '{_format_type_of(value)}' as {called} '{name}' ({expected})")

    # It may be a module, too; but a type checker would take a misspelt method for one that is called.
    def __getattr__(self, name: str) -> Tensor:
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind)
            if found is not None and name in found:
                return found[name]
        try:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)
        except AttributeError as error:
            trim_traceback(error)
            raise

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
            raise TypeError(f"{called} name should be a string. Got {_format_type_of(name)}")
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

        Raises ``KeyError`` for a name with a dot, an empty one, or one that another attribute has; ``TypeError`` for
        anything but a parameter, ``ValueError`` for one that is not a leaf.
        """
        parameters = self._get_parts("_parameters", "parameter")
        self._check_name(name, "parameter", parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_format_type_of(param)}' object to parameter '{name}' "
                f"({spell()}.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        parameters[name] = self._run_registration_hooks("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not trained; it belongs to the saved state if it is persistent.

        Raises ``KeyError`` and ``TypeError`` as ``register_parameter`` does.
        """
        buffers = self._get_parts("_buffers", "buffer")
        self._check_name(name, "buffer", buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_format_type_of(tensor)}' object to buffer '{name}' ({spell()} Tensor or None required)"
            )
        buffers[name] = self._run_registration_hooks("_buffers", name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under ``name``; raises ``KeyError`` and ``TypeError`` as ``register_parameter`` does."""
        if module is not None and not isinstance(module, Tree):
            raise TypeError(f"{_format_type_of(module)} is not a Module subclass{_hint_at_module(module)}")
        self._check_name(name, "module", self.__dict__.get("_modules", {}), taken_first=True)
        self._modules[name] = self._run_registration_hooks("_modules", name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule: ``add_module`` by another name."""
        self.add_module(name, module)
