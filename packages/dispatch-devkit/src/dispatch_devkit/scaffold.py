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
from collections.abc import Sequence
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
#: Group of parts of a device's interface that a package may have → the parts, each written as a function of that name.
PARTS: Final = {
    "devices": ("properties", "current", "exchange", "synchronize"),
    "streams": ("streams", "events", "timed_event"),
    "memory": ("memory", "empty_cache", "out_of_memory"),
    "pinned": ("host_allocator",),
    "errors": ("launched", "reports"),
    "queue": ("queue",),
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


def new_backend(
    name: str, directory: str | os.PathLike[str] = ".", *, sort: str = STRIDED, interface: Sequence[str] = ()
) -> Project:
    """Write the package of a backend for the device ``name`` into ``directory``, in a folder of its own.

    ``interface`` names groups of parts of the device's interface, of `PARTS`, which the package gets a module with. Raises
    ``RegistrationError`` for a name that no device may have, or that something installed has, with array-api also where its
    library's arrays belong to an installed device; ``ArgumentError`` for another sort than `SORTS` has, another part than
    `PARTS`, or parts with array-api; ``FileExistsError`` where the folder is there, ``NotADirectoryError`` where the
    directory is not. Nothing is written then.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     project = new_backend("frobnicator", folder)
    ...     (project.folder / "pyproject.toml").is_file(), "src/frobnicator_backend/plugin.py" in project.files
    (True, True)
    """
    if sort not in SORTS:
        raise ArgumentError(f"no sort of backend is named {short_repr(sort)}", hint=f"choose one of {', '.join(SORTS)}")
    if unknown := [each for each in interface if each not in PARTS]:
        raise ArgumentError(f"no part is named {short_repr(unknown[0])}", hint=f"the parts are {', '.join(PARTS)}")
    if interface and sort == _ARRAY_API:
        raise ArgumentError(
            "the plugin of a library's arrays is made whole: it takes no parts of an interface",
            hint="leave out --interface, or --array-api",
        )
    _check_name(name)
    if sort == _ARRAY_API:
        _check_library(name)
    parent = Path(directory)
    folder = parent / f"{name}-backend"
    if not parent.is_dir():
        raise NotADirectoryError(f"{parent} is not a folder")
    if folder.exists():
        raise FileExistsError(f"{folder} is there already")
    written = templates(sort)
    if interface:
        _add_interface(written, interface)
    texts = {path.replace(_EXAMPLE, name): _rename(text, name) for path, text in written.items()}
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


def _add_interface(texts: dict[str, str], groups: Sequence[str]) -> None:
    """Add the module of a device's interface with some groups of parts, its hook, and the accelerator's entry point."""
    root = files("dispatch_devkit") / "templates" / "interface"
    chosen = [group for group in PARTS if group in groups]
    bodies = [(root / f"{group}{_SUFFIX}").read_text(encoding="utf-8").strip() for group in chosen]
    body = "\n\n\n".join(bodies)
    parts = [part for group in chosen for part in PARTS[group]]
    modules = [f"import {each}" for each in ("threading", "time") if f"{each}." in body]
    abstract = [each for each in ("Callable", "Mapping", "Sequence") if f"{each}[" in body]
    imports = [*modules, *([f"from collections.abc import {', '.join(abstract)}"] if abstract else ())]
    imports += ["from typing import Any, Final"] if "Any" in body else ["from typing import Final"]
    constants = ["", "#: Bytes.", "TOTAL_MEMORY: Final = 1 << 30"] if "TOTAL_MEMORY" in body else []
    lines = ['"""What the device ``acme`` offers besides operators: each part may be left out."""', "", _FUTURE, ""]
    lines += [*imports, "", "import dispatch_core as dc", *constants, "", "", body, "", ""]
    lines += ["INTERFACE: Final = dc.DeviceInterface(", *(f"    {part}={part}," for part in parts), ")", ""]
    package = "src/acme_backend"
    texts[f"{package}/interface.py"] = "\n".join(lines)
    plugin = texts[f"{package}/plugin.py"].replace(
        "from .arrays import Array\n", "from .arrays import Array\nfrom .interface import INTERFACE\n"
    )
    texts[f"{package}/plugin.py"] = plugin + _HOOK
    texts["pyproject.toml"] = texts["pyproject.toml"].replace(_BEFORE, f"{_ACCELERATOR}{_BEFORE}")


_FUTURE: Final = "from __future__ import annotations"
_HOOK: Final = '''

@dc.hookimpl
def dispatch_device_interface() -> dc.DeviceInterface:
    """Return what the device offers besides operators."""
    return INTERFACE
'''
_BEFORE: Final = '[project.entry-points."dispatch_core.array_types"]'
_ACCELERATOR: Final = '[project.entry-points."dispatch_core.accelerators"]\nacme = "acme"\n\n'


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
