"""Operator schemas: the data model, the parser of torch's schema language, and argument checking."""

from __future__ import annotations

from .check import (
    argument_error,
    bind,
    checker,
    describe_call,
    invalid_combination,
    matches,
    mismatch,
)
from .declared_dtypes import declare_dtypes, declare_promotion, suggest_dtype
from .model import MISSING, Argument, FunctionSchema, OperatorName, Return, TensorArgument
from .parser import parse_schema
from .tokens import SchemaSyntaxError
from .torch_names import CallableName, TorchSchema
from .types import (
    AliasInfo,
    BaseType,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    TypeVariable,
    UnionType,
    WrapperType,
    walk,
)

__all__ = [
    "MISSING",
    "AliasInfo",
    "Argument",
    "BaseType",
    "CallableName",
    "ClassType",
    "DictType",
    "FunctionSchema",
    "ListType",
    "OperatorName",
    "OptionalType",
    "Return",
    "SchemaSyntaxError",
    "TensorArgument",
    "TorchSchema",
    "TupleType",
    "Type",
    "TypeVariable",
    "UnionType",
    "WrapperType",
    "argument_error",
    "bind",
    "checker",
    "declare_dtypes",
    "declare_promotion",
    "describe_call",
    "invalid_combination",
    "matches",
    "mismatch",
    "parse_schema",
    "suggest_dtype",
    "walk",
]
