"""The text of every error class of the operator library, as an operator raises it; a class without a row here fails."""

from __future__ import annotations

import pytest

import torchlike
from dispatch_aten import errors, promotion
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.operators import ATEN, PRIMS
from dispatch_core import ops

#: Error → a call that provokes it, and its whole text.
ROWS = {
    errors.OperatorError: (
        lambda: torchlike.arange(0, 10, -1),
        "upper bound and lower bound inconsistent with step sign (argument 'end' of aten::arange.start_step)",
    ),
    errors.ShapeError: (
        lambda: torchlike.ones(2, 3) @ torchlike.ones(2, 3),
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) (argument 'mat2' of aten::mm)",
    ),
    errors.DtypeError: (
        lambda: torchlike.ones(2).to(ScalarType.ComplexHalf),
        (
            "the cpu backend has no arrays of dtype complex32, because NumPy has none (aten::_to_copy)\n"
            "Hint: use float16 or float32"
        ),
    ),
    errors.DimensionError: (
        lambda: torchlike.ones(2, 3).sum(5),
        (
            "Dimension out of range (expected to be in range of [-2, 1], but got 5)"
            " (argument 'dim' of aten::sum.dim_IntList)"
        ),
    ),
    errors.ArgumentTypeError: (
        promotion.result_type,
        "result_type(): at least one operand is needed",
    ),
    errors.ArgumentValueError: (
        lambda: torchlike.nn.functional.cross_entropy(torchlike.ones(2, 3), torchlike.ones(3, dtype=torchlike.int64)),
        "Expected input batch_size (2) to match target batch_size (3). (argument 'target' of aten::nll_loss_nd)",
    ),
    errors.UnsupportedError: (
        lambda: torchlike.zeros(2, dtype=torchlike.complex64) < 1,
        "\"lt_cpu\" not implemented for 'ComplexFloat' (aten::lt.Scalar)",
    ),
    errors.LinAlgError: (
        lambda: torchlike.linalg.inv(torchlike.zeros(2, 2)),
        (
            "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is "
            "singular."
        ),
    ),
    errors.MetaDataError: (
        lambda: torchlike.ones(1, device="meta").tolist(),
        "Cannot copy out of meta tensor; no data! (prims::device_get)",
    ),
    errors.DataDependentShapeError: (
        lambda: ops.aten.nonzero(torchlike.ones(2, device="meta")),
        (
            "the number of elements that are not zero is in the values, and Meta tensors have none"
            " (argument 'self' of aten::nonzero)"
        ),
    ),
}


def test_every_error_but_the_root_has_a_row():
    named = [getattr(errors, name) for name in errors.__all__]
    assert set(ROWS) == {each for each in named if isinstance(each, type)} - {errors.AtenError}


@pytest.mark.parametrize("error", ROWS, ids=lambda error: error.__name__)
def test_the_text_of_an_operators_error(error):
    provoke, text = ROWS[error]
    with pytest.raises(error) as caught:
        provoke()
    assert type(caught.value) is error
    assert str(caught.value) == text


#: Words of schemas that users know by another name.
SCHEMA_WORDS = ("SymInt", "SymBool", "ScalarType")


def wrong_calls(op):
    """Yield calls of an overload that do not fit: too few arguments, too many, each one of a wrong type, unknown names."""
    schema = op.schema
    fitting = [torchlike.ones(2) if str(argument.type).startswith("Tensor") else 1 for argument in schema.positional]
    keywords = {argument.name: None for argument in schema.keyword_only}
    yield (), {}
    yield (*fitting, *[1] * 9), {}
    yield fitting, {"no_such_name": 1}
    yield fitting[:1], {argument.name: object() for argument in schema.arguments[:1]}
    for wrong in object(), "text", [[object()]], torchlike.float32:
        for index in range(len(fitting)):
            yield [*fitting[:index], wrong, *fitting[index + 1 :]], keywords
        for name in keywords:
            yield fitting, {**keywords, name: wrong}
        yield [wrong] * len(fitting), dict.fromkeys(keywords, wrong)


def error_text(call, args, kwargs):
    """Return the text of a call's error, or "" for one that fits after all."""
    try:
        call(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # the text is looked at, whatever the class is
        return str(error)
    return ""


# Namespaces answer no names like ``__and__``, by which Python itself asks.
PACKETS = sorted(
    {("aten", row.name.partition(".")[0]) for row in ATEN if not row.name.startswith("__")}
    | {("prims", row.name.partition(".")[0]) for row in PRIMS}
)


@pytest.mark.parametrize(("namespace", "name"), PACKETS)
def test_no_error_speaks_in_words_of_schemas(namespace, name):
    packet = getattr(getattr(ops, namespace), name)
    overloads = [getattr(packet, overload) for overload in packet.overloads()]
    texts = [
        error_text(call, args, kwargs) for op in overloads for args, kwargs in wrong_calls(op) for call in (op, packet)
    ]
    assert any(texts)
    assert [text for text in texts if any(word in text for word in SCHEMA_WORDS)] == []
