"""Positions in TOML texts of every layout."""

import tomllib
from collections.abc import Iterator

import pytest

from tests.unit.recipe.samples import texts
from tsandbox.recipe.lines import Lines, deep_key, statements

TEXT = """\
# a comment with [brackets] and "quotes"
[metadata]                                  # 2
name = "x # not a comment"                  # 3
long = '''
[[steps]]
not = "a table"
'''
dotted.key = 1                              # 8
"quoted key" = 'a "b" c'                    # 9

[[steps]]                                   # 11
action = "a"
packages = [                                # 13
  "one",                                    # 14
  # in between
  "two", "three",                           # 16
]
when = { os = ["linux"], arch = "amd64" }   # 18

  [[steps]]                                 # 20
  action = "b"
    [steps.packages]                        # 22
    apt = ["x"]                             # 23
    [[steps.resources]]                     # 24
    url = "u"                               # 25
    [[steps.resources]]                     # 26
    url = "v"                               # 27
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("metadata",), 2),
        (("metadata", "name"), 3),
        (("metadata", "dotted", "key"), 8),
        (("metadata", "quoted key"), 9),
        (("steps",), 11),
        (("steps", 0), 11),
        (("steps", 0, "packages"), 13),
        (("steps", 0, "packages", 0), 14),
        (("steps", 0, "packages", 1), 16),
        (("steps", 0, "packages", 2), 16),
        (("steps", 0, "when", "arch"), 18),
        (("steps", 1), 20),
        (("steps", 1, "packages"), 22),
        (("steps", 1, "packages", "apt", 0), 23),
        (("steps", 1, "resources", 0, "url"), 25),
        (("steps", 1, "resources", 1, "url"), 27),
    ],
)
def test_every_value_has_its_line(path: tuple[str | int, ...], line: int) -> None:
    tomllib.loads(TEXT)
    assert Lines(TEXT).of(*path) == line


def test_what_is_not_there_has_the_line_of_what_is_around_it() -> None:
    assert Lines(TEXT).of("steps", 0, "missing", "deeper") == 11
    assert Lines(TEXT).of("nowhere") is None


@pytest.mark.parametrize("text", texts(), ids=lambda text: text.split('"')[1])
def test_every_key_of_the_shipped_recipes_is_found_on_a_line_that_holds_it(text: str) -> None:
    lines, written = Lines(text), text.split("\n")
    for path in _paths(tomllib.loads(text)):
        line = lines.of(*path)
        assert line is not None
        if isinstance(path[-1], str):
            assert path[-1] in written[line - 1], path


def _paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def test_steps_in_strings_do_not_count_as_steps() -> None:
    assert Lines(TEXT).of_steps(2) == [11, 20]


def test_steps_written_in_one_line_are_found_too() -> None:
    assert Lines('x = 1\nsteps = [\n { action = "a" },\n { action = "b" },\n]\n').of_steps(2) == [3, 4]


def test_a_layout_that_is_not_understood_costs_the_line_only() -> None:
    assert Lines("= = =").of("x") is None
    assert statements("= = =") == []


def test_statements_cover_the_text_in_order() -> None:
    found = statements(TEXT)
    assert [each.start for each in found] == sorted(each.start for each in found)
    assert TEXT[found[0].start : found[0].end] == "[metadata]"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\n" + "a." * 200 + "a = 1", 2),
        ("[[" + '"a" . ' * 200 + "a]]", 1),
        ("x = { b = 1, " + "a." * 200 + "a = 1 }", 1),
        ('x = "' + "." * 5000 + '"', None),
        ('x = "see ' + "www.example.com/" * 200 + '"', None),
        ("x = 1", None),
    ],
)
def test_only_keys_can_be_too_deep(text: str, line: int | None) -> None:
    assert deep_key(text) == line
