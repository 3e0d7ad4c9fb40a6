"""Who may import whom."""

from __future__ import annotations

import ast
import gc
import graphlib
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dispatch_core as dc

pytestmark = pytest.mark.texts

PACKAGES = Path(__file__).parents[1] / "packages"
#: Import name → folder of the sources.
SOURCES = {path.parent.name: path.parent for path in sorted(PACKAGES.glob("*/src/*/__init__.py"))}
#: Import name → the other packages of this project that it may import.
WALLS = {
    "dispatch_core": {"dispatch_calls_native"},
    "dispatch_devkit": {"dispatch_core"},
    "dispatch_aten": {"dispatch_core"},
    "dispatch_backend_array_api": {"dispatch_core", "dispatch_aten"},
    "dispatch_backend_cpu": {"dispatch_core", "dispatch_aten", "dispatch_backend_cpu_native"},
    "dispatch_backend_cpu_native": set(),
    "dispatch_calls_native": set(),
    "dispatch_backend_meta": {"dispatch_core", "dispatch_aten"},
    "dispatch_backend_npu": {"dispatch_core", "dispatch_aten"},
    "dispatch_kernels_numba": {"dispatch_core"},
    "dispatch_pipelines": {"dispatch_core"},
    "dispatch_torch_npu": {"dispatch_core", "dispatch_backend_npu", "torchlike"},
    "torchlike": {"dispatch_core", "dispatch_aten", "dispatch_devkit", "torchlike_array_api"},
    "torchlike_array_api": {"dispatch_core", "dispatch_aten", "torchlike"},
    "torchlike_as_torch": {"torchlike"},
    "torchlike_distributions": {"dispatch_core", "dispatch_aten", "torchlike"},
}
#: The module by which the core reaches the devkit, and its types.
DEVKIT = "dispatch-core/src/dispatch_core/devkit.py"
#: Package → modules that its other packages may take from: the package itself and these. All others are its own affair.
FACES = {
    "dispatch_core": (
        "caches calls devices display errors escapes files files.cache_folders forks frontends inspection interrupts"
        " keys lazy_text planning runtime schema signatures surroundings.extensions surroundings.former_paths"
        " surroundings.logs tools tracebacks"
    ),
    "dispatch_devkit": "command_line.running fragments",
    "dispatch_aten": (
        "collectives counter_engine decompositions derivatives dtypes errors families fixed_point generator gradients host"
        " operators placements placements.operators placing promotion"
        " shapes testing testing.agreement testing.changes testing.outcomes testing.running testing.samples"
        " testing.showing"
        " texts torch_names variants write_through"
    ),
    "torchlike": (
        "autograd creation.factories creation.sources distributions fft functions.arrangements"
        " functions.operator_functions linalg names.lazy_names nn nn.functional optim profiler special tensors.tensor utils"
        " utils._python_dispatch values.devices values.dtypes"
    ),
    "torchlike_array_api": "",
    "dispatch_backend_cpu_native": "",
    "dispatch_backend_npu": "runtime",
    "dispatch_calls_native": "",
}
#: Package → groups of modules that import each other in a circle, late, because each is a half of one thing.
CIRCLES = {
    "dispatch_core": [{"schema.model", "schema.parser"}],
    "dispatch_backend_npu": [{"runtime.event", "runtime.stream"}],
}


#: Paths that torch gives users with an underscore.
TORCHS_PATHS = ("torchlike.utils._python_dispatch",)
#: Package → the packages of its own distribution that are open to it.
SIBLINGS = {"dispatch_pipelines": {"dispatch_core"}}
#: The one module of the core that imports pipelines, when one of its names is first used.
HAND_OVER = "dispatch-core/src/dispatch_core/pipelines.py"
#: The folders of pipelines; each imports only those before it.
PIPELINES = ("record", "graph", "program", "run", "capture")


