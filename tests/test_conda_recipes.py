"""The conda recipes say what the metadata say; ``nox -s materials`` has them rendered by rattler-build."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tool():
    """The module of the tool."""
    sys.path.insert(0, str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("conda_recipes", ROOT / "tools" / "conda_recipes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(ROOT / "tools"))


@pytest.fixture
def made(tool, tmp_path):
    """Return a function that makes a package's recipe and has it rendered, by rattler-build where it is installed."""

    def make(package):
        archive = tmp_path / f"{package.name.replace('-', '_')}-{package.version}.tar.gz"
        archive.write_bytes(b"an archive")
        recipe = tool.recipe(package, archive)
        if importlib.util.find_spec("rattler_build"):
            path = tmp_path / "recipe.yaml"
            path.write_text(yaml.safe_dump(recipe, sort_keys=False))
            return tool.render(path)
        rendered = json.loads(json.dumps(recipe).replace("${{ version }}", package.version))
        return {**rendered, "source": [rendered["source"]]}

    return make


def packages(tool):
    return {package.name: package for package in tool.packages(ROOT)}


def test_a_recipe_requires_what_its_distribution_requires(tool, made):
    assert len(packages(tool)) == 10
    for package in packages(tool).values():
        assert list(tool.faults(package, made(package))) == []


def test_a_recipe_has_the_commands_modules_and_the_archives_hash_of_its_distribution(tool, made):
    found = made(packages(tool)["dispatch-devkit"])
    assert found["build"]["python"]["entry_points"] == ["dispatch = dispatch_devkit.command_line:main"]
    assert found["tests"][0]["python"]["imports"] == ["dispatch_devkit"]
    (source,) = found["source"]
    assert source["sha256"] == hashlib.sha256(b"an archive").hexdigest()
    assert source["url"] == "https://pypi.org/packages/source/d/dispatch-devkit/dispatch_devkit-0.1.0.tar.gz"


def test_libraries_of_extras_are_constraints_by_their_names_in_conda(tool, made):
    constraints = made(packages(tool)["dispatch-backend-array-api"])["requirements"]["run_constraints"]
    assert {"dask >=2025.3", "jax >=0.8", "pytorch >=2.6", "ml_dtypes >=0.5"} <= {*constraints}
    assert not any("[" in line for line in constraints)
    frontend = made(packages(tool)["dispatch-frontend-torchlike"])["requirements"]
    assert not [line for line in frontend["run_constraints"] if line.startswith("dispatch-frontend-torchlike")]
    names = [line.partition(" ")[0] for lines in (frontend["run"], frontend["run_constraints"]) for line in lines]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda found: found["requirements"]["run"].pop(), "the metadata"),
        (lambda found: found["requirements"]["run"].append("numpy"), "the metadata"),
        (lambda found: found["requirements"]["run"].__setitem__(1, "pluggy >=1"), "the metadata"),
        (
            lambda found: found["requirements"]["run"].__setitem__(0, "python >=3.9"),
            "python >=3.9, the metadata >=3.11",
        ),
        (lambda found: found["package"].__setitem__("version", "9"), "not of 0.1.0"),
        (lambda found: found["source"][0].__setitem__("url", "https://example.org/a-9.tar.gz"), "is not that of 0.1.0"),
    ],
)
def test_a_recipe_that_says_something_else_is_named(tool, made, change, fault):
    package = packages(tool)["dispatch-core"]
    found = made(package)
    change(found)
    assert fault in "\n".join(tool.faults(package, found))


def test_a_requirement_for_some_systems_alone_is_refused(tool):
    with pytest.raises(ValueError, match="no markers"):
        tool.specs(["numpy>=2; sys_platform == 'win32'"])


#: Name in an index, whether a line has extras, and its bounds.
LINES = st.lists(
    st.tuples(
        st.sampled_from(["numpy", "torch", "ml-dtypes", "a1", "b-c"]),
        st.sampled_from(["", "[x,y]"]),
        st.sets(st.sampled_from([">=1", ">=1.5", "<2", "!=1.7", "==1.6.*", "~=1.4"]), max_size=3),
    )
)


@settings(max_examples=100, deadline=None)
@given(lines=LINES)
def test_drawn_requirements_keep_their_names_and_all_their_bounds(tool, lines):
    expected = {}
    for name, _, bounds in lines:
        expected.setdefault({"torch": "pytorch", "ml-dtypes": "ml_dtypes"}.get(name, name), set()).update(bounds)
    found = tool.specs([f"{name}{extras}{','.join(bounds)}" for name, extras, bounds in lines])
    assert {name: {*filter(None, spec.partition(" ")[2].split(","))} for name, spec in found.items()} == expected
    assert all(spec.split(" ")[0] == name for name, spec in found.items())
