"""Models from folders with a ``hubconf.py``; downloads are refused by name (source: ``torch.hub``).

A repository or a file that torch has downloaded before is used from its cache.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn, Self
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

#: A file's name has the first digits of its hash before the suffix.
HASH_REGEX: Final = re.compile(r"-([a-f0-9]*)\.")
ENV_GITHUB_TOKEN, ENV_TORCH_HOME, ENV_XDG_CACHE_HOME = "GITHUB_TOKEN", "TORCH_HOME", "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR, VAR_DEPENDENCY, MODULE_HUBCONF = "~/.cache", "dependencies", "hubconf.py"
READ_DATA_CHUNK: Final = 128 * 1024
_TRUSTED_REPO_OWNERS: Final = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")

_hub_dir: str | None = None


class _Faketqdm:
    """A bar of progress that shows nothing, where the library tqdm is absent."""

    def __init__(
        self, total: int | None = None, disable: bool = False, unit: str | None = None, *args: Any, **kw: Any
    ) -> None:
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n: int) -> None:
        """Count what was done."""
        self.n += n

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the bar."""

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Take a text before the bar."""

    def write(self, s: str) -> None:
        """Write a line beside the bar."""
        sys.stderr.write(f"{s}\n")


def __getattr__(name: str) -> Any:
    """Import tqdm when it is asked for."""
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    try:
        found = importlib.import_module(name).tqdm
    except ImportError:
        found = _Faketqdm
    globals()[name] = found
    return found


def _refuse(name: str, what: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.hub.{name} downloads, which is not implemented here, and {what}\n"
        "Hint: fetch it yourself; load(folder, model, source='local') and load_state_dict_from_url(…, model_dir=folder) read"
        " what is there"
    )


def _get_torch_home() -> str:
    """Return the folder of torch's caches: ``TORCH_HOME``, or ``torch`` in that of all programs' caches."""
    cache = os.environ.get(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return str(Path(os.environ.get(ENV_TORCH_HOME, f"{cache}/torch")).expanduser())


def get_dir() -> str:
    """Return the folder where torch keeps downloads."""
    return _hub_dir or f"{_get_torch_home()}/hub"


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder where torch keeps downloads."""
    global _hub_dir
    _hub_dir = str(Path(d).expanduser())


def _parse_repo_info(github: str) -> tuple[str, str, str | None]:
    """Return the owner, the name and the branch of ``owner/name:branch``; ``ValueError`` for another text."""
    repository, _, branch = github.partition(":")
    owner, _, name = repository.partition("/")
    if not owner or not name or "/" in name:
        raise ValueError(f"a repository is written owner/name or owner/name:branch, not {github!r}")
    return owner, name, branch or None


def _find_repository(github: str, function: str, force_reload: bool, trust_repo: Any) -> Path:
    """Return the folder of a repository: itself where it is one, else that of torch's cache."""
    folder = Path(github)
    if (folder / MODULE_HUBCONF).is_file():
        return folder
    owner, name, branch = _parse_repo_info(github)
    branches = [branch.replace("/", "_")] if branch else ["main", "master"]
    for each in branches:
        folder = Path(get_dir(), f"{owner}_{name}_{each}")
        if folder.is_dir() and not force_reload:
            _check_repo_is_trusted(owner, name, f"{owner}_{name}_{each}", trust_repo)
            return folder
    _refuse(function, f"{github} is not in the cache, {get_dir()}")


def _check_repo_is_trusted(owner: str, name: str, folder: str, trust_repo: Any) -> None:
    """Raise ``RuntimeError`` for a repository whose code is not to run: one that is not listed as trusted."""
    listed = Path(get_dir(), "trusted_list")
    known = listed.read_text(encoding="utf-8").split() if listed.is_file() else []
    if trust_repo is True or owner in _TRUSTED_REPO_OWNERS or {folder, f"{owner}_{name}"} & {*known}:
        return
    raise RuntimeError(f"Untrusted repository: {owner}/{name}\nHint: trust_repo=True says that its code may run")


@contextmanager
def _add_to_sys_path(path: str) -> Iterator[None]:
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)


