"""Files of tensors and of programs' data beside them (source: ``torch.save``, ``torch.load``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .entry import load as load
from .entry import save as save
from .classes import add_safe_globals as add_safe_globals
from .classes import clear_safe_globals as clear_safe_globals
from .classes import get_safe_globals as get_safe_globals
from .classes import safe_globals as safe_globals
from . import classes as classes
from .torch_files.restoring import check_module_version_greater_or_equal as check_module_version_greater_or_equal
from .torch_files.restoring import default_restore_location as default_restore_location
from .torch_files.restoring import get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint
from .torch_files.restoring import location_tag as location_tag
from .torch_files.restoring import mkdtemp as mkdtemp
from .torch_files.restoring import normalize_storage_type as normalize_storage_type
from .torch_files.restoring import register_package as register_package
from .torch_files.restoring import validate_cuda_device as validate_cuda_device
from .settings import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from .settings import INT_SIZE as INT_SIZE
from .settings import IS_WINDOWS as IS_WINDOWS
from .settings import LONG_SIZE as LONG_SIZE
from .settings import MAGIC_NUMBER as MAGIC_NUMBER
from .settings import MAP_LOCATION as MAP_LOCATION
from .settings import MAP_PRIVATE as MAP_PRIVATE
from .settings import MAP_SHARED as MAP_SHARED
from .settings import PROTOCOL_VERSION as PROTOCOL_VERSION
from .settings import SHORT_SIZE as SHORT_SIZE
from .settings import STORAGE as STORAGE
from .settings import STORAGE_KEY_SEPARATOR as STORAGE_KEY_SEPARATOR
from .settings import FileLike as FileLike
from .settings import LoadEndianness as LoadEndianness
from .settings import SourceChangeWarning as SourceChangeWarning
from .settings import get_crc32_options as get_crc32_options
from .settings import get_default_load_endianness as get_default_load_endianness
from .settings import get_default_mmap_options as get_default_mmap_options
from .settings import set_crc32_options as set_crc32_options
from .settings import set_default_load_endianness as set_default_load_endianness
from .settings import set_default_mmap_options as set_default_mmap_options
from .settings import skip_data as skip_data
from . import settings as settings
from .torch_files.records import PyTorchFileReader as PyTorchFileReader
from .torch_files.records import PyTorchFileWriter as PyTorchFileWriter
__all__ = [
    "DEFAULT_PROTOCOL",
    "FileLike",
    "INT_SIZE",
    "IS_WINDOWS",
    "LONG_SIZE",
    "LoadEndianness",
    "MAGIC_NUMBER",
    "MAP_LOCATION",
    "MAP_PRIVATE",
    "MAP_SHARED",
    "PROTOCOL_VERSION",
    "PyTorchFileReader",
    "PyTorchFileWriter",
    "SHORT_SIZE",
    "STORAGE",
    "STORAGE_KEY_SEPARATOR",
    "SourceChangeWarning",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "validate_cuda_device",
]
