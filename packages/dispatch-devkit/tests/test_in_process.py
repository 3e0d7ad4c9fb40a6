"""``dispatch list`` with devices of the program."""

import json


def test_the_list_shows_the_devices_of_a_module_that_it_imports(run_python, tmp_path):
    (tmp_path / "mine.py").write_text("import dispatch_core as dc\ndc.register_backend(dc.BackendInfo('mine'), {})\n")
    shown = run_python("-m", "dispatch_core", "list", "--import", "mine", site=[tmp_path])
    assert any(line.split()[:5] == ["mine", "-", "-", "loaded", "Mine"] for line in shown.stdout.splitlines()), shown
    rows = json.loads(run_python("-m", "dispatch_core", "list", "--json", "--import", "mine", site=[tmp_path]).stdout)
    (row,) = [row for row in rows["devices"] if row["device"] == "mine"]
    assert row["place"] == f"{tmp_path / 'mine.py'}:2"
