"""Schemas from type hints: annotations, defaults, written arguments, and refusals."""

# ruff: noqa: UP006, UP007, UP037, UP045  # the old spellings are input

from __future__ import annotations

import functools
import numbers
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Dict, List, Optional, Tuple, Union  # noqa: UP035  # the old spellings are input

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core import Tensor, infer_schema


class Kind(Enum):
    """A dtype, as an operator library has them."""

    __schema_type__ = "ScalarType"
    float32 = 6

    def __str__(self):
        return self.name


def schema_of(x=None, default=..., returns=Tensor, *, mutates_args=()):
    """Infer the schema of a function of one argument."""

    def f(x):
        pass

    f.__annotations__ = {"x": x, "return": returns}
    f.__defaults__ = None if default is ... else (default,)
    return infer_schema(f, mutates_args=mutates_args)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (Tensor, "Tensor"),
        (Optional[Tensor], "Tensor?"),
        (Tensor | None, "Tensor?"),
        (list[Tensor], "Tensor[]"),
        (List[Tensor], "Tensor[]"),
        (Sequence[Tensor], "Tensor[]"),
        (list[Tensor | None], "Tensor?[]"),
        (tuple[Tensor, ...], "Tensor[]"),
        (tuple[Tensor, Tensor], "Tensor[2]"),
        (int, "SymInt"),
        (Optional[int], "SymInt?"),
        (list[int], "SymInt[]"),
        (Optional[List[int]], "SymInt[]?"),
        (Sequence[int] | None, "SymInt[]?"),
        (Tuple[int, int], "SymInt[2]"),
        (tuple[int, str], "(SymInt, str)"),
        (list[list[int]], "SymInt[][]"),
        (float, "float"),
        (bool, "bool"),
        (complex, "complex"),
        (str, "str"),
        (list[str], "str[]"),
        (list[bool], "bool[]"),
        (Union[int, float, bool], "Scalar"),
        (int | float | None, "Scalar?"),
        (numbers.Number, "Scalar"),
        (list[int | float], "Scalar[]"),
        (dc.Device, "Device"),
        (dc.Device | None, "Device?"),
        (Kind, "ScalarType"),
        (Kind | None, "ScalarType?"),
        (dict[str, int], "Dict(str, int)"),
        (Dict[str, float], "Dict(str, float)"),
        (Mapping[str, list[int]], "Dict(str, int[])"),
        (Annotated[int, "a note"], "SymInt"),
    ],
)
def test_an_annotation_is_a_type_of_the_schema(hint, expected):
    assert schema_of(hint) == f"({expected} x) -> Tensor"


def test_a_frontends_class_and_an_array_type_are_tensors(toy, tensors):
    assert schema_of(tensors.tensor_type) == schema_of(toy.array) == "(Tensor x) -> Tensor"
    assert schema_of(type("Parameter", (tensors.tensor_type,), {})) == "(Tensor x) -> Tensor"
    assert schema_of(toy.array | tensors.tensor_type | None) == "(Tensor? x) -> Tensor"
    assert schema_of(list[toy.array], returns=toy.array) == "(Tensor[] x) -> Tensor"


def test_an_array_type_that_a_plugin_declares_is_known_without_loading_it(install, run_python):
    site = install("vendor", backends={"acme": "acme_backend"}, array_types={"acme_arrays.Array": "acme"})
    (site / "acme_arrays.py").write_text("class Array: pass\n")
    done = run_python(
        "-c",
        "import sys, acme_arrays, dispatch_core as dc\n"
        "def f(x: acme_arrays.Array) -> None: ...\n"
        "print(dc.infer_schema(f, mutates_args='unknown'), 'acme_backend' in sys.modules)",
        site=[site],
    )
    assert done.stdout == "(Tensor(a0!) x) -> () False\n", done.stderr


@pytest.mark.parametrize(
    ("hint", "default", "expected"),
    [
        (int, 3, "SymInt x=3"),
        (int, -1, "SymInt x=-1"),
        (int, True, "SymInt x=True"),
        (float, 1e-5, "float x=1e-05"),
        (bool, False, "bool x=False"),
        (complex, 1j, "complex x=1.0j"),
        (int | float, 2.5, "Scalar x=2.5"),
        (str, "mean", 'str x="mean"'),
        (str, 'a "b"\n', 'str x="a \\"b\\"\\n"'),
        (str | None, None, "str? x=None"),
        (Tensor | None, None, "Tensor? x=None"),
        (dc.Device, dc.Device("npu", 1), 'Device x="npu:1"'),
        (dc.Device | None, None, "Device? x=None"),
        (Kind, Kind.float32, "ScalarType x=float32"),
        (list[int], (0, 1), "SymInt[] x=[0, 1]"),
        (list[int], [], "SymInt[] x=[]"),
        (tuple[int, int], (1, 1), "SymInt[2] x=[1, 1]"),
    ],
)
def test_a_default_is_spelled_so_that_it_is_read_again(hint, default, expected):
    text = schema_of(hint, default)
    assert text == f"({expected}) -> Tensor"
    (argument,) = dc.FunctionSchema.parse(f"f{text}").arguments
    expected = default.value if isinstance(default, Kind) else default
    assert argument.default == (tuple(expected) if isinstance(expected, list) else expected)


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        (None, "()"),
        (Tensor, "Tensor"),
        (list[Tensor], "Tensor[]"),
        (tuple[Tensor, ...], "Tensor[]"),
        (tuple[Tensor, int, float, bool, str], "(Tensor, SymInt, float, bool, str)"),
        (Tensor | None, "Tensor?"),
        (int | float, "Scalar"),
        (tuple[()], "()"),
    ],
)
def test_a_return_annotation_gives_the_results(returns, expected):
    assert schema_of(int, returns=returns) == f"(SymInt x) -> {expected}"


