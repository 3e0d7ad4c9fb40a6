"""Texts and summaries that libraries make by torch's inner functions, beside torch's."""

import pytest

import torchlike
from torchlike.tensors import printing

torch = pytest.importorskip("torch", reason="parity needs torch")
theirs = pytest.importorskip("torch._tensor_str")

BOTH = (torchlike, printing), (torch, theirs)


@pytest.mark.parametrize(
    "shape", [(2, 3), (3, 0, 2), (), (1100,)], ids=lambda shape: "x".join(map(str, shape)) or "number"
)
def test_parts_of_texts(shape):
    texts = []
    for library, module in BOTH:
        x = library.ones(shape).double()
        elements = module._tensor_str(x, 7)
        whole = module._str_intern(x, tensor_contents="<contents>")
        joined = module._add_suffixes("X(" + elements, ["a=1", "b=" + "2" * 70], 2, False)
        texts.append(
            (elements, whole.replace("torchlike.", "torch."), joined, module._add_suffixes("X(", ["a"], 2, True))
        )
    assert texts[0] == texts[1]


def test_options_of_a_block():
    texts = []
    for library, module in BOTH:
        before = module.get_printoptions()
        with module.printoptions(precision=2, threshold=3):
            texts.append(repr(library.arange(8.0) / 8))
        assert module.get_printoptions() == before
        texts.append(sorted(before))
    assert texts[0] == texts[2] and texts[1] == texts[3]


def test_settings_of_runs_are_the_same_summaries():
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import summary as theirs  # with tensorboard alone

    from torchlike.utils.tensorboard import summary as ours

    settings = {"lr": 0.1, "name": "a", "flag": True, "steps": 3, "none": None}
    domains = {"lr": [0.1, 0.2], "name": ["a", "b"]}
    for more in ({}, {"hparam_domain_discrete": domains}):
        found = [module.hparams(settings, {"loss": 1.0}, **more) for module in (ours, theirs)]
        assert [each.SerializeToString(deterministic=True) for each in found[0]] == [
            each.SerializeToString(deterministic=True) for each in found[1]
        ]
    for wrong in ((3, {}), ({}, 3), ({"a": 1}, {}, {"a": ["b"]}), ({"a": 1}, {}, 3), ({"a": [1]}, {})):
        errors = []
        for module in (ours, theirs):
            with pytest.raises((TypeError, ValueError)) as error:
                module.hparams(*wrong)
            errors.append((error.type, str(error.value)))
        assert errors[0] == errors[1]


def test_a_writer_takes_summaries(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from torchlike.utils.tensorboard import SummaryWriter, summary

    with SummaryWriter(tmp_path) as writer:
        assert writer._get_file_writer() is writer.file_writer
        for each in summary.hparams({"lr": torchlike.tensor(0.5)}, {"loss": 1.0}):
            writer.file_writer.add_summary(each, 3)
        writer.add_hparams({"lr": 0.5}, {"loss": 2.0}, run_name="run")
    assert writer.file_writer.get_logdir() == str(tmp_path)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert "_hparams_/session_start_info" in events.PluginTagToContent("hparams")
    run = EventAccumulator(str(tmp_path / "run"))
    run.Reload()
    assert run.Scalars("loss")[0].value == 2.0
