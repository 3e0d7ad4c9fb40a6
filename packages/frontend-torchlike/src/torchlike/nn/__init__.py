"""Networks (source: ``torch.nn``)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from dispatch_core.tracebacks import trim_traceback as _trim_traceback

from ..names.docstrings import complete
from ..names.lazy_names import load_names
from . import functional, modules, parameter
from .parameter import Buffer, Parameter

if TYPE_CHECKING:
    from typing import Any

#: Names that are no layers, by the modules that are imported when one is first used.
_NAMES: Final = {
    "init": "",
    "parallel": "DataParallel",
    "uninitialized": "UninitializedBuffer UninitializedParameter",
    "_reduction": "",
    "attention": "",
    "common_types": "",
    "intrinsic": "",
    "qat": "",
    "quantizable": "",
    "quantized": "",
    "utils": "",
}
_complete = partial(complete, namespace="nn")
_names, _load, _list = load_names(__name__, _NAMES, _complete)
_complete(Buffer)
_complete(Parameter)

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter"]
__all__ += modules.__all__
__all__ += list(_names)


def __getattr__(name: str) -> Any:
    if name in modules.__all__:
        found = globals()[name] = getattr(modules, name)
        return found
    try:
        return _load(name)
    except Exception as error:
        _trim_traceback(error)
        raise


def __dir__() -> list[str]:
    return sorted({*_list(), *__all__})
