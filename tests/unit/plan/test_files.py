"""Input files of every kind that a person, a script or an attacker can name."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

from tsandbox.errors import InvalidInput
from tsandbox.plan import Plan, load
from tsandbox.plan.files import files_below, find_sources, read_text
from tsandbox.recipe import Recipe

RECIPE = b'[metadata]\nname = "x"\n[[steps]]\naction = "manual"\ntext = "x"\n'
PLAN = b'{"format_version": 5, "tool": "x", "version": "1", "platform": {"os": "linux", "arch": "amd64"}, "steps": []}'


def refused(path: Path | str, **options: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        load(path, **options)  # type: ignore[arg-type]
    assert caught.value.exit_code == 3
    assert caught.value.problems
    return caught.value.message


BAD = {
    "not-utf8.toml": (b"[metadata]\nname = '\xff'\n", "not-utf8.toml:2: is not UTF-8 (byte 0xff)"),
    "utf16.toml": ('name = "x"'.encode("utf-16"), "utf16.toml:1: is not UTF-8"),
    "latin1.json": (b'{"tool": "\xe9"}', "latin1.json:1: is not UTF-8 (byte 0xe9)"),
    "bom.toml": (b"\xef\xbb\xbf" + RECIPE, "bom.toml: starts with a byte order mark"),
    "bom.json": (b"\xef\xbb\xbf" + PLAN, "bom.json: starts with a byte order mark"),
    "not-toml.toml": (b"hello world", "not-toml.toml:1: not valid TOML"),
    "not-json.json": (b'{\n "tool": }', "not-json.json:2: not valid JSON"),
    "empty.toml": (b"", "empty.toml: is empty"),
    "blank.json": (b" \n\t", "blank.json: is empty"),
    "zeros.toml": (b"\0" * 100, "zeros.toml:1: not valid TOML"),
    "large.toml": (b"#" * 50_000_000, "large.toml: is too large: a recipe has at most 1,048,576 bytes"),
    "large.json": (b" " * 50_000_000, "large.json: is too large: a plan has at most 16,777,216 bytes"),
    "deep.toml": (b"x = " + b"[" * 10_000, "deep.toml: is nested too deeply"),
    "deep.json": (b"[" * 10_000, "deep.json: is nested too deeply"),
    "nan.json": (b'{"format_version": NaN}', "nan.json: NaN is not JSON"),
    "infinity.json": (b'{"size": -Infinity}', "infinity.json: -Infinity is not JSON"),
    "twice.json": (b'{"tool": "a", "tool": "b"}', "twice.json: the key 'tool' is given twice in one object"),
    "tables.toml": (b"[a.b]\n[a.b]\n", "tables.toml:2: not valid TOML: [a.b] is given twice"),
    "open.toml": (b'a = 1\nb = "c\n', "open.toml:2: not valid TOML: a text in quotes does not end on its line"),
    "literal.toml": (b"b = 'c\nd = 'e'\n", "literal.toml:1: not valid TOML: a text in quotes does not end on its line"),
    "twice.toml": (b"a = 1\na = 2", "twice.toml:2: not valid TOML: Cannot overwrite a value"),
    "list.json": (b"[]", "list.json: a plan is a JSON object"),
    "text.json": (b'"x"', "text.json: a plan is a JSON object"),
    "huge-number.json": (b'{"size": 1' + b"0" * 5000 + b"}", "huge-number.json: holds a number with too many digits"),
    "surrogate.json": (b'{"tool": "\\ud800"}', "surrogate.json: \\ud800 alone is not a character"),
    "recipe.json": (b'{"metadata": {"name": "x"}, "steps": []}', "recipe.json: is not a plan: it looks like a recipe"),
    "plan.toml": (PLAN, "plan.toml: is not TOML: it looks like a plan"),
    "recipe-in-json.json": (RECIPE, "recipe-in-json.json: is not JSON: it looks like a recipe"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_a_clear_error_and_no_traceback(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, message = BAD[name]
    Path(name).write_bytes(data)
    assert refused(name).startswith(message)


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dir.toml").mkdir()
    Path("loop.toml").symlink_to("loop.toml")
    assert refused("dir.toml") == "dir.toml: is a directory; a recipe or plan file was expected"
    assert refused("none.toml") == "none.toml: cannot be read: No such file or directory"
    assert "cannot be read" in refused("loop.toml")
    assert "cannot be read: File name too long" in refused("a" * 5000)
    assert "is not a file name" in refused("a\0b")
    assert "cannot be read: Not a directory" in refused("/dev/null/x.toml")
    assert refused("/dev/null") == "/dev/null: is empty"
    assert "is too large" in refused("/dev/zero")


@contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """Root reads everything, and so becomes somebody else for a while."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(me)


