"""A setting of deterministic algorithms (source: ``torch.utils.deterministic``)."""

__all__ = ["fill_uninitialized_memory"]

#: Whether programs that ask for deterministic algorithms want new memory filled too; kept, and changes nothing.
fill_uninitialized_memory = True
