"""The docstrings of functions and methods: texts of the operator library, and tables of arguments and examples beside them.

``phrases.toml`` has the arguments of functions that are no operator's, ``examples.txt`` the examples.
"""

from __future__ import annotations

from .composition import complete_text, compose_of_operator, phrase_of, phrase_of_class
from .examples import example_of, read_examples

__all__ = ["complete_text", "compose_of_operator", "example_of", "phrase_of", "phrase_of_class", "read_examples"]
