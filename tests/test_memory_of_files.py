"""Files are read into the tensors' own memory, and written from it, whatever they are read from, mapped or not."""

import io
import itertools
import os
import random
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from checkpoint_bytes import to_text, write_safetensors, zip_pickle

import torchlike

#: How many sets of tensors are drawn; more in a run of their own.
SETS = int(os.environ.get("SAVED_SETS", "30"))
SEED = int(os.environ.get("SAVED_SEED", "0"))
DTYPES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"


def draw(choose):
    """Return a dict of tensors and arrays: empty ones, views, transposed, strided, shared, of every dtype."""
    found = {}
    for number in range(choose.randrange(1, 8)):
        dtype = getattr(torchlike, choose.choice(DTYPES.split()))
        shape = [choose.choice([0, 1, 2, 3, 5]) for _ in range(choose.randrange(4))]
        x = torchlike.randint(0, 2, shape).to(dtype)
        for _ in range(choose.randrange(3)):
            dim = choose.randrange(x.dim()) if x.dim() else 0
            x = choose.choice(
                [
                    lambda x=x: x.transpose(0, -1) if x.dim() else x,
                    lambda x=x: x[..., ::2] if x.dim() else x,
                    lambda x=x, dim=dim: x.narrow(dim, 0, x.shape[dim] // 2) if x.dim() else x,
                    lambda x=x: x.unsqueeze(0).expand(3, *x.shape),
                ]
            )()
        found[f"t{number}"] = x
        if choose.random() < 0.3:
            found[f"u{number}"] = choose.choice([x, x.detach(), x.view(x.shape)])
        if choose.random() < 0.2:
            found[f"a{number}"] = np.arange(
                choose.randrange(5), dtype=choose.choice([">f4", "<i8", "c16", "u1", ">u2"])
            )
    return found


class Slow(io.RawIOBase):
    """A file that gives and takes little at a time, and cannot seek."""

    def __init__(self, content=b""):
        self.content, self.place = bytearray(content), 0

    def readable(self):
        return True

    def writable(self):
        return True

    def readinto(self, buffer):
        part = self.content[self.place : self.place + 77][: len(buffer)]
        buffer[: len(part)] = part
        self.place += len(part)
        return len(part)

    def write(self, data):
        self.content += data[:77]
        return min(len(data), 77)


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        other = found[name]
        assert type(other) is type(value)
        assert other.dtype == (value.dtype.newbyteorder("=") if isinstance(value, np.ndarray) else value.dtype)
        assert other.shape == value.shape
        assert other.tolist() == value.tolist()


@pytest.mark.parametrize("number", range(SETS))
def test_every_source_gives_the_same_and_memory_of_its_own(number, tmp_path):
    choose = random.Random(f"{SEED} {number}")
    value = draw(choose)
    path, form = tmp_path / "archive.pt", choose.choice(["torch", "safetensors"])
    torchlike.save(value, path, format=form)
    content = path.read_bytes()
    slow = Slow()
    torchlike.save(value, slow, format=form)
    assert bytes(slow.content) == content
    (tmp_path / "later.pt").write_bytes(b"?" * 13 + content)
    later = (tmp_path / "later.pt").open("rb")
    later.seek(13)
    with later, path.open("rb", buffering=0) as raw:
        for source in (path, str(path), os.fsencode(path), io.BytesIO(content), raw, Slow(content), later):
            assert_same(torchlike.load(source), value)
        assert (raw.tell(), later.tell()) == (len(content), len(content) + 13)
    mapped = torchlike.load(path, mmap=True)
    assert_same(mapped, value)
    for each in mapped.values():
        if isinstance(each, torchlike.Tensor) and all(each.stride()):
            each.fill_(1)
    assert path.read_bytes() == content
    expected = {name: each.tolist() for name, each in mapped.items()}
    torchlike.save({}, path)
    assert {name: each.tolist() for name, each in mapped.items()} == expected


@pytest.mark.skipif(not hasattr(os, "link"), reason="the system has no links")
@pytest.mark.parametrize("value", ["its own", "another"])
def test_a_mapped_file_is_not_written_in_place(tmp_path, value):
    """A file that has two names is not replaced; writing to it would change what lies in the mapping, or end the process."""
    path, x = tmp_path / "x", torchlike.arange(100_000.0)
    torchlike.save({"x": x}, path)
    os.link(path, tmp_path / "y")
    first, mapped = torchlike.load(path, mmap=True), torchlike.load(tmp_path / "y", mmap=True)
    new = mapped if value == "its own" else {"x": torchlike.ones(1)}
    for _ in range(2):
        before = path.read_bytes()
        with pytest.raises(RuntimeError, match=r"lie in it.*\nHint: save to another path"):
            torchlike.save(new, path)
        assert path.read_bytes() == before
        mapped.clear()  # the first one is still there
        new = {"x": torchlike.ones(1)}
    assert first["x"].equal(x)
    first.clear()
    torchlike.save(new, path)
    assert torchlike.load(tmp_path / "y")["x"].tolist() == [1]


@pytest.mark.parametrize("count", [-1, 0, 1 << 40])
def test_what_a_file_object_says_it_has_read_is_not_believed(count):
    class Odd(io.BytesIO):
        def readinto(self, buffer):
            return count

    file = io.BytesIO()
    torchlike.save({"x": torchlike.ones(3)}, file, format="safetensors")
    for content in (file.getvalue(), ZIP):
        with pytest.raises(ValueError, match="ends before"):
            torchlike.load(Odd(content))


@pytest.mark.parametrize("kind", ["safetensors", "zip"])
def test_an_error_of_the_disk_is_no_fault_of_the_file(kind, tmp_path):
    class Broken(io.BytesIO):
        left = 0

        def readinto(self, buffer):
            self.left -= 1
            if self.left < 0:
                raise OSError(5, "Input/output error")
            return super().readinto(buffer)

    file = io.BytesIO()
    torchlike.save({"x": torchlike.ones(3), "y": torchlike.ones(2)}, file, format="safetensors")
    for reads in range(4):
        broken = Broken(ZIP if kind == "zip" else file.getvalue())
        broken.left = reads
        with pytest.raises(OSError, match="Input/output error"):
            torchlike.load(broken)


def test_only_a_path_is_mapped(tmp_path):
    torchlike.save({}, tmp_path / "x")
    with (tmp_path / "x").open("rb") as file:
        for source in (file, io.BytesIO((tmp_path / "x").read_bytes())):
            with pytest.raises(ValueError, match="mmap=True takes a path"):
                torchlike.load(source, mmap=True)
    (tmp_path / "empty").write_bytes(b"")
    for mmap in (False, True):
        for path in (tmp_path / "empty", os.fsencode(tmp_path / "empty")):
            with pytest.raises(ValueError, match="empty is not a safetensors file"):
                torchlike.load(path, mmap=mmap)
    with pytest.raises(TypeError, match="open for reading bytes"):
        torchlike.load(io.StringIO("text"))


class Partial:
    """A file of a program's own, with some of a file's methods."""

    def __init__(self, content, names):
        file = io.BytesIO(content)
        for name in names:
            setattr(self, name, getattr(file, name))


def test_files_with_few_methods_are_read():
    file = io.BytesIO()
    torchlike.save({"x": torchlike.arange(5)}, file)
    for names in (["read"], ["read", "readinto"], ["read", "readinto", "seek", "tell"]):
        assert torchlike.load(Partial(file.getvalue(), names))["x"].tolist() == [0, 1, 2, 3, 4]


class Refusing(io.RawIOBase):
    """A file that takes some writes, then none, as a pipe that is full and does not wait."""

    def __init__(self, taken, answer):
        self.taken, self.answer = taken, answer

    def write(self, part):
        self.taken -= 1
        return self.answer if self.taken < 0 else min(len(part), 7)


@pytest.mark.parametrize("answer", [None, 0])
def test_a_file_that_takes_nothing_loses_nothing_in_silence(answer):
    for taken in (0, 1, 9):
        with pytest.raises(BlockingIOError, match="a file that waits"):
            torchlike.save({"x": torchlike.arange(50)}, Refusing(taken, answer))
    torchlike.save({"x": torchlike.arange(50)}, Refusing(10_000, answer))


@pytest.mark.parametrize("mmap", [False, True])
def test_a_file_takes_no_more_memory_than_it_has_bytes(tmp_path, mmap):
    path = tmp_path / "repeated"
    nodes = [
        {"tensor": "x", "dtype": "uint8"},
        {"ndarray": "x", "dtype": "uint8"},
        {"tensor": "x", "dtype": "int16", "shape": [500]},
        {"scalar": "x", "dtype": "uint8"},
    ]
    for first, second in itertools.product(nodes, repeat=2):
        path.write_bytes(write_safetensors({"list": [first, second]}, x=np.ones(1000, "u1")))
        with pytest.raises(ValueError, match="'x' is the entry of one tensor, and of another one"):
            torchlike.load(path, mmap=mmap)


def test_nothing_is_written_before_the_structure_is_checked():
    file = io.BytesIO()
    for value in ({"x": torchlike.ones(3), "f": len}, {"x": torchlike.ones(3), "y": np.array(["text"])}):
        with pytest.raises(TypeError):
            torchlike.save(value, file, format="safetensors")
    with pytest.raises(TypeError):
        torchlike.save({"x": torchlike.ones(3), "f": lambda: None}, file)
    assert not file.getvalue()


def test_damaged_files_are_refused_by_the_documented_error_or_read_within_the_file(tmp_path):
    choose = random.Random(os.environ.get("DISPATCH_TEST_SEED", "damage"))
    path = tmp_path / "x"
    read = refused = 0
    for number in range(int(os.environ.get("DISPATCH_DAMAGED_FILES", "1000"))):
        if number % 20 == 0:
            value = draw(choose) | {"n": [1, 2.5, (b"x", {"k": None})]}
            torchlike.save(value, path, format=choose.choice(["torch", "safetensors"]))
            original = path.read_bytes()
        content = bytearray(original)
        for _ in range(choose.randint(1, 4)):
            # Most of the damage falls into the header.
            place = choose.randrange(len(content) if choose.random() < 0.1 else content.rindex(b"}") + 1)
            kind = choose.random()
            if kind < 0.6:
                content[place] = choose.choice([choose.randrange(256), *b'{}[]":,0123456789-'])
            elif kind < 0.8:
                del content[place : place + choose.randint(1, 4)]
            else:
                content[place:place] = choose.randbytes(choose.randint(1, 4))
            if not content.count(b"}"):
                break
        path.write_bytes(content)
        try:
            repr(torchlike.load(path, mmap=choose.random() < 0.3))
            read += 1
        except ValueError:
            refused += 1
        except RuntimeError as error:
            assert "Attempting to deserialize" in str(error)  # noqa: PT017  # a device that is not there
    assert refused > 2 * read


# Zip files.


def storage_pickle(count, size):
    """Return the pickle of a list of tensors of float32 numbers, each with a storage of its own."""
    tensors, number = b"", b"J" + size.to_bytes(4, "little")
    for key in range(count):
        storage = (
            b"(" + to_text("storage") + b"ctorch\nFloatStorage\n" + to_text(str(key)) + to_text("cpu") + number + b"tQ"
        )
        tensors += b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + number + b"\x85K\x01\x85\x89"
        tensors += b"ccollections\nOrderedDict\n)RtR"
    return b"\x80\x02](" + tensors + b"e."


VALUES = [np.arange(4, dtype="<f4") + number for number in range(3)]
ZIP = zip_pickle(storage_pickle(3, 4), **{f"s{number}": each.tobytes() for number, each in enumerate(VALUES)})


def read(data, path, mmap):
    path.write_bytes(data)
    return [each.tolist() for each in torchlike.load(path, mmap=mmap)]


@pytest.mark.parametrize("mmap", [False, True])
def test_a_header_that_says_anything_but_the_directory_is_refused(tmp_path, mmap):
    path = tmp_path / "x.pt"
    assert read(ZIP, path, mmap) == [each.tolist() for each in VALUES]
    (info,) = (each for each in zipfile.ZipFile(io.BytesIO(ZIP)).infolist() if each.filename == "archive/data/1")
    place = info.header_offset
    # Signature, flags, method, CRC-32, sizes, the name's length, and the name; version and time may be anything.
    for start, count in [(0, 4), (6, 4), (14, 14), (30, len(info.filename))]:
        for byte in range(place + start, place + start + count):
            for bit in range(8):
                changed = bytearray(ZIP)
                changed[byte] ^= 1 << bit
                # The bits of the flags that say where the sizes are, and in what letters the name is written.
                with pytest.raises(ValueError, match=r"cannot be read: .*(header|ends|CRC)"):
                    read(changed, path, mmap)
    zeros = bytearray(ZIP)
    zeros[place + 14 : place + 26] = bytes(12)
    with pytest.raises(ValueError, match="differs from the directory"):
        read(zeros, path, mmap)


def test_changed_bytes_are_found(tmp_path):
    start = ZIP.index(VALUES[1].tobytes())
    for byte in range(start, start + 16):
        changed = bytearray(ZIP)
        changed[byte] ^= 1
        with pytest.raises(ValueError, match="CRC-32"):
            read(changed, tmp_path / "x.pt", mmap=False)


def test_entries_that_overlap_are_refused(tmp_path):
    """Entries that name the same bytes would make a small file a large one in memory."""
    directory = ZIP.index(b"PK\x01\x02")
    first = ZIP.index(b"archive/data/0", directory) - 46
    second = ZIP.index(b"archive/data/1", directory) - 46
    changed = bytearray(ZIP)
    changed[second + 42 : second + 46] = ZIP[first + 42 : first + 46]
    for mmap in (False, True):
        with pytest.raises(ValueError, match="overlaps another"):
            read(changed, tmp_path / "x.pt", mmap)


def test_large_sizes_are_refused_before_memory_is_taken(tmp_path):
    header = b'{"x":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}'
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))
    (tmp_path / "y").write_bytes(struct.pack("<Q", 1 << 60) + header)
    for name in "xy":
        for mmap in (False, True):
            with pytest.raises(ValueError, match=r"do not fill the file|ends before"):
                torchlike.load(tmp_path / name, mmap=mmap)


