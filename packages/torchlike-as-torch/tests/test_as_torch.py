"""``TORCHLIKE_AS_TORCH``: what happens when Python starts, when a program imports torch, and in its children."""

import json
import os
import subprocess
import sys

import pytest


def run(code, *options, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "TORCHLIKE_AS_TORCH"} | variables
    return subprocess.run(
        [sys.executable, *options, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def read(code, *options, **variables):
    ended = run(code, *options, **variables)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


NAMES = "import sys, json; print(json.dumps(sorted(sys.modules)))"
TORCH = """
import json
try:
    import torch
except ImportError as error:
    print(json.dumps(["no", str(error)]))
else:
    print(json.dumps([getattr(torch.ones, "__module__", ""), hasattr(torch, "install_as_torch")]))
"""


@pytest.mark.parametrize("value", ["", "0", "1", "yes"])
def test_nothing_more_is_imported_when_python_starts(value):
    added = {*read(NAMES, TORCHLIKE_AS_TORCH=value)} - {*read(NAMES, "-S", TORCHLIKE_AS_TORCH=value)}
    without = {*read(NAMES)} - {*read(NAMES, "-S")}
    assert added == without and not any(name.split(".")[0] in ("torchlike", "numpy", "dispatch_core") for name in added)


@pytest.mark.parametrize("options", [(), ("-I",), ("-P", "-B"), ("-X", "dev")], ids=" ".join)
def test_it_stands_in_where_the_variable_is_one(options):
    assert read(TORCH, *options, TORCHLIKE_AS_TORCH="1")[1] is True
    for value in ("", "0"):
        assert read(TORCH, *options, TORCHLIKE_AS_TORCH=value)[1] is not True
    assert "TORCHLIKE_AS_TORCH is 'yes'; it is 1" in read(TORCH, *options, TORCHLIKE_AS_TORCH="yes")[1]
    assert read(TORCH, "-S", TORCHLIKE_AS_TORCH="1")[1] is not True


def test_modules_of_torch_are_those_of_torchlike():
    code = """
import json
from torch.nn import functional as F
import torch.utils.data, torchlike, sys
print(json.dumps([F is torchlike.nn.functional, torch.utils.data.DataLoader is torchlike.utils.data.DataLoader,
                  [type(each).__name__ for each in sys.meta_path].count("_FirstImport")]))
"""
    assert read(code, TORCHLIKE_AS_TORCH="1") == [True, True, 0]


def test_a_package_beside_torch_is_found_before_torch_is(tmp_path):
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dispatch_core.companions]\ntorch_acme = acme_torch\n")
    (tmp_path / "acme_torch.py").write_text(
        "begun = []\n\ndef stand_beside(torch):\n    begun.append(torch.__name__)\n"
    )
    code = f"""
import json, sys
sys.path.insert(0, {str(tmp_path)!r})
import torch_acme, torch
print(json.dumps([torch_acme.begun, torch_acme.__name__, hasattr(torch, "install_as_torch")]))
"""
    assert read(code, TORCHLIKE_AS_TORCH="1") == [["torch"], "acme_torch", True]


WORKERS = """
import json, multiprocessing, subprocess, sys

def name(_):
    import torch
    return torch.Tensor.__name__ + str(hasattr(torch, "install_as_torch"))

if __name__ == "__main__":
    import torch
    found = []
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(1) as pool:
            found += pool.map(name, [0])
    child = [sys.executable, "-c", "import torch; print(hasattr(torch, 'install_as_torch'))"]
    found.append(subprocess.run(child, capture_output=True, text=True).stdout.strip())
    print(json.dumps(found))
"""


@pytest.mark.parametrize("way", ["variable", "call"])
def test_workers_and_children_inherit_it(tmp_path, way):
    script = tmp_path / "program.py"
    first = "" if way == "variable" else "import torchlike; torchlike.install_as_torch()\n"
    script.write_text(first + WORKERS)
    environment = dict(os.environ) | ({"TORCHLIKE_AS_TORCH": "1"} if way == "variable" else {})
    ended = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    *workers, child = json.loads(ended.stdout)
    assert set(workers) == {"TensorTrue"} and child == "True"


def test_the_doctor_says_whether_it_is_on():
    code = """
import sys
from dispatch_devkit.command_line.program import main
sys.exit(main(["doctor", "dispatch-torchlike-as-torch"]))
"""
    off, on = run(code), run(code, TORCHLIKE_AS_TORCH="1")
    assert off.returncode == on.returncode == 0, on.stdout + on.stderr
    assert "stand-in for 'torch' of dispatch-torchlike-as-torch" in " ".join(off.stdout.split())
    assert "off: import torch gives torch itself" in " ".join(off.stdout.split())
    assert "on: import torch gives torchlike (TORCHLIKE_AS_TORCH=1)" in " ".join(on.stdout.split())
    silent = run(code, "-S", TORCHLIKE_AS_TORCH="1", PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    assert silent.returncode == 1 and "no .pth file does" in " ".join(silent.stdout.split())
