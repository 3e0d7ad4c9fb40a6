"""Writes ``dispatch_backend_npu/aclnn/dtypes.csv``: the scalar types that each function of aclnn takes on each chip.

python tools/read_aclnn_pages.py FOLDER...           # clones of the toolkit's public repositories: writes the table
python tools/read_aclnn_pages.py --check FOLDER...   # fails where it is out of date

The repositories are ops-math, ops-nn, ops-cv and ops-transformer of CANN; the table was made from these commits, the first
three of August 2026, the last of November 2025:

    ops-math         c41933244c31e44fd496e3bb3212164f8c48c214
    ops-nn           e5c3fa9327ea95ba26d06227e746923580d10921
    ops-cv           6ae87653464d2afb064c829e529abba2e278b0c4
    ops-transformer  c29bc1069d3252c641e2aa059ec88f392d3f05ac

There are two witnesses. A function's page (``docs/aclnn*.md``) has a table of arguments with their types, and blocks that
are marked with the chips to which they apply. The function's source refuses types itself, see ``read_aclnn_sources``; where
it refuses nothing, it is not a witness. A type is taken that both have, and those that one of them has are doubtful; where
they have none in common, the page counts.

A page of the older form has a table of products in place of the marks of chips. Of these the definition of the operator is
the second witness, which names the chips that its kernels are built for; a chip counts that one of the two has.

The table has facts alone: names of functions, arguments, chips and types.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from read_aclnn_sources import Sources

from dispatch_backend_npu.aclnn import dtypes
from dispatch_backend_npu.aclnn.table import PARAMETERS

#: The pages' marks of chips → families.
FAMILIES: Final = {"910": "910", "910b": "910B", "A3": "910_93", "310p": "310P", "310b": "310B", "950": "950"}

#: Products of the older pages' tables, and names in definitions of operators → the pages' marks.
PRODUCTS: Final = {
    "Atlas A3 训练系列产品/Atlas A3 推理系列产品": "A3",
    "Atlas A2 训练系列产品": "910b",
    "Atlas 200I/500 A2 推理产品": "310b",
    "Atlas 推理系列产品": "310p",
    "Atlas 训练系列产品": "910",
}
DEFINED: Final = {
    "ascend910_93": "A3",
    "ascend910b": "910b",
    "ascend310b": "310b",
    "ascend310p": "310p",
    "ascend910": "910",
}

#: The pages' names of types → names of `ScalarType`; None where it has none.
TYPES: Final[dict[str, str | None]] = {
    "BFLOAT16": "BFloat16",
    "FLOAT16": "Half",
    "FLOAT32": "Float",
    "FLOAT64": "Double",
    "FLOAT": "Float",
    "DOUBLE": "Double",
    "INT8": "Char",
    "UINT8": "Byte",
    "INT16": "Short",
    "INT32": "Int",
    "INT64": "Long",
    "BOOL": "Bool",
    "COMPLEX64": "ComplexFloat",
    "COMPLEX128": "ComplexDouble",
    "COMPLEX32": None,
    "UINT16": None,
    "UINT32": None,
    "UINT64": None,
    "HIFLOAT8": None,
    "FLOAT8_E5M2": None,
    "FLOAT8_E4M3FN": None,
    "FLOAT8_E8M0": None,
    "FLOAT4_E2M1": None,
    "FLOAT4_E1M2": None,
    "INT4": None,
}

#: Names of `ScalarType` → the sources' names of types.
SOURCE_TYPES: Final = {
    "Float": "DT_FLOAT",
    "Half": "DT_FLOAT16",
    "BFloat16": "DT_BF16",
    "Double": "DT_DOUBLE",
    "Char": "DT_INT8",
    "Byte": "DT_UINT8",
    "Short": "DT_INT16",
    "Int": "DT_INT32",
    "Long": "DT_INT64",
    "Bool": "DT_BOOL",
    "ComplexFloat": "DT_COMPLEX64",
    "ComplexDouble": "DT_COMPLEX128",
}

_TYPE: Final = rf"\b(?:{'|'.join(sorted(TYPES, key=len, reverse=True))})\b"
_LIST: Final = rf"{_TYPE}(?:[\s、,和或]*{_TYPE})*"
_ONLY_LIST: Final = re.compile(rf"\s*{_LIST}[\s、,。;]*(?:注:|\(.*\))?\s*", re.ASCII)
#: A part of a sentence that says which types are taken: the text before it, a word that adds, a word that denies, the types.
_STATEMENT: Final = re.compile(
    rf"([^。;,\n]*?)(额外)?(?:仅|只)?(不)?(?:支持|互推导后的数据类型为)\s*({_LIST})", re.ASCII
)
#: Types that one family alone has.
_ALONE: Final = re.compile(rf"({_LIST})仅支持该产品", re.ASCII)
#: A sentence about some calls alone, or about no type.
_CONDITIONAL: Final = re.compile(r"mode为|其他数据类型|转换为|当.*时")
#: An argument's type is that of another one.
_SAME: Final = re.compile(r"[与和]\s*`?(\w+)`?\s*(?:的?数据?类型)?(?:保持)?(?:一致|相同|类型相同)", re.ASCII)
_BLOCK: Final = re.compile(r'<!-- npu="(.*?)" id\d+ -->(.*?)<!-- end id\d+ -->', re.DOTALL)

#: A set of types, by family.
Found = dict[str, frozenset[str]]


def read_types(text: str) -> frozenset[str]:
    """Return the types that a text names, without those that `ScalarType` has not."""
    names = [TYPES[each] for each in re.findall(_TYPE, text, re.ASCII)]
    return frozenset([each for each in names if each])


class _Cells(HTMLParser):
    """The rows of a table, each a list of (text, rows, columns) for its cells."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[list[object]]] = []
        self._cell: list[object] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            spans = dict(attrs)
            self._cell = ["", int(spans.get("rowspan") or 1), int(spans.get("colspan") or 1)]
            self.rows[-1].append(self._cell)
        elif self._cell:
            self._cell[0] = f"{self._cell[0]} "

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell:
            self._cell[0] = f"{self._cell[0]}{data}"


