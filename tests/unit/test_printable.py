"""Text of others on a terminal."""

import json
import re
import sys

import pytest

from tsandbox.printable import escaped, one_line, printable


def test_what_moves_the_cursor_or_hides_text_is_shown() -> None:
    assert printable("a\x1b[2J\r\0\x9b\u202e\udc80é 漢\t\n") == "a\\e[2J\\r\\x00\\x9b\\u202e\\udc80é 漢\t\n"
    assert one_line("a\tb\nc\x07") == "a b\\nc\\x07"


def test_no_character_gets_through_that_should_not() -> None:
    shown = printable("".join(map(chr, range(sys.maxunicode + 1))))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ufeff\ud800-\udfff]", shown)
    assert printable(shown) == shown


def test_long_text_of_controls_only() -> None:
    assert printable("\0" * 1_000_000) == "\\x00" * 1_000_000


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("::error file=a.py,line=1::no", "\\x3a:error file=a.py,line=1::no"),
        ("a\n \u3000::stop-commands::x", "a\n \u3000\\x3a:stop-commands::x"),
        ("a ##[add-mask]e", "a \\x23#[add-mask]e"),
        ("###vso[task.setvariable variable=A]b", "#\\x23#vso[task.setvariable variable=A]b"),
        ("##teamcity[buildStatus]", "\\x23#teamcity[buildStatus]"),
    ],
)
def test_the_log_of_a_ci_service_is_given_no_commands(line: str, shown: str) -> None:
    assert printable(line) == shown
    assert printable(shown) == shown


@pytest.mark.parametrize("line", ["::1 localhost", "std::string::npos", "a ::error::", "## heading", "[1]##"])
def test_what_is_no_command_stays_as_it_is(line: str) -> None:
    assert printable(line) == line


def test_json_on_a_log_is_given_no_commands_and_says_the_same() -> None:
    document = json.dumps({"output": "\\##[error]x"})
    assert "##[" not in escaped(document)
    assert json.loads(escaped(document)) == json.loads(document)


def test_many_blank_lines_before_colons_are_searched_once() -> None:
    assert printable("\n" * 1_000_000 + "::") == "\n" * 1_000_000 + "::"