def _import_module(name: str, path: Any) -> ModuleType:
    """Run a file, and return its module; ``FileNotFoundError`` where there is none."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, f"failed to load spec from {path}"
    assert spec.loader is not None, f"failed to load spec from {path}"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_attr_from_module(module: ModuleType, func_name: str) -> Any:
    """Return a name of a module, None where it is not there."""
    return getattr(module, func_name, None)


def _check_dependencies(m: ModuleType) -> None:
    """Raise ``RuntimeError`` where a library that a ``hubconf.py`` needs is not installed."""
    needed = _load_attr_from_module(m, VAR_DEPENDENCY) or ()
    missing = [each for each in needed if each not in sys.modules and importlib.util.find_spec(each) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")


def _load_entry_from_hubconf(m: ModuleType, model: str) -> Any:
    """Return the function of a model; ``RuntimeError`` where there is none, ``ValueError`` for a name of another type."""
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    _check_dependencies(m)
    found = _load_attr_from_module(m, model)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


@contextmanager
def _open_hubconf(folder: Path) -> Iterator[ModuleType]:
    """Run a folder's ``hubconf.py`` with the folder on the path, where it stays for the block."""
    with _add_to_sys_path(str(folder)):
        yield _import_module(MODULE_HUBCONF, folder / MODULE_HUBCONF)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
    verbose: bool = True,
) -> builtins.list[str]:
    """Return the names of the models of a folder, or of a repository in the cache.

    Raises ``NotImplementedError`` where it would be downloaded, ``RuntimeError`` for a repository that is not trusted.
    """
    with _open_hubconf(_find_repository(github, "list", force_reload, trust_repo)) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
) -> str | None:
    """Return the docstring of a model's function.

    Raises the errors of `list`, and ``RuntimeError`` where there is no such model.
    """
    with _open_hubconf(_find_repository(github, "help", force_reload, trust_repo)) as module:
        found: str | None = _load_entry_from_hubconf(module, model).__doc__
        return found


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Return a model of a folder's ``hubconf.py``, whose code is run.

    Args:
        repo_or_dir: The folder, or a repository that is in the cache, as ``owner/name:branch``.
        model: The name of the function that makes it, which gets the further arguments.
        source: ``"local"`` for a folder, ``"github"`` for a repository.
        trust_repo: Whether the code of a repository may run.

    Raises ``NotImplementedError`` where the repository would be downloaded, ``RuntimeError`` for one that is not trusted, a
    model that is not there and libraries that it needs, and ``ValueError`` for another source.
    """
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = Path(repo_or_dir)
    if source == "github":
        folder = _find_repository(str(repo_or_dir), "load", force_reload, trust_repo)
    return _load_local(folder, model, *args, **kwargs)


def _load_local(hubconf_dir: Any, model: str, *args: Any, **kwargs: Any) -> Any:
    """Return a model of a folder."""
    with _open_hubconf(Path(hubconf_dir)) as module:
        return _load_entry_from_hubconf(module, model)(*args, **kwargs)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> NoReturn:
    """Raise ``NotImplementedError``: nothing is downloaded."""
    _refuse("download_url_to_file", f"{url} is asked for")


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """Return the state in a file that lies where torch would have downloaded it.

    Args:
        url: Its address, whose last part is the file's name unless ``file_name`` is given.
        model_dir: The folder; ``checkpoints`` in that of downloads, where it is None.
        map_location: As for `torchlike.load`, as is ``weights_only``.
        check_hash: Whether the hash in the file's name is compared with that of its content.

    Raises ``NotImplementedError`` where it would be downloaded, ``RuntimeError`` where the hash differs.
    """
    folder = Path(get_dir(), "checkpoints") if model_dir is None else Path(model_dir)
    path = folder / (file_name or Path(urlparse(url).path).name)
    if not path.is_file():
        _refuse("load_state_dict_from_url", f"{path} is not there")
    found = HASH_REGEX.search(path.name) if check_hash else None
    if found is not None:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if not digest.startswith(found[1]):
            raise RuntimeError(f'invalid hash value (expected "{found[1]}", got "{digest}")')
    from .serialization import load as load_file

    return load_file(path, map_location=map_location, weights_only=weights_only)


#: Its name in ``torch.utils.model_zoo``.
load_url = load_state_dict_from_url