def test_a_file_without_permission() -> None:
    # Not in pytest's own directory, which nobody else may look into.
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        path = Path(directory, "x.toml")
        path.write_bytes(RECIPE)
        path.chmod(0)
        with as_an_ordinary_user():
            assert refused(path) == f"{path}: cannot be read: Permission denied"


def test_a_recipe_where_a_plan_is_needed_and_the_reverse(tmp_path: Path) -> None:
    recipe, plan = tmp_path / "x.toml", tmp_path / "x.json"
    recipe.write_bytes(RECIPE)
    plan.write_bytes(PLAN)
    assert refused(recipe, only="plan") == f"{recipe}: is a recipe (TOML), and a plan (JSON) is needed here"
    assert refused(plan, only="recipe") == f"{plan}: is a plan (JSON), and a recipe (TOML) is needed here"
    assert isinstance(load(recipe, only="recipe"), Recipe)
    assert isinstance(load(plan, only="plan"), Plan)


@pytest.mark.parametrize(("data", "kind"), [(RECIPE, Recipe), (PLAN, Plan), (b"\n \t" + PLAN, Plan)])
def test_a_file_without_an_ending_and_standard_input_are_told_apart_by_how_they_begin(
    data: bytes, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_bytes(data)
    assert isinstance(load(tmp_path / "x"), kind)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))
    assert isinstance(load("-"), kind)


def test_standard_input_is_read_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"x" * 20_000_000)))
    assert refused("-") == "-: is too large: a recipe has at most 1,048,576 bytes"


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=[RECIPE], daemon=True)
    writer.start()
    assert isinstance(load(pipe), Recipe)
    writer.join()


def test_directories_are_walked_in_a_stable_order_and_hidden_ones_left_alone(tmp_path: Path) -> None:
    for name in ("b.toml", "a.json", "sub/c.toml", ".hidden/d.toml", ".e.toml", "f.txt", "sub/deep/g.toml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(RECIPE)
    names = [str(path.relative_to(tmp_path)) for path in files_below(tmp_path)]
    assert names == ["a.json", "b.toml", "sub/c.toml", "sub/deep/g.toml"]
    assert [source.path for source in find_sources([str(tmp_path)], [".toml"])] == [
        tmp_path / "b.toml", tmp_path / "sub/c.toml", tmp_path / "sub/deep/g.toml",
    ]  # fmt: skip


def test_an_empty_directory_is_an_error_and_not_a_success_without_work(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"the directory holds no \*.toml and no \*.json"):
        list(find_sources([str(tmp_path)]))


def test_a_directory_that_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.toml").write_bytes(RECIPE)
    (tmp_path / "locked").mkdir()
    listing = os.scandir

    def deny(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", deny)
    with pytest.raises(InvalidInput, match="locked: cannot be read: Permission denied"):
        list(find_sources([str(tmp_path)]))


def test_a_name_that_is_not_utf8_is_shown_escaped(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.toml"
    with open(path, "wb") as file:  # noqa: PTH123 - the name is bytes
        file.write(RECIPE)
    [source] = find_sources([str(tmp_path)])
    assert source.name.endswith("/\\xff.toml")
    assert read_text(source).file == source.name
    source.name.encode()


def test_a_version_follows_the_last_at_sign_unless_there_is_such_a_file(tmp_path: Path) -> None:
    (tmp_path / "node@20.toml").write_bytes(RECIPE)
    [exact] = find_sources([str(tmp_path / "node@20.toml")])
    assert (exact.path, exact.version) == (tmp_path / "node@20.toml", None)
    [versioned] = find_sources([str(tmp_path / "x.toml@1.2")])
    assert (versioned.path, versioned.version) == (tmp_path / "x.toml", "1.2")