def _html_rows(text: str) -> list[list[str]]:
    """Return the texts of a table's cells, those repeated that span several rows or columns."""
    parser = _Cells()
    parser.feed(text)
    found, waiting = [], dict[int, tuple[str, int]]()
    for cells in parser.rows:
        row: list[str] = []
        rest = iter(cells)
        while True:
            if len(row) in waiting:
                content, count = waiting.pop(len(row))
                if count > 1:
                    waiting[len(row)] = content, count - 1
                row.append(content)
                continue
            cell = next(rest, None)
            if cell is None:
                break
            for _ in range(int(str(cell[2]))):
                if int(str(cell[1])) > 1:
                    waiting[len(row)] = str(cell[0]).strip(), int(str(cell[1])) - 1
                row.append(str(cell[0]).strip())
        found.append(row)
    return found


def _markdown_rows(text: str) -> list[list[str]]:
    lines = [line.strip() for line in text.splitlines()]
    rows = [[_strip(cell) for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in rows if not set("".join(row)) <= set("-: ")]


def _strip(text: str) -> str:
    return re.sub(r"<[^!].*?>|`", "", text).strip()


class Page:
    """The page of a function.

    ``chips`` are the families that have the function. ``read`` returns the types of its arguments.
    """

    def __init__(self, function: str, text: str) -> None:
        self.function = function
        head = text[text.index("产品支持情况") :]
        head = head[: head.index("\n## ")]
        self.chips: list[str] = []
        for marks, block in _BLOCK.findall(head):
            if "不支持" not in block:
                self.chips += [FAMILIES[mark] for mark in marks.split(",")]
        start = re.search(rf"^(#+)\s*{function}GetWorkspaceSize\s*$", text, re.MULTILINE)
        if start is None:
            raise ValueError(f"the page of {function} has no part about its first phase")
        rest = text[start.end() :]
        end = re.search(rf"^{start[1]}\s", rest, re.MULTILINE)
        part = rest[: end.start() if end else None]
        #: The part about the first phase, up to what it returns.
        self.text = re.split(r"^\W*返回值", part, maxsplit=1, flags=re.MULTILINE)[0]
        limits = re.search(r"^## 约束说明$.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        #: The part about limits.
        self.limits = limits[0] if limits else ""

    def read(self) -> dict[str, Found]:
        """Return argument → family → types; a family is left out where the page says nothing of it."""
        arguments = dtypes.tensor_arguments(self.function)
        stated, general = self._rows() or self._bullets()
        found: dict[str, Found] = {}
        references: dict[str, str] = {}
        for name in arguments:
            text, _ = stated.get(name, ("", ""))
            cell = _BLOCK.sub("", text)
            types = read_types(cell) if _ONLY_LIST.fullmatch(cell) else frozenset()
            if not types:
                types = frozenset().union(*[read_types(each[3]) for each in _STATEMENT.findall(cell) if not each[2]])
            types = types or read_types(cell)
            same = _SAME.search(cell)
            if not types and same and same[1] in PARAMETERS[self.function]:
                references[name] = same[1]
            found[name] = dict.fromkeys(self.chips, types) if types else {}
            for marks, block in _BLOCK.findall(text):
                self._apply(block, marks, [name], found)
        for marks, block in _BLOCK.findall(general):
            self._apply(block, marks, arguments, found)
        for marks, cell in self._limits():
            self._apply(cell, marks, arguments, found, denials_only=True)
        for name in references:
            chain = [name]
            while chain[-1] in references and references[chain[-1]] not in chain:
                chain.append(references[chain[-1]])
            found[name] = found.get(chain[-1], {}) | found[name]
        return found

    def _rows(self) -> tuple[dict[str, tuple[str, str]], str] | None:
        """Return argument → text about its types from a table, and the text after the table; None without a table."""
        table = re.search(r"<table.*?</table>", self.text, re.DOTALL)
        if table:
            rows, after = _html_rows(table[0]), self.text[table.end() :]
        else:
            rows, after = _markdown_rows(self.text), self.text
        if not rows or "参数名" not in rows[0][0]:
            return None
        column = next((index for index, title in enumerate(rows[0]) if "数据类型" in title), -1)
        found: dict[str, tuple[str, str]] = {}
        for row in rows[1:]:
            name = re.match(r"\w+", row[0], re.ASCII)
            if name is None or name[0] in found or len(row) <= column:
                continue
            text = row[column]
            # A page may have lost a cell, or may have one too many.
            if not _ONLY_LIST.fullmatch(text) and not _SAME.search(text):
                text = next((cell for cell in row if _ONLY_LIST.fullmatch(cell)), text)
            found[name[0]] = text, ""
        return found, after

    def _limits(self) -> Iterator[tuple[str, str]]:
        """Yield the cells of a table of limits that has a column for each group of families, with the column's marks."""
        for table in re.findall(r"<table.*?</table>", self.limits, re.DOTALL):
            heads = re.findall(r"(?:<!-- npu=\"(.*?)\" id\d+ -->\s*)?<th>", table)
            if any(heads):
                for row in _html_rows(table)[1:]:
                    named = set(re.findall(r"\w+", row[0], re.ASCII)) & set(PARAMETERS[self.function])
                    if not named or named & set(dtypes.tensor_arguments(self.function)):
                        yield from [(marks, cell) for marks, cell in zip(heads, row, strict=False) if marks]

    def _bullets(self) -> tuple[dict[str, tuple[str, str]], str]:
        """Return argument → its bullet with the blocks that follow."""
        found = {}
        parts = re.split(r"^\s*[-*]\s+(?=\w+\s*\()", self.text, flags=re.MULTILINE)
        for part in parts[1:]:
            name = re.match(r"\w+", part, re.ASCII)
            if name:
                found[name[0]] = part, ""
        return found, ""

    def _apply(
        self, block: str, marks: str, names: Collection[str], found: dict[str, Found], *, denials_only: bool = False
    ) -> None:
        """Change the types of arguments by a block that is marked with families."""
        chips = [FAMILIES[mark] for mark in marks.split(",") if FAMILIES[mark] in self.chips]
        for sentence in _sentences(block):
            for alone in _ALONE.findall(sentence):
                for name in names:
                    for chip in set(found[name]) - set(chips):
                        found[name][chip] -= read_types(alone)
            if _CONDITIONAL.search(sentence):
                continue
            statements = _STATEMENT.findall(sentence)
            if not statements and _ONLY_LIST.fullmatch(sentence):
                statements = [("", "", "", sentence)]
            for before, extra, denied, types in statements:
                if denials_only and not denied:
                    continue
                said = set(re.findall(r"[A-Za-z]\w*", before, re.ASCII)) & set(PARAMETERS[self.function])
                for name in names:
                    if said and name not in said:
                        continue
                    for chip in chips:
                        known = found[name].get(chip)
                        given = read_types(types)
                        if denied:
                            if known is not None:
                                found[name][chip] = known - given
                        elif known is None:
                            found[name][chip] = given
                        elif extra:
                            found[name][chip] = known | given
                        elif said or len(names) == 1:
                            found[name][chip] = given if known & given else known | given
                        else:
                            found[name][chip] = known & given or known


def _sentences(block: str) -> Iterator[str]:
    text = re.sub(r"<term>.*?</term>(?:\s*、\s*<term>.*?</term>)*\s*:?", "", block, flags=re.DOTALL)
    text = _strip(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text))
    for sentence in re.split(r"[。;\n]", text):
        each = re.sub(r"^\s*[-*]\s+", "", sentence).strip()
        if each:
            yield each


def pages(folders: list[Path]) -> dict[str, str]:
    """Return function → the text of its page."""
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted(folder.rglob("aclnn*.md")):
            if "experimental" in path.parts or path.parent.name != "docs":
                continue
            # The pages mix full-width punctuation with that of ASCII.
            text = _mark_products(unicodedata.normalize("NFKC", path.read_text(encoding="utf-8")), path)
            for name in unicodedata.normalize("NFKC", path.stem).split("&"):
                found.setdefault(name.strip(), text)
    return found


def _mark_products(text: str, path: Path) -> str:
    """Return a page of the older form with the marks of the newer one; the definition lies beside the page's folder."""
    head, title, rest = text.partition("产品支持情况\n")
    table, heading, after = rest.partition("\n## ")
    if "npu=" in table:
        return text
    marks = {PRODUCTS[row[0]] for row in _markdown_rows(table) if row[0] in PRODUCTS and row[-1] == "√"}
    for definition in (path.parent.parent / "op_host").glob("*_def.cpp"):
        names = re.findall(r'AddConfig\("(\w+)"', definition.read_text(encoding="utf-8"), re.ASCII)
        marks |= {DEFINED[each] for each in names if each in DEFINED}
    blocks = "".join(f'\n<!-- npu="{each}" id0 -->支持<!-- end id0 -->' for each in sorted(marks))
    return f"{head}{title}{blocks}{heading}{after}"


def source_types(sources: Sources, function: str, argument: str, chip: str) -> frozenset[str] | None:
    """Return the types that a function's source does not refuse; None where it refuses nothing, not even text."""
    if not sources.has(f"{function}GetWorkspaceSize"):  # made of a description when the toolkit is built
        return None
    # A source may name arguments otherwise than the header.
    names = sources.parameters(f"{function}GetWorkspaceSize")
    mapped = dict(zip(PARAMETERS[function], names, strict=False))
    tensors = [mapped[each] for each in dtypes.tensor_arguments(function)]
    refused = [
        kind
        for kind in (*SOURCE_TYPES.values(), "DT_STRING")
        if sources.refuses(f"{function}GetWorkspaceSize", tensors, mapped[argument], kind, chip)
    ]
    return frozenset([name for name, kind in SOURCE_TYPES.items() if kind not in refused]) if refused else None


def weigh(page: frozenset[str] | None, source: frozenset[str] | None) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the types that are taken, and the doubtful ones; None where there is no witness.

    >>> taken, doubtful = weigh(frozenset({"Float", "Half"}), frozenset({"Float", "Double"}))
    >>> sorted(taken), sorted(doubtful)
    (['Float'], ['Double', 'Half'])
    """
    if page is None or source is None:
        alone = source if page is None else page
        return None if alone is None else (alone, frozenset())
    taken = page & source or page
    return taken, (page ^ source) - taken


def rows(folders: list[Path]) -> list[tuple[str, str, str, str, str]]:
    """Return the rows of the table."""
    texts, sources = pages(folders), Sources.of(folders)
    found = []
    for function in sorted(PARAMETERS):
        if function not in texts:
            sys.exit(f"there is no page of {function} in {', '.join(map(str, folders))}")
        page = Page(function, texts[function])
        known = page.read()
        for argument in dtypes.tensor_arguments(function):
            shared = defaultdict(list)
            for chip in dtypes.CHIPS:
                if chip in page.chips:
                    source = source_types(sources, function, argument, chip)
                    shared[weigh(known[argument].get(chip), source)].append(chip)
            found += [
                (function, argument, " ".join(chips), *map(_join, weighed))
                for weighed, chips in shared.items()
                if weighed
            ]
    return found


def _join(types: frozenset[str]) -> str:
    return " ".join([name for name in SOURCE_TYPES if name in types])


def main(arguments: list[str]) -> None:
    """Write the table, or compare it."""
    folders = [Path(each) for each in arguments if each != "--check"]
    if not folders:
        sys.exit(__doc__)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("function", "argument", "chips", "dtypes", "doubtful"))
    writer.writerows(rows(folders))
    path = Path(dtypes.__file__).with_name("dtypes.csv")
    if "--check" not in arguments:
        path.write_text(text.getvalue(), encoding="utf-8")
    elif path.read_text(encoding="utf-8") != text.getvalue():
        sys.exit(f"{path} is out of date: run tools/read_aclnn_pages.py FOLDER...")


if __name__ == "__main__":
    main(sys.argv[1:])
