"""Keys: the key table, immutable sets of keys, and the masks of the running context."""

from .context import apply_masks, exclude_keys, include_keys
from .keyset import DispatchKeySet, KeyLike, KeysetLike, as_key, as_mask
from .table import (
    ARRAYS,
    AUTOCAST,
    AUTOGRAD,
    DISPATCH_KEY_PRIORITY,
    LAYOUTS,
    PROFILES,
    DispatchKey,
    backend_arrays,
    keys_of,
)

__all__ = [
    "ARRAYS",
    "AUTOCAST",
    "AUTOGRAD",
    "DISPATCH_KEY_PRIORITY",
    "LAYOUTS",
    "PROFILES",
    "DispatchKey",
    "DispatchKeySet",
    "KeyLike",
    "KeysetLike",
    "apply_masks",
    "as_key",
    "as_mask",
    "backend_arrays",
    "exclude_keys",
    "include_keys",
    "keys_of",
]
