"""A run on a screen: what was found, what failed and what to do, and where the report is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Final

from dispatch_aten.testing.outcomes import Outcome

from .cells import function_of
from .running import PARTS, CheckRun, part_of

#: The most lines of failures that are told, of the reason of one, and of results that are told one by one.
_ROOM: Final = 11
_LINES: Final = 3
_FEW: Final = 4
_NAMES: Final = 3
_WIDTH: Final = 110

#: A function of the toolkit in an error, without the first phase's ending, and its code.
_FAILED: Final = re.compile(r"\b(acl\w+?)(?:GetWorkspaceSize)? failed with (\d+)")
#: Numbers, by which reasons differ that are one.
_NUMBER: Final = re.compile(r"[\d.e+-]*\d[\d.e+-]*|\[[^]]*\]")


def as_text(run: CheckRun) -> str:
    """Return the summary."""
    lines = [_headline(run), ""]
    cause = "no toolkit was found" if not run.environment["toolkit"] else "the run was stopped before"
    lines += [f"  {part:<12} {_describe_part(run.of_part(part), cause)}" for part in PARTS]
    blocks = [[f"  {name}", *_indent(reason)] for name, reason in _group(run)]
    if blocks:
        lines += ["", "What failed:"]
        shown = 0
        while shown < len(blocks) and (not shown or sum(map(len, blocks[: shown + 1])) <= _ROOM):
            lines += blocks[shown]
            shown += 1
        if shown < len(blocks):
            lines.append(f"  ... and {len(blocks) - shown} more, which are in the report")
    lines += ["", *_advice(run)]
    return "\n".join(lines) + "\n"


def _headline(run: CheckRun) -> str:
    version = run.environment["packages"].get("dispatch-backend-npu", "")
    chip, count = run.device.get("chip", ""), run.device.get("count", 0)
    devices = f"{count} x {chip or 'a chip without a name'}" if count else "no device"
    found = run.environment["toolkit"]
    release = "no toolkit" if not found else f"CANN {found['release'] or 'of an unknown release'}"
    release = "the simulator" if found and found["simulator"] else release
    return f"dispatch-backend-npu {version}: {devices}, {release}, Python {run.environment['python']}"


def _describe_part(outcomes: list[Outcome], cause: str) -> str:
    """Return a part's result; ``cause`` is why a part without outcomes has none."""
    failed = [each for each in outcomes if each.is_fault]
    passed = [each for each in outcomes if each.status == "passed"]
    total = len(failed) + len(passed)
    if failed:
        return f"FAILED   {len(failed):,} of {total:,}"
    if not passed:
        reason = next((each.reason.splitlines()[0] for each in outcomes if each.reason), cause)
        return f"not run  {reason}"
    if any("functions:" in each.check for each in passed):
        return f"ok       {sum(each.samples for each in passed):,} names found"
    skipped = [each for each in outcomes if each.status == "not run" and _is_told(each)]
    if skipped:
        reason = textwrap.shorten(skipped[0].reason, _WIDTH // 2, placeholder=" ...")
        return f"ok       {total:,} of {total:,}; {len(skipped):,} not run: {reason}"
    if len(passed) < _FEW:
        return f"ok       {', '.join(each.reason for each in passed if each.reason)}"
    used = {name for each in passed for name in each.kernels}
    return f"ok       {total:,} of {total:,}" + (f"; functions of the toolkit that ran: {len(used):,}" if used else "")


def _is_told(outcome: Outcome) -> bool:
    """Return whether a check was not run for a reason other than that an operator does not have the dtype."""
    return part_of(outcome) in ("random", "steps") or outcome.check == "environment: bfloat16"


def _group(run: CheckRun) -> Iterator[tuple[str, str]]:
    """Yield failures with one cause together, those of the installation first: the checks, and the reason of the first."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    is_incomplete = any(outcome.check == "environment: toolkit" for outcome in run.faults)
    for outcome in run.faults:
        if is_incomplete and "functions are missing" in outcome.reason:
            continue  # it follows from the toolkit's own fault
        first = outcome.reason.partition("\n")[0]
        failed = _FAILED.search(outcome.reason)
        function = outcome.kernels[-1] if outcome.kernels else function_of(_operator_of(outcome))
        key = (failed[1], failed[2]) if failed else (function, _NUMBER.sub("", first))
        groups.setdefault(key, []).append(outcome)
    # Steps fail by the same function as operators do: the operators' reasons are shorter.
    ordered = sorted(groups.items(), key=lambda item: (min(_rank(each) for each in item[1]), -len(item[1])))
    for (function, _), outcomes in ordered:
        names, part = [], ""
        for outcome in sorted(outcomes, key=_rank):
            names.append(outcome.check.removeprefix(f"{part}: "))
            part = part_of(outcome)
        shown = ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
        reason = min(outcomes, key=_rank).reason
        yield (f"{shown} ({function})" if function.startswith("aclnn") else shown), reason


def _operator_of(outcome: Outcome) -> str:
    part, _, name = outcome.check.partition(": ")
    return name.rpartition(" ")[0] if part == "operators" else ""


def _rank(outcome: Outcome) -> int:
    """Return the place of an outcome: faults of the toolkit first, then of the runtime, the driver, what runs on it."""
    if outcome.check == "environment: driver":
        return PARTS.index("device")
    return PARTS.index(part_of(outcome))


def _indent(reason: str) -> list[str]:
    """Return the first lines of a reason, and its hint."""
    told = [line for line in reason.splitlines() if not line.startswith("Sample: ")]
    text = [part for line in told if not line.startswith("Hint: ") for part in _wrap(line)]
    hint = [part for line in told if line.startswith("Hint: ") for part in _wrap(line)]
    return [f"    {line}" for line in (*text[:_LINES], *hint[:_LINES])]


def _wrap(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH - 4, break_long_words=False, break_on_hyphens=False)


def _advice(run: CheckRun) -> Iterator[str]:
    if run.is_stopped:
        yield "The run was stopped: the report has the checks until then."
    elif not run.faults:
        yield f"Nothing failed, in {run.seconds:.0f} s."
    elif any(outcome.check.startswith(("environment", "functions", "device")) for outcome in run.faults):
        yield "Mend the installation first, by the hints above, and run this again."
    else:
        yield "Programs that do not use what failed work; the report says what to mend in the backend."
