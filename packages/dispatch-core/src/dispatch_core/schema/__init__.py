"""Operator schemas: the data model, the parser of torch's schema language, and argument checking."""

from __future__ import annotations

from .model import (
    MISSING,
    AliasInfo,
    Argument,
    BaseType,
    ClassType,
    DictType,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    TensorArgument,
    TupleType,
    Type,
    TypeVariable,
    UnionType,
    WrapperType,
    walk,
)
from .parser import SchemaSyntaxError, parse_schema

__all__ = [
    "MISSING",
    "AliasInfo",
    "Argument",
    "BaseType",
    "ClassType",
    "DictType",
    "FunctionSchema",
    "ListType",
    "OperatorName",
    "OptionalType",
    "Return",
    "SchemaSyntaxError",
    "TensorArgument",
    "TupleType",
    "Type",
    "TypeVariable",
    "UnionType",
    "WrapperType",
    "parse_schema",
    "walk",
]
