"""The stubs that type checkers and editors read: each is generated, and says what is there."""

import ast
import runpy
from importlib import import_module
from pathlib import Path

import pytest

import dispatch_core as dc
import torchlike
from torchlike.names.public_paths import PUBLIC_PATHS

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
GENERATOR = ROOT / "tools" / "generate_stubs.py"
SOURCES = {path.name: path for path in ROOT.glob("packages/*/src/*") if path.is_dir()}


@pytest.fixture(scope="module")
def written():
    generator = runpy.run_path(str(GENERATOR))
    return {SOURCES[place.parts[0]].parent / place: text for place, text in generator["write_stubs"]().items()}


def stubs(written):
    return [path for path in written if path.suffix == ".pyi"]


def test_every_stub_is_generated(written):
    # Lint compares what they say.
    assert {path for folder in SOURCES.values() for path in folder.rglob("*.pyi")} == {*stubs(written)}


def test_a_stub_hides_no_source_but_those_that_hand_names_on(written):
    for path in stubs(written):
        source = path.with_suffix(".py")
        if source.exists():
            tree = ast.parse(source.read_text(encoding="utf-8"))
            defined = [each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.ClassDef)]
            assert {*defined} <= {"__getattr__", "__dir__"}, path


def test_stubs_are_python(written):
    for path, text in written.items():
        compile(text, str(path), "exec")


def test_every_method_that_a_stub_names_is_there(written):
    (kind,) = [
        node
        for node in ast.parse(written[SOURCES["torchlike"] / "tensor_methods.pyi"]).body
        if isinstance(node, ast.ClassDef)
    ]
    named = {each.name for each in kind.body if isinstance(each, ast.FunctionDef)}
    assert {name for name in named if not hasattr(torchlike.Tensor, name)} == set()
    # A device's methods are there where its plugin is.
    devices = {name for device in dc.backends() for name in (device, f"is_{device}")}
    public = {name for name in dir(torchlike.Tensor) if not name.startswith("_")} - devices
    attributes = {each.target.id for each in kind.body if isinstance(each, ast.AnnAssign)}
    above = _list_functions("tensors/tensor.py", "history/differentiable.py")
    placed = {"device_mesh", "placements"}  # of tensors on a mesh, once their module is imported
    assert public - named - attributes - above - placed == {"lstsq", "ndimension", "nelement", "symeig"}


def _list_functions(*files):
    trees = [ast.parse((SOURCES["torchlike"] / file).read_text(encoding="utf-8")) for file in files]
    return {each.name for tree in trees for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


def test_every_public_name_of_torchlike_stands_in_the_stub(written):
    names = {name for name in torchlike.__all__ if not name.startswith("_")}
    listed = ast.literal_eval(written[SOURCES["torchlike"] / "__init__.pyi"].partition("__all__ = ")[2])
    assert {*listed} == names


def test_every_public_path_has_a_stub_with_the_classes_and_functions_of_its_file(written):
    for public in PUBLIC_PATHS:
        stem = SOURCES["torchlike"].parent.joinpath(*public.split("."))
        (text,) = (written[path] for path in (stem.with_suffix(".pyi"), stem / "__init__.pyi") if path in written)
        exec(compile(text, public, "exec"), given := {})
        own = {name: value for name, value in vars(import_module(public)).items() if not name.startswith("__")}
        names = {name for name, value in own.items() if str(getattr(value, "__module__", "")).startswith(public)}
        assert {name for name in names if name[0] != "_" or isinstance(own[name], type)} <= {*given}, public
