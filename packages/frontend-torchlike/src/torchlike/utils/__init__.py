"""Tools around tensors and networks (source: ``torch.utils``); each part is imported when first used."""

from __future__ import annotations

from typing import Final

from ..names.lazy_names import load_names

_NAMES: Final = {
    "backend_registration": "generate_methods_for_privateuse1_backend rename_privateuse1_backend",
    "checkpoint": "",
    "data": "",
    "deterministic": "",
    "dlpack": "",
    "flop_counter": "",
    "hooks": "",
    "module_tracker": "",
    "pytree": "",
    "swapping": "set_module swap_tensors",
    "tensorboard": "",
    "weak": "",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
