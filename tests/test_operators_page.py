"""The page ``docs/operators.md`` says what there is, and every name of torch that is left out has a reason."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike
from dispatch_aten.torch_names import TORCH_NAMES
from torchlike.names.left_out import list_left_out, reason_for

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parent.parent


def test_the_page_is_up_to_date():
    command = [sys.executable, str(ROOT / "tools" / "list_operators.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_every_name_is_there_or_left_out_for_a_reason():
    for namespace, names in TORCH_NAMES.items():
        assert all(reason_for(namespace, name) for name in names)
    assert "add" not in list_left_out("torch")
    assert {"mkldnn_convolution", "crow_indices_copy"} <= {*list_left_out("torch")}


def test_a_name_that_is_left_out_says_so():
    x = torchlike.ones(2)
    for owner, name in ((x, "sparse_resize_"), (torchlike.Tensor, "sparse_resize_"), (torchlike, "crow_indices_copy")):
        with pytest.raises(AttributeError, match=r"torch has it, and it is left out, because .* sparse tensor"):
            getattr(owner, name)
    assert not hasattr(x, "sparse_resize_")
    assert {"add", "T", "shape", "__add__"} <= {*dir(x)} & {*dir(torchlike.Tensor)}
    assert "sparse_resize_" not in {*dir(x), *dir(torchlike.Tensor), *dir(torchlike)}


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("torchlike.reshap", "reshape"),
        ("torchlike.gelu", "torchlike.nn.functional.gelu"),
        ("torchlike.nn.Flaten", "Flatten"),
        ("torchlike.nn.functional.sotfmax", "softmax"),
        ("torchlike.linalg.det_", "det"),
        ("torchlike.optim.Adamm", "Adam"),
    ],
)
def test_a_name_that_is_misspelt_lists_the_nearest(text, near):
    with pytest.raises(AttributeError, match=rf"did you mean .*\b{re.escape(near)}\b"):
        eval(text, {"torchlike": torchlike})
