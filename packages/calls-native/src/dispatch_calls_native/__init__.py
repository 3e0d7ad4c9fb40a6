"""A compiled front of calls: `dispatch_core` puts its objects in the place of operators' functions."""

from .finding import find_front

__all__ = ["find_front"]
