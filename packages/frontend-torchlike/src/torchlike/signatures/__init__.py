"""The signatures of functions and methods, and the overloads that their calls go to."""

from dispatch_core.signatures import signatures

__all__ = ["signatures"]
