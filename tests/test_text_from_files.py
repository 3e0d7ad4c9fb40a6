"""What a file says is shown in errors without anything that a terminal acts on, and forges no line of its own."""

import contextlib
import io
import json
import os
import random
import traceback
import warnings

import numpy as np
import pytest
from checkpoint_bytes import to_text, write_node, write_safetensors, write_zip, zip_pickle

import torchlike
from torchlike import nn

#: How many texts are drawn for each place.
TEXTS = int(os.environ.get("FILE_TEXTS", "30"))
SEED = int(os.environ.get("FILE_TEXTS_SEED", "0"))
PARTS = [
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\r",
    "\nFORGED",
    "\n\tFORGED",
    "\u202e",
    "\u2028FORGED",
    "\x9b2J",
    "\x00",
    "\ud800",
]
PARTS += ["weight", ".", "é", "'", '"', "\\", "{0}", "%s", "x" * 5000]


def change_header(data, change):
    """Return a file of safetensors with another header."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    new = json.dumps(change(header)).encode()
    return len(new).to_bytes(8, "little") + new + data[8 + size :]


def storage(kind, key):
    return b"(" + to_text("storage") + kind + to_text(key) + to_text("cpu") + b"K\x02tQ"


def rebuild(*arguments):
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + b"".join(arguments) + b"tR."


PLAIN = write_safetensors({"list": [1]}, x=np.ones(2, "f4"))
LINE = str.maketrans("", "", "\n\r")
#: A place in a file → the file with a text there.
FILES = {
    "global": lambda text: zip_pickle(b"\x80\x04" + to_text("os") + to_text(text) + b"\x93."),
    "module": lambda text: zip_pickle(b"\x80\x04" + to_text(text) + to_text("system") + b"\x93."),
    "old global": lambda text: zip_pickle(b"\x80\x02c" + text.translate(LINE).encode("utf-8", "replace") + b"\nx\n."),
    "storage": lambda text: zip_pickle(
        rebuild(storage(b"ctorch\nFloatStorage\n", text), b"K\x00K\x02\x85K\x01\x85\x89N")
    ),
    "size": lambda text: zip_pickle(
        rebuild(storage(b"ctorch\nFloatStorage\n", "0"), b"K\x00" + to_text(text) + b"\x85K\x01\x85\x89N"), s0=bytes(8)
    ),
    "layout": lambda text: zip_pickle(b"\x80\x02ctorch.serialization\n_get_layout\n" + to_text(text) + b"\x85R."),
    "device": lambda text: zip_pickle(b"\x80\x02ctorch\ndevice\n" + to_text(text) + b"\x85R."),
    "encoding": lambda text: zip_pickle(b"\x80\x02c_codecs\nencode\n" + to_text("a") + to_text(text) + b"\x86R."),
    "key": lambda text: zip_pickle(b"\x80\x02X" + len(text).to_bytes(4, "little") + text.encode("utf-8", "replace")),
    "location": write_zip,
    "own location": write_node,
    "kind": lambda text: write_safetensors({text: 1}),
    "class": lambda text: write_safetensors({"object": text, "state": []}),
    "dtype": lambda text: write_safetensors({"tensor": "x", "dtype": text}),
    "own dtype": lambda text: write_safetensors({"dtype": text}),
    "own device": lambda text: write_safetensors({"device": text}),
    "number": lambda text: write_safetensors({"int": text}),
    "float": lambda text: write_safetensors({"float": text}),
    "bytes": lambda text: write_safetensors({"bytes": text}),
    "name": lambda text: write_safetensors({"tensor": text, "dtype": "float32"}),
    "shape": lambda text: write_safetensors({"tensor": "x", "dtype": "float32", "shape": [text]}, x=np.ones(2, "f4")),
    "reference": lambda text: write_safetensors({"ref": text}),
    "structure": lambda text: write_safetensors(text.encode("utf-8", "replace").decode()),
    "header's dtype": lambda text: change_header(PLAIN, lambda old: old | {"x": old["x"] | {"dtype": text}}),
    "header's field": lambda text: change_header(PLAIN, lambda old: old | {"x": {text: 1}}),
    "header's name": lambda text: change_header(PLAIN, lambda old: old | {text: {"dtype": "F32", "shape": [1]}}),
    "no file": lambda text: text.encode("utf-8", "replace"),
}


def draw_texts(place):
    choose = random.Random(f"{place} {SEED}")
    texts = list(PARTS)
    return texts + ["".join(choose.choices(PARTS, k=choose.randrange(2, 6))) for _ in range(TEXTS)]


def check(error):
    """Check an error's text, and that of a traceback that ends with it."""
    for text in (str(error), "".join(traceback.format_exception(error))):
        assert text.replace("\n", "").replace("\t", "").isprintable(), ascii(text)
        assert not any(line.lstrip().startswith("FORGED") for line in text.splitlines()), ascii(text)


@pytest.mark.parametrize("place", FILES)
def test_text_from_a_file_is_escaped_in_errors_of_load(place):
    count = 0
    for text in draw_texts(place):
        try:
            torchlike.load(io.BytesIO(FILES[place](text)))
        except (ValueError, RuntimeError) as error:
            check(error)
            assert len(str(error)) < 2000  # noqa: PT017  # every text leads to another
            count += 1
    assert count > TEXTS / 2


def test_the_names_of_files_are_escaped():
    for text in draw_texts("file"):
        for data in (b"", b"\x80\x02}.", b"PK\x03\x04"):
            file = io.BytesIO(data)
            file.name = text
            with pytest.raises(ValueError, match=r"is no|is a pickle|cannot be read") as caught:
                torchlike.load(file)
            check(caught.value)


class Own(nn.Linear):
    """Loads in a way of its own, and has hooks: what they report is shown with the rest."""

    def __init__(self):
        super().__init__(2, 1)
        self.register_load_state_dict_pre_hook(self.report)

    @staticmethod
    def report(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors):
        errors.extend(f"one\n\ttwo {key.translate(LINE)}" for key in state_dict)


@pytest.mark.parametrize(
    "make", [lambda: nn.Linear(2, 1), lambda: nn.Sequential(nn.Linear(2, 1)), Own, lambda: nn.Bilinear(1, 1, 1)]
)
def test_keys_are_escaped_in_errors_of_load_state_dict(make):
    model = make()
    for text in draw_texts("keys"):
        value = torchlike.ones(7)
        states = [{text: value}, {f"{text}.{name}": each for name, each in model.state_dict().items()}]
        states += [{**model.state_dict(), text: value}, dict.fromkeys(model.state_dict(), text)]
        for state in states:
            if set(state) == set(model.state_dict()) and text not in state.values():
                continue
            with pytest.raises(RuntimeError, match="loading state_dict") as caught:
                model.load_state_dict(state)
            check(caught.value)


def test_names_of_a_model_are_escaped_in_errors_of_load_state_dict():
    for text in draw_texts("names"):
        if "." in text or not text:
            continue
        model = nn.Sequential()
        model.register_parameter(text, nn.Parameter(torchlike.ones(2)))
        model.add_module(f"{text}norm", nn.InstanceNorm1d(2))
        for value in (torchlike.ones(3), 5, torchlike.ones(2, dtype=torchlike.complex64)):
            state = {text: value, f"{text}norm.running_mean": torchlike.ones(2)}
            with warnings.catch_warnings(), pytest.raises(RuntimeError, match="loading state_dict") as caught:
                warnings.simplefilter("ignore")
                model.load_state_dict(state)
            check(caught.value)
        with contextlib.suppress(RuntimeError):
            model.load_state_dict({})