@pytest.fixture(scope="module", autouse=True)
def _trees_are_let_go_of():
    """Leave no millions of nodes to any collection, be it of these tests or of those that come after."""
    gc.disable()
    yield
    parse.cache_clear()
    nodes.cache_clear()
    gc.enable()


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name: ``module`` is absolute, ``name`` is the one that ``from`` takes out of it.

    It is ``late`` within a function, and ``typed`` where only a type checker looks.
    """

    where: str
    module: str
    name: str | None
    late: bool
    typed: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(next(p for p in path.parents if p.name == "src")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown_path(path: Path) -> Path:
    return path.relative_to(PACKAGES if path.is_relative_to(PACKAGES) else PACKAGES.parent)


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Walk a tree; the flags are true inside functions, and where only a type checker looks."""
    todo = [(tree, False, False)]
    while todo:
        node, late, typed = todo.pop()
        late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typed = typed or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for child in ast.iter_child_nodes(node):
            yield child, late, typed
            todo.append((child, late, typed))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(tree: ast.AST) -> dict[type[ast.AST], list[Any]]:
    """Return the nodes of a tree by their classes; walking a tree again for each rule takes most of a run."""
    found: dict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in ast.walk(tree):
        found[type(node)].append(node)
    return found


@cache
def imports(path: Path) -> list[Import]:
    """Return every import of a file, calls of ``import_module`` with a plain string included."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    found, file = [], shown_path(path)
    for node, late, typed in _nodes(parse(path)):
        where = f"{file}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.append(Import(where, alias.name, None, late, typed))
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                found.append(Import(where, module, alias.name, late, typed))
        elif isinstance(node, ast.Call) and "import" in getattr(node.func, "attr", getattr(node.func, "id", "")):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    name = argument.value
                    found.append(Import(where, package + name if name[:1] == "." else name, None, True, typed))
    return found


@cache
def modules_of(package: str) -> dict[str, Path]:
    return {module_name(path): path for path in sorted(SOURCES[package].rglob("*.py"))}


def imports_of(package: str) -> list[Import]:
    found = [found for path in modules_of(package).values() for found in imports(path)]
    return [each for each in found if not (each.typed and each.where.startswith(DEVKIT))]


def imported_module(found: Import) -> str:
    """Return the module that an import takes, or takes something out of."""
    inner = f"{found.module}.{found.name}"
    return inner if inner in modules_of(found.module.partition(".")[0]) else found.module


def test_every_package_stands_behind_a_wall():
    assert set(SOURCES) == set(WALLS)


def test_the_page_on_the_architecture_lists_the_packages():
    text = (
        (PACKAGES.parent / "docs" / "architecture.md").read_text(encoding="utf-8").partition("tests/test_walls.py")[0]
    )
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("| ")]
    assert {name for row in rows for name in re.findall("`(\\w+)`", row)} == set(WALLS)


@pytest.mark.parametrize("package", WALLS)
def test_a_package_imports_only_what_stands_below_it(package):
    beyond = set(WALLS) - WALLS[package] - {package}
    taken = [f for f in imports_of(package) if f.module.partition(".")[0] in beyond]
    assert [f for f in taken if not (f.where.startswith(HAND_OVER) and f.module.startswith("dispatch_pipelines"))] == []


def test_the_core_names_the_devkit_in_one_module_that_imports_it_late():
    named = {path.name for path in modules_of("dispatch_core").values() if "dispatch_devkit" in path.read_text("utf-8")}
    assert named == {Path(DEVKIT).name}
    assert [f for f in imports(PACKAGES / DEVKIT) if "dispatch_devkit" in f.module and not f.typed] == []


@pytest.mark.parametrize("package", WALLS)
def test_a_package_declares_what_it_imports(package):
    project = tomllib.loads((SOURCES[package].parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    distributions: dict[str, set[str]] = {}
    for name, path in SOURCES.items():
        text = (path.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
        distributions.setdefault(tomllib.loads(text)["project"]["name"], set()).add(name)
    extras = [line for lines in project.get("optional-dependencies", {}).values() for line in lines]
    declared = [re.match(r"[\w.-]+", line)[0] for line in (*project["dependencies"], *extras)]
    declared.append(project["name"])
    allowed = {top for name in declared for top in distributions.get(name, {name.replace("-", "_")})}
    # A library that is built for each version of CUDA has the version in its distribution's name.
    allowed |= {top for name in declared if name.startswith("cupy-cuda") for top in ("cupy", "cupyx")}
    foreign = {f.module.partition(".")[0]: f for f in imports_of(package)}
    assert {name: f for name, f in foreign.items() if name not in allowed | sys.stdlib_module_names} == {}


@pytest.mark.parametrize("package", WALLS)
def test_a_package_leaves_the_private_parts_of_others_alone(package):
    private = [
        found
        for found in imports_of(package)
        if (top := found.module.partition(".")[0]) in WALLS
        and top not in {package, *SIBLINGS.get(package, ())}
        and any(part.startswith("_") for part in [*found.module.split("."), found.name or ""])
    ]
    assert [found for found in private if found.module not in TORCHS_PATHS] == []


def dotted_name(node: ast.AST) -> str:
    """Return the name that a chain of attributes spells; "" where it does not begin with a name."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


