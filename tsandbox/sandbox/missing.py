"""What is missing in the sandbox, who provides it, and what to write into the recipe."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from tsandbox.recipe.target import Target
from tsandbox.sandbox.contents import Index, Kind
from tsandbox.sandbox.outcome import Advice, Finding

# The runner's word for a missing thing: what it is to us, and where its name stands.
_KINDS: dict[str, tuple[Kind, str]] = {
    "missing_command": ("command", "command"),
    "missing_library": ("library", "library"),
    "missing_header": ("header", "header"),
    "missing_pkgconfig": ("pkgconfig", "pkgconfig"),
    "missing_cmake_package": ("cmake", "cmake"),
    "missing_perl_module": ("perl", "file"),
    "missing_python_module": ("python", "module"),
}
_SHOWN = 4

# The index is made only when something is missing: it costs a download the first time.
Open = Callable[[], Index | None]


def advise(findings: Iterable[Finding], target: Target, open_index: Open) -> tuple[Advice, ...]:
    """Advice for each missing thing, once, in the order in which they were found."""
    asked: dict[tuple[Kind, str], Finding] = {}
    for finding in findings:
        if finding.kind in _KINDS:
            kind, key = _KINDS[finding.kind]
            if name := str(finding.data.get(key) or ""):
                asked.setdefault((kind, name), finding)
    if not asked:
        return ()
    index = open_index() if target.linux_family == "debian" else None
    return tuple(_advice(kind, name, finding, target, index) for (kind, name), finding in asked.items())


def describe(advice: Advice) -> str:
    """One line for people."""
    words = {"pkgconfig": "pkg-config file", "cmake": "CMake package", "perl": "Perl module", "python": "Python module"}
    what = words.get(advice.kind, advice.kind)
    start = f"the {what} {advice.name}"
    if not advice.packages:
        return f"{start} is not declared; {advice.note}" if advice.note else f"{start} is not declared"
    best, *others = advice.packages
    more = f" (also in {', '.join(others)})" if others else ""
    return f"{start} is in the package {best}{more}"


def _advice(kind: Kind, name: str, finding: Finding, target: Target, index: Index | None) -> Advice:
    packages: tuple[str, ...] = ()
    note = _special(kind, name)
    if note is None and target.linux_family == "debian":
        packages = _debian_packages(kind, name, index)
        if not packages:
            note = _no_answer(name, index)
    elif note is None:
        note = f"find its package with: {_question(kind, name, target)}"
    needed_by = finding.data.get("needed_by")
    return Advice(
        kind=kind,
        name=name,
        packages=packages,
        needed_by=str(needed_by) if needed_by else None,
        step=finding.step,
        note=note,
    )


def _special(kind: Kind, name: str) -> str | None:
    if kind == "library" and name.startswith("ld-musl-"):
        return "the program is built for musl (Alpine): take the file for glibc (often named gnu), or a static one"
    if kind == "library" and name.startswith("ld-linux"):
        return "the program is built for another architecture or libc than this image"
    return None


def _debian_packages(kind: Kind, name: str, index: Index | None) -> tuple[str, ...]:
    known = _known(kind, Path(name).name if kind == "command" else name)
    instead = _facts()["instead"]
    held = [instead.get(found.package, found.package) for found in index.look_up(kind, name)] if index else []
    return tuple(dict.fromkeys([*([known] if known else []), *held]))[:_SHOWN]


def _known(kind: Kind, name: str) -> str | None:
    listed: Mapping[str, str] = _facts().get(kind, {})
    if kind == "cmake":
        # Written in any mixture of cases, as everything that CMake finds.
        return next((package for each, package in listed.items() if each.lower() == name.lower()), None)
    return listed.get(name)


def _no_answer(name: str, index: Index | None) -> str:
    if index:
        return "no package of Debian holds it: is it part of the tool itself, or of another recipe (dependencies)?"
    question = _facts()["search"]["file"]["apt"].format(name=name)
    return f"there is no index of Debian's files here (offline, or a host without apt): {question}"


def _question(kind: Kind, name: str, target: Target) -> str:
    questions = _facts()["search"].get(kind) or _facts()["search"]["file"]
    return str(questions.get(target.package_manager or "", "")).format(name=name)


@cache
def _facts() -> Mapping[str, Any]:
    text = (Path(__file__).parent / "provides.toml").read_text(encoding="utf-8")
    return cast("Mapping[str, Any]", tomllib.loads(text))
