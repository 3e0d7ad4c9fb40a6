import pytest

from dispatch_core.errors import BackendError
from dispatch_core.plugins.settings import Settings, parse_boolean, parse_names


@pytest.mark.parametrize("text", ["1", "true", "YES", "On", " 1 "])
def test_a_yes_is_true(text):
    assert parse_boolean("X", text) is True


@pytest.mark.parametrize("text", ["0", "false", "No", "OFF"])
def test_a_no_is_false(text):
    assert parse_boolean("X", text) is False


@pytest.mark.parametrize("text", ["2", "maybe", "", "truee"])
def test_any_other_word_is_an_error_that_names_the_variable(text):
    with pytest.raises(BackendError) as caught:
        parse_boolean("DISPATCH_AUTOLOAD", text)
    assert str(caught.value) == (
        f"The environment variable DISPATCH_AUTOLOAD is {text!r}, which is neither yes nor no\n"
        "Hint: write one of 1, true, yes, on, 0, false, no, off; after a change call dispatch_core.refresh()"
    )


def test_names_are_split_at_commas_and_kept_in_order():
    assert parse_names(" npu,cpu ,, npu") == ("npu", "cpu")


def test_nothing_set_means_that_everything_may_load():
    assert Settings.from_environment({}) == Settings(autoload=True, allow=None, block=(), foreign_keys=())


def test_an_empty_variable_counts_as_not_set():
    empty = dict.fromkeys(
        ("DISPATCH_AUTOLOAD", "DISPATCH_BACKENDS", "DISPATCH_BACKENDS_BLOCK", "DISPATCH_FOREIGN_KEYS"), " "
    )
    assert Settings.from_environment(empty) == Settings()


def test_all_three_variables_are_read():
    environment = {"DISPATCH_AUTOLOAD": "0", "DISPATCH_BACKENDS": "a,b", "DISPATCH_BACKENDS_BLOCK": "c"}
    environment["DISPATCH_FOREIGN_KEYS"] = "d, e"
    expected = Settings(autoload=False, allow=("a", "b"), block=("c",), foreign_keys=("d", "e"))
    assert Settings.from_environment(environment) == expected
