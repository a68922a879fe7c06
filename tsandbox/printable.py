"""Text that others wrote, made safe to show: what a terminal or the log of a CI service would obey is shown instead."""

import re

# C0 and C1 controls except tab and newline, and the characters that reorder or hide text (bidi, zero width, BOM).
# Compiled by `re` when text first needs it: most never does, and every command starts faster so.
_UNSAFE = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
# Those of them that JSON and TOML let stand as they are.
_UNSAFE_IN_STRINGS = r"[\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
# What the logs of CI services obey: GitHub a line that begins so, behind any blanks, and the rest anywhere in a line.
_COMMAND = r"(?m)^([^\S\n]*):(?=:[A-Za-z-]+(?: [^\n]*)?::)"
_MARKED_COMMAND = r"#(?=#(?:vso|teamcity)?\[)"
_NAMES = {"\x1b": "\\e", "\r": "\\r"}


def printable(text: str) -> str:
    """`text` with every control character, and every command to a CI service, made visible; tabs and newlines stay."""
    if "::" in text or "##" in text:
        text = re.sub(_MARKED_COMMAND, r"\\x23", re.sub(_COMMAND, r"\1\\x3a", text))
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_Escapes()) if re.search(_UNSAFE, text) else text


def one_line(text: str) -> str:
    """`text` made printable on a single line."""
    return printable(text).replace("\n", "\\n").replace("\t", " ")


def escaped(document: str) -> str:
    """JSON or TOML that holds none of these characters either: the same data, in the formats' own escapes."""
    if "##" in document:
        document = re.sub(_MARKED_COMMAND, r"\\u0023", document)
    if document.isascii() and "\x7f" not in document:
        return document
    return re.sub(_UNSAFE_IN_STRINGS, lambda match: f"\\u{ord(match[0]):04x}", document)


class _Escapes(dict[int, str]):
    """What stands for each character of a text, found out once per character: a text may be all controls."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = _escape(char) if re.match(_UNSAFE, char) else char
        return self[code]


def _escape(char: str) -> str:
    return _NAMES.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
