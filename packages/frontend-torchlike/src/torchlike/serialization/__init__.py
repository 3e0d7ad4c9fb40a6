"""Files of tensors and of programs' data beside them (source: ``torch.save``, ``torch.load``)."""

from __future__ import annotations

from typing import Final

from ..names.lazy_names import load_names
from .entry import load, save

_NAMES: Final = {
    "classes": "add_safe_globals clear_safe_globals get_safe_globals safe_globals",
    "torch_files.restoring": (
        "check_module_version_greater_or_equal default_restore_location get_unsafe_globals_in_checkpoint location_tag"
        " mkdtemp normalize_storage_type register_package validate_cuda_device"
    ),
    "settings": (
        "DEFAULT_PROTOCOL INT_SIZE IS_WINDOWS LONG_SIZE MAGIC_NUMBER MAP_LOCATION MAP_PRIVATE MAP_SHARED PROTOCOL_VERSION"
        " SHORT_SIZE STORAGE STORAGE_KEY_SEPARATOR FileLike LoadEndianness SourceChangeWarning get_crc32_options"
        " get_default_load_endianness get_default_mmap_options set_crc32_options set_default_load_endianness"
        " set_default_mmap_options skip_data"
    ),
    "torch_files.records": "PyTorchFileReader PyTorchFileWriter",
}
_lazy, __getattr__, __dir__ = load_names(__name__, _NAMES)

__all__ = ["load", "save"]
__all__.extend(_lazy)  # noqa: PYI056  # the linter does not know the names
