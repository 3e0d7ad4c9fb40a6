"""Files of tensors and of what programs keep beside them (source: ``torch.save``, ``torch.load``)."""

from .entry import add_safe_globals, load, safe_globals, save

__all__ = ["add_safe_globals", "load", "safe_globals", "save"]
