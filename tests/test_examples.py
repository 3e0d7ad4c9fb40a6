"""The examples, run as a user runs them."""

import importlib.util
import os
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

import torchlike


@pytest.fixture
def run_example(root):
    def run(name, *arguments, **environment):
        return subprocess.run(
            [sys.executable, str(root / "examples" / name), *arguments],
            capture_output=True,
            check=False,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=300,
        )

    return run


def test_the_minimal_frontend_runs(run_example, root):
    done = run_example("minimal_frontend.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Vector([11. 22. 33.], cpu)", "Vector([2. 4. 6.], cpu)", "Vector(140.0, cpu)"]
    lines = (root / "examples" / "minimal_frontend.py").read_text().splitlines()
    frontend = lines[lines.index("aten = dc.ops.aten") : lines.index('if __name__ == "__main__":')]
    assert len([line for line in frontend if line.strip()]) <= 40
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert imports == ["from __future__ import annotations", "from typing import Any", "import dispatch_core as dc"]


def test_units_are_multiplied_compared_and_refused(run_example):
    done = run_example("units_layout.py")
    assert done.returncode == 0, done.stderr
    found = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert found["speed"] == "[0.5, 2.0] m s^-1"
    assert found["m + kg"] == "aten::add.Tensor takes tensors of one unit, not of kg and m s^-1"
    assert found["exp(kg)"] == "aten::exp takes numbers, not kg"
    assert found["erf(kg)"] == "aten::erf has no rule for units"
    assert found["by grad, momentum"] == "[1.0, 6.0] kg m s^-1"
    assert found["by backward"] == "tensor([0.1250, 2.0000])"
    energy = found["energy"]
    assert energy == "6.25 kg m^2 s^-2"
    assert re.fullmatch(rf"{re.escape(energy)} of \d+ recorded calls", found["pipeline"])
    assert found["captured"] == f"{energy} by 2 replays"
    assert found["vmap"] == "[0.25, 6.0] kg m^2 s^-2" and found["vmap of numbers"] == "tensor([2.1250, 2.1250])"
    assert found["file"] == "[2.0, 3.0] kg"


@pytest.mark.long
def test_digits_are_learnt(run_example):
    pytest.importorskip("sklearn", reason="the example reads its images from scikit-learn")
    pytest.importorskip("tqdm", reason="the example shows its progress with tqdm")
    done = run_example("train_digits.py", "--seed", "0")
    assert done.returncode == 0, done.stderr
    found = re.search(r"accuracy on (\d+) held-out images: ([\d.]+)%", done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) == 360
    assert float(found[2]) >= 96.0
    assert re.search(r"backend: cpu, key CPU, from dispatch-backend-cpu \d+\.\d+\.\d+", done.stdout)
    table = done.stdout.partition("called most:\n")[2].splitlines()
    assert table[0].split()[:2] == ["operator", "own"]
    rows = [line for line in table[1:] if line.startswith(("aten::", "prims::"))]
    assert len(rows) == 10
    # A bar belongs on a terminal.
    assert "step/s" not in done.stderr


@pytest.mark.long
def test_images_are_learnt_by_convolutions(run_example):
    pytest.importorskip("sklearn", reason="the example reads its images from scikit-learn")
    done = run_example("train_images.py")
    assert done.returncode == 0, done.stderr
    found = re.search(r"accuracy on (\d+) held-out images: ([\d.]+)%", done.stdout)
    assert int(found[1]) == 359
    assert float(found[2]) >= 98.0


@pytest.mark.long
def test_a_gpt_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(run_example, tmp_path):
    sizes = ["--width", "16", "--heads", "2", "--layers", "2", "--block", "16", "--batch-size", "4", "--steps", "40"]
    sizes += ["--sample", "10", "--checkpoint", str(tmp_path / "gpt.pt")]
    runs = [run_example("train_gpt.py", *sizes, *more) for more in ([], ["--until", "20"], ["--resume"])]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[-1].stderr
    whole, first, second = (re.findall(r"step \d+ loss .*", run.stdout) for run in runs)
    assert len(whole) == 4
    assert first + second == whole
    assert run_example("train_gpt.py", "--resume").returncode == 2


@pytest.mark.long
def test_digits_are_learnt_in_a_pipeline_and_captured_with_the_same_loss(run_example):
    pytest.importorskip("sklearn", reason="the example reads its images from scikit-learn")
    pytest.importorskip("tqdm", reason="the example shows its progress with tqdm")
    runs = [run_example("train_digits.py", "--epochs", "3", *option) for option in ([], ["--pipeline"], ["--capture"])]
    assert [done.returncode for done in runs] == [0, 0, 0], [done.stderr for done in runs]
    ends = [re.findall(r"held-out images: .*%|to a loss of [\d.]+", done.stdout) for done in runs]
    assert ends[0] == ends[1] == ends[2] and len(ends[0]) == 2
    recorded, eager = re.search(r"pipeline: ([\d,]+) calls recorded, ([\d,]+) run at once", runs[1].stdout).groups()
    assert int(recorded.replace(",", "")) > 3000 and int(eager) < 10
    # The first step makes the optimizer's state; two more are recorded, and two with the smaller batch at an epoch's end.
    assert "captured: 64 steps replayed, 5 recorded, 2 variants" in runs[2].stdout


