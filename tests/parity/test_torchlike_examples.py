"""The examples of torchlike's docstrings print the same under torch."""

import doctest

import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from torchlike.names.texts import example_of, read_examples  # noqa: E402  # after the skip

pytestmark = pytest.mark.no_pipeline(reason="the examples run under torch")


@pytest.mark.parametrize("name", read_examples())
def test_an_example_prints_the_same_under_torch(name):
    text = example_of(name).replace("torchlike", "torch")
    said = []
    found = doctest.DocTestParser().get_doctest(text, {}, name, "examples.txt", 0)
    assert doctest.DocTestRunner().run(found, out=said.append).failed == 0, "".join(said)
