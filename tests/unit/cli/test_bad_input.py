"""Bad input of every kind through the commands: a clear error, exit code 3, no traceback, one object with --json."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

RECIPE = '[metadata]\nname = "x"\n[[steps]]\naction = "manual"\ntext = "x"\n'
PLAN = {"format_version": 5, "tool": "x", "version": "1", "platform": {"os": "linux", "arch": "amd64"}, "steps": []}
BAD: dict[str, bytes] = {
    "not-utf8.toml": b"name = '\xff'",
    "bom.toml": b"\xef\xbb\xbf" + RECIPE.encode(),
    "not-toml.toml": b"hello",
    "not-json.json": b"{",
    "empty.toml": b"",
    "empty.json": b"",
    "large.toml": b"#" * 50_000_000,
    "large.json": b" " * 50_000_000,
    "deep.toml": b"x = " + b"[" * 10_000,
    "deep-key.toml": b"a" + b".a" * 10_000 + b" = 1",
    "deep.json": b"[" * 10_000,
    "nan.json": b'{"size": NaN}',
    "nan.toml": RECIPE.encode() + b"[sandbox]\nlimits = { cpus = nan }\n",
    "twice.json": b'{"tool": "a", "tool": "b"}',
    "twice.toml": b"a = 1\na = 2\n",
    "types.toml": b"metadata = 1\nsteps = 2\nverify = 3\n",
    "types.json": b'{"format_version": 5, "tool": [], "steps": {}, "platform": 3}',
    "newer.json": json.dumps({**PLAN, "format_version": 6}).encode(),
    "recipe.json": b'{"metadata": {"name": "x"}}',
    "plan.toml": json.dumps(PLAN).encode(),
    "escape.toml": b'[metadata]\nname = "\\u001b[31mred"\n["\\u009b31m"]\n[[steps]]\naction = "\\u202e"\n',
    "escape.json": b'{"format_version": 5, "tool": "\\u001b[31m", "steps": [{"action": "\\u202e"}], "platform": 1}',
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["spec", "validate", "guide"])
def test_a_bad_file_ends_with_three(run: Run, tmp_path: Path, command: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BAD[name])
    ran = run(command, path, code=3)
    assert f"{name}" in ran.stderr + ran.stdout
    assert not {"\x1b", "\x9b", "\u202e"} & set(ran.stdout + ran.stderr)
    found = run(command, path, "--json", code=3)
    assert (found.json["status"], found.json["exit_code"], found.json["stage"]) == ("error", 3, "load")
    assert str(path) == found.json["error"]["file"]
    assert found.json["error"]["type"] == "InvalidInput"


@pytest.mark.parametrize("command", ["spec", "plan", "validate", "guide", "migrate"])
def test_what_is_not_there_ends_with_three(run: Run, tmp_path: Path, command: str) -> None:
    assert "cannot be read: No such file" in "".join(run(command, tmp_path / "none.toml", code=3)[1:])
    long = "".join(run(command, "a" * 5000, code=3)[1:])
    assert "internal error" not in long
    (tmp_path / "x.toml").mkdir()
    run(command, tmp_path / "x.toml", code=None)


def test_a_plan_where_a_recipe_is_needed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(PLAN))
    assert "is a plan (JSON), and a recipe (TOML) is needed here" in run("plan", path, code=3).stderr


@pytest.mark.parametrize("name", BAD)
def test_the_same_on_standard_input(run: Run, name: str) -> None:
    found = run("spec", "-", "--json", stdin=BAD[name], code=None if name == "plan.toml" else 3)
    # Without a name it is what it looks like: this one is a plan.
    assert name == "plan.toml" or (found.json["error"]["file"], found.json["stage"]) == ("-", "load")
    assert not {"\x1b", "\x9b", "\u202e"} & set(found.stdout + found.stderr)


def test_all_errors_are_told_at_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('[metadata]\nname = "a b"\n[[steps]]\naction = "apt_install"\npackages = ["c d"]\n[verfiy]\n')
    ran = run("spec", path, code=3)
    for line in (
        "2: metadata.name: ",
        "5: steps[0].packages[0]: ",
        "6: verfiy: unknown table (did you mean 'verify'?)",
    ):
        assert f"{path}:{line}" in ran.stderr
    problems = run("spec", path, "--json", code=3).json["error"]["problems"]
    assert [problem["line"] for problem in problems] == [2, 5, 6]


def test_debug_shows_the_traceback_of_a_bug_only_when_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr("tsandbox.cli.validate.read_text", fail)
    ran = run("validate", "jq", code=1)
    assert "internal error: ZeroDivisionError: boom" in ran.stderr
