"""Who imports what `docs/vendors.md` does not name: the house's own backends, by a table that may only shrink."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from test_walls import PACKAGES, attributes, imports, modules_of

from dispatch_aten import dtypes, errors

pytestmark = pytest.mark.texts

CORE = ("dispatch_core", "dispatch_aten", "dispatch_devkit", "dispatch_pipelines")
#: Package → module → the names that it takes although the page has none of them. Take away, add nothing.
EXCEPTIONS = {
    "dispatch_backend_array_api": {},
    "dispatch_backend_cpu": {
        "dispatch_aten": "host",
        "dispatch_aten.dtypes": "DEFAULT_DTYPE NOT_IN_NUMPY",
        "dispatch_aten.errors": "library_hint",
        "dispatch_aten.fixed_point": "integer_taps",
        "dispatch_aten.host": "empty_pinned",
        "dispatch_aten.promotion": "Number Promotion computation_type result_of result_type rule_for",
        "dispatch_aten.shapes": (
            "ConvolutionGeometry PoolWindows RESAMPLERS columns_grid convolution_geometry ignored_scales"
            " iterator_strides memoize padding_pairs pool_windows scale_sizes warn_of_freedom"
        ),
        "dispatch_core": "call_direct",
        "dispatch_core.calls": "LazyFunction define make_code make_function traits_of",
        "dispatch_core.files": "keep_on_disk",
        "dispatch_core.files.cache_folders": "cache_folder",
        "dispatch_core.frontends": "WINDOWS is_pinned memory_of",
        "dispatch_core.surroundings.extensions": "find_extension",
        "dispatch_core.surroundings.logs": "Log",
    },
    "dispatch_backend_meta": {
        "dispatch_aten.operators": "ATEN_BY_NAME OperatorDef PRIMS",
        "dispatch_aten.shapes": "RULES_ON_EXPANDED",
        "dispatch_core.caches": "LazyTable",
    },
    "dispatch_backend_npu": {
        # Its first run on a chip is the conformance kit's parts in another order.
        "dispatch_aten.testing.agreement": "TestedDevice compare_sample lacking_dtypes run_on_cpu",
        "dispatch_aten.testing.changes": "with_dtype",
        "dispatch_aten.testing.outcomes": "Outcome",
        "dispatch_aten.testing.running": "RunSettings WorkerPool",
        "dispatch_aten.testing.samples": "Sample derive has_samples op_samples unfit_changes",
        "dispatch_aten.testing.showing": "Progress",
        "dispatch_core": "capture pipeline",
        "dispatch_aten.shapes": "RULES_ON_EXPANDED rule_key",
        "dispatch_core.calls": "LazyFunction define make_function",
        "dispatch_core.files": "read_checked replace_file write_checked write_text",
        "dispatch_core.files.cache_folders": "cache_folder cache_root",
        "dispatch_core.interrupts": "Leaving whole",
        "dispatch_core.surroundings.logs": "Log",
    },
    "dispatch_kernels_numba": {
        "dispatch_core.files": "keep_on_disk",
        "dispatch_core.files.cache_folders": "cache_folder",
        "dispatch_core.surroundings.logs": "Log",
    },
}
EXAMPLES = ("opencl_backend", "vendor_backend")


@pytest.fixture(scope="module")
def named(root):
    """Return the names that the page tells, each with its module."""
    _, _, text = (root / "docs" / "vendors.md").read_text(encoding="utf-8").partition("\n## Names\n")
    found = {f"dispatch_aten.dtypes.{name}" for name in vars(dtypes) if name in dtypes.BY_NAME}
    found |= {f"dispatch_aten.errors.{name}" for name, each in vars(errors).items() if isinstance(each, type)}
    for part in text.partition("\n## ")[0].split("\nFrom `")[1:]:
        module, _, table = part.partition("`")
        rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
        found |= {f"{module}.{name}" for row in rows for name in re.findall("`([^`]+)`", row)}
    assert {"dispatch_core.host_kernel", "dispatch_aten.shapes.RULES", "dispatch_core.planning.Node"} <= found
    return found


def names_beyond(paths: list[Path], named: set[str]) -> dict[str, set[str]]:
    """Return the names that files take of the core and the operators, beyond those named, by their modules."""
    found = [(each.module, each.name) for path in paths for each in imports(path) if each.name is not None]
    found += [(module, name) for path in paths for _, module, name in attributes(path)]
    beyond: dict[str, set[str]] = defaultdict(set)
    for module, name in found:
        shapes = (module, name) == ("dispatch_aten", "shapes")  # its names are looked at as attributes
        if module.partition(".")[0] in CORE and f"{module}.{name}" not in named and not shapes:
            beyond[module].add(name)
    return beyond


@pytest.mark.parametrize("package", EXCEPTIONS)
def test_a_backend_takes_what_a_vendor_may_take(package, named):
    found = names_beyond(list(modules_of(package).values()), named)
    assert found == {module: set(names.split()) for module, names in EXCEPTIONS[package].items()}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_a_device_takes_nothing_else(example, named):
    paths = sorted((PACKAGES.parent / "examples" / example / "src").rglob("*.py"))
    assert len(paths) > 1
    assert names_beyond(paths, named) == {}


def test_the_page_names_what_there_is(named):
    from importlib import import_module

    missing = [name for name in named if not hasattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2])]
    assert missing == []
