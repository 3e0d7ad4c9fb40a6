"""Modules that learn the shapes of their parameters from the first call (source: ``torch.nn.modules.lazy``)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from ...names.lazy_names import import_lazily
from ..uninitialized import is_lazy

if TYPE_CHECKING:
    from ...history.hooks import RemovableHandle
    from .module import Module

    _Base = Module
else:
    RemovableHandle = import_lazily("torchlike.history.hooks", "RemovableHandle")
    Module = import_lazily("torchlike.nn.modules.module", "Module")
    _Base = object

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(_Base):
    """The part of a lazy module that materializes its parameters before the first ``forward``.

    A subclass stands before the module that it becomes among the bases, makes its parameters ``UninitializedParameter``,
    and gives them shapes in ``initialize_parameters(*args)``, which takes the arguments of ``forward``.
    """

    #: The class of the module after the first call.
    cls_to_become: ClassVar[type[Module] | None] = None
    _load_hook: RemovableHandle
    _initialize_hook: RemovableHandle

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(_materialize_loaded, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(_infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters and fill them, from the arguments of ``forward``."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for tensor in chain(self._parameters.values(), self._buffers.values()))

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )


def _materialize_loaded(module: Any, state_dict: Any, prefix: str, *_: Any) -> None:
    """Materialize the parameters that a state has values for."""
    for name, tensor in chain(module._parameters.items(), module._buffers.items()):
        given = state_dict.get(prefix + name)
        if tensor is not None and given is not None and is_lazy(tensor) and not is_lazy(given):
            tensor.materialize(given.shape)


def _infer_parameters(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Initialize the parameters, and let the module be one of the usual class from then on."""
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    for name in ("_initialize_hook", "_load_hook"):
        getattr(module, name).remove()
        delattr(module, name)
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become
