"""Modules by the paths that they had."""

from __future__ import annotations

import pickle
import sys
from importlib import import_module

import pytest

import dispatch_core as dc
from dispatch_core.surroundings import former_paths

#: Those whose modules are in this distribution.
FORMER = {path: present for path, present in former_paths._FORMER.items() if "devkit" not in present}


@pytest.mark.parametrize("path", FORMER)
def test_a_former_path_is_the_module_with_a_warning(path):
    sys.modules.pop(path, None)
    with pytest.warns(DeprecationWarning, match=rf"the module {path} is {FORMER[path]} now") as caught:
        found = import_module(path)
    assert found is import_module(FORMER[path])
    assert found.__spec__.name == FORMER[path]
    assert len(caught) == 1


def test_the_warning_names_the_line_that_imports():
    sys.modules.pop("dispatch_core.logs", None)
    with pytest.warns(DeprecationWarning, match="logs now") as caught:
        import dispatch_core.logs  # noqa: F401
    assert caught[0].filename == __file__


def test_a_pipelines_error_of_a_former_pickle_is_read():
    from dispatch_core import PipelineError

    written = pickle.dumps(PipelineError("text", hint="look"), protocol=0)
    former = written.replace(b"dispatch_pipelines.record.errors", b"dispatch_core.pipelines.errors")
    assert former != written
    sys.modules.pop("dispatch_core.pipelines.errors", None)
    with pytest.warns(DeprecationWarning, match="errors now"):
        assert str(pickle.loads(former)) == str(PipelineError("text", hint="look"))


@pytest.mark.parametrize("path", ["dispatch_core.no_such", "dispatch_core.pipelines.no_such"])
def test_a_path_that_never_was_is_not_found(path):
    with pytest.raises(ModuleNotFoundError, match=path):
        import_module(path)


def test_a_module_below_a_former_path_is_not_made_a_second_time():
    for name in [name for name in sys.modules if name.startswith("dispatch_core.graph")]:
        del sys.modules[name]
    with pytest.warns(DeprecationWarning, match="the module dispatch_core.graph is"):
        found = import_module("dispatch_core.graph.model")
    assert found is import_module("dispatch_pipelines.graph.model")


def test_pickles_of_0_1_with_objects_of_inner_modules_are_read():
    found = dc.pipeline().stats()
    written = pickle.dumps(found, protocol=0)
    for path, present in FORMER.items():
        written = written.replace(f"c{present}".encode(), f"c{path}".encode())
        for name in [name for name in sys.modules if name.startswith(path)]:
            del sys.modules[name]
    with pytest.warns(DeprecationWarning, match="goes in 0.2"):
        assert str(pickle.loads(written)) == str(found)
