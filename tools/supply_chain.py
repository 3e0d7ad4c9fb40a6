"""What a release brings along: ``bill`` writes a bill of materials (CycloneDX), ``audit`` looks its parts up.

The bill lists what pip installs beside the wheels of a folder, with versions and licenses, and for our wheels their
addresses and hashes. The audit asks the index for known vulnerabilities of these versions, by pip-audit. A part that could
not be looked up counts as a fault, as an index that cannot be reached would otherwise read like one that knows of nothing;
``DISPATCH_RELEASE_OFFLINE=1`` accepts such parts, and they are told all the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from install_lines import url_of
from packaging.utils import canonicalize_name
from release import packages

__all__ = ["Audit", "audit", "bill", "complete", "parse_audit", "pins", "tell"]

ROOT = Path(__file__).parents[1]
OFFLINE = "DISPATCH_RELEASE_OFFLINE"


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome of a look-up: sentences on vulnerabilities, and part → why it was not looked up."""

    vulnerable: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)


def bill(root: Path, dist: Path) -> dict[str, Any]:
    """Return the bill of materials of the wheels in a folder, installed into an environment of their own."""
    wheels = sorted(dist.glob("*.whl"))
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        venv.create(environment)
        install = [sys.executable, "-m", "pip", "--python", str(environment), "install", "--quiet", "--no-compile"]
        subprocess.run([*install, *map(str, wheels)], check=True)
        made = Path(folder, "bill.json")
        command = ["environment", str(environment), "--of", "JSON", "--output-reproducible", "--output-file", str(made)]
        subprocess.run([sys.executable, "-m", "cyclonedx_py", *command], check=True)
        return complete(json.loads(made.read_text(encoding="utf-8")), root)


def complete(found: dict[str, Any], root: Path) -> dict[str, Any]:
    """Return a bill that names the release that it is of, and the addresses of our wheels instead of paths."""
    ours = {package.name: package for package in packages(root)}
    (version,) = {package.version for package in ours.values()}
    folder = url_of(root, version)
    for component in found["components"]:
        for reference in component.get("externalReferences", []):
            if reference["url"].startswith("file:"):
                reference["url"] = f"{folder}/{reference['url'].rpartition('/')[2]}"
    refs = [component["bom-ref"] for component in found["components"] if component["name"] in ours]
    if len(refs) != len(ours):
        raise LookupError(f"the bill has {len(refs)} of our {len(ours)} packages: {refs}")
    found["metadata"]["component"] = {"bom-ref": "dispatch", "name": "dispatch", "type": "library", "version": version}
    found["dependencies"].append({"ref": "dispatch", "dependsOn": sorted(refs)})
    return found


def check(text: str) -> None:
    """Raise ValueError where a bill is not one by the schema of CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.from_version(json.loads(text)["specVersion"])).validate_str(text)
    if error is not None:
        raise ValueError(f"the bill does not follow its schema: {error.data}")


def pins(found: dict[str, Any], root: Path) -> list[str]:
    """Return the parts of a bill that are others' as lines of requirements: our names may be a stranger's on an index."""
    ours = {package.name for package in packages(root)}
    versions = {canonicalize_name(each["name"]): each["version"] for each in found["components"]}
    return sorted(f"{name}=={version}" for name, version in versions.items() if name not in ours)


def audit(lines: list[str]) -> Audit:
    """Look parts up in the index's list of known vulnerabilities."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pins.txt")
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        command = [
            "--requirement",
            str(path),
            "--no-deps",
            "--disable-pip",
            "--format",
            "json",
            "--progress-spinner",
            "off",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", *command], capture_output=True, check=False, text=True, timeout=600
        )
    return parse_audit(lines, done.stdout, done.stderr)


def parse_audit(lines: list[str], report: str, complaints: str) -> Audit:
    """Return the outcome by the report of pip-audit; without one, nothing was looked up."""
    try:
        entries = {f"{each['name']}=={each.get('version')}": each for each in json.loads(report)["dependencies"]}
    except (ValueError, KeyError):
        last = (complaints.strip().splitlines() or ["pip-audit said nothing"])[-1]
        return Audit(unknown=dict.fromkeys(lines, last))
    outcome = Audit()
    for line in lines:
        entry = entries.get(line)
        if entry is None:
            # One that was skipped has no version in the report.
            skipped = entries.get(f"{line.partition('==')[0]}==None", {})
            outcome.unknown[line] = skipped.get("skip_reason", "the report does not name it")
            continue
        for each in entry["vulns"]:
            fixed = ", ".join(each["fix_versions"]) or "no version"
            outcome.vulnerable.append(f"{line}: {each['id']}, fixed in {fixed}")
    return outcome


def tell(outcome: Audit, count: int, *, offline: bool) -> tuple[bool, str]:
    """Return whether a release may go on after an audit of ``count`` parts, and the sentences that say why."""
    lines = [f"{count - len(outcome.unknown)} of {count} parts were looked up."]
    lines += [f"vulnerable: {each}" for each in outcome.vulnerable]
    lines += [f"not looked up: {part}: {reason}" for part, reason in outcome.unknown.items()]
    if outcome.unknown:
        lines.append(
            f"{OFFLINE}=1 accepts this: look them up elsewhere before you publish."
            if offline
            else f"A release needs all of them, from a machine that reaches the index; {OFFLINE}=1 accepts this."
        )
    return not outcome.vulnerable and (offline or not outcome.unknown), "\n".join(lines)


def main() -> int:
    """Run a command; the exit status is 1 where an audit stands against a release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("bill", "audit"))
    parser.add_argument("dist", type=Path, help="the folder of the wheels, into which the bill is written")
    options = parser.parse_args()
    path = options.dist / "bill-of-materials.cdx.json"
    if options.command == "bill":
        text = json.dumps(bill(ROOT, options.dist), ensure_ascii=False, indent=2) + "\n"
        check(text)
        path.write_text(text, encoding="utf-8")
        return 0
    lines = pins(json.loads(path.read_text(encoding="utf-8")), ROOT)
    passes, text = tell(audit(lines), len(lines), offline=os.environ.get(OFFLINE) == "1")
    sys.stderr.write(f"{text}\n")
    return not passes


if __name__ == "__main__":
    raise SystemExit(main())
