"""Calls: arguments and results as a schema has them, in plain code and in generated code."""

from __future__ import annotations

from .emit import define, indent, make_function, parse_expression
from .lazy_function import LazyFunction, make_code
from .native import describe_front
from .traits import KernelTraits, traits_of

__all__ = [
    "KernelTraits",
    "LazyFunction",
    "define",
    "describe_front",
    "indent",
    "make_code",
    "make_function",
    "parse_expression",
    "traits_of",
]
