"""Reports as text and as a page of HTML, and how far a run has come."""

from __future__ import annotations

from .page import as_html
from .progress import Progress
from .text import as_text

__all__ = ["Progress", "as_html", "as_text"]
