"""The API for custom operators before ``torch.library.custom_op`` (source: ``torch._custom_op``)."""

from . import registrations as impl

__all__ = ["impl"]
