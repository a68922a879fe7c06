"""Which Debian package holds a command, library, header or module: a small index, made once.

Debian's Contents files name every file of every package, 650 MB of text. The index keeps what a failed installation
can ask for and is looked up in a millisecond.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["command", "library", "header", "pkgconfig", "cmake", "perl", "python"]

_TRIPLET = r"(?:[a-z0-9_]+-linux-gnu[a-z0-9]*)"
# Where each kind of file lies, by how good a place it is: the first of a kind is what a program finds by itself.
_WHERE: tuple[tuple[Kind, int, str], ...] = (
    ("command", 0, r"(?:usr/)?s?bin/([^/]+)"),
    ("command", 1, r"usr/games/([^/]+)"),
    ("command", 3, r"(?:usr/lib|opt)/.*/bin/([^/]+)"),
    ("library", 0, rf"(?:usr/)?lib(?:64)?/(?:{_TRIPLET}/)?([^/]+\.so(?:\.[^/]+)?)"),
    ("library", 3, r"(?:usr/)?lib/.*/([^/]+\.so(?:\.[^/]+)?)"),
    ("header", 0, rf"usr/include/(?:{_TRIPLET}/)?(.+\.(?:h|hh|hpp|hxx))"),
    ("pkgconfig", 0, rf"usr/(?:lib|share)/(?:{_TRIPLET}/)?pkgconfig/([^/]+\.pc)"),
    ("cmake", 0, rf"usr/(?:lib|share)/(?:{_TRIPLET}/)?cmake/(?:[^/]+/)?([^/]+?)(?:Config|-config)\.cmake"),
    ("python", 0, r"usr/lib/python3/dist-packages/(\w+)(?:\.py|/__init__\.py|\.cpython-[^/]+\.so)"),
    ("python", 1, r"usr/lib/python3\.\d+/(\w+)(?:\.py|/__init__\.py)"),
    ("perl", 0, rf"usr/(?:share|lib)/(?:{_TRIPLET}/)?perl(?:5|-base)?/(?:5\.[0-9.]+/)?(.+\.pm)"),
)
_PLACES = tuple((kind, rank, re.compile(pattern)) for kind, rank, pattern in _WHERE)
# A cheap first look: nearly all lines are of no interest, and a regular expression for each would take a minute.
_WORTH_A_LOOK = ("bin/", ".so", "usr/include/", ".pc ", ".pm ", "usr/games/", "onfig.cmake ", "/python3")
_PRIORITIES = {"required": 3, "important": 2, "standard": 1}
# Packages that hold a file by the way: nobody declares them to get it.
_ODD_SECTIONS = frozenset({"debug", "oldlibs", "doc", "metapackages", "debian-installer"})
_SCHEMA = """
create table package (id integer primary key, name text, odd integer, priority integer, needed_by integer);
create table file (kind text, name text, package integer, rank integer, path text,
                   primary key (kind, name, package)) without rowid;
"""


class Candidate(NamedTuple):
    """A package that holds the file, best first by its sort key."""

    package: str
    path: str


class Index:
    def __init__(self, path: Path) -> None:
        self.path = path

    def look_up(self, kind: Kind, name: str) -> list[Candidate]:
        """Packages that hold it: in the usual place before elsewhere, then those that most others rely on."""
        # CMake's own names are written in any mixture of cases: find_package(OpenSSL), OpenSSLConfig.cmake.
        same = "file.name = ? collate nocase" if kind == "cmake" else "file.name = ?"
        found = self._ask(f"kind = ? and {same}", (kind, name))
        if not found and kind == "header":
            # Some headers lie deeper, and a compiler is told where: Python.h, glib.h.
            found = self._ask("kind = ? and file.name like ? escape '!'", (kind, f"%/{_literal(name)}"))
        return found

    def _ask(self, condition: str, values: tuple[str, ...]) -> list[Candidate]:
        query = (
            "select package.name, file.path from file join package on package.id = file.package "  # noqa: S608 - fixed
            f"where {condition} "
            "order by rank, odd, priority desc, needed_by desc, length(package.name), package.name"
        )
        import sqlite3

        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as base:
            return [Candidate(*row) for row in base.execute(query, values)]


def _literal(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def build(path: Path, contents: Iterable[str], stanzas: Iterable[str], *, told: Callable[[int], None]) -> Index:
    """The index at `path` from the lines of Contents files and of Packages files."""
    import sqlite3

    priorities, needed_by = _package_facts(stanzas)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".new")
    made.unlink(missing_ok=True)
    packages: dict[str, tuple[int, bool]] = {}
    with closing(sqlite3.connect(made)) as base:
        base.executescript("pragma journal_mode = off; pragma synchronous = off;" + _SCHEMA)
        base.executemany("insert or ignore into file values (?, ?, ?, ?, ?)", _rows(contents, packages, told))
        base.executemany(
            "insert into package values (?, ?, ?, ?, ?)",
            ((number, name, odd, priorities.get(name, 0), needed_by[name]) for name, (number, odd) in packages.items()),
        )
        base.commit()
    return Index(made.replace(path))


def _rows(
    lines: Iterable[str], packages: dict[str, tuple[int, bool]], told: Callable[[int], None]
) -> Iterator[tuple[str, str, int, int, str]]:
    for count, line in enumerate(lines):
        if count % 500_000 == 0:
            told(count)
        if not any(part in line for part in _WORTH_A_LOOK):
            continue
        path, _, holders = line.rstrip().rpartition(" ")
        path = path.rstrip()
        for kind, rank, name in kinds(path):
            for holder in holders.split(","):
                section, _, package = holder.rpartition("/")
                odd = section.rpartition("/")[2] in _ODD_SECTIONS
                number, _ = packages.setdefault(package, (len(packages), odd))
                yield kind, name, number, rank, f"/{path}"


def kinds(path: str) -> Iterator[tuple[Kind, int, str]]:
    """What a file can be looked up as; the best place of a kind counts."""
    seen: set[Kind] = set()
    for kind, rank, pattern in _PLACES:
        if kind not in seen and (match := pattern.fullmatch(path)):
            seen.add(kind)
            yield kind, rank, match.group(1)


def _package_facts(lines: Iterable[str]) -> tuple[dict[str, int], Counter[str]]:
    """Priorities, and how many packages depend on each: what many rely on is rarely the wrong suggestion."""
    priorities: dict[str, int] = {}
    needed_by: Counter[str] = Counter()
    package = ""
    for line in lines:
        key, _, value = line.partition(": ")
        if key == "Package":
            package = value.strip()
        elif key == "Priority":
            priorities[package] = _PRIORITIES.get(value.strip(), 0)
        elif key in ("Depends", "Pre-Depends"):
            needed_by.update({re.split(r"[ (:|]", each.strip(), maxsplit=1)[0] for each in value.split(",")})
    return priorities, needed_by
