"""What libraries ask torch for before they choose a way: torchlike answers so that they take one which works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_pipeline(reason="its program runs in a process of its own")

#: Made where the libraries are installed, by tools/record_library_branches.py.
TABLE = Path(__file__).with_name("library_branches.txt")
#: Answers a list of questions, each its kind and a path in torch, within a process that has torch or torchlike.
ASK = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")

def find(path):
    top, *rest = path.split(".")
    found = importlib.import_module(top)
    for part in rest:
        found = getattr(found, part)
    return found

def imports(module, names):
    found = importlib.import_module(module)
    for name in names.split(",") if names else ():
        if not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")
    return True

def is_yes(kind, path):
    try:
        if kind == "import":
            module, _, names = path.partition(":")
            return imports(module, names)
        owner, _, name = path.rpartition(".")
        return hasattr(find(owner), name) if kind == "hasattr" else bool(find(path)())
    except Exception:
        return False

print("ANSWERS" + json.dumps(["yes" if is_yes(*each) else "no" for each in json.load(sys.stdin)]))
"""
#: Questions that torchlike answers otherwise than torch, with the reason.
DIFFERENT = {
    "ask torch.backends.mkldnn.is_available": "there is no such library; kornia asks for its bfloat16",
    "hasattr torch._grouped_mm": "it computes, and is not there; transformers loops",
    "hasattr torch.backends.fp32_precision": "a setting of GPUs; transformers sets the older ones",
    "hasattr torch.distributed.tensor.placement_types.Shard._local_shard_size_and_offset": "tensors are not sharded",
    "hasattr torch.distributed.tensor.placement_types.Shard.local_shard_size_and_offset": "tensors are not sharded",
    "hasattr torch.float8_e8m0fnu": "no library of NumPy's world has this dtype; transformers refuses its layers",
    "hasattr torch.nn.functional.grouped_mm": "it computes, and is not there; transformers loops",
    "hasattr torch.npu": "the device of a package of ours, which is not available where the package is not installed",
    "hasattr torch.optim.optimizer.Optimizer._group_tensors_by_device_and_dtype": "timm calls what is there",
    "hasattr torch.ops.aten.mm.dtype": "an overload for GPUs; transformers casts the result",
    "import torch._prims_common:is_contiguous_or_false": "it computes, and is not there; transformers has its own",
    "import torch.utils.data.datapipes.iter:Batcher": "torch has moved them to a library of their own",
}


def read_rows():
    for line in TABLE.read_text(encoding="utf-8").partition("\n\n")[2].splitlines():
        kind, path, torch, ours, libraries = line.split(" ")
        yield f"{kind} {path}", torch, ours, libraries


def test_the_answers_are_those_that_are_recorded():
    rows = list(read_rows())
    questions = [question.split(" ") for question, *_ in rows]
    done = subprocess.run(
        [sys.executable, "-m", "torchlike", "run", "-c", ASK],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ANSWERS" in done.stdout, done.stderr
    answers = json.loads(done.stdout.rpartition("ANSWERS")[2].splitlines()[0])
    changed = [
        (question, libraries, answer)
        for (question, _, ours, libraries), answer in zip(rows, answers, strict=True)
        if answer != ours
    ]
    assert changed == []


def test_an_answer_that_is_not_torchs_has_a_reason():
    different = {question for question, torch, ours, _ in read_rows() if torch != ours}
    assert different <= {*DIFFERENT}, different - {*DIFFERENT}
    assert len(list(read_rows())) > 100
