"""Conda recipes of the distributions, made of their metadata: ``dist/conda/NAME/recipe.yaml``, in rattler-build's format.

Each builds from the source archive on the index, whose hash it names. Conda knows no extras: their requirements become
constraints, which hold where somebody installs the library. Each recipe is rendered as rattler-build would before it solves,
and compared with the metadata again; channels are not asked.
"""

from __future__ import annotations

import argparse
import hashlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from release import Package, packages

__all__ = ["faults", "recipe", "render", "specs"]

ROOT = Path(__file__).parents[1]
#: Distribution of an index → the package of conda-forge that is named otherwise.
NAMES = {"cupy-cuda12x": "cupy", "ml-dtypes": "ml_dtypes", "opt-einsum": "opt_einsum", "torch": "pytorch"}
_BUILD = "${{ PYTHON }} -m pip install . -vv --no-deps --no-build-isolation"


def recipe(package: Package, archive: Path) -> dict[str, Any]:
    """Return the recipe of a distribution, by its metadata and its source archive."""
    settings = tomllib.loads((package.folder / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    python = f"python {project['requires-python']}"
    run = specs(project["dependencies"])
    extras = [line for lines in project.get("optional-dependencies", {}).values() for line in lines]
    optional = {name: spec for name, spec in specs(extras).items() if name not in {*run, package.name}}
    return {
        "schema_version": 1,
        "context": {"version": package.version},
        "package": {"name": package.name, "version": "${{ version }}"},
        "source": {
            "url": f"https://pypi.org/packages/source/{package.name[0]}/{package.name}/{archive.name}".replace(
                package.version, "${{ version }}"
            ),
            "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        },
        "build": {"number": 0, "noarch": "python", "script": _BUILD, **_scripts(project)},
        "requirements": {
            "host": [python, "pip", *specs(settings["build-system"]["requires"]).values()],
            "run": [python, *run.values()],
            "run_constraints": [*optional.values()],
        },
        "tests": [{"python": {"imports": _modules(package), "pip_check": True}}],
        "about": {
            "summary": project["description"],
            "license": project["license"],
            "license_file": project["license-files"],
            "homepage": project["urls"]["Homepage"],
            "repository": project["urls"]["Source"],
            "documentation": project["urls"]["Documentation"],
        },
    }


def specs(lines: list[str]) -> dict[str, str]:
    """Return the specification of each package that lines of requirements name, by its name in conda.

    A line that only repeats another's bounds, with other extras, adds none; other bounds are all kept.
    """
    bounds: dict[str, set[str]] = {}
    for line in map(Requirement, lines):
        if line.marker is not None:
            raise ValueError(f"a recipe without an architecture has no markers: {line}")
        bounds.setdefault(NAMES.get(line.name, line.name), set()).update(map(str, line.specifier))
    return {name: f"{name} {','.join(sorted(found))}".rstrip() for name, found in bounds.items()}


def _scripts(project: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a recipe that names a distribution's commands, if it has some."""
    lines = [f"{name} = {function}" for name, function in project.get("scripts", {}).items()]
    return {"python": {"entry_points": lines}} if lines else {}


def _modules(package: Package) -> list[str]:
    """Return the modules to import as a test: what lies in ``src``, but for stubs."""
    return sorted(path.parent.name for path in package.folder.glob("src/*/__init__.py"))


def render(path: Path) -> dict[str, Any]:
    """Return a recipe as rattler-build renders it, without asking a channel."""
    from rattler_build import Stage0Recipe

    (variant,) = Stage0Recipe.from_file(str(path)).render()
    found: dict[str, Any] = variant.recipe.to_dict()
    return found


def faults(package: Package, rendered: dict[str, Any]) -> Iterator[str]:
    """Yield the differences between a rendered recipe and a distribution's metadata."""
    project = tomllib.loads((package.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if rendered["package"] != {"name": package.name, "version": package.version}:
        yield f"{package.name}: the recipe is of {rendered['package']}, not of {package.version}"
    found = {each.partition(" ")[0]: each.partition(" ")[2] for each in rendered["requirements"]["run"]}
    wanted = {NAMES.get(line.name, line.name): line.specifier for line in map(Requirement, project["dependencies"])}
    wanted["python"] = Requirement(f"python{project['requires-python']}").specifier
    if {*found} != {*wanted}:
        yield f"{package.name}: the recipe requires {sorted(found)}, the metadata {sorted(wanted)}"
    for name in found.keys() & wanted.keys():
        if {*filter(None, found[name].split(","))} != {*map(str, wanted[name])}:
            yield f"{package.name}: the recipe requires {name} {found[name]}, the metadata {wanted[name]}"
    for url in (source["url"] for source in rendered["source"]):
        if package.version not in url:
            yield f"{package.name}: the recipe's archive, {url}, is not that of {package.version}"


def main() -> None:
    """Write, render and compare the recipes of a folder's archives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path, help="the folder of the archives")
    dist = parser.parse_args().dist
    found = []
    for package in packages(ROOT):
        (archive,) = dist.glob(f"{package.name.replace('-', '_')}-{package.version}.tar.gz")
        path = dist / "conda" / package.name / "recipe.yaml"
        path.parent.mkdir(exist_ok=True, parents=True)
        text = yaml.safe_dump(recipe(package, archive), allow_unicode=True, sort_keys=False, width=125)
        path.write_text(text, encoding="utf-8")
        found += faults(package, render(path))
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
