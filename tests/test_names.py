"""Names that programs from outside rely on are there, each where it has been."""

from __future__ import annotations

import importlib
import inspect
import re
from importlib.metadata import entry_points
from operator import attrgetter

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.plugins import hooks

#: Module → names, some of them attributes of an object there.
NAMES = {
    "dispatch_core": """
        DispatchKey DispatchKey.register_backend DISPATCH_KEY_PRIORITY DispatchKeySet DispatchKeySet.from_mask
        DispatchKeySet.from_tensors DispatchKeySet.empty DispatchKeySet.all DispatchKeySet.has DispatchKeySet.add
        DispatchKeySet.remove DispatchKeySet.without DispatchKeySet.union DispatchKeySet.intersection
        DispatchKeySet.highest DispatchKeySet.iter_keys include_keys exclude_keys apply_masks FunctionSchema
        FunctionSchema.parse Library Library.define Library.impl Library.fallback Library.close fallthrough_kernel
        Registry Registry.register_schema Registry.register_kernel Registry.register_fallthrough
        Registry.register_fallback Registry.get Registry.has_kernel Registry.kernel_count Registry.dispatch
        Registry.dispatch_with_keyset Registry.redispatch Registry.call_direct registry registry.ops ops dispatch
        dispatch_with_keyset redispatch call_direct pipeline current_pipeline explain profile trace backends
        load_backend register_backend refresh hookimpl BackendInfo Availability OperatorEntry OverwriteWarning opcheck
        custom_op register_kernel register_fake register_autograd infer_schema kernel_factory rebind device_key get_kernel
        rename_arguments fast_redispatch respell below
        DispatchError SchemaError BackendError NoKernelError
    """,
    "dispatch_core.planning": "Program Node Value PlannedStep",
    "dispatch_core.frontends": "Frontend register_frontend is_pending materialize lend keys_of runtime availability",
    "dispatch_backend_npu": "is_available",
    "dispatch_backend_npu.ascend": "is_available",
    "torchlike": """
        Tensor from_numpy tensor autograd.grad no_grad nn.functional.relu nn.Module optim.SGD float32 device pipeline
        npu.is_available Tensor.numpy Tensor.item Tensor.tolist Tensor.to Tensor.cpu Tensor.data_ptr Tensor.backward
    """,
}
#: Module → names that 0.2 takes away, and the new ones.
OLD_NAMES = {
    "dispatch_aten.shapes": {"remembered": "cached_rule", "Described": "HasSpec"},
}


@pytest.mark.parametrize("module", NAMES)
def test_names_that_programs_take_are_there(module):
    taken = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not _has(taken, name)] == []


def _has(module, name):
    try:
        attrgetter(name)(module)
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize(("module", "old"), [(module, old) for module, names in OLD_NAMES.items() for old in names])
def test_an_old_name_is_the_new_one_and_says_so(module, old):
    taken, new = importlib.import_module(module), OLD_NAMES[module][old]
    with pytest.warns(DeprecationWarning, match=f"{old} is {new} now"):
        found = getattr(taken, old)
    assert found is getattr(taken, new)
    assert old not in taken.__all__


def test_a_kernels_registrations_are_read_by_the_names_that_they_have():
    dc.load_backend("cpu")
    slot = dc.registry.get("aten::exp").computed_table()[dc.DispatchKey.CPU]
    assert (slot.kernel is not None, bool(slot.rule), bool(slot.origin)) == (True, True, True)


def test_a_tensor_says_whether_it_is_pending():
    with torchlike.pipeline():
        x = torchlike.ones(3) + 1
        assert x._pending is True
    assert x._pending is False


@pytest.mark.parametrize("group", ["dispatch_core.backends", "dispatch_core.array_types", "dispatch_core.operators"])
def test_groups_of_entry_points_have_members(group):
    assert len(entry_points(group=group)) > 0


def test_the_documented_hooks_are_specified(root):
    text = (root / "docs" / "vendors.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(dispatch_\w+)\((.*?)\) ->", text, re.MULTILINE))
    specified = {name: hook for name, hook in vars(hooks).items() if name.startswith("dispatch_")}
    assert documented == {name: ", ".join(inspect.signature(hook).parameters) for name, hook in specified.items()}


def test_the_documented_operators_are_defined(root):
    names = re.findall(r"`((?:aten|prims)::[\w.]+)`", (root / "docs" / "vendors.md").read_text(encoding="utf-8"))
    assert len(names) > 15
    assert [name for name in names if dc.registry.get(name).schema is None] == []