@pytest.mark.parametrize("read", [False, True], ids=["read at the end", "read at every step"])
@pytest.mark.parametrize("flush", [False, True], ids=["one record", "flushed at every step"])
def test_every_loss_of_the_digits_is_the_same_in_a_pipeline(root, read, flush):
    pytest.importorskip("sklearn", reason="the example reads its images from scikit-learn")
    spec = importlib.util.spec_from_file_location("train_digits", root / "examples" / "train_digits.py")
    digits = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(digits)

    def losses(pipe):
        torchlike.manual_seed(0)
        images, labels, _, _ = digits.load_digits("cpu", 0)
        model = digits.make_model(64, 32, "cpu")
        optimizer = torchlike.optim.Adam(model.parameters(), lr=3e-3)
        found = [
            loss.item() if read else loss
            for _ in range(2)
            for loss in digits.train_epoch(model, optimizer, images, labels, 64, pipe)
        ]
        values = [float(loss) for loss in found]
        return values, [parameter.tolist() for parameter in model.parameters()]

    expected = losses(None)
    with torchlike.pipeline() as pipe:
        assert losses(pipe if flush else None) == expected
    assert len(expected[0]) == 46 and pipe.stats().recorded > 2000


def test_a_dry_run_prints_shapes_and_memory_and_computes_nothing(run_example):
    done = run_example("train_digits.py", "--device", "meta", "--hidden", "32", "--batch-size", "8")
    assert done.returncode == 0, done.stderr
    assert re.search(r"parameter +0\.weight +\(32, 64\) +float32 +8,192", done.stdout)
    assert re.search(r"activation +2 Linear +\(8, 10\) +float32 +320", done.stdout)
    assert re.search(r"parameters +9,640 bytes", done.stdout)
    assert "from dispatch-backend-meta" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "named"),
    [
        (["--device", "nowhere"], {}, "nowhere"),
        (["--device", "npu"], {}, "npu"),
        (["--device", "not a device"], {}, "not a device"),
        ([], {"DISPATCH_BACKENDS_BLOCK": "cpu"}, "DISPATCH_BACKENDS_BLOCK"),
    ],
    ids=["unknown", "unavailable", "malformed", "kept out"],
)
def test_a_device_that_cannot_be_used_ends_in_one_message(run_example, arguments, environment, named):
    if "npu" in arguments and torchlike.npu.is_available():
        pytest.skip("there is an NPU")
    done = run_example("train_digits.py", *arguments, **environment)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("train_digits: cannot use device")
    assert named in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--epochs", "0"], ["--batch-size", "x"], ["--bogus"]])
def test_bad_options_are_refused(run_example, arguments):
    done = run_example("train_digits.py", *arguments)
    assert done.returncode == 2
    assert "usage:" in done.stderr


def test_the_graph_of_a_training_step_is_drawn(run_example, tmp_path):
    for suffix, start in ((".svg", "<svg "), (".txt", "pipeline(%0, ")):
        path = tmp_path / f"step{suffix}"
        done = run_example("pipeline_graph.py", str(path))
        assert done.returncode == 0, done.stderr
        text = path.read_text(encoding="utf-8")
        assert text.startswith(start)
        assert all(name in text for name in ("aten::addmm", "aten::nll_loss_backward"))
        assert "aten::addcdiv_" in text or "prims::adam_" in text  # the latter where its kernel is compiled
    assert re.search(r"^recorded +\d+ \(100\.0% of calls\)$", done.stdout, re.MULTILINE)
    refused = run_example("pipeline_graph.py", str(tmp_path / "step.png"))
    assert refused.returncode == 2
    assert "the suffix '.png'" in refused.stderr


def test_the_picture_in_the_documentation_is_a_drawing_of_such_a_step(root, run_example, tmp_path):
    drawn = tmp_path / "step.svg"
    # With compiled kernels the optimizer's step is one operator.
    done = run_example("pipeline_graph.py", "--optimizer", "SGD", str(drawn), DISPATCH_NATIVE="0")
    assert done.returncode == 0, done.stderr
    kept = root / "docs" / "digits_step.svg"
    texts = [path.read_text(encoding="utf-8") for path in (drawn, kept)]
    assert texts[0] == texts[1], "run the command of docs/pipeline.md that draws it"
    found = {element.text for element in ET.parse(drawn).iter("{http://www.w3.org/2000/svg}text")}
    assert {"aten::relu", "aten::_log_softmax_backward_data", "aten::add_.Tensor", "(64, 128) float32"} <= found


@pytest.mark.long
@pytest.mark.usefixtures("npu")
@pytest.mark.parametrize("options", [[], ["--pipeline"]], ids=["eager", "in pipelines"])
def test_two_devices_learn_the_digits_as_one_does(run_example, options):
    pytest.importorskip("sklearn", reason="the example reads its images from scikit-learn")
    done = run_example("train_on_two_devices.py", "--device", "npu", *options)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"difference to one device: (\S+) of the loss", done.stdout)[1]) < 1e-5
    assert float(re.search(r"accuracy on 1797 images: ([\d.]+)%", done.stdout)[1]) > 88.0
