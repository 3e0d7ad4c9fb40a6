"""Lets mkdocstrings show docstrings as the rest of the reference does."""

from __future__ import annotations

import griffe
from docstrings import fence_examples


class Examples(griffe.Extension):
    """Puts the examples of each docstring into blocks."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)
