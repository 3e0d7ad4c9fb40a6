"""Packages beside torch: a vendor's distribution answers ``import torch_acme`` where torchlike stands in for torch."""

import os
import subprocess
import sys

import pytest

from dispatch_core.inspection import Catalog
from dispatch_core.surroundings import distributions

FILES = {
    "acme_torch/__init__.py": "begun = []\n\ndef stand_beside(torch):\n    begun.append(torch.__name__)\n",
    "acme_torch/parts/__init__.py": "",
    "acme_torch/parts/inner.py": "value = object()\n",
    "acme-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n",
    "acme-1.0.dist-info/entry_points.txt": "[dispatch_core.companions]\ntorch_acme = acme_torch\n",
}


@pytest.fixture
def site(tmp_path):
    """Return a folder with the distribution of a vendor."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(site, *arguments):
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_both_names_are_one_module(site):
    code = """
import torch_acme, sys
import torch_acme.parts.inner
from torch_acme.parts import inner
import acme_torch.parts.inner as own
import torch
print(torch_acme.begun, torch_acme is sys.modules["acme_torch"], inner is own is torch_acme.parts.inner)
try:
    import torch_acme.lacking
except ModuleNotFoundError as error:
    print(error)
try:
    import torch_other
except ModuleNotFoundError as error:
    print(error)
"""
    ended = run(site, "-m", "torchlike", "run", "-c", code)
    assert ended.returncode == 0, ended.stderr
    begun, lacking, other = ended.stdout.splitlines()
    assert begun == "['torch'] True True"
    assert lacking == "No module named 'torch_acme.lacking'" and other == "No module named 'torch_other'"
    assert ended.stderr.rstrip().endswith("are missing:\n  torch_acme.lacking")


def test_other_processes_do_not_find_it(site):
    assert "No module named 'torch_acme'" in run(site, "-c", "import torchlike, torch_acme").stderr


def test_nothing_is_read_for_other_names(site):
    code = """
import torchlike, sys
torchlike.install_as_torch()
from torchlike.surface import companions
import colorsys, torch.nn
print(companions._list_companions.cache_info().misses)
import torch_acme
print(companions._list_companions.cache_info().misses)
"""
    assert run(site, "-c", code).stdout.split() == ["0", "1"]


def test_two_claims_to_one_name_are_refused(site):
    (site / "rival-1.0.dist-info").mkdir()
    (site / "rival-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
    (site / "rival-1.0.dist-info" / "entry_points.txt").write_text("[dispatch_core.companions]\ntorch_acme = rival\n")
    ended = run(site, "-m", "torchlike", "run", "-c", "import torch_acme")
    assert ended.returncode == 1 and "No module named 'torch_acme'" in ended.stderr


def test_the_doctor_looks_for_the_package(site):
    code = "import sys; from dispatch_devkit.command_line.program import main; sys.exit(main(['doctor', 'torch_acme']))"
    found = run(site, "-c", code)
    text = " ".join(found.stdout.split())
    assert found.returncode == 0 and "companion 'torch_acme' of acme 1.0" in text, text + found.stderr
    assert "import torch_acme gives acme_torch where torchlike is torch" in text
    (site / "acme-1.0.dist-info" / "entry_points.txt").write_text("[dispatch_core.companions]\ntorch_acme = absent\n")
    found = run(site, "-c", code)
    assert found.returncode == 1 and "there is no module 'absent'" in " ".join(found.stdout.split())


def test_a_companion_is_a_claim(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    catalog = Catalog.from_installed()
    (claim,) = catalog.claims(distributions.COMPANIONS, "torch_acme")
    assert catalog.usable(distributions.COMPANIONS, "torch_acme") == claim and claim.module == "acme_torch"
