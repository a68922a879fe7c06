"""The directory of a run, after a recipe had its way with it."""

from pathlib import Path

from tsandbox.sandbox.place import Place, drop


def test_records_are_dropped_whatever_a_recipe_put_in_their_place(tmp_path: Path) -> None:
    made = Place(directory=tmp_path, container="")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").touch()
    (made.out / "directory/full").mkdir(parents=True)
    (made.out / "link").symlink_to(elsewhere)
    (made.out / "file").touch()
    made.out.chmod(0)
    drop(made, ("directory", "link", "file", "missing"))
    assert list(made.out.iterdir()) == []
    assert (elsewhere / "mine").is_file()
