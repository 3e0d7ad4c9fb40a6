"""The distribution ``torch`` where torchlike stands in for it: libraries ask Python for its version."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import torchlike

__all__ = ["find_distributions"]


class _TorchDistribution(Distribution):
    """Metadata without files: a name, a version and the name that is imported."""

    def read_text(self, filename: str) -> str | None:
        """Return the text of the files ``METADATA`` and ``top_level.txt``, None for all others."""
        version = torchlike.version.__version__
        summary = "torchlike, which stands in for torch in this process"
        texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\nSummary: {summary}\n",
            "top_level.txt": "torch\n",
        }
        return texts.get(filename)

    def locate_file(self, path: Any) -> Any:
        """Return the path of a file beside torchlike."""
        return Path(str(torchlike.__file__)).parent.parent / path


def find_distributions(name: str | None) -> Iterator[Distribution]:
    """Yield torch's distribution where it is asked for, by its name or by none."""
    if name is None or name.lower().replace("_", "-") == "torch":
        yield _TorchDistribution()
