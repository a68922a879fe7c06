"""Runs the rules over a recipe and gives each finding its line."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from tsandbox.errors import InvalidInput
from tsandbox.printable import one_line
from tsandbox.recipe.decode import Path, path_text
from tsandbox.recipe.lines import Lines
from tsandbox.recipe.lint.rule import Found, Rule, Severity, Subject
from tsandbox.recipe.lint.table import LOAD, RULES, SILENCE
from tsandbox.recipe.load import load_recipe
from tsandbox.recipe.model import Recipe
from tsandbox.recipe.near import did_you_mean


class Finding(Struct, frozen=True, kw_only=True):
    rule: str
    severity: Severity
    file: str
    line: int | None
    path: str
    message: str
    # Why the recipe silences this finding; None where it does not.
    silenced: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        what = f"{self.path}: {self.message}" if self.path else self.message
        return f"{place}: {self.severity}: {what} [{self.rule}]"


class Checked(Struct, frozen=True, kw_only=True):
    """One file, as `validate` sees it: the recipe where it loads, and everything found."""

    recipe: Recipe | None
    findings: tuple[Finding, ...]


def check_text(text: str, file: str = "-", knows: Callable[[str], bool] | None = None) -> Checked:
    """Loads and lints; what keeps the text from loading is a finding too."""
    try:
        recipe = load_recipe(text, file)
    except InvalidInput as error:
        return Checked(recipe=None, findings=load_findings(error, file))
    return Checked(recipe=recipe, findings=lint(recipe, text, knows))


def load_findings(error: InvalidInput, file: str) -> tuple[Finding, ...]:
    """The faults of a file that does not load, as findings."""
    if not error.problems:
        return (_finding(LOAD, error.file or file, error.line, "", error.message),)
    return tuple(_finding(LOAD, each.file, each.line, each.path, each.message) for each in error.problems)


def lint(recipe: Recipe, text: str, knows: Callable[[str], bool] | None = None) -> tuple[Finding, ...]:
    """All findings of a recipe in the order of its lines, silenced ones marked."""
    raw = tomllib.loads(text)
    subject = Subject(recipe=recipe, raw=raw, knows=knows)
    found = [(rule, each) for rule in RULES.values() for each in rule.check(subject)]
    found += [(SILENCE, each) for each in _stale_silences(recipe, {rule.id for rule, _ in found})]
    lines = Lines(text)
    findings = [_located(rule, each, recipe, raw, lines) for rule, each in found]
    return tuple(sorted(findings, key=lambda finding: (finding.line or 0, finding.rule)))


def _stale_silences(recipe: Recipe, broken: set[str]) -> Iterator[Found]:
    for rule in recipe.silenced:
        path: Path = ("lint", "ignore", rule)
        if rule not in RULES:
            yield Found(path, f"there is no such rule{did_you_mean(rule, RULES)}")
        elif rule == LOAD.id:
            yield Found(path, "errors cannot be silenced")
        elif rule not in broken:
            yield Found(path, "the recipe does not break this rule")


def _located(rule: Rule, found: Found, recipe: Recipe, raw: Mapping[str, Any], lines: Lines) -> Finding:
    path = _as_written(found.path, raw)
    silenced = recipe.silenced.get(rule.id) if rule is not SILENCE else None
    return _finding(rule, recipe.file, lines.of(*path) or 1, path_text(path), found.message, silenced)


def _as_written(path: Path, raw: Mapping[str, Any]) -> Path:
    """Parameters may stand in a table `params` of their step."""
    if len(path) < 3 or path[0] != "steps":
        return path
    table = raw["steps"][path[1]]
    nested = table.get("params", {})
    return (*path[:2], "params", *path[2:]) if path[2] not in table and path[2] in nested else path


def _finding(rule: Rule, file: str, line: int | None, path: str, message: str, silenced: str | None = None) -> Finding:
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        file=file,
        line=line,
        path=one_line(path),
        message=one_line(message),
        silenced=silenced,
    )
