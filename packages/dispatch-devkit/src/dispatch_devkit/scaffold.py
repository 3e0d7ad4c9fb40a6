"""Write the package of a new backend: ``python -m dispatch_core new-backend acme``.

Note [Templates]
    The files below ``templates`` are those of a backend for the device ``acme``: a folder of common files, and
    one for each sort of array, whose files come on top. Their names end with ``.template``, so that no tool takes them for
    code of this package, and a leading ``dot-`` represents a dot. To write a package is to write another name for ``acme``.
"""

from __future__ import annotations

import keyword
import os
import re
import shutil
import sys
import tempfile
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from dispatch_core.errors import ArgumentError, RegistrationError, short_repr
from dispatch_core.inspection import (
    ARRAY_TYPES,
    BACKENDS,
    OWNERS,
    Record,
    device_of,
    installed_version,
    is_device_name,
    loader,
)

STRIDED: Final = "strided"
_ARRAY_API: Final = "array-api"
#: Sort of backend → its arrays.
SORTS: Final = {
    STRIDED: "writable arrays with strides, in NumPy's memory",
    "immutable": "arrays without strides that cannot be written to",
    _ARRAY_API: "the arrays of a library of that name, which follows the Python array API standard",
}
_EXAMPLE: Final = "acme"
_SUFFIX: Final = ".template"
_LONGEST: Final = 40


class Project(Record):
    """A package that was written: its folder, the device, and the files by their paths below the folder."""

    folder: Path
    device: str
    sort: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.folder}: the device {self.device!r}, with {SORTS[self.sort]}",
            *(f"  {name}" for name in self.files),
            "Next steps:",
            f"  cd {self.folder}",
            '  python -m pip install --editable ".[test]"',
            f"  python -m dispatch_core verify {self.device}",
            "  python -m pytest",
            "README.md says what is yours to change; LICENSE waits for your choice.",
        ]
        return "\n".join(lines)


def new_backend(name: str, directory: str | os.PathLike[str] = ".", *, sort: str = STRIDED) -> Project:
    """Write the package of a backend for the device ``name`` into ``directory``, in a folder of its own.

    Raises ``RegistrationError`` for a name that no device may have, or that something installed has,
    with array-api also where its library's arrays belong to an installed device; ``ArgumentError``
    for another sort than `SORTS` has, ``FileExistsError`` where the folder is there, ``NotADirectoryError`` where the
    directory is not. Nothing is written then.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     project = new_backend("frobnicator", folder)
    ...     (project.folder / "pyproject.toml").is_file(), "src/frobnicator_backend/plugin.py" in project.files
    (True, True)
    """
    if sort not in SORTS:
        raise ArgumentError(f"no sort of backend is named {short_repr(sort)}", hint=f"choose one of {', '.join(SORTS)}")
    _check_name(name)
    if sort == _ARRAY_API:
        _check_library(name)
    parent = Path(directory)
    folder = parent / f"{name}-backend"
    if not parent.is_dir():
        raise NotADirectoryError(f"{parent} is not a folder")
    if folder.exists():
        raise FileExistsError(f"{folder} is there already")
    texts = {path.replace(_EXAMPLE, name): _rename(text, name) for path, text in templates(sort).items()}
    # Written beside it and moved, so that a failure leaves no half of a package.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=parent) as draft:
        made = Path(draft, folder.name)
        for path, text in texts.items():
            target = made / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        shutil.move(made, folder)
    return Project(folder, name, sort, tuple(sorted(texts)))


def templates(sort: str) -> dict[str, str]:
    """Return the files of the example package of one sort: path → text; see Note [Templates]."""
    root = files("dispatch_devkit") / "templates"
    return {**_read(root / "common"), **_read(root / sort.replace("-", "_"))}


def _read(folder: Traversable, prefix: str = "") -> dict[str, str]:
    found = {}
    for item in sorted(folder.iterdir(), key=lambda each: each.name):
        name = re.sub("^dot-", ".", item.name)
        if item.is_dir():
            found.update(_read(item, f"{prefix}{name}/"))
        elif name.endswith(_SUFFIX):
            found[prefix + name.removesuffix(_SUFFIX)] = item.read_text(encoding="utf-8")
    return found


def _rename(text: str, name: str) -> str:
    return text.replace(_EXAMPLE, name).replace(_EXAMPLE.upper(), name.upper()).replace(_EXAMPLE.title(), name.title())


def _check_name(name: str) -> None:
    """Refuse a name for a device, its package and its distribution that cannot be had."""
    if not is_device_name(name) or name != name.lower() or len(name) > _LONGEST or name.startswith("_"):
        raise RegistrationError(
            f"{short_repr(name)} is not a name for a new device",
            hint=f"write at most {_LONGEST} ASCII letters, digits and underscores, in lower case, beginning with a letter",
        )
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise RegistrationError(f"{name!r} is a keyword of Python", hint="choose another name")
    if name in sys.stdlib_module_names:
        raise RegistrationError(f"{name!r} is a module of Python's own", hint="choose another name")
    if (owner := OWNERS.get((BACKENDS, name))) is not None:
        raise RegistrationError(f"the device name {name!r} belongs to {owner}", hint="choose another name")
    if (state := loader().backends().get(name)) is not None:
        raise RegistrationError(f"the device {name!r} is that of {state.source}", hint="choose another name")
    distribution = f"{name}-backend"
    if (version := installed_version(distribution)) is not None:
        raise RegistrationError(
            f"the distribution {distribution} {version} is installed already",
            hint="choose another name, or uninstall it",
        )


def _check_library(name: str) -> None:
    """Refuse a library whose arrays an installed distribution declares for a device."""
    catalog = loader().catalog
    for declared in catalog.names(ARRAY_TYPES):
        for claim in catalog.claims(ARRAY_TYPES, declared) if declared.partition(".")[0] == name else ():
            if (device := device_of(catalog, claim)) is not None:
                raise RegistrationError(
                    f"the arrays of {name} belong to the device {device!r}:"
                    f" {claim.distribution} declares {declared!r} for it",
                    hint="an array type has one owner: name a library whose arrays have none",
                )
