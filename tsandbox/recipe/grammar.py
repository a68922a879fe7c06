"""The grammar of every field that a recipe can fill: what does not match is refused when the recipe is loaded.

Each check returns None for a good value, or the sentence that says what is wrong with it. They are the first of two
walls: what passes here is still quoted wherever it is used.

Patterns are compiled by `re` when they are first needed: most commands use a few of them, and start faster so.
"""

import re
from collections.abc import Callable

from msgspec import Struct

Check = Callable[[str], str | None]

_LONGEST = 4096
_SHIFTS = {"k": 10, "m": 20, "g": 30}

# Names as the tools themselves define them, narrowed to what cannot be read as an option or a path.
#   apt     Debian policy 5.6.1, plus =version, :arch and /release
#   dnf     rpm names, plus @group and @module:stream/profile, globs left out, plus (capability) as in perl(Foo::Bar)
#   pacman  alpm package names, plus repo/name and =version
#   apk     names, so: cmd: and pc: provides, version constraints, @tag
#   zypper  rpm names, plus pattern: and name=version
#   brew    formula and cask names, with tap and @version
_RPM = r"[A-Za-z0-9](?:[A-Za-z0-9._+~:^-]*[A-Za-z0-9._+~^])?(?:\([A-Za-z0-9._:+-]*\)(?:\([A-Za-z0-9._-]+\))?)?"
_PACKAGES = {
    # a trailing "-" would tell apt to remove the package
    "apt": r"[a-z0-9](?:[a-z0-9.+-]*[a-z0-9.+])?(?::[a-z0-9-]+)?(?:=[A-Za-z0-9.+~:-]+|/[a-z][a-z0-9.-]*)?",
    "dnf": rf"{_RPM}|@{_RPM}(?:/[A-Za-z0-9._-]+)?",
    "pacman": r"(?:[a-z0-9][a-z0-9_-]*/)?[A-Za-z0-9@_+][A-Za-z0-9@._+-]*(?:(?:>=|<=|=|<|>)[A-Za-z0-9._+:~-]+)?",
    "apk": r"(?:so:|cmd:|pc:|py3\.[0-9]+:)?[A-Za-z0-9_][A-Za-z0-9._+-]*"
    r"(?:(?:>=|<=|=~?|<|>|~=?)[A-Za-z0-9._+-]+)?(?:@[A-Za-z0-9._-]+)?",
    "zypper": rf"(?:pattern:|patch:|product:)?{_RPM}(?:(?:>=|<=|=|<|>)[A-Za-z0-9._+:~-]+)?",
    "brew": r"(?:[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9][A-Za-z0-9_-]*/)?[a-zA-Z0-9][A-Za-z0-9._+-]*(?:@[A-Za-z0-9._]+)?",
}


_BYTES = r"[1-9][0-9]{0,14}(?:[kKmMgG](?:i?[bB])?)?|[1-9][0-9]{0,14}[bB]"


class Matching(Struct, frozen=True):
    """A check by one pattern, which the JSON Schema of recipes repeats for editors."""

    pattern: str
    what: str
    longest: int = 256
    # Whether the pattern takes every plain word: most names are, and need not wait for a pattern to be compiled.
    takes_words: bool = False

    def __call__(self, text: str) -> str | None:
        if len(text) <= self.longest and ((self.takes_words and is_word(text)) or re.fullmatch(self.pattern, text)):
            return None
        return f"{_show(text)} is not {self.what}"


class Amount(Matching, frozen=True):
    """Bytes, as in 512m: as many as make sense."""

    least: int = 1 << 20
    most: int = 1 << 40

    def __call__(self, text: str) -> str | None:
        if fault := Matching.__call__(self, text):
            return fault
        return self.out_of_bounds(bytes_in(text))

    def out_of_bounds(self, count: int) -> str | None:
        if self.least <= count <= self.most:
            return None
        return f"must be between {self.least >> 20}m and {self.most >> 30}g"


