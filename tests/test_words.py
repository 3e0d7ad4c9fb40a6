"""What a program can check of the rules of words in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import gc
import re
from collections import defaultdict
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
PLACES = [
    *(f"packages/{path.name}" for path in PACKAGES),
    *("tests", "examples", "benchmarks", "docs", "conftest.py", "noxfile.py"),
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"),
]
#: Words that a docstring may begin with. One that is missing, and is a verb in the imperative, is added.
IMPERATIVES = frozenset((ROOT / "tests/data/imperatives.txt").read_text().split())
#: Verbs before a question, where the answer is returned: "Return whether" is what is meant.
TELLING = re.compile(r"(Ask|Say|See|Tell) (whether|what|which|who|whose|why|how|where|if|when)\b")

#: Participles that do not end in -ed, and verbs in the imperative that do.
IRREGULAR = frozenset(
    "begun bent borne bought bound broken brought built caught chosen done drawn driven fallen felt forgotten found"
    " frozen given gone got grown heard held hidden kept known laid led left lent lost made meant met paid risen said"
    " seen sent shown sold sought spent spoken spun stood struck sunk sworn swept taken thought thrown told torn"
    " understood won woven written".split()
)
REGULAR = frozenset("bleed breed embed exceed feed heed need proceed seed shed speed succeed weed".split())
#: Functions of Python (``Future.done``), NumPy (``ma.filled``, ``searchsorted``) and torch (``cached``, ``distributed``).
FOREIGN = frozenset(
    ["cached", "coalesced", "distributed", "done", "expired", "filled", "reversed", "searchsorted", "sorted", "untyped"]
)

#: Words for those whom a sentence does not name, and for what it calls by no noun; in quotes they are only mentioned.
VAGUE = re.compile(r"(?<![`\"])\b(whoever|nobody|somebody|no[\s#]+one|anew|what[\s#]+it[\s#]+was)\b", re.IGNORECASE)

#: Verbs that begin no docstring: the verb that changes something does.
VAGUE_VERBS = re.compile(r"(Let|Have|See)\b")

#: Class names that two packages share with good reason: type hints name any frontend's tensors, and torch has a Node in
#: its graphs of calls and another in autograd's, and an Identity among its layers and another among its ways to prune. Its
#: profile is the core's under torch's options. A Graph is a recorded program, or one of torch.fx, which has a Transformer
#: of graphs beside the network of this name. A ProcessGroup is the library's, or one with torch's methods.
SHARED = frozenset(
    [
        "CustomOpDef",
        "DeviceMesh",
        "Distribution",
        "Event",
        "Graph",
        "Identity",
        "Library",
        "Node",
        "OutOfMemoryError",
        "ProcessGroup",
        "Stream",
        "Tensor",
        "Transformer",
        "profile",
    ]
)

Function = ast.FunctionDef | ast.AsyncFunctionDef

every_place = pytest.mark.parametrize("where", PLACES)


def files(where, suffix):
    """Return the files of a place that end in ``suffix``; this one names the words that it looks for."""
    path = ROOT / where
    found = [path] if path.is_file() else sorted(path.rglob("*"))
    return [path for path in found if path.suffix == suffix and path != Path(__file__)]


@cache
def parse(path):
    """Return a file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _trees_are_let_go_of():
    """Leave no millions of nodes to any collection, be it of these tests or of those that come after."""
    gc.disable()
    yield
    parse.cache_clear()
    gc.enable()


def statements(path):
    """Yield the statements of a file, each with whether it stands in a function."""
    todo = [(parse(path), False)]
    while todo:
        node, is_inner = todo.pop()
        is_inner = is_inner or isinstance(node, Function)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield child, is_inner
                todo.append((child, is_inner))


def functions(where):
    """Yield the functions of a place, each with its file and whether it stands in another one."""
    for path in files(where, ".py"):
        yield from ((path, node, is_inner) for node, is_inner in statements(path) if isinstance(node, Function))


def describe(path, line, text):
    """Return a finding as a line that editors and terminals lead to."""
    return f"{path.relative_to(ROOT)}:{line}: {text}"


def is_noun(function):
    """Return whether a function's name represents a value, as a property's, or for a behaviour, as a test's."""
    decorators = [ast.unparse(node).partition("(")[0].rpartition(".")[2] for node in function.decorator_list]
    return function.name.startswith("test_") or any(
        name.endswith("property") or name in {"setter", "getter", "overload", "fixture"} for name in decorators
    )


def returns_value(function):
    """Return whether a function returns anything but None, by its annotation, or else by its statements."""
    if function.returns is not None:
        return ast.unparse(function.returns) not in {"None", "Never", "NoReturn"}
    todo = list(function.body)
    for node in todo:
        if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
            return True
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
    return False


def begins_well(function, text):
    """Return whether a docstring begins with an imperative, and with "Return" where that is what is meant."""
    first = re.sub(r"\W+$", "", text.split()[0].strip("`*")).lower()
    if is_noun(function):
        return first not in {"give", "gives"}
    return first in IMPERATIVES and not (TELLING.match(text) and returns_value(function))


