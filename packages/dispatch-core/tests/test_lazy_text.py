"""A docstring is made when it is first read, and is then as good as any other."""

import copy
import functools
import inspect
import pickle
import pydoc

from dispatch_core.lazy_text import LazyText

_TEXT = "Add two numbers.\n\n    Arguments:\n        one: the first\n"


def _make(made: list[str]) -> LazyText:
    def make() -> str:
        made.append(_TEXT)
        return _TEXT

    return LazyText(make)


def test_text_is_made_once_and_not_before_it_is_read() -> None:
    made: list[str] = []

    def function() -> None: ...

    function.__doc__ = _make(made)
    wrapped = functools.wraps(function)(lambda: None)
    assert made == []
    assert inspect.getdoc(function) == inspect.getdoc(wrapped) == inspect.cleandoc(_TEXT)
    assert "    Add two numbers." in pydoc.plain(pydoc.render_doc(function))
    assert made == [_TEXT]


def test_text_answers_as_a_string_does() -> None:
    text = _make([])
    assert isinstance(text, str)
    assert text == _TEXT
    assert _TEXT.__eq__(str(text))
    assert [_TEXT].index(text) == 0  # the plain string stands at the left
    assert text != ""
    assert hash(text) == hash(_TEXT)
    assert {text: 1}[_TEXT] == 1
    assert repr(text) == repr(_TEXT)
    assert f"{text:>60}" == f"{_TEXT:>60}"
    assert text + "x" == _TEXT + "x"
    assert "x" + text == "x" + _TEXT
    assert text * 2 == _TEXT * 2
    assert text[:3] == "Add"
    assert "numbers" in text
    assert [*text] == [*_TEXT]
    assert text
    assert not LazyText(str)
    assert text.splitlines() == _TEXT.splitlines()
    assert text.expandtabs() == _TEXT
    assert text.replace("two", "three").startswith("Add three")
    assert " ".join(["x", str(text)]) == f"x {_TEXT}"
    assert "%s" % text == _TEXT  # noqa: UP031  # the way of older programs


def test_copies_and_pickles_are_plain_strings() -> None:
    text = _make([])
    for made in (copy.copy(text), copy.deepcopy(text), pickle.loads(pickle.dumps(text)), str(text)):
        assert type(made) is str
        assert made == _TEXT


def test_a_failure_to_make_the_text_is_raised_where_it_is_read_and_tried_again() -> None:
    answers = iter([None, _TEXT])

    def make() -> str:
        found = next(answers)
        if found is None:
            raise OSError("no file")
        return found

    text = LazyText(make)
    try:
        str(text)
    except OSError as error:
        assert str(error) == "no file"  # noqa: PT017  # the first of two readings
    assert str(text) == _TEXT
