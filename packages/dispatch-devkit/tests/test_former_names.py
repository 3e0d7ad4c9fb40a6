"""Names of this distribution by the paths that they had in dispatch-core."""

from __future__ import annotations

import pickle
import sys
from importlib import import_module

import pytest

import dispatch_core as dc


def test_a_former_path_is_the_module_with_a_warning():
    sys.modules.pop("dispatch_core.explanation", None)
    with pytest.warns(
        DeprecationWarning, match="explanation is dispatch_devkit.explanation now; the former path goes in 0.2"
    ):
        found = import_module("dispatch_core.explanation")
    assert found is import_module("dispatch_devkit.explanation")


def test_html_of_the_display_is_the_devkits():
    from dispatch_core import display

    with pytest.warns(DeprecationWarning, match=r"display.to_page is dispatch_devkit.fragments.to_page now; .* 0\.2"):
        assert display.to_page is import_module("dispatch_devkit.fragments").to_page
    with pytest.raises(AttributeError, match="no_such"):
        _ = display.no_such


def test_pickles_of_0_1_are_read():
    found = dc.explain("aten::add.Tensor")
    written = pickle.dumps(found, protocol=0)
    former = written.replace(b"cdispatch_devkit.explanation", b"cdispatch_core.explanation")
    assert former != written
    for name in [name for name in sys.modules if name.startswith("dispatch_core.explanation")]:
        del sys.modules[name]
    with pytest.warns(DeprecationWarning, match="explanation now"):
        assert str(pickle.loads(former)) == str(found)