def bytes_in(amount: str) -> int:
    """Of an amount that matches: 512m, 2g, 2GiB."""
    digits = amount.rstrip("kKmMgGiIbB")
    return int(digits) << _SHIFTS.get(amount[len(digits) :][:1].lower(), 0)


def quantity(value: float) -> str | None:
    """Of processors, processes, seconds: infinity and what is no number are refused with the rest."""
    return None if 0 < value < 1e6 else "must be more than 0 and less than a million"


def is_word(text: str) -> bool:
    """Lower-case letters and digits, with hyphens between them."""
    bare = text.replace("-", "")
    return text[:1] != "-" and text[-1:] != "-" and bare.isascii() and bare.isalnum() and bare.islower()


def package(manager: str) -> Matching:
    pattern = _PACKAGES["brew" if manager == "brew_cask" else manager]
    return Matching(pattern, f"a package name that {manager} knows", takes_words=True)


name = Matching(
    r"[A-Za-z0-9@][A-Za-z0-9@._+-]*(?:/[A-Za-z0-9][A-Za-z0-9._+-]*)?",
    "a name: letters, digits, '.', '_', '+', '-', starting with a letter or digit",
    takes_words=True,
)
# Names and versions become parts of paths: no part of theirs begins with a dot, so that none leads upwards.
version = Matching(
    r"[A-Za-z0-9][A-Za-z0-9._+~:@-]*(?:/[A-Za-z0-9][A-Za-z0-9._+~:@-]*)*",
    "a version: letters, digits and . _ + ~ : @ / -",
)
dependency = Matching(
    r"[A-Za-z0-9][A-Za-z0-9._+-]*(?:@[A-Za-z0-9][A-Za-z0-9._+~:-]*)*",
    "a dependency: a recipe's name, optionally with @version",
)
python_package = Matching(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9](?:[A-Za-z0-9._, -]*[A-Za-z0-9])?\])?",
    "a Python package's name, optionally with [extras]",
    takes_words=True,
)
node_package = Matching(
    r"(?:@[A-Za-z0-9~_-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_][A-Za-z0-9._~-]*",
    "a Node package's name, such as tool or @owner/tool",
    takes_words=True,
)
# What pip and npm take for one version: everything else would be an address or an option to them.
package_version = Matching(r"[0-9A-Za-z][0-9A-Za-z.+!_-]*", "a package's version such as 1.4.2")
sha256 = Matching(r"[0-9a-fA-F]{64}", "a sha256: 64 hexadecimal digits")
group = Matching(r"[a-z_][a-z0-9_-]{0,30}\$?", "a group name: lower-case letters, digits, '_' and '-', at most 32")
service = Matching(
    r"[A-Za-z0-9_][A-Za-z0-9@:._\\-]{0,200}", "a service name: letters, digits and @ : . _ -", longest=220
)
command = Matching(
    r"(?:/(?:[A-Za-z0-9_+-][A-Za-z0-9._+-]*/)*)?[A-Za-z0-9_\[][A-Za-z0-9._+\[-]*",
    "a command: one program name or absolute path, without arguments",
    takes_words=True,
)
flag = Matching(r"-{0,2}[A-Za-z0-9][A-Za-z0-9=._-]*(?: -{0,2}[A-Za-z0-9][A-Za-z0-9=._-]*)*", "a flag such as --version")
env_name = Matching(r"[A-Za-z_][A-Za-z0-9_]*", "an environment variable's name: letters, digits and '_'")
mode = Matching(r"0?[0-7]{3,4}", "a file mode such as 0644")
suite = Matching(r"\.?/|[A-Za-z0-9][A-Za-z0-9._~/-]*", "a suite such as bookworm, stable/ or ./")
component = Matching(r"[A-Za-z0-9][A-Za-z0-9._/-]*", "a component such as main")
ppa = Matching(r"(?:ppa:)?[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*", "a PPA such as ppa:owner/name")
tap = Matching(r"[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9][A-Za-z0-9_-]*", "a tap such as owner/name")
repository_name = Matching(r"[A-Za-z0-9][A-Za-z0-9._-]*", "a repository name: letters, digits, '.', '_' and '-'")
key_file = Matching(r"[A-Za-z0-9][A-Za-z0-9._@+-]*", "a key file's name")
# An engine starts no container with less.
memory = Amount(_BYTES, "an amount of memory such as 512m or 2g", least=6 << 20)
disk = Amount(_BYTES, "an amount of disk space such as 500m or 20g")
user = Matching(
    r"(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,9})(?::(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,9}))?",
    "a user such as nobody or 1000:1000",
)

