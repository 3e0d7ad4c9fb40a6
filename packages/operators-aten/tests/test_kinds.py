import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dispatch_aten
from dispatch_aten.gradients import FUNCTIONS
from dispatch_aten.kinds import BESIDE, FEW, all_modules, is_operator, modules_of
from dispatch_aten.operators import ATEN_BY_NAME, KIND_OF
from dispatch_core.caches import LazyTable

FOLDER = Path(dispatch_aten.__file__).parent
TABLES = {
    "shapes": ("RULES",),
    "decompositions": ("IMPLICIT", "EXPLICIT"),
}


@pytest.mark.parametrize("room", TABLES)
def test_every_row_stands_where_it_is_looked_for(room):
    for file in (FOLDER / room).glob("[!_]*.py"):
        module = import_module(f"dispatch_aten.{room}.{file.stem}")
        for table in TABLES[room]:
            rows = getattr(module, table, ())
            for name in () if isinstance(rows, LazyTable) else rows:
                assert name in ATEN_BY_NAME, f"{room}/{file.name}: {name} is no operator"
                assert module in modules_of(room, name), (
                    f"{room}/{file.name} has a row of {name}, whose row stands in families/{KIND_OF[name]}.rows:"
                    f" move it to {room}/{KIND_OF[name]}.py, or name the module in dispatch_aten.kinds.BESIDE"
                )


@pytest.mark.parametrize("room", TABLES)
def test_every_exception_is_needed(room):
    for kind, modules in BESIDE[room].items():
        for name in modules:
            module = import_module(f"dispatch_aten.{room}.{name}")
            served = {KIND_OF[row] for table in TABLES[room] for row in getattr(module, table, ())}
            assert len(served) > 1 if kind == "" else kind in served, (kind, name)
    for name, packets in FEW.items() if room == "decompositions" else ():
        module = import_module(f"dispatch_aten.{room}.{name}")
        assert packets == {row.partition(".")[0] for table in TABLES[room] for row in getattr(module, table, ())}
    assert len(list(all_modules(room))) == len({module.__name__ for module in all_modules(room)})


def test_an_operator_is_defined_with_the_modules_of_its_kind_only():
    program = (
        "import sys, dispatch_aten, dispatch_core as dc\n"
        "assert 'dispatch_aten.decompositions' not in sys.modules and 'dispatch_aten.shapes' not in sys.modules\n"
        "assert dc.ops.aten.relu.default.schema is not None\n"
        "assert 'dispatch_aten.decompositions.reduction' not in sys.modules\n"
        "assert 'aten::sum' not in dc.registry._entries and 'sum' in dir(dc.ops.aten)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_no_function_of_formulas_is_named_like_an_operator():
    for file in (FOLDER / "gradients").glob("*.py"):
        module = import_module(f"dispatch_aten.gradients.{file.stem}")
        if file.stem != "__init__":
            assert [name for name in module.__all__ if is_operator(name)] == []
            assert {*module.__all__} <= {*FUNCTIONS}, f"{file.name} is missing in the list of modules"
