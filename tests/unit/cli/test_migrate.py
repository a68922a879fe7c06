"""`tsandbox migrate`: shown, written or checked."""

import os
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

HEAD = '# mine\n[metadata]\nname = "x"   # aligned\n\n[[steps]]\naction = "require_system"\ncommand = "x"\n'
GUIDE = HEAD + 'install_guide = { debian = "sudo apt install -y x", darwin = "See \\u001b[31mthe website" }\n'
DONE = HEAD + 'packages = { apt = ["x"] }\n'


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.toml").write_text(GUIDE)
    (tmp_path / "new.toml").write_text(DONE)
    (tmp_path / "plan.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize("options", [[], ["--diff"]])
def test_a_diff_shows_what_would_change_and_changes_nothing(run: Run, files: Path, options: list[str]) -> None:
    ran = run("migrate", ".", *options)
    assert ran.stdout.startswith("--- old.toml\n+++ old.toml\n@@")
    assert '+packages = { apt = ["x"] }' in ran.stdout.splitlines()
    assert "-install_guide" in ran.stdout
    assert "warning: old.toml:8: darwin:" in ran.stderr
    assert "kept as manual" in ran.stderr
    assert ran.stderr.splitlines()[-1] == "2 looked at, 1 would change, 0 could not be migrated"
    assert "\x1b[31m" not in ran.stdout + ran.stderr
    assert (files / "old.toml").read_text() == GUIDE


def test_write_changes_the_files_that_need_it_and_no_other(run: Run, files: Path) -> None:
    (files / "old.toml").chmod(0o640)
    os.utime(files / "new.toml", (1, 1))
    assert run("migrate", ".", "--write").stdout == "old.toml\n"
    text = (files / "old.toml").read_text()
    assert text.startswith('# mine\n[metadata]\nname = "x"   # aligned\n')
    assert "install_guide" not in text
    assert (files / "old.toml").stat().st_mode & 0o777 == 0o640
    assert (files / "new.toml").stat().st_mtime == 1
    assert sorted(path.name for path in files.iterdir()) == ["new.toml", "old.toml", "plan.json"]
    run("validate", "old.toml")
    again = run("migrate", ".", "--write")
    assert (again.stdout, again.stderr) == ("", "2 looked at, 0 changed, 0 could not be migrated\n")


def test_check_ends_with_three_while_something_is_left(run: Run, files: Path) -> None:
    assert run("migrate", ".", "--check", code=3).stdout == "old.toml\n"
    assert (files / "old.toml").read_text() == GUIDE
    run("migrate", ".", "--write")
    run("migrate", ".", "--check", code=0)


def test_a_link_keeps_leading_to_its_file(run: Run, files: Path) -> None:
    (files / "sub").mkdir()
    (files / "sub" / "link.toml").symlink_to("../old.toml")
    run("migrate", "sub", "--write")
    assert (files / "sub" / "link.toml").is_symlink()
    assert "install_guide" not in (files / "old.toml").read_text()


def test_one_recipe_that_cannot_be_migrated_stops_no_other(run: Run, files: Path) -> None:
    (files / "bad.toml").write_text(GUIDE + '[[steps]]\naction = "apt_install"\npackages = ["a b"]\n')
    ran = run("migrate", "none.toml", "plan.json", ".", "--write", code=3)
    assert "none.toml: cannot be read" in ran.stderr
    assert "plan.json: is a plan (JSON), and a recipe (TOML) is needed here" in ran.stderr
    assert "bad.toml:11: steps[1].packages[0]" in ran.stderr
    assert "4 looked at" not in ran.stderr
    assert "3 could not be migrated" in ran.stderr
    assert "install_guide" not in (files / "old.toml").read_text()
    assert "install_guide" in (files / "bad.toml").read_text()


def test_a_file_that_cannot_be_written_is_told_and_stays_whole(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", deny)
    assert "old.toml: cannot be written: Permission denied" in run("migrate", "old.toml", "--write", code=3).stderr
    assert (files / "old.toml").read_text() == GUIDE
    assert sorted(path.name for path in files.iterdir()) == ["new.toml", "old.toml", "plan.json"]


def test_standard_input_goes_to_standard_output(run: Run, files: Path) -> None:
    run("migrate", "old.toml", "--write")
    assert run("migrate", "-", "--write", stdin=GUIDE.encode()).stdout == (files / "old.toml").read_text()
    assert run("migrate", "-", "--write", stdin=DONE.encode()).stdout == DONE


def test_json_is_one_object(run: Run, files: Path) -> None:
    found = run("migrate", ".", "none.toml", "--json", code=3).json
    assert (found["schema"], found["status"], found["exit_code"], found["error"]["type"]) == (
        1,
        "error",
        3,
        "InvalidInput",
    )
    new, old, none = found["files"]
    assert (new["file"], new["changed"], new["after"], new["error"]) == ("new.toml", False, None, None)
    assert (old["changed"], old["written"]) == (True, False)
    assert "packages" in old["after"]
    assert [(kept["platform"], kept["line"], kept["dropped"]) for kept in old["kept"]] == [("darwin", 8, False)]
    assert none["error"]["message"].startswith("none.toml: cannot be read")
    written = run("migrate", "old.toml", "--write", "--json").json
    assert (written["status"], written["files"][0]["written"]) == ("passed", True)
    (files / "old.toml").write_text(GUIDE)
    assert run("migrate", "old.toml", "--check", "--json", code=3).json["error"]["message"]