_URL = (
    r"https://"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\.?)"
    r"(?::[0-9]{1,5})?(?:[/?#][!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z{}~|$]*)?"
)
_FILE_ROOTS = ("/etc/", "/opt/", "/usr/local/", "/srv/")
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"
_CONTROL_BUT_LAYOUT = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]"


def https_url(text: str) -> str | None:
    if "@" in text.partition("://")[2].split("/", 1)[0]:
        # The credentials themselves must not show up in a log.
        return "the URL carries credentials; remove them from the recipe"
    if not text.startswith("https://"):
        return f"{_show(text)} must be an https:// URL"
    if len(text) > _LONGEST or not re.fullmatch(_URL, text):
        return f"{_show(text)} is not a well-formed URL"
    return None


def download_url(text: str) -> str | None:
    if text.startswith("{"):
        # A placeholder is the whole address: it is checked when it has been filled in.
        return None
    # Plain http is accepted here and warned about by `validate`: the checksum is what protects a download.
    return https_url(f"https{text[4:]}" if text.startswith("http://") else text)


def repository_url(text: str) -> str | None:
    """A URL that is written into package manager configuration, where dollar signs and braces mean something."""
    if fault := https_url(text):
        return fault
    rest = re.sub(r"\$(?:basearch|arch|releasever|repo)\b", "", text)
    if re.search(r"[$`\[\]{}'\"\\|;]", rest):
        return f"{_show(text)} holds characters that a repository URL cannot have"
    return None


def file_path(text: str) -> str | None:
    """A path that `file_write` may write: under one of the roots, with no way back up."""
    if not text.startswith(_FILE_ROOTS):
        return f"{_show(text)} is not under {', '.join(root.rstrip('/') for root in _FILE_ROOTS)}"
    parts = text.split("/")[1:]
    if any(part in ("", ".", "..") for part in parts):
        return f"{_show(text)} holds an empty, '.' or '..' part"
    if len(text) > 1024 or not re.fullmatch(r"[A-Za-z0-9._+@:~,=/ -]+", text):
        return f"{_show(text)} holds characters that a path here cannot have"
    return None


def inside_path(text: str) -> str | None:
    """A path inside a tool's own directory: relative, and never leaving it."""
    if not text or text.startswith("/") or ".." in text.split("/") or re.search(_CONTROL, text):
        return f"{_show(text)} must be a relative path that stays inside its directory"
    return None


def one_line(text: str) -> str | None:
    if len(text) > _LONGEST or re.search(_CONTROL, text):
        return "must be one line of text without control characters"
    return None


def free_in_sandbox(name: str) -> str | None:
    """Where programs and libraries are found is the sandbox's own: the runner itself would start with another value."""
    return f"{name} is set by the sandbox and cannot be given" if name == "PATH" or name.startswith("LD_") else None


def prose(text: str) -> str | None:
    """Text that only people read; escape sequences are shown escaped, so here they only have to be bounded."""
    return "is longer than 64 KiB" if len(text) > 65536 else None


def file_content(text: str) -> str | None:
    if len(text) > 1 << 20:
        return "is longer than 1 MiB"
    return "holds control characters" if re.search(_CONTROL_BUT_LAYOUT, text) else None


def version_pattern(text: str) -> str | None:
    if len(text) > 512:
        return "is longer than 512 characters"
    try:
        compiled = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        return f"{_show(text)} is not a regular expression: {error}"
    return None if compiled.groups else f"{_show(text)} needs one group that holds the version, as in ([0-9.]+)"


def _show(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "…")
