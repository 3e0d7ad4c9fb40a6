import pytest

from dispatch_aten import errors
from dispatch_core import DispatchError


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.OperatorError, RuntimeError),
        (errors.ShapeError, RuntimeError),
        (errors.DtypeError, RuntimeError),
        (errors.DimensionError, IndexError),
        (errors.ArgumentTypeError, TypeError),
        (errors.ArgumentValueError, ValueError),
        (errors.UnsupportedError, NotImplementedError),
        (errors.MetaDataError, NotImplementedError),
    ],
)
def test_an_error_is_torchs_builtin_and_a_dispatch_error(error, builtin):
    assert issubclass(error, builtin)
    assert issubclass(error, DispatchError)


def test_the_message_names_operator_and_argument_once():
    error = errors.ShapeError("size mismatch", argument="mat2", hint="transpose it")
    assert str(error.at("aten::mm")) == "size mismatch (argument 'mat2' of aten::mm)\nHint: transpose it"
    assert str(error.at("aten::addmm")) == "size mismatch (argument 'mat2' of aten::mm)\nHint: transpose it"


def test_the_message_may_name_the_operator_alone():
    assert str(errors.UnsupportedError("no such kernel").at("aten::exp")) == "no such kernel (aten::exp)"
