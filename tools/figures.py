"""Writes the figures of ``benchmarks/results.json`` into the pages that name them: ``python tools/figures.py``.

``--check`` writes nothing and lists the differences. A page names a figure in a comment behind it, which GitHub and the site
leave out: ``0.44<!-- figure: steps: digits, Adam, captured -->``. After the benchmark comes a row, or ``day``, ``machine``,
``min PATTERN`` and ``max PATTERN``, the least and the greatest figure of the rows that fit; ``compiled`` before a row or a
pattern means the figure with the compiled packages. A table stands between ``<!-- table: NAME -->`` and
``<!-- end of table -->``: the names are those of ``TABLES`` in ``tools/site/benchmark_pages``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools" / "site"))

import benchmark_pages  # noqa: E402  # it lies in the site's folder

__all__ = ["differences", "figure", "pages", "write"]

_FIGURE = re.compile(r"(?P<shown>[^\s|(>`]+)<!-- figure: (?P<benchmark>\w+): (?P<row>[^>]+?) -->")
#: The day and the machine may be several words, so the comment stands before them, and another one behind.
_WORDS = re.compile(r"<!-- (?P<what>machine|day) of (?P<benchmark>\w+) -->(?P<shown>[^<]*)<!-- / -->")
_TABLE = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n)(?P<shown>.*?)(<!-- end of table -->)", re.DOTALL)


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages that may name figures."""
    return sorted([root / "README.md", *root.glob("docs/**/*.md"), *root.glob("packages/*/README.md")])


def figure(benchmark: str, row: str) -> str:
    """Return a figure as pages show it. Raises KeyError for a benchmark or row that is not kept."""
    beginning, _, rest = row.partition(" ")
    column, row = ("compiled", rest) if beginning == "compiled" else ("ratio", row)
    ratios = {each["name"]: each[column] for each in benchmark_pages.results()[benchmark]["rows"] if column in each}
    choice, _, pattern = row.partition(" ")
    if choice in {"min", "max"}:
        found = [ratio for name, ratio in ratios.items() if fnmatchcase(name, pattern)]
        if not found:
            raise KeyError(f"no row of {benchmark} fits {pattern!r}")
        return benchmark_pages.shown((min(found) if choice == "min" else max(found),))
    return benchmark_pages.shown((ratios[row],))


def write(text: str) -> str:
    """Return a page's text with the figures, days, machines and tables that are kept."""
    text = _FIGURE.sub(
        lambda found: found[0].replace(found["shown"], figure(found["benchmark"], found["row"]), 1), text
    )
    text = _WORDS.sub(_words, text)
    return _TABLE.sub(lambda found: f"{found[1]}\n{benchmark_pages.TABLES[found['name']]()}\n\n{found[4]}", text)


def differences(root: Path = ROOT) -> Iterator[str]:
    """Yield each page and line whose figures are not those that are kept."""
    for page in pages(root):
        old = page.read_text(encoding="utf-8")
        for number, (before, after) in enumerate(zip(old.splitlines(), write(old).splitlines(), strict=False), 1):
            if before != after:
                yield f"{page.relative_to(root)}:{number}: {before.strip()}\n    is {after.strip()}"
                break


def _words(found: re.Match[str]) -> str:
    kept = benchmark_pages.results()[found["benchmark"]][found["what"]]
    return f"<!-- {found['what']} of {found['benchmark']} -->{kept}<!-- / -->"


def main() -> int:
    """Write the pages, or say where they differ, and return how the process ends."""
    if "--check" in sys.argv[1:]:
        found = list(differences())
        print("\n".join(found) or "the figures of all pages are those that are kept")  # noqa: T201
        return 1 if found else 0
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = write(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
