"""Files as ``torch.save`` and ``torchlike.save`` write them, made without either, so that they say what no program would."""

import io
import json
import zipfile

import numpy as np
from safetensors.numpy import save


def zip_pickle(pickle, **storages):
    """Return a zip file of a pickle and of storages."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle)
        for name, content in storages.items():
            archive.writestr(f"archive/data/{name.removeprefix('s')}", content)
    return file.getvalue()


def to_text(text):
    """Return the opcode of a string."""
    encoded = text.encode("utf-8", "surrogatepass")
    return b"X" + len(encoded).to_bytes(4, "little") + encoded


def write_zip(location):
    """Return a file of a tensor of two ones in a storage with a location."""
    storage = b"(" + to_text("storage") + b"ctorch\nFloatStorage\n" + to_text("0") + to_text(location) + b"K\x02tQ"
    arguments = b"(" + storage + b"K\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)Rt"
    return zip_pickle(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"R.", s0=np.ones(2, "f4").tobytes())


def write_safetensors(structure, **arrays):
    """Return a file with a structure, which is JSON, and arrays."""
    metadata = {
        "format": "torchlike.2",
        "structure": structure if isinstance(structure, str) else json.dumps(structure),
    }
    return save(arrays, metadata=metadata)


def write_node(location):
    """Return a file of a tensor of two ones that was on a device."""
    node = {"tensor": "x", "dtype": "float32", "device": location, "shape": [2]}
    return write_safetensors(node, x=np.ones(2, "f4"))