# Memory.

MEASURE = """
import sys
import torchlike

def highest():
    with open("/proc/self/status") as file:
        (line,) = (line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024

def growth(call):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = highest()
    kept = call()
    return (highest() - before) / SIZE

COUNT, EACH, path = 20, 1_250_000, sys.argv[1]
SIZE = COUNT * EACH * 4
torchlike.save({"x": torchlike.ones(2)}, path), torchlike.load(path)
state = {f"x{number}": torchlike.full((EACH,), float(number)) for number in range(COUNT)}
print(growth(lambda: torchlike.save(state, path)))
state = {name: x.view(2, -1).t() for name, x in state.items()}
print(growth(lambda: torchlike.save(state, path)))
state = {name: x[::2] for name, x in state.items()}
print(growth(lambda: torchlike.save(state, path)) * 2)
state = {f"x{number}": torchlike.full((EACH,), float(number)) for number in range(COUNT)}
torchlike.save(state, path)
del state
print(growth(lambda: torchlike.load(path)))
print(growth(lambda: torchlike.load(open(path, "rb"))))
print(growth(lambda: torchlike.load(sys.argv[2])))
print(growth(lambda: torchlike.load(path, mmap=True)))
print(growth(lambda: torchlike.load(sys.argv[2], mmap=True)))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system measures no peak of memory")
def test_peaks_of_memory(tmp_path):
    count, size = 20, 1_250_000
    storages = {f"s{key}": np.full(size, key, "<f4").tobytes() for key in range(count)}
    (tmp_path / "x.zip").write_bytes(zip_pickle(storage_pickle(count, size), **storages))
    command = [sys.executable, "-c", MEASURE, tmp_path / "x.pt", tmp_path / "x.zip"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    plain, turned, strided, load, load_object, load_zip, mapped, mapped_zip = map(float, done.stdout.split())
    assert max(plain, turned, mapped) < 0.1, done.stdout
    # One tensor of 20 is converted at a time.
    assert strided < 0.2, done.stdout
    # The entries of this zip file are not aligned, so that they are copied.
    assert max(load, load_object, load_zip, mapped_zip) < 1.1, done.stdout
