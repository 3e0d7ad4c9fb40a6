"""What programs for torch call to bring a device of their own (source: ``torch.utils.backend_registration``).

Here a device is brought by a backend, and has its module and its methods at once; these functions are accepted beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..device_modules.absent_names import PLAIN, TORCHS
from ..device_modules.device_methods import GENERATED, note_devices
from ..names.spelling import spell

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]

_DEFAULT = "privateuseone"
#: The kinds of objects, and the names of devices, for which programs have asked for methods.
_given: Final[set[tuple[str, str]]] = set()
_privateuse1_backend_name = _DEFAULT


def rename_privateuse1_backend(backend_name: str) -> None:
    """Name the device that the program brings (source: ``torch.utils.rename_privateuse1_backend``).

    A backend has to provide a device of the name, as an installed distribution or by `dispatch_core.register_backend`; the
    device has its own name anyway.

    Args:
        backend_name: The name.

    Raises ``RuntimeError`` for the name of one of torch's devices, and for a second name.
    """
    global _privateuse1_backend_name
    if backend_name in (*TORCHS, *PLAIN):
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {backend_name}")
    if _privateuse1_backend_name not in (_DEFAULT, backend_name):
        raise RuntimeError(
            f"torch.register_privateuse1_backend() has already been set! Current backend: {_privateuse1_backend_name}"
        )
    _privateuse1_backend_name = backend_name


def _get_custom_mod_func(func_name: str) -> Any:
    """Return a function of the module of the device that was named (source: ``torch.utils.backend_registration``).

    Raises ``RuntimeError`` where there is no such module or function.
    """
    if not isinstance(func_name, str):
        raise AssertionError(f"func_name must be `str`, but got `{type(func_name)}`.")
    from ..device_modules.modules import find_module  # few programs ask

    found = getattr(find_module(_privateuse1_backend_name), func_name, None)
    if found is None:
        path = spell(f"torchlike.{_privateuse1_backend_name}")
        raise RuntimeError(
            f"Try to call {path}.{func_name}, which is not there\n"
            f"Hint: it is a function of the part 'functions' of the device's interface, or of a module that was given to"
            f" torch._register_device_module({_privateuse1_backend_name!r}, module)"
        )
    return found


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: Sequence[Any] | None = None,
) -> None:
    """Give tensors, modules, packed sequences and storages the methods of the device that was named.

    Those of a device whose backend has an interface are there already.

    Args:
        for_tensor: Whether tensors are meant; storages have the methods that tensors have.
        for_module: Whether modules are meant.
        for_packed_sequence: Whether packed sequences are meant.
        for_storage: Whether storages are meant.
        unsupported_dtype: Accepted.

    Raises ``RuntimeError`` for a second call for one of them.
    """
    name = _privateuse1_backend_name
    kinds = {"Tensor": for_tensor, "UntypedStorage": for_storage, "nn.Module": for_module}
    for kind, is_meant in {**kinds, "nn.utils.rnn.PackedSequence": for_packed_sequence}.items():
        if not is_meant:
            continue
        if (kind, name) in _given:
            method = name if kind == "nn.Module" else f"is_{name}"
            owner = spell(f"torchlike.{kind}")
            raise RuntimeError(
                f"The custom device module of <class '{owner}'> has already been registered with {method}"
            )
        _given.add((kind, name))
        GENERATED.add(name)
        note_devices([name])
