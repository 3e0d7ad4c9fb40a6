"""Models from the network, which are refused: they come with code (source: ``torch.hub``)."""

from __future__ import annotations

import os
from typing import Any, NoReturn

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_directory: str | None = None


def _refuse(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.hub.{name} downloads, which is not implemented here; fetch the file yourself, and read it by load()"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raise ``NotImplementedError``: nothing is downloaded."
    return function


load, load_state_dict_from_url, download_url_to_file, help, list = map(
    _refuse, ("load", "load_state_dict_from_url", "download_url_to_file", "help", "list")
)
#: Its name in ``torch.utils.model_zoo``.
load_url = load_state_dict_from_url


def get_dir() -> str:
    """Return the folder where torch keeps downloads."""
    home = os.environ.get("TORCH_HOME", "~/.cache/torch")
    return _directory or f"{os.path.expanduser(home)}/hub"  # noqa: PTH111  # a string, without pathlib


def set_dir(d: str) -> None:
    """Set the folder where torch keeps downloads."""
    global _directory
    _directory = os.path.expanduser(d)  # noqa: PTH111  # as above
