"""``help`` of a function says what it does, what its arguments mean and where torch documents it, and shows an example."""

import doctest
import inspect
import pydoc
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest

import torchlike
from dispatch_core.lazy_text import LazyText
from dispatch_core.signatures import signatures
from torchlike.creation.factories import FACTORIES
from torchlike.functions.operator_functions import FUNCTIONS, METHODS, NAMESPACES
from torchlike.names.texts import example_of, phrase_of, read_examples

pytestmark = pytest.mark.no_pipeline(reason="texts are the same there")

_FUNCTIONAL = torchlike.nn.functional


def _list_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for table, prefix in ((FUNCTIONS, ""), (FACTORIES, ""), (METHODS, "Tensor.")):
        for name in table:
            yield f"{prefix}{name}", table[name]
    for namespace, names in NAMESPACES.items():
        for name in names:
            yield f"{namespace}.{name}", names[name]
    for name in _FUNCTIONAL.__all__:
        if callable(getattr(_FUNCTIONAL, name)):
            yield f"nn.functional.{name}", getattr(_FUNCTIONAL, name)


_LISTED = dict(_list_functions())


def test_every_function_and_method_has_a_sentence_first() -> None:
    assert len(_LISTED) > 1200
    for name, function in _LISTED.items():
        first = str(function.__doc__).splitlines()[0]
        assert re.fullmatch(r"[A-Z][^\n]{5,124}[.:)\]]", first), (name, first)
        assert "Source:" not in first, name


def test_every_parameter_of_every_signature_is_explained() -> None:
    missing = []
    for name, function in _LISTED.items():
        text = str(function.__doc__)
        for form in signatures(function):
            for each in form.parameters.values():
                if each.name != "self" and not each.name.startswith("_"):
                    found = re.search(rf"^    \*{{0,2}}{each.name}: \S", text, re.MULTILINE)
                    missing += [] if found else [(name, each.name)]
    assert missing == []


def test_nearly_every_function_has_a_page_of_torchs() -> None:
    without = [
        name
        for name, function in _LISTED.items()
        if "https://docs.pytorch.org/docs/stable/" not in str(function.__doc__)
    ]
    assert len(without) < 70, (
        without
    )  # torch says nothing of its lower functions: native_dropout, rsub, constant_pad_nd


def test_help_is_made_of_the_users_signature_the_sentence_the_arguments_and_the_page() -> None:
    # Pythons differ in what they leave of empty lines.
    assert [line.rstrip() for line in pydoc.plain(pydoc.render_doc(torchlike.tril)).splitlines()[2:]] == [
        "tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor",
        "    Return the lower triangle of matrices, zero above the diagonal.",
        "",
        "    Arguments:",
        "        input: the tensor",
        "        diagonal: the last diagonal that stays: 0 the main one, above it if positive",
        "        out: a tensor to write the result to",
        "",
        "    See:",
        "        https://docs.pytorch.org/docs/stable/generated/torch.tril.html",
        *_example_lines("tril"),
    ]


def _example_lines(name: str) -> list[str]:
    example = example_of(name)
    return ["", "    Example:", *(f"        {line}".rstrip() for line in example.splitlines())] if example else []


def test_a_function_with_a_docstring_of_its_own_keeps_it_and_gets_the_rest() -> None:
    text = inspect.getdoc(_FUNCTIONAL.cross_entropy)
    assert text is not None
    assert text.startswith("Return the negative log probability of the target classes")
    assert "    label_smoothing: the share of the target that all classes get alike" in text
    assert text.count(">>> cross_entropy(") == 1
    assert "torch.nn.functional.cross_entropy.html" in text


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (torchlike.Tensor.add_, "In-place version of ``torchlike.add``."),
        (torchlike.subtract, "Another name of ``torchlike.sub``."),
        (torchlike.max, "    max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor"),
        (torchlike.sort, "    indices: their indices, as int64"),
        (torchlike.sort, "    out: tensors to write the results to"),
        (torchlike.zeros, "    *size: the shape of the result"),
        (torchlike.Tensor.split, "    split_size: the size of the parts, or a list of their sizes"),
        (torchlike.Tensor.addmm_, "    beta: the factor of the tensor; with 0 its elements are not read"),
        (torchlike.special.expit, "    https://docs.pytorch.org/docs/stable/special.html#torch.special.expit"),
    ],
)
def test_docstrings_say(function: Callable[..., Any], line: str) -> None:
    lines = str(function.__doc__).splitlines()
    assert line in lines or line.replace("*size", "size") in lines


def test_functions_belong_to_torchlike_and_not_to_the_module_that_makes_them() -> None:
    for name in ("cat", "split", "zeros", "arange", "einsum"):
        assert getattr(torchlike, name).__module__ == "torchlike", name
    assert torchlike.Tensor.split.__qualname__ == "Tensor.split"


def test_phrases_are_of_functions_and_parameters_that_there_are() -> None:
    table = tomllib.loads(files("torchlike.names.texts").joinpath("phrases.toml").read_text(encoding="utf-8"))
    parameters: dict[str, set[str]] = {}
    for name, function in _LISTED.items():
        names = {each for form in signatures(function) for each in form.parameters}
        parameters.setdefault(name.rpartition(".")[2], set()).update(names)
    for key, phrase in table["functions"].items():
        name, _, parameter = key.rpartition(".")
        assert parameter in parameters.get(name, ()), key
        assert phrase_of(name, parameter) == phrase, key
    every = set().union(*parameters.values())
    assert {*table["arguments"]} <= every
    assert {key.rpartition(".")[2] for key in table["namespaces"]} <= every
    for section in table.values():
        assert list(section) == sorted(section)
        assert not any(phrase.endswith(".") for phrase in section.values())


def test_examples_show_names_that_there_are_and_stand_in_their_docstrings() -> None:
    assert len(read_examples()) > 200
    for name in read_examples():
        found: Any = torchlike
        for part in name.split("."):
            found = getattr(found, part)
        assert ">>>" in str(found.__doc__), name


@pytest.mark.parametrize("name", read_examples())
def test_examples_are_right(name: str) -> None:
    parsed = doctest.DocTestParser().get_doctest(example_of(name), {}, name, "examples.txt", 0)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed, out=said.append)
    assert result.attempted > 1
    assert result.failed == 0, "".join(said)


def test_no_text_is_read_before_it_is_asked_for() -> None:
    program = (
        "import sys, torchlike; x = torchlike.add(torchlike.ones(2), 1); torchlike.nn.functional.relu(x)\n"
        "assert not {'tomllib', 'dispatch_aten.texts', 'torchlike.names.texts'} & {*sys.modules}\n"
        "assert 'Arguments:' in str(torchlike.add.__doc__)\n"
        "assert {'tomllib', 'dispatch_aten.texts', 'torchlike.names.texts'} <= {*sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_docstrings_are_lazy_text_that_wraps_hand_on() -> None:
    assert isinstance(torchlike.add.__doc__, LazyText)
    assert isinstance(torchlike.zeros.__doc__, LazyText)
    assert isinstance(_FUNCTIONAL.layer_norm.__doc__, LazyText)
