"""Graphs of traced networks against torch's: kinds, names, targets and arguments of all nodes, and the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.fx
from traced_models import make_models

import torchlike

MODELS = {"torch": make_models(torch), "torchlike": make_models(torchlike)}
#: How torch writes functions that programs call by another path.
PRIVATE = {
    "torch._C._nn.log_sigmoid": "torch.nn.functional.logsigmoid",
    "torch._C._nn.": "torch.nn.functional.",
    "torch._C._linalg.linalg_": "torch.linalg.",
    "torch.functional.": "torch.",
}


def to_public(text):
    """Return a text with the paths by which programs call torch's functions."""
    for private, public in PRIVATE.items():
        text = text.replace(private, public)
    return text


def describe(graph, library):
    """Return the nodes as texts, those of torchlike with torch's name."""
    rows = []
    for node in graph.nodes:
        target = type(node)._pretty_print_target(node.target)
        text = f"{node.op} {node.name} {target} {node.args} {dict(node.kwargs)} {list(node.users)}"
        rows.append(to_public(re.sub(rf"\b{library}\b", "torch", text)))
    return rows


@pytest.mark.parametrize("name", MODELS["torch"])
def test_a_network_has_torchs_graph_and_code(name):
    expected = torch.fx.symbolic_trace(MODELS["torch"][name])
    traced = torchlike.fx.symbolic_trace(MODELS["torchlike"][name])
    assert describe(traced.graph, "torchlike") == describe(expected.graph, "torch")
    assert re.sub(r"\btorchlike\b", "torch", traced.code) == to_public(expected.code)


PROGRAM = """
import torch
import torch.fx
from traced_models import make_models
for model in make_models(torch).values():
    print(torch.fx.symbolic_trace(model).code)
"""


def test_a_program_of_torch_prints_the_same_code():
    printed = []
    for how in ([], ["-m", "torchlike", "run"]):
        command = [sys.executable, *how, "-c", PROGRAM]
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=120, check=True
        )
        printed.append(done.stdout)
    assert to_public(printed[1]) == to_public(printed[0])