@cache
def attributes(path: Path) -> list[tuple[str, str, str]]:
    """Return the place, the module and the name of each attribute that a file takes of another package's modules."""
    package = module_name(path).partition(".")[0]
    others = {top for top in WALLS if top != package}
    modules = {module for top in others for module in modules_of(top)}
    bound = {}
    for node in nodes(parse(path))[ast.Import]:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            bound[alias.asname or top] = alias.name if alias.asname else top
    for node in nodes(parse(path))[ast.ImportFrom]:
        if not node.level:
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    found = []
    for node in nodes(parse(path))[ast.Attribute]:
        first, *rest = dotted_name(node.value).split(".")
        module = ".".join([bound.get(first, ""), *rest])
        if module in modules:
            found.append((f"{shown_path(path)}:{node.lineno}", module, node.attr))
    return found


@pytest.mark.parametrize("package", WALLS)
def test_a_package_leaves_private_attributes_of_the_modules_of_others_alone(package):
    taken = [found for path in modules_of(package).values() for found in attributes(path)]
    assert [found for found in taken if re.match("_[^_]", found[2])] == []


def private_names(package: str) -> set[str]:
    """Return the private names that a package gives attributes and methods, those of the protocol of tensors left out."""
    found = set()
    for path in modules_of(package).values():
        known = nodes(parse(path))
        found |= {node.attr for node in known[ast.Attribute] if isinstance(node.ctx, ast.Store)}
        for node in known[ast.ClassDef]:
            found |= {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            found |= {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}
    return {name for name in found if re.match("_(?!_|dispatch_)", name)}


def private_uses(tree: ast.AST, names: set[str]) -> list[str]:
    """Return the attributes with one of some names that a tree takes, by ``getattr`` and its like, too."""
    found = [node for node in nodes(tree)[ast.Attribute] if node.attr in names]
    found = [node for node in found if dotted_name(node.value) != "self"]  # a subclass has its base's methods
    calls = [node for node in nodes(tree)[ast.Call] if "attr" in dotted_name(node.func)]
    found += [call for call in calls for each in call.args if isinstance(each, ast.Constant) and each.value in names]
    return [f"{node.lineno}: {ast.unparse(node)}" for node in found]


def test_private_uses_are_found():
    text = "op._entry.x\nop.runner(self._entry)\ngetattr(op, '_entry', None)"
    assert private_uses(ast.parse(text), {"_entry"}) == ["1: op._entry", "3: getattr(op, '_entry', None)"]


@pytest.mark.parametrize("package", [name for name in WALLS if "dispatch_core" not in {name, *SIBLINGS.get(name, ())}])
def test_a_package_leaves_private_attributes_of_the_objects_of_the_core_alone(package):
    # An object's class is not in the text: a name that the package gives attributes of its own is taken for one of these.
    names = private_names("dispatch_core") - private_names(package)
    names -= {"_array"}  # array_api_strict's arrays have it, too
    assert "_entry" in names
    uses = {module: private_uses(parse(path), names) for module, path in modules_of(package).items()}
    assert {module: found for module, found in uses.items() if found} == {}


#: Attributes that Python gives functions, and marks that programs written for torch look for.
OF_FUNCTIONS = {"__code__", "__doc__", "__module__", "__name__", "__qualname__", "__wrapped__"}
OF_FUNCTIONS |= {"_wrapped_by_lr_sched", "hooked"}


def _scope(node: ast.AST) -> list[ast.AST]:
    """Return the nodes of a module or function that lie in no function or class within."""
    found, todo = [], list(ast.iter_child_nodes(node))
    while todo:
        found.append(each := todo.pop())
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            todo += ast.iter_child_nodes(each)
    return found


def function_attributes(tree: ast.AST) -> list[str]:
    """Return the attributes that functions are given where they are defined, under their names or another of the same."""
    found = []
    for scope in [tree, *nodes(tree)[ast.FunctionDef]]:
        inner = _scope(scope)
        functions = {node.name for node in inner if isinstance(node, ast.FunctionDef)}
        for node in inner:
            if isinstance(node, ast.Assign | ast.AnnAssign) and dotted_name(node.value) in functions:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                functions |= {each.id for each in targets if isinstance(each, ast.Name)}
        stores = [node for node in inner if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
        found += [ast.unparse(node) for node in stores if dotted_name(node.value) in functions - {""}]
    return [name for name in found if name.rpartition(".")[2] not in OF_FUNCTIONS]


def test_attributes_of_functions_are_found():
    text = "def f(x):\n    def g(): ...\n    h: object = g\n    h.mark = x.y = 1\n    return g\nf.mark = 2\n"
    assert function_attributes(ast.parse(text)) == ["f.mark", "h.mark"]


@pytest.mark.parametrize("package", WALLS)
def test_no_function_has_attributes(package):
    # `KernelTraits` and `RunnerTraits` stand beside functions.
    found = {module: function_attributes(parse(path)) for module, path in modules_of(package).items()}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize("package", WALLS)
def test_a_package_takes_only_what_others_show(package):
    shown = {f"{top}.{name}" for top, names in FACES.items() for name in names.split()} | set(FACES)
    taken = [(f.where, imported_module(f)) for f in imports_of(package) if f.module.partition(".")[0] in WALLS]
    for path in modules_of(package).values():
        for where, module, name in attributes(path):
            inner = f"{module}.{name}"
            taken.append((where, inner if inner in modules_of(module.partition(".")[0]) else module))
    own = {package, *SIBLINGS.get(package, ())} | ({"dispatch_pipelines"} if package == "dispatch_core" else set())
    assert [t for t in taken if t[1].partition(".")[0] not in own and t[1] not in shown] == []


def _import_order(package: str, *, late: bool) -> list[str]:
    """Return a package's modules in an order in which they can be imported, or raise ``CycleError``.

    Late imports count where that is asked for, but not those within ``CIRCLES``, and not the roof, the package's own
    ``__init__``, which hands on names of all.
    """
    modules = modules_of(package)
    circle = {f"{package}.{name}": number for number, names in enumerate(CIRCLES.get(package, [])) for name in names}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for module, path in modules.items():
        for found in imports(path):
            if found.typed or (found.late and not late) or found.module.partition(".")[0] != package:
                continue
            taken = imported_module(found)
            if late and (package in {module, taken} or (module in circle and circle[module] == circle.get(taken))):
                continue
            graph[module].add(taken)
    return list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("package", WALLS)
def test_modules_import_each_other_without_a_cycle(package):
    assert len(_import_order(package, late=False)) > 0


@pytest.mark.parametrize("package", WALLS)
def test_late_imports_close_no_cycle(package):
    assert len(_import_order(package, late=True)) > 0


#: Package → the title of the document's table of its modules and folders, the lowest first.
TABLES = {
    "dispatch_core": "## The core, lowest modules first",
    "torchlike": "### The frontend, lowest folder first",
}


def _rows(text: str, title: str) -> list[set[str]]:
    """Return the rows of a document's table of modules, the lowest first, each a set of names."""
    _, _, table = text.partition(title)
    rows = [line.split("|")[1] for line in table.partition("\n##")[0].splitlines() if line.startswith("| `")]
    return [{name.strip("/") for name in re.findall(r"`([^`]+)`", row)} for row in rows]


@pytest.mark.parametrize("package", TABLES)
def test_a_package_imports_only_higher_rows_of_its_document(package, root):
    rows = _rows((root / "docs" / "architecture.md").read_text(encoding="utf-8"), TABLES[package])
    row = {name: number for number, names in enumerate(rows) for name in names}
    source = SOURCES[package]
    modules = {path.stem for path in source.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(row) == modules - {"__init__"}
    upward = []
    for found in imports_of(package):
        imported = imported_module(found).split(".") if found.module.partition(".")[0] == package else []
        importer = found.where.partition(f"/{package}/")[2].partition("/")[0].partition(":")[0].removesuffix(".py")
        if len(imported) > 1 and not found.typed and importer != "__init__":
            upward += [found] if row[imported[1]] > row[importer] else []
    assert upward == []


def test_the_rows_of_the_core_name_the_modules_of_their_folders(root):
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8").partition(TABLES["dispatch_core"])[2]
    named = {part for name in re.findall(r"`([\w./]+)`", text) for part in name.split("/")}
    modules = {
        path.stem for package in ("dispatch_core", "dispatch_pipelines") for path in SOURCES[package].rglob("[!_]*.py")
    }
    assert modules - named == set()


def test_pipelines_are_built_of_folders_that_import_only_those_before_them():
    source = SOURCES["dispatch_pipelines"]
    assert {path.stem for path in source.iterdir() if path.suffix == ".py" or path.is_dir()} - {"__pycache__"} == {
        "__init__",
        *PIPELINES,
    }
    upward = []
    for found in imports_of("dispatch_pipelines"):
        if not found.module.startswith("dispatch_pipelines."):
            continue
        importer, imported = found.where.split("/")[3], found.module.split(".")[1]
        if imported in PIPELINES and importer in PIPELINES and not found.typed:
            upward += [found] if PIPELINES.index(imported) > PIPELINES.index(importer) else []
    assert upward == []


@pytest.mark.parametrize("folder", PIPELINES)
def test_a_folder_of_pipelines_stays_small(folder):
    assert len(list((SOURCES["dispatch_pipelines"] / folder).glob("[!_]*.py"))) <= 12


IMPORT = """
import sys
before = set(sys.modules)
import {package}
print(*sorted(set(sys.modules) - before), sep="\\n")
"""


def test_importing_the_core_imports_neither_numpy_nor_metadata_nor_plugins(run_isolated):
    imported = run_isolated(IMPORT.format(package="dispatch_core"))
    heavy = ("numpy", "importlib.metadata", "importlib_metadata", "packaging", "pluggy", *WALLS)
    below = [name for name in imported if any(name == top or name.startswith(f"{top}.") for top in heavy)]
    assert [name for name in below if name.partition(".")[0] != "dispatch_core"] == []


#: Parts of the standard library that would each take a good part of the time that importing the core takes.
SLOW = frozenset(
    "argparse ast asyncio concurrent csv dataclasses decimal difflib email fractions hashlib inspect json logging"
    " multiprocessing pathlib pickle random shutil socket subprocess tempfile tokenize urllib zipfile".split()
)


def test_importing_the_core_imports_no_slow_part_of_the_standard_library(run_isolated):
    imported = run_isolated(IMPORT.format(package="dispatch_core"))
    assert [name for name in imported if name.partition(".")[0] in SLOW] == []


def test_importing_the_core_leaves_what_it_can_for_later(run_isolated):
    late = {f"dispatch_core{module}" for module in dc._LATE.values()}
    assert len(late) > 0
    assert late & set(run_isolated(IMPORT.format(package="dispatch_core"))) == set()


#: The one module of torchlike that names devices: those that answer no while no backend brings them.
DEVICES = "device_modules/absent_names.py"
#: The modules in which a name of torch's own has the name of a device of torch's: ``torch.cuda.amp``, ``Tensor.is_xpu``,
#: ``optim``'s and autocast's lists, numbers of DLPack and of profilers, errors that programs compare.
NAMED_BY_TORCH = frozenset(
    """
    __init__.py amp/autocasting.py amp/kernels.py amp/older_settings.py amp/policies.py amp/scaler.py amp/settings.py
    autograd/saved_hooks.py backends/libraries.py creation/factory_memory.py cuda/__init__.py cuda/amp.py cuda/nvtx.py
    device_modules/absent_devices.py device_modules/modules.py library/older/functions.py library/older/rules.py
    library/registration_keys.py names/left_out.py names/torch_homes.py names/torch_modules.py nn/conversions.py
    nn/uninitialized.py nn/utils/rnn.py optim/authors.py optim/settings.py profiler.py random.py
    serialization/__init__.py serialization/locations.py serialization/torch_files/restoring.py
    signatures/written_signatures.py surface/configuration.py surface/host_memory.py surface/profiler_events.py
    surface/tensor_class.py tensors/dlpack.py tensors/storages.py utils/_foreach_utils.py utils/dlpack.py version.py
    """.split()
)


def words_of(path: Path) -> set[str]:
    """Return the words of a module's names and texts, docstrings left out."""
    tree = parse(path)
    found = nodes(tree)
    owners = [each for kind in (ast.Module, ast.ClassDef, ast.FunctionDef) for each in found[kind]]
    documents = {id(each.body[0].value) for each in owners if each.body and isinstance(each.body[0], ast.Expr)}
    texts = [
        *(each.id for each in found[ast.Name]),
        *(each.attr for each in found[ast.Attribute]),
        *(each.name for kind in (ast.FunctionDef, ast.ClassDef, ast.alias) for each in found[kind]),
        *(each.value for each in found[ast.Constant] if isinstance(each.value, str) and id(each) not in documents),
    ]
    return {word.lower() for text in texts for word in re.findall(r"[A-Za-z0-9]+", text)}


def test_torchlike_names_no_device_but_in_its_table():
    accelerators = set()
    for project in PACKAGES.glob("*/pyproject.toml"):
        points = tomllib.loads(project.read_text(encoding="utf-8"))["project"].get("entry-points", {})
        accelerators |= points.get("dispatch_core.accelerators", {}).keys()
    assert accelerators
    by_torch = {"cuda", "hpu", "ipu", "mps", "mtia", "xpu"}
    paths = [
        path
        for path in SOURCES["torchlike"].rglob("*.py")
        if path.relative_to(SOURCES["torchlike"]).as_posix() != DEVICES
    ]
    named = {path.relative_to(SOURCES["torchlike"]).as_posix(): words_of(path) for path in paths}
    assert {path: words & accelerators for path, words in named.items() if words & accelerators} == {}
    assert {path for path, words in named.items() if words & by_torch} == NAMED_BY_TORCH


CALL = """
import sys
import dispatch_core as dc

library = dc.Library("wall", "DEF")
library.define("double(int self) -> int")
library.impl("double", lambda self: self + self)
print(dc.ops.wall.double(2))
dc.synchronize()
print(*[name for name in sys.modules if name.partition(".")[0] == "dispatch_pipelines"], end="")
dc.pipeline
print("dispatch_pipelines.run.handle" in sys.modules)
"""


def test_a_program_without_pipelines_does_not_import_them(run_isolated):
    assert run_isolated(CALL) == ["4", "True"]


@pytest.mark.parametrize("package", ["dispatch_aten", "torchlike"])
def test_importing_a_library_or_a_frontend_imports_no_backend(package, run_isolated):
    assert [name for name in run_isolated(IMPORT.format(package=package)) if "dispatch_backend" in name] == []


WALL = """
import sys

class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {walled}:
            raise ModuleNotFoundError(f"No module named {{name!r}}: it stands behind the wall", name=name)

sys.meta_path.insert(0, Wall())
"""


TEXT_BACKEND = """
import dispatch_core as dc

@dc.hookimpl
def dispatch_backend_info():
    array = dc.ArrayType(str, shape=lambda text: (len(text),), dtype=lambda text: "text")
    return dc.BackendInfo("paper", "Paper", array_types=(array,))

@dc.hookimpl
def dispatch_register(registry):
    library = dc.Library("text", "FRAGMENT", registry=registry)
    library.define("join(Tensor left, Tensor right, *, str between=' ') -> Tensor")
    library.impl("join", lambda left, right, *, between: left + between + right, "Paper")
    library.define("shout(Tensor self) -> Tensor")
    library.impl("shout", lambda self: registry.ops.text.join(self, self, between="!"))
"""
TEXT_FRONTEND = """
sys.path.insert(0, {site!r})
import dispatch_core as dc

class Text:
    __slots__ = ("_dispatch_data", "_dispatch_mask")

texts = dc.register_frontend("texts", Text)
dc.load_backend("paper")
ops = dc.ops.text
print(type(ops.join(texts.wrap("a"), texts.wrap("b"))).__name__)
print(ops.join(texts.wrap("a"), texts.wrap("b"))._dispatch_data)
print(ops.shout(texts.wrap("a"))._dispatch_data)
print(ops.join("a", "b", between="-"))
print(sorted(name for name in sys.modules if name.partition(".")[0] in {walled}))
"""


def test_a_frontend_that_is_no_tensor_library_needs_no_operator_library(run_isolated, tmp_path):
    (tmp_path / "paper_backend.py").write_text(TEXT_BACKEND)
    metadata = tmp_path / "paper-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: paper\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[dispatch_core.backends]\npaper = paper_backend\n")
    # Python imports the last one when it starts, wherever that is installed.
    walled = {"numpy", *WALLS} - {"dispatch_core", "torchlike_as_torch"}
    printed = run_isolated(
        WALL.format(walled=walled) + TEXT_FRONTEND.format(site=str(tmp_path), walled=walled), timeout=60
    )
    assert printed == ["Text", "a b", "a!a", "a-b", "[]"]
