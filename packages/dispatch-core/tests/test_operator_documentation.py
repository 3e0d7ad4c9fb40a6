"""``help`` of an operator shows what its library says of it, and its schemas where that says nothing."""

import inspect
import pydoc

import pytest

import dispatch_core as dc


def _scale(x: int) -> int:
    return x


def _make_library(registry: dc.Registry) -> dc.Library:
    library = dc.Library("demo", "DEF", registry=registry)
    library.define("twice(int x) -> int")
    library.define("twice.text(str x) -> str")
    return library


def test_an_operators_docstring_is_its_librarys() -> None:
    registry = dc.Registry()
    library = _make_library(registry)
    asked: list[tuple[str, str | None]] = []

    def describe(name: str, overload: str | None) -> str:
        asked.append((name, overload))
        return f"Return twice {overload or 'it'}."

    library.document(describe)
    packet = registry.ops.demo.twice
    overload = packet.text
    assert asked == []
    assert packet.__doc__ == "Return twice it."
    assert overload.__doc__ == "Return twice text."
    assert inspect.getdoc(packet.default) == "Return twice default."
    assert asked == [("demo::twice", None), ("demo::twice", "text"), ("demo::twice", "default")]


def test_help_shows_a_packets_text_and_its_classs_own() -> None:
    registry = dc.Registry()
    _make_library(registry).document(lambda name, overload: "Return twice the argument.")
    assert "    Return twice the argument." in pydoc.plain(pydoc.render_doc(registry.ops.demo.twice))
    assert "All overloads of one name" in pydoc.plain(pydoc.render_doc(type(registry.ops.demo.twice)))


def test_an_operator_without_a_text_shows_its_schemas() -> None:
    registry = dc.Registry()
    library = _make_library(registry)
    library.document(lambda name, overload: None)
    assert registry.ops.demo.twice.__doc__ == (
        "Call the operator demo::twice on the backend of its arguments.\n\n"
        "Calls:\n    demo::twice(int x) -> int\n    demo::twice.text(str x) -> str"
    )
    assert str(registry.ops.demo.twice.text.__doc__).splitlines()[2:] == [
        "Calls:",
        "    demo::twice.text(str x) -> str",
    ]


def test_a_closed_library_takes_its_texts_back() -> None:
    registry = dc.Registry()
    library = _make_library(registry)
    library.document(lambda name, overload: "Return twice the argument.")
    other = dc.Library("demo", "FRAGMENT", registry=registry)
    other.define("thrice(int x) -> int")
    assert registry.ops.demo.thrice.__doc__ == "Return twice the argument."
    library.close()
    assert str(registry.ops.demo.thrice.__doc__).startswith("Call the operator demo::thrice")


def test_a_transaction_that_fails_takes_texts_back() -> None:
    registry = dc.Registry()
    with pytest.raises(OSError, match="broken"), registry.transaction():
        _make_library(registry).document(lambda name, overload: "Return twice the argument.")
        raise OSError("broken")
    assert not any(registry.descriptions.values())


def test_libraries_of_a_namespace_are_asked_one_after_another() -> None:
    registry = dc.Registry()
    library = _make_library(registry)
    library.document(lambda name, overload: "Return twice the argument.")
    other = dc.Library("demo", "FRAGMENT", registry=registry)
    other.define("thrice(int x) -> int")
    other.document(lambda name, overload: "Return three times it." if name == "demo::thrice" else None)
    assert registry.ops.demo.thrice.__doc__ == "Return three times it."
    assert registry.ops.demo.twice.__doc__ == "Return twice the argument."
    other.close()
    assert registry.ops.demo.twice.__doc__ == "Return twice the argument."


def test_a_custom_operators_docstring_is_its_functions() -> None:
    registry = dc.Registry()

    def scale(x: int, factor: int = 2) -> int:
        """Return the number, scaled."""
        return x * factor

    made = dc.custom_op("demo::scale", mutates_args=(), registry=registry)(scale)
    for function in (made, registry.ops.demo.scale, registry.ops.demo.scale.default):
        assert inspect.getdoc(function) == "Return the number, scaled."
    assert str(type(made).__doc__).startswith("An operator that was made of a function")


def test_a_custom_operator_of_a_function_without_a_docstring_shows_its_schema() -> None:
    registry = dc.Registry()
    made = dc.custom_op("demo::scale", mutates_args=(), registry=registry)(_scale)
    assert "demo::scale(SymInt x) -> SymInt" in str(made.__doc__)


def test_texts_come_from_a_function_of_a_library_that_defines() -> None:
    registry = dc.Registry()
    library = _make_library(registry)
    with pytest.raises(dc.ArgumentError, match=r"document\(\) takes a function, not str"):
        library.document("Return twice the argument.")  # type: ignore[arg-type]
    with pytest.raises(dc.RegistrationError, match="IMPL"):
        dc.Library("demo", "IMPL", registry=registry).document(lambda name, overload: None)
