"""Text of others on a terminal."""

import re
import sys

from tsandbox.printable import one_line, printable


def test_what_moves_the_cursor_or_hides_text_is_shown() -> None:
    assert printable("a\x1b[2J\r\0\x9b\u202e\udc80é 漢\t\n") == "a\\e[2J\\r\\x00\\x9b\\u202e\\udc80é 漢\t\n"
    assert one_line("a\tb\nc\x07") == "a b\\nc\\x07"


def test_no_character_gets_through_that_should_not() -> None:
    shown = printable("".join(map(chr, range(sys.maxunicode + 1))))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ufeff\ud800-\udfff]", shown)
    assert printable(shown) == shown


def test_long_text_of_controls_only() -> None:
    assert printable("\0" * 1_000_000) == "\\x00" * 1_000_000
