"""Pieces of HTML for notebooks: a heading, figures, tables and pictures in a frame that light and dark pages can hold.

A notebook is light or dark by its own theme, which no query of a style sheet tells. So text has the page's colour, and
lines, bars and backgrounds are greys and hues with half of their strength, which both stand. The styles travel with each
fragment, under names that nothing else has; there is no script, no font, no picture and nothing else to load.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

from dispatch_core.display import Column, DataTable, shorten
from dispatch_core.escapes import to_printable

_MONO: Final = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"

_STYLE: Final = "".join(
    f".dispatch-view{where}{{{what}}}"
    for where, what in {
        "": (
            "--dispatch-line:rgba(128,128,128,.32);--dispatch-bar:rgba(74,125,200,.28);--dispatch-soft:rgba(128,128,128,.12);"
            "color:inherit;font:13px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
            "max-width:100%;margin:4px 0 10px"
        ),
        " .dispatch-head": "display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 12px;margin:0 0 6px",
        " .dispatch-title": f"font:600 13px/1.5 {_MONO};overflow-wrap:anywhere",
        " .dispatch-facts": "opacity:.78;overflow-wrap:anywhere",
        " .dispatch-part": "margin:10px 0 2px;font-weight:600",
        " .dispatch-scroll": "overflow-x:auto;max-width:100%",
        " table.dispatch-table": (
            "border-collapse:collapse;border:0;margin:0;font-size:12.5px;color:inherit;font-variant-numeric:tabular-nums;"
            "table-layout:auto;width:auto"
        ),
        " table.dispatch-table th": (
            "font-weight:600;border:0;border-bottom:1.5px solid var(--dispatch-line);background:none;color:inherit;"
            "padding:3px 16px 3px 0;text-align:left;vertical-align:bottom;white-space:nowrap;max-width:none"
        ),
        " table.dispatch-table td": (
            "border:0;border-bottom:1px solid var(--dispatch-soft);background:none;color:inherit;padding:2.5px 16px 2.5px 0;"
            "text-align:left;vertical-align:top;white-space:nowrap;max-width:none"
        ),
        " table.dispatch-table tbody tr": "background:none",
        " table.dispatch-table tbody tr:hover": "background:var(--dispatch-soft)",
        " table.dispatch-table th.dispatch-number": "text-align:right;padding-left:8px",
        " table.dispatch-table td.dispatch-number": f"text-align:right;padding-left:8px;font-family:{_MONO};font-size:12px",
        " table.dispatch-table td.dispatch-code": f"font-family:{_MONO};font-size:12px",
        " table.dispatch-table td.dispatch-prose": "white-space:normal;min-width:15em;overflow-wrap:anywhere",
        " .dispatch-note": "opacity:.78;font-size:12px;margin:4px 0 0;overflow-wrap:anywhere",
        " pre.dispatch-block": (
            f"font:12px/1.45 {_MONO};background:var(--dispatch-soft);color:inherit;border:0;border-radius:4px;"
            "padding:8px 10px;margin:4px 0;overflow-x:auto;white-space:pre"
        ),
        " details": "margin:4px 0",
        " summary": "cursor:pointer;opacity:.78",
        " .dispatch-tree": f"font:12px/1.6 {_MONO};overflow-wrap:anywhere",
        " .dispatch-tree details": "margin:0",
        " .dispatch-tree details details,.dispatch-view .dispatch-tree details>.dispatch-leaf": "margin-left:18px",
        " .dispatch-tree summary": "opacity:1",
        " .dispatch-tree .dispatch-leaf": "padding-left:14px",
        " .dispatch-tree .dispatch-scroll,.dispatch-view .dispatch-tree .dispatch-note": (
            "margin:2px 0 6px 18px;max-width:calc(100% - 18px)"
        ),
        # Boxes of a flame graph have light grounds on every page, and the ink that stands out from them.
        " .dispatch-flame": f"position:relative;margin:4px 0 10px;font:11px/19px {_MONO};color:#14263f",
        " .dispatch-flame div": (
            "position:absolute;box-sizing:border-box;height:19px;padding:0 3px;border-right:1px solid transparent;"
            "background-clip:padding-box!important;border-radius:2px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
        ),
        " .dispatch-flame div:hover": "outline:1.5px solid #4a6fa5;outline-offset:-1.5px",
        " .dispatch-picture": "overflow:auto;max-width:100%;max-height:640px",
        " .dispatch-picture svg": "display:block;max-width:none;border-radius:4px",
    }.items()
)


def to_markup(text: str) -> str:
    """Return text as HTML writes it, lines kept."""
    return escape(to_printable(text, keep="\n"))


def to_fragment(title: str, facts: Iterable[str] = (), parts: Sequence[str] = ()) -> str:
    """Return a fragment: a heading in code letters, facts beside it, and ``parts``, which are HTML already.

    >>> print(to_fragment("<profile>").partition("</style>")[2])
    <div class="dispatch-head"><span class="dispatch-title">&lt;profile&gt;</span></div></div>
    """
    spans = [f'<span class="dispatch-title">{to_markup(title)}</span>']
    spans += [f'<span class="dispatch-facts">{to_markup(fact)}</span>' for fact in facts]
    head = f'<div class="dispatch-head">{" ".join(spans)}</div>'
    return "".join([f'<div class="dispatch-view"><style>{_STYLE}</style>', head, *parts, "</div>"])


def to_part(title: str) -> str:
    """Return the heading of a part of a fragment."""
    return f'<div class="dispatch-part">{to_markup(title)}</div>'


def to_note(text: str) -> str:
    """Return a sentence as a part of a fragment."""
    return f'<div class="dispatch-note">{to_markup(text)}</div>'


def to_block(text: str) -> str:
    """Return text of several lines that stays as it is."""
    return f'<pre class="dispatch-block">{to_markup(text)}</pre>'


def to_details(summary: str, inside: str) -> str:
    """Return a part that is folded up; ``inside`` is HTML already."""
    return f"<details><summary>{to_markup(summary)}</summary>{inside}</details>"


def to_table(table: DataTable) -> str:
    """Return a table as an element.

    >>> print(to_table(DataTable([Column("calls", is_number=True)], [[2]])).partition("<tbody>")[2])
    <tr><td class="dispatch-number">2</td></tr>
    </tbody></table></div>
    """
    head = "".join(f"<th{_class_of(column)}>{to_markup(column.title)}</th>" for column in table.columns)
    body = "".join(
        f"<tr>{''.join(_to_cell(column, value) for column, value in zip(table.columns, row, strict=True))}</tr>\n"
        for row in table.rows
    )
    return (
        '<div class="dispatch-scroll"><table class="dispatch-table">'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
        f"{to_note(table.left_out) if table.left_out else ''}"
    )


def _to_cell(column: Column, value: Any) -> str:
    full = column.text(value)
    text = full if column.wraps else shorten(full)
    tip = f' title="{to_markup(full)}"' if text != full else ""
    bar = ""
    if column.has_bar and value is not None:
        # A background and no element, so that the text stays where it is.
        percent = 100 * min(max(value, 0.0), 1.0)
        bar = f' style="background:linear-gradient(to right,var(--dispatch-bar) {percent:.1f}%,transparent {percent:.1f}%)"'
    return f"<td{_class_of(column)}{tip}{bar}>{to_markup(text)}</td>"


def _class_of(column: Column) -> str:
    marks = {"number": column.is_number, "code": column.is_code, "prose": column.wraps}
    classes = " ".join(f"dispatch-{name}" for name, is_set in marks.items() if is_set)
    return f' class="{classes}"' if classes else ""


def list_facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return named figures as a table without a head.

    >>> list_facts([("calls", "3")]).count("<tr>")
    1
    """
    rows = "".join(
        f'<tr><td>{to_markup(name)}</td><td class="dispatch-number">{to_markup(figure)}</td></tr>\n'
        for name, figure in facts
    )
    return f'<div class="dispatch-scroll"><table class="dispatch-table"><tbody>{rows}</tbody></table></div>'


def to_page(title: str, fragment: str) -> str:
    """Return a fragment as a page of its own, light or dark as the reader's system is."""
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{to_markup(title)}</title>\n'
        # A page has room for a whole picture.
        "<style>.dispatch-view .dispatch-picture{max-height:none!important}</style></head>\n"
        f'<body style="margin:12px">\n{fragment}\n</body>\n</html>\n'
    )
