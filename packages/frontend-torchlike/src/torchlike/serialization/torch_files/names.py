"""Names in files: classes and functions of ours by torch's names, and the way back.

Note [Names below torch]
    A name below ``torch`` in a file is always one of ours, also where torch is installed: it is looked for in the module of
    ours that `stand_in` would give for torch's, then in the packages around it, where classes are public. A name that is
    not there is an error.
"""

from __future__ import annotations

import _compat_pickle
import pickle
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from ...names.lazy_names import MissingNameError
from ...names.torch_homes import find_home, list_own_modules
from ...names.torch_modules import MODULES
from ..layouts.nested import MODULE
from ..refusals import NotSavedError


class Name(NamedTuple):
    """A class or function by its module and its name there."""

    module: str
    name: str


#: Our classes that torch has under other names.
_RENAMED: Final = {
    Name("dispatch_aten.dtypes", "ScalarType"): Name("torch", "dtype"),
    Name("dispatch_core.devices", "Device"): Name("torch", "device"),
    Name("dispatch_aten.generator", "Generator"): Name("torch", "Generator"),
    Name("torchlike.nested.tensor", "NestedTensor"): Name(MODULE, "NestedTensor"),
}
_OURS: Final = {f"{name.module}.{name.name}": own for own, name in _RENAMED.items()}
#: A name of torch's own parts that pickles have → the object of ours that is asked for in its place.
_STAND_INS: Final = {
    "torch._C._VariableFunctionsClass": "torch",
    "torch._C._VariableFunctions": "torch",
    "torch._C.TensorBase": "torch.Tensor",
    "torch._C._TensorBase": "torch.Tensor",
}
#: The packages whose names are torch's.
_PACKAGES: Final = ("torch", "torchlike", "torchlike_distributions")


def find_name(value: Any, name: str | None = None) -> Name:
    """Return the name of a class or function; raises `NotSavedError` where nothing is found by it."""
    shown = name if name is not None else getattr(value, "__qualname__", None) or value.__name__
    module = pickle.whichmodule(value, shown)  # type: ignore[attr-defined]  # typeshed has none
    if "<locals>" not in shown:
        # A name that only we have is found in our own module.
        for name_of in (make_name(module, shown), Name(_as_torchs(module), shown)):
            with suppress(ImportError, AttributeError):
                found = find_value(name_of)
                # The public function may be one around it that looks for overrides.
                is_inside = found is not value and module.startswith("torchlike.") and found.__wrapped__ is value
                if found is value or is_inside:
                    return name_of
    raise NotSavedError(f"{shown}, which is not found under that name in {module}", value)


@cache
def make_name(module: str, name: str) -> Name:
    """Return the name of a class or function as files have it, one object for each.

    >>> make_name("torchlike.nn.modules.linear", "Linear")
    Name(module='torch.nn.modules.linear', name='Linear')
    """
    found = _RENAMED.get(Name(module, name), Name(module, name))
    is_ours = found.module.partition(".")[0] in ("torchlike", "torchlike_distributions")
    return Name(find_home(found.module, name), name) if is_ours else found


def _as_torchs(module: str) -> str:
    top, dot, rest = module.partition(".")
    return f"torch{dot}{rest}" if top in _PACKAGES else module


def to_python2(name: Name) -> Name:
    """Return the name of a standard module's function that the protocol has: that of Python 2."""
    renamed = _compat_pickle.REVERSE_NAME_MAPPING.get(name)
    if renamed is not None:
        return Name(*renamed)
    return Name(_compat_pickle.REVERSE_IMPORT_MAPPING.get(name.module, name.module), name.name)


def to_python3(name: Name) -> Name:
    """Return the present name of what a pickle of protocol 2 names."""
    renamed = _compat_pickle.NAME_MAPPING.get(name)
    if renamed is not None:
        return Name(*renamed)
    return Name(_compat_pickle.IMPORT_MAPPING.get(name.module, name.module), name.name)


def find_value(name: Name) -> Any:
    """Return the class or function of a name, which is imported for it; see Note [Names below torch].

    Raises ``ImportError`` or ``AttributeError`` where there is none.
    """
    own = _OURS.get(f"{name.module}.{name.name}")
    if own is not None:
        name = own
    elif name.module.partition(".")[0] in _PACKAGES:
        return _find_torchs(name)
    if name.module not in sys.modules:
        import_module(name.module)
    return _walk(sys.modules[name.module], name.name)


def _walk(owner: Any, path: str) -> Any:
    for part in filter(None, path.split(".")):
        owner = getattr(owner, part)
    return owner


def _find_torchs(name: Name) -> Any:
    own = _STAND_INS.get(f"{name.module}.{name.name}")
    if own is not None:
        return _walk(_find_module("torch"), own.partition(".")[2])
    module = _as_torchs(name.module)
    places = [module, *list_own_modules(module, name.name)]
    while module := module.rpartition(".")[0]:
        places.append(module)
    for place in places:
        with suppress(ImportError, AttributeError):
            return _walk(_find_module(place), name.name)
    raise MissingNameError(f"torchlike has no {name.module}.{name.name}", name.module, name.name, None)


def _find_module(module: str) -> Any:
    """Return the module of ours for one of torch's."""
    target, _, attribute = MODULES.get(module, f"torchlike{module.removeprefix('torch')}").partition(":")
    found = import_module(target)
    return _walk(found, attribute) if attribute else found
