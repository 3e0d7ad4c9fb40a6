"""The rules of the older API for names, schemas and functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import dispatch_core as dc

from ..formulas import is_functional

__all__ = [
    "RESERVED_NS",
    "SUPPORTED_DEVICE_TYPE_TO_KEY",
    "parse_qualname",
    "parse_schema",
    "validate_device_type",
    "validate_function_matches_schema",
    "validate_namespace",
    "validate_schema",
]

SUPPORTED_DEVICE_TYPE_TO_KEY: Final = {"cpu": "CPU", "cuda": "CUDA"}
RESERVED_NS: Final = {"prim", "prims", "aten", "at", "torch", "pytorch"}


def parse_qualname(qualname: str) -> tuple[str, str]:
    """Return the namespace and the name of an operator.

    Raises ``ValueError`` where there is no namespace, or an overload.

    >>> parse_qualname("mylib::sin")
    ('mylib', 'sin')
    """
    namespace, colons, name = qualname.partition("::")
    if not colons:
        raise ValueError(
            f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like ns::foo"
        )
    if "." in name:
        raise ValueError(
            "The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them. Please name your "
            f"operator something like ns::foo. Got: {qualname}"
        )
    return namespace, name


def validate_namespace(ns: str) -> None:
    """Refuse a namespace that torch keeps for itself, or that is not a name; raises ``ValueError``."""
    if "." in ns:
        raise ValueError(f'custom_op(..., ns="{ns}"): expected ns to not contain any . (and be a valid variable name)')
    if ns in RESERVED_NS:
        raise ValueError(f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose something else. ")


def validate_device_type(device_type: str) -> None:
    """Refuse a device that the older API does not know; raises ``ValueError``."""
    if device_type not in SUPPORTED_DEVICE_TYPE_TO_KEY:
        raise ValueError(
            f"CustomOp.impl(device_types=[{device_type}, ...]): we only support device_type in "
            f"{SUPPORTED_DEVICE_TYPE_TO_KEY.keys()}."
        )


def parse_schema(text: str) -> dc.FunctionSchema:
    """Read a schema; raises ``AssertionError`` for malformed text, as the older API does."""
    try:
        return dc.FunctionSchema.parse(text)
    except dc.SchemaError as error:
        fault = AssertionError(f"Invalid function schema: {text}\n{error}")
    raise fault


def validate_schema(schema: dc.FunctionSchema) -> None:
    """Refuse an operator that is not functional, or takes an argument ``self``; raises ``ValueError``."""
    if not is_functional(schema):
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of the "
            f"inputs, and has at least one return). Got the following non-functional schema: {schema}"
        )
    if any(each.name == "self" for each in schema.arguments):
        raise ValueError(
            f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {schema}"
        )


def validate_function_matches_schema(schema: dc.FunctionSchema, func: Callable[..., Any]) -> None:
    """Refuse a function whose parameters are not those of a schema; raises ``ValueError``."""
    signature = inspect.signature(func)
    parameters = [*signature.parameters.values()]

    def refuse(fault: str) -> NoReturn:
        raise ValueError(f"custom_op(..., manual_schema)(func): {fault}")

    if any(each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) for each in parameters):
        refuse(
            "positional-only args, varargs, and kwargs are not supported. Please rewrite `func` to not have them. Got "
            f"`func` with signature: {signature}"
        )
    if any(each.annotation is not each.empty for each in parameters) or (
        signature.return_annotation is not signature.empty
    ):
        refuse(
            "When passing in a manual schema, we expect `func` to have no type annotations to avoid ambiguity. Got `func` "
            f"with signature: {signature}"
        )

    def compare(own: Sequence[inspect.Parameter], theirs: Sequence[Any]) -> None:
        if [each.name for each in own] != [each.name for each in theirs]:
            refuse(
                "When passing in a manual schema, we expect `func`'s signature to match `manual_schema` (aside from type "
                f"annotations). func's signature: {signature}, manual_schema: {schema}"
            )
        if any(each.default is not each.empty for each in own) or any(each.has_default for each in theirs):
            refuse(
                "neither func nor manual_schema should have default arguments. Got func's signature: "
                f"{signature}, manual_schema: {schema}"
            )

    compare([each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD], schema.positional)
    compare([each for each in parameters if each.kind is each.KEYWORD_ONLY], schema.keyword_only)
