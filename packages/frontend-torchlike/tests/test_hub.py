"""Models from folders with a hubconf.py, and from the caches of torch."""

import hashlib

import pytest

import torchlike
from torchlike import hub

CODE = '''
import helper
dependencies = ["numpy"{more}]
_hidden = print
constant = 3
def make(size, *, scale=1):
    """Make a layer."""
    import torchlike
    return torchlike.nn.Linear(size, helper.ROWS * scale)
'''


def write(folder, more=""):
    folder.mkdir(parents=True)
    (folder / "hubconf.py").write_text(CODE.replace("{more}", more))
    (folder / "helper.py").write_text("ROWS = 2\n")
    return folder


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(hub, "_hub_dir", None)
    monkeypatch.delitem(__import__("sys").modules, "helper", raising=False)


def test_a_folder_gives_its_models(tmp_path):
    folder = write(tmp_path / "own")
    layer = hub.load(str(folder), "make", 3, source="local", scale=2)
    assert layer.weight.shape == (4, 3)
    assert hub.list(str(folder)) == ["make"] and hub.help(str(folder), "make") == "Make a layer."
    with pytest.raises(RuntimeError, match="Cannot find callable mak in hubconf"):
        hub.load(folder, "mak", source="local")
    with pytest.raises(ValueError, match='Unknown source: "gitlab"'):
        hub.load(folder, "make", source="gitlab")
    with pytest.raises(FileNotFoundError):
        hub.load(tmp_path, "make", source="local")


def test_libraries_that_are_missing_are_named(tmp_path):
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_library"):
        hub.load(write(tmp_path / "own", ', "no_such_library"'), "make", 3, source="local")


def test_a_repository_is_found_in_the_cache_where_it_is_trusted(tmp_path):
    write(tmp_path / "home/hub/pytorch_vision_main")
    write(tmp_path / "home/hub/a_b_v1")
    assert hub.load("pytorch/vision", "make", 3).weight.shape == (2, 3)
    with pytest.raises(RuntimeError, match="Untrusted repository: a/b"):
        hub.list("a/b:v1")
    assert hub.list("a/b:v1", trust_repo=True) == ["make"]
    (tmp_path / "home/hub/trusted_list").write_text("a_b_v1\n")
    assert hub.list("a/b:v1") == ["make"]
    for fetch in (lambda: hub.load("a/b:v2", "make"), lambda: hub.load("pytorch/vision", "make", force_reload=True)):
        with pytest.raises(NotImplementedError, match=r"torch\.hub\.load downloads"):
            fetch()
    with pytest.raises(ValueError, match="owner/name"):
        hub.list("vision")


def test_states_are_read_where_torch_keeps_them(tmp_path):
    state = {"weight": torchlike.ones(2)}
    torchlike.save(state, tmp_path / "net.pt")
    content = (tmp_path / "net.pt").read_bytes()
    hub.set_dir(tmp_path / "files")
    folder = tmp_path / "files" / "checkpoints"
    folder.mkdir(parents=True)
    assert hub.get_dir() == str(tmp_path / "files")
    right, wrong = (f"net-{digest}.pt" for digest in (hashlib.sha256(content).hexdigest()[:8], "00000000"))
    for name in (right, wrong):
        (folder / name).write_bytes(content)
    found = hub.load_state_dict_from_url(f"https://example.org/x/{right}", map_location="cpu", check_hash=True)
    assert found["weight"].tolist() == [1.0, 1.0]
    assert hub.load_url(f"https://example.org/x/{wrong}")["weight"].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000"'):
        hub.load_state_dict_from_url(f"https://example.org/x/{wrong}", check_hash=True)
    with pytest.raises(NotImplementedError, match=r"load_state_dict_from_url downloads.*other\.pt is not there"):
        hub.load_state_dict_from_url("https://example.org/other.pt")
    with pytest.raises(NotImplementedError, match="download_url_to_file downloads"):
        hub.download_url_to_file("https://example.org/other.pt", "x")


def test_names_that_libraries_import():
    assert hub.HASH_REGEX.search("net-0a1b.pth")[1] == "0a1b" and hub.urlparse("https://a/b").path == "/b"
    assert hub._get_torch_home() == hub.get_dir().removesuffix("/hub") and callable(hub.tqdm)
    with hub._Faketqdm(total=3) as bar:
        bar.update(2)
    assert bar.n == 2
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        hub.lod  # noqa: B018  # asking is the error
