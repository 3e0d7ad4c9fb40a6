"""Pages that show files of the repository: how to contribute, each package with its changes, each example."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

#: Which file of the repository a made page shows: its relative links begin there.
SOURCES: dict[str, str] = {}
#: Pages in ``docs/`` that a script writes: there is nothing to edit but the script.
GENERATORS = {
    "coverage/compositions.md": "tools/list_compositions.py",
    "operators.md": "tools/list_operators.py",
}
#: Where towncrier puts the next release.
_MARK = "<!-- towncrier release notes start -->"
#: Page → the file of the root that it shows.
OF_THE_ROOT = {
    "contributing.md": "CONTRIBUTING.md",
    "policies/conduct.md": "CODE_OF_CONDUCT.md",
    "policies/security.md": "SECURITY.md",
}


def pages(root: Path) -> dict[str, str]:
    """Return the text of each page, by its path in the site."""
    SOURCES.clear()
    made = {_add(page, source): (root / source).read_text(encoding="utf-8") for page, source in OF_THE_ROOT.items()}
    for folder in sorted(path.parent for path in root.glob("packages/*/pyproject.toml")):
        name = folder.relative_to(root).as_posix()
        made[_add(f"{name}.md", f"{name}/README.md")] = _package(folder)
        made[_add(f"changes/{folder.name}.md", f"{name}/CHANGELOG.md")] = _changes(folder)
    for script in sorted(root.glob("examples/*.py")):
        made[_add(f"examples/{script.stem}.md", f"examples/{script.name}")] = _example(script)
    made[_add("license.md", "LICENSE")] = f"# License\n\n```text\n{(root / 'LICENSE').read_text(encoding='utf-8')}```\n"
    return made


def page_of(path: str) -> str | None:
    """Return the page of the site that shows a file or folder of the repository, if one does."""
    for page, source in SOURCES.items():
        if path in (source, source.removesuffix("/README.md")):
            return page
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def edit_url(page: str, own: str | None, repository: str | None) -> str | None:
    """Return where the source of a page can be edited; None for the pages of the reference, which have many sources."""
    source = GENERATORS.get(page) or SOURCES.get(page)
    return f"{repository}/edit/main/{source}" if source else own


def _add(page: str, source: str) -> str:
    SOURCES[page] = source
    return page


def _package(folder: Path) -> str:
    """Return a package's README; the link to its changes stands at the end."""
    text = (folder / "README.md").read_text(encoding="utf-8").rstrip()
    return f"{text}\n\n[What has changed](CHANGELOG.md)\n"


def _changes(folder: Path) -> str:
    """Return a package's changelog under the name of its distribution, with the fragments of the next release on top."""
    name = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    head, mark, sections = (folder / "CHANGELOG.md").read_text(encoding="utf-8").partition(_MARK)
    fragments = sorted((folder / "changes").glob("*.md")) if mark else []
    lines = [" ".join(path.read_text(encoding="utf-8").split()) for path in fragments]
    coming = ["## Since then", "", *(f"- {line}" for line in lines), ""] if lines else []
    return "\n".join([head.replace("# Changelog", f"# {name}", 1), *coming, sections])


def _example(script: Path) -> str:
    """Return an example's page: its docstring's first line, how to run it, and its text."""
    text = script.read_text(encoding="utf-8")
    first, _, _ = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
    run = f"```console\n$ python examples/{script.name}\n```"
    return f"# {script.name}\n\n{first}\n\n{run}\n\n```python\n{text}```\n"