def test_written_arguments_are_marked_by_their_position():
    def f(x: Tensor, n: int, y: Tensor | None, *, out: list[Tensor]) -> None: ...

    assert (
        infer_schema(f, mutates_args=["x", "out"], op_name="my::f")
        == "my::f(Tensor(a0!) x, SymInt n, Tensor? y, *, Tensor(a3!)[] out) -> ()"
    )
    assert (
        infer_schema(f, mutates_args="unknown")
        == "(Tensor(a0!) x, SymInt n, Tensor(a2!)? y, *, Tensor(a3!)[] out) -> ()"
    )


def test_annotations_that_are_text_may_name_what_the_function_closes_over():
    class Local:
        __schema_type__ = "Layout"

    def f(x: Local) -> List["Tensor"]:
        return [Local]

    assert infer_schema(f, mutates_args=()) == "(Layout x) -> Tensor[]"


def test_wrapped_functions_are_looked_through():
    @functools.cache
    def f(x: int) -> int:
        return x

    assert infer_schema(f, mutates_args=()) == "(SymInt x) -> SymInt"
    assert infer_schema(functools.partial(f), mutates_args=()) == "(SymInt x) -> SymInt"


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (Any, "it is not a type that a schema knows"),
        (object, "it is not a type that a schema knows; known are tensors"),
        (None, "parameter x is annotated NoneType"),
        (list, r"say the type of its elements, as in list\[int\]"),
        (tuple[()], "a tuple without elements says nothing"),
        (int | str, "of the unions, a schema knows those with None, and numbers"),
        (Tensor | int, "of the unions"),
        (dict[str, Tensor], "the dispatcher does not look for tensors there"),
        (list[list[Tensor]], "the dispatcher does not look for tensors there"),
        (tuple[Tensor, int], "the dispatcher does not look for tensors there"),
        (list[Tensor] | None, "does not look for tensors there; .* empty where there are none"),
        ("Missing", r"an annotation cannot be read \(NameError: name 'Missing' is not defined\)"),
        ("1 +", "an annotation cannot be read"),
    ],
)
def test_what_no_schema_can_say_is_refused(hint, reason):
    with pytest.raises(
        dc.SchemaError, match=rf"(?s)^infer_schema\(schema_of.<locals>.f\): .*{reason}.*\nSignature: \("
    ):
        schema_of(hint)


@pytest.mark.parametrize(
    ("hint", "default"),
    [(int, object()), (Tensor, 1.5), (list[Tensor], []), (list[int] | None, [1]), (dict[str, int], {})],
)
def test_defaults_that_no_schema_can_say_are_refused(hint, default):
    with pytest.raises(dc.SchemaError, match="infer_schema"):
        schema_of(hint, default)


@pytest.mark.parametrize("returns", [tuple[Tensor], list, Any, dict[str, Tensor]])
def test_returns_that_no_schema_can_say_are_refused(returns):
    with pytest.raises(dc.SchemaError, match="the return is annotated"):
        schema_of(int, returns=returns)


def test_parameters_must_be_plain_and_annotated():
    def positional_only(x: int, /) -> int: ...
    def variadic(*x: int) -> int: ...
    def keywords(**x: int) -> int: ...
    def bare(x) -> int: ...
    def no_return(x: int): ...

    for f in (positional_only, variadic, keywords):
        with pytest.raises(dc.SchemaError, match="is neither a plain parameter nor a keyword-only one"):
            infer_schema(f, mutates_args=())
    with pytest.raises(dc.SchemaError, match="parameter x has no annotation"):
        infer_schema(bare, mutates_args=())
    with pytest.raises(dc.SchemaError, match="the return has no annotation"):
        infer_schema(no_return, mutates_args=())
    with pytest.raises(dc.SchemaError, match="has no signature that could be read"):
        infer_schema(3, mutates_args=())


def test_mutates_args_names_tensor_parameters():
    def f(x: Tensor, n: int) -> None: ...

    with pytest.raises(dc.SchemaError, match="mutates_args names y, which is not a parameter"):
        infer_schema(f, mutates_args=["y"])
    with pytest.raises(
        dc.SchemaError, match="mutates_args names n, but only tensors and lists of tensors can be written to"
    ):
        infer_schema(f, mutates_args=["n"])
    with pytest.raises(dc.SchemaError, match=r"mutates_args is 'x'\n"):
        infer_schema(f, mutates_args="x")


def test_the_marker_is_no_class_of_tensors():
    with pytest.raises(TypeError, match="is for annotations"):
        Tensor()
    assert np.ndarray is not Tensor
