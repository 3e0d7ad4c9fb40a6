"""The checks before a release, and its notes, on small checkouts with one thing wrong in each."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
MARKER = "<!-- towncrier release notes start -->"


@pytest.fixture(scope="module")
def release():
    """The module of the tool."""
    spec = importlib.util.spec_from_file_location("release_tool", ROOT / "tools" / "release.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], capture_output=True, check=True, cwd=folder)


@pytest.fixture
def checkout(tmp_path):
    """A committed checkout of two packages, ready for a release of 0.3.0."""
    if shutil.which("git") is None:
        pytest.skip("a release begins with git")
    shutil.copy(ROOT / "towncrier.toml", tmp_path)
    for name, dependencies in (("core", '"packaging>=24"'), ("cpu", '"acme-core>=0.3,<0.4"')):
        folder = tmp_path / "packages" / name
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "code.py").write_text("one = 1\n")
        (folder / "changes").mkdir()
        (folder / "changes" / ".gitkeep").touch()
        (folder / "changes" / "+first-steps.added.md").write_text(f"What {name} does.\n")
        project = f'[project]\nname = "acme-{name}"\nversion = "0.3.0"\ndependencies = [{dependencies}]\n'
        (folder / "pyproject.toml").write_text(project)
        old = "## 0.2.0 (2029-01-01)\n\n### Added\n\n- Older.\n"
        (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{MARKER}\n\n{old}")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_nothing_stands_against_a_release_of_a_tree_that_is_ready(release, checkout):
    assert list(release.faults(checkout)) == []


def test_nothing_stands_against_the_fragments_of_this_checkout(release):
    assert list(release.fragment_faults(ROOT)) == []
    assert len(release.packages(ROOT)) == 10


def test_the_citation_says_what_the_packages_say(release):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {package.version for package in release.packages(ROOT)} == {citation["version"]}
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in ROOT.glob("packages/*/*.toml")]
    assert all(project["authors"] == citation["authors"] for project in projects)
    assert {project["license"] for project in projects} == {citation["license"]}
    assert {project["urls"]["Homepage"] for project in projects} == {citation["repository-code"]}


def test_changes_that_are_not_committed_are_listed(release, checkout):
    (checkout / "packages" / "cpu" / "src" / "code.py").write_text("two = 2\n")
    (checkout / "new.txt").touch()
    (fault,) = release.faults(checkout)
    assert "not committed" in fault
    assert "packages/cpu/src/code.py" in fault
    assert "new.txt" in fault


def test_versions_that_differ_are_listed_with_the_bounds_that_they_break(release, checkout):
    replace(checkout / "packages" / "core" / "pyproject.toml", '"0.3.0"', '"0.4.0"')
    commit(checkout)
    versions, bound = release.faults(checkout)
    assert versions == "The packages have 2 versions:\n  0.4.0  acme-core\n  0.3.0  acme-cpu"
    assert bound == "acme-cpu requires acme-core<0.4,>=0.3, and its version here is 0.4.0."


def test_a_version_in_the_source_is_read(release, checkout):
    core = checkout / "packages" / "core"
    replace(core / "pyproject.toml", 'version = "0.3.0"', 'dynamic = ["version"]')
    with (core / "pyproject.toml").open("a") as settings:
        settings.write('[tool.hatch.version]\npath = "src/code.py"\n')
    (core / "src" / "code.py").write_text('__version__: Final = "0.3.0"\n')
    commit(checkout)
    assert list(release.faults(checkout)) == []


def test_a_tag_that_exists_is_a_version_that_is_released(release, checkout):
    git(checkout, "tag", "v0.3.0")
    (fault,) = release.faults(checkout)
    assert fault.startswith("The tag v0.3.0 exists")


def test_a_package_that_changed_has_a_fragment(release, checkout):
    git(checkout, "tag", "v0.2.0")
    for name in ("core", "cpu"):
        (checkout / "packages" / name / "changes" / "+first-steps.added.md").unlink()
    (checkout / "packages" / "cpu" / "src" / "code.py").write_text("two = 2\n")
    commit(checkout)
    assert list(release.faults(checkout)) == [
        "acme-cpu has changed since v0.2.0, and no fragment in its changes/ tells users of it."
    ]


def test_a_package_that_was_never_released_has_a_fragment(release, checkout):
    (checkout / "packages" / "cpu" / "changes" / "+first-steps.added.md").unlink()
    commit(checkout)
    (fault,) = release.faults(checkout)
    assert fault.startswith("acme-cpu has changed and was never released")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("first-steps.added.md", "Words.\n"),  # towncrier would print "first-steps" as an issue's number
        ("+first.new.md", "Words.\n"),
        ("+first.added.txt", "Words.\n"),
        ("+First.added.md", "Words.\n"),
        ("+first.1.added.md", "Words.\n"),
        ("README.md", "Words.\n"),
        ("+first.added.md", ""),
        ("+first.added.md", "- A bullet.\n"),
        ("+first.added.md", "# A heading.\n"),
        ("+first.added.md", "No full stop\n"),
        ("+first.added.md", "No line feed."),
        ("+first.added.md", "Two line feeds.\n\n"),
    ],
)
def test_a_fragment_that_would_not_be_a_note_is_named(release, checkout, name, text):
    (checkout / "packages" / "cpu" / "changes" / name).write_text(text)
    (fault,) = release.fragment_faults(checkout)
    assert fault.startswith(f"packages/cpu/changes/{name}: a fragment ")


def test_a_changelog_without_its_marker_or_with_the_section_is_named(release, checkout):
    replace(checkout / "packages" / "core" / "CHANGELOG.md", MARKER, "")
    replace(checkout / "packages" / "cpu" / "CHANGELOG.md", "## 0.2.0 (2029", "## 0.3.0 (2029")
    commit(checkout)
    marker, written = release.faults(checkout)
    assert marker == f"acme-core: CHANGELOG.md has no line {MARKER!r}, below which sections are written."
    assert written == "acme-cpu: CHANGELOG.md has a section of 0.3.0 already."


def test_the_command_tells_faults_and_fails(checkout):
    (checkout / "new.txt").touch()
    command = [sys.executable, ROOT / "tools" / "release.py", "check", "--root", checkout]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "The tree has changes that are not committed:\n  ?? new.txt\n"


def test_notes_are_made_of_fragments_which_are_gone_then(release, checkout):
    pytest.importorskip("towncrier", reason="nox -s packaging installs it")
    core, cpu = checkout / "packages" / "core", checkout / "packages" / "cpu"
    # Entries from before there were fragments, beside some and alone.
    for folder in (core, cpu):
        replace(folder / "CHANGELOG.md", f"{MARKER}\n", f"{MARKER}\n\n## 0.3.0 (unreleased)\n\n- By hand.\n")
    (cpu / "changes" / "+first-steps.added.md").unlink()
    (core / "changes" / "+second.fixed.md").write_text("A fault\nof two lines.\n")
    commit(checkout)
    notes = release.write_notes(checkout, "2030-01-02")
    assert notes == (
        "# acme-core 0.3.0\n\n### Added\n\n- What core does.\n\n### Fixed\n\n- A fault\n  of two lines.\n\n"
        "### Development\n\n- By hand.\n\n# acme-cpu 0.3.0\n\n- By hand.\n"
    )
    for folder in (core, cpu):
        text = (folder / "CHANGELOG.md").read_text()
        assert text.startswith(f"# Changelog\n\n{MARKER}\n\n## 0.3.0 (2030-01-02)\n\n")
        assert text.endswith("- By hand.\n\n## 0.2.0 (2029-01-01)\n\n### Added\n\n- Older.\n")
        assert [path.name for path in (folder / "changes").iterdir()] == [".gitkeep"]
    commit(checkout)
    git(checkout, "tag", "v0.3.0")
    assert [fault.partition(":")[0] for fault in release.faults(checkout)] == [
        "The tag v0.3.0 exists",
        "acme-core",
        "acme-cpu",
    ]


def test_a_package_without_changes_says_so(release, checkout):
    pytest.importorskip("towncrier", reason="nox -s packaging installs it")
    (checkout / "packages" / "cpu" / "changes" / "+first-steps.added.md").unlink()
    commit(checkout)
    assert "# acme-cpu 0.3.0\n\nNo significant changes.\n" in release.write_notes(checkout, "2030-01-02")


def test_a_section_that_is_not_there_is_an_error(release):
    with pytest.raises(LookupError, match=r"no section of 2\.0"):
        release.section("# Changelog\n\n## 1.0 (2030-01-02)\n\n- One.\n", "2.0")