@every_place
def test_docstrings_begin_with_an_imperative(where):
    texts = [(path, function, ast.get_docstring(function)) for path, function, _ in functions(where)]
    assert [
        describe(path, function.body[0].lineno, text.splitlines()[0])
        for path, function, text in texts
        if text and not begins_well(function, text)
    ] == []


@every_place
def test_docstrings_say_what_changes(where):
    """A class's and a module's, too: "Let", "Have" and "See" hide the verb that does the work."""
    found = []
    for path in files(where, ".py"):
        for node in (parse(path), *(node for node, _ in statements(path))):
            if isinstance(node, Function | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node)):
                found += [describe(path, node.body[0].lineno, text.splitlines()[0])] * bool(VAGUE_VERBS.match(text))
    assert found == []


@every_place
def test_no_function_is_named_by_a_bare_participle(where):
    found = []
    for path, function, is_inner in functions(where):
        name = function.name.strip("_")
        is_participle = name in IRREGULAR or (re.fullmatch("[a-z]+ed", name) and name not in REGULAR)
        is_stand_in = is_inner and "tests" in path.relative_to(ROOT).parts
        if is_participle and not (name in FOREIGN or is_noun(function) or is_stand_in or function.name.endswith("__")):
            found.append(describe(path, function.lineno, function.name))
    assert found == []


@every_place
def test_sentences_name_those_who_act(where):
    found = []
    for path in [*files(where, ".py"), *files(where, ".md")]:
        text = path.read_text(encoding="utf-8")
        for word in VAGUE.finditer(text):
            line = text.count("\n", 0, word.start())
            found.append(describe(path, line + 1, text.splitlines()[line].strip()))
    assert found == []


def classes():
    """Return the packages' classes: name → module → line."""
    found = defaultdict(dict)
    for package in PACKAGES:
        for path in files(package / "src", ".py"):
            if "torchlike/ao/nn/" in path.as_posix():  # torch has a layer of one name in several of these packages
                continue
            for node, _ in statements(path):
                if isinstance(node, ast.ClassDef):
                    found[node.name][path] = node.lineno
    return found


def test_a_class_name_means_one_thing():
    shared = {
        name: [describe(path, line, name) for path, line in places.items()]
        for name, places in classes().items()
        if len(places) > 1 and name not in SHARED
    }
    assert shared == {}


def folders():
    """Yield the packages' folders, each with the names of its modules and of the folders in it."""
    for package in PACKAGES:
        for init in (package / "src").rglob("__init__.py"):
            inner = [module.stem for module in init.parent.glob("*.py") if module != init]
            yield init.parent, sorted([*inner, *(module.parent.name for module in init.parent.glob("*/__init__.py"))])


def differ_by_a_letter(left, right):
    """Return whether one letter tells two names apart, or one has a letter more."""
    short, long = sorted((left.strip("_"), right.strip("_")), key=len)
    if len(short) == len(long):
        return sum(a != b for a, b in zip(short, long, strict=True)) == 1
    return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def test_neighbouring_modules_differ_by_more_than_a_letter():
    pairs = [(folder, pair) for folder, names in folders() for pair in combinations(names, 2)]
    assert [(str(folder), pair) for folder, pair in pairs if differ_by_a_letter(*pair)] == []


def attributes(init):
    """Return what a package's ``__init__`` binds but its modules themselves: what it imports, defines and promises."""
    bound, modules = set(), set()
    for node in parse(init).body:
        if isinstance(node, ast.ImportFrom):
            (modules if node.module is None else bound).update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, Function | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            bound |= names
            if names == {"_NAMES"} and isinstance(
                node.value, ast.Dict
            ):  # the names of each module that are imported at their first use
                modules.update(ast.literal_eval(key) for key in node.value.keys)
                bound.update(word for text in node.value.values for word in ast.literal_eval(text).split())
            # What is promised, and the table of what is imported when it is asked for.
            elif names == {"__all__"} or isinstance(node.value, ast.Dict):
                keys = node.value.keys if isinstance(node.value, ast.Dict) else ast.walk(node.value)
                bound.update(key.value for key in keys if isinstance(key, ast.Constant))
    return bound - modules


def test_no_module_is_named_like_an_attribute_of_its_package():
    found = [(folder, set(names) & attributes(folder / "__init__.py")) for folder, names in folders()]
    assert [(str(folder), names) for folder, names in found if names] == []


#: A line that has a note's title alone begins the note where text follows; other mentions cite it.
NOTE = re.compile(r"^ *(?:# )?(?:\"\"\")?Note \[([^\]\n]+)\]\n(?! *\n)", re.MULTILINE)
CITATION = re.compile(r"Note\s+(?:#:?\s+)?\[([^\]]+)\]")


def test_each_note_is_cited_and_each_citation_has_a_note():
    notes, cited = defaultdict(list), set()
    for path in {path for where in PLACES for suffix in (".py", ".md") for path in files(where, suffix)}:
        text = path.read_text(encoding="utf-8")
        own = {found.end(1): found[1] for found in NOTE.finditer(text)}
        for title in own.values():
            notes[title].append(path.name)
        others = (found[1] for found in CITATION.finditer(text) if found.end(1) not in own)
        cited |= {re.sub(r"\s+(?:#:?\s+)?", " ", title) for title in others}
    assert cited == notes.keys()
    assert {title: places for title, places in notes.items() if len(places) > 1} == {}
