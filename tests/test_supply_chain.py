"""The bill of materials names the release, and an audit that could not ask never reads like one that found nothing."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
LINES = ["numpy==2.2.0", "scipy==1.15.0"]
UNREACHABLE = "Traceback (most recent call last):\nrequests.exceptions.ConnectionError: Failed to resolve 'pypi.org'\n"


@pytest.fixture(scope="module")
def tool():
    """The module of the tool."""
    sys.path.insert(0, str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("supply_chain", ROOT / "tools" / "supply_chain.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]
    sys.path.remove(str(ROOT / "tools"))


def report(*entries):
    return json.dumps({"dependencies": list(entries), "fixes": []})


def sound_entry(line):
    name, _, version = line.partition("==")
    return {"name": name, "version": version, "vulns": []}


def skip_entry(line):
    return {"name": line.partition("==")[0], "skip_reason": f"Dependency not found on PyPI: {line}"}


def vulnerable_entry(line):
    return sound_entry(line) | {
        "vulns": [{"id": "CVE-2030-1", "fix_versions": ["3.0"], "aliases": [], "description": "A."}]
    }


@pytest.mark.parametrize("kinds", list(itertools.product((sound_entry, skip_entry, vulnerable_entry, None), repeat=2)))
@pytest.mark.parametrize("offline", [False, True])
def test_a_release_goes_on_where_every_part_was_looked_up_and_is_sound(tool, kinds, offline):
    entries = [kind(line) for kind, line in zip(kinds, LINES, strict=True) if kind]
    outcome = tool.parse_audit(LINES, report(*entries), "")
    passes, text = tool.tell(outcome, len(LINES), offline=offline)
    unknown = [line for kind, line in zip(kinds, LINES, strict=True) if kind in (skip_entry, None)]
    assert passes == (vulnerable_entry not in kinds and (offline or not unknown))
    assert text.startswith(f"{2 - len(unknown)} of 2 parts were looked up.")
    assert [line for line in LINES if f"not looked up: {line}" in text] == unknown
    assert text.count("CVE-2030-1, fixed in 3.0") == kinds.count(vulnerable_entry)
    assert ("DISPATCH_RELEASE_OFFLINE=1 accepts this" in text) == bool(unknown)


@pytest.mark.parametrize("text", ["", "{}", "<html>", '{"dependencies": 3'])
def test_a_report_that_is_none_looks_nothing_up_and_says_why(tool, text):
    outcome = tool.parse_audit(LINES, text, UNREACHABLE)
    assert outcome.unknown == dict.fromkeys(LINES, UNREACHABLE.splitlines()[-1])
    assert tool.parse_audit(LINES, text, "").unknown == dict.fromkeys(LINES, "pip-audit said nothing")


def test_the_parts_that_are_looked_up_are_other_peoples(tool):
    components = [{"name": name, "version": "1.0"} for name in ("numpy", "ml_dtypes", "dispatch-core")]
    assert tool.pins({"components": components}, ROOT) == ["ml-dtypes==1.0", "numpy==1.0"]


def test_a_bill_names_the_release_and_no_folder_of_the_machine_that_made_it(tool):
    names = [package.name for package in tool.packages(ROOT)]
    found = {
        "metadata": {},
        "dependencies": [],
        "components": [
            {
                "name": name,
                "bom-ref": f"{name}==0.1.0",
                "externalReferences": [{"type": "distribution", "url": f"file:///home/a/dist/{name}-0.1.0.whl"}],
            }
            for name in names
        ],
    }
    done = tool.complete(found, ROOT)
    assert "file:" not in json.dumps(done)
    assert done["metadata"]["component"]["version"] == "0.1.0"
    assert done["dependencies"] == [{"ref": "dispatch", "dependsOn": sorted(f"{name}==0.1.0" for name in names)}]
    urls = [each["externalReferences"][0]["url"] for each in done["components"]]
    home = "https://github.com/dispatch-project/dispatch/releases/download/v0.1.0"
    assert urls == [f"{home}/{name}-0.1.0.whl" for name in names]
    found["components"].pop()
    with pytest.raises(LookupError, match=f"{len(names) - 1} of our {len(names)} packages"):
        tool.complete(found, ROOT)
