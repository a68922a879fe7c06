"""What `tsandbox validate` found, for programs."""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from tsandbox import __version__
from tsandbox.errors import InvalidInput, Problem
from tsandbox.recipe.lint import RULES, Finding
from tsandbox.report import sarif
from tsandbox.report.result import ErrorRecord, error_record, outcome_object


class FileReport(Struct, frozen=True, kw_only=True):
    file: str
    kind: Literal["recipe", "plan"] | None = None
    tool: str | None = None
    findings: tuple[Finding, ...] = ()
    missing_dependencies: tuple[str, ...] = ()


class Counts(Struct, frozen=True, kw_only=True):
    files: int = 0
    errors: int = 0
    warnings: int = 0
    silenced: int = 0

    def __str__(self) -> str:
        parts = [_many(self.files, "file"), _many(self.errors, "error"), _many(self.warnings, "warning")]
        return ", ".join(parts) + (f", {self.silenced} silenced" if self.silenced else "")


def count(files: Iterable[FileReport]) -> Counts:
    found = list(files)
    findings = [finding for file in found for finding in file.findings]
    loud = [finding.severity for finding in findings if finding.silenced is None]
    return Counts(
        files=len(found),
        errors=loud.count("error"),
        warnings=loud.count("warning"),
        silenced=len(findings) - len(loud),
    )


def exit_code(counts: Counts, *, strict: bool) -> int:
    return InvalidInput.exit_code if counts.errors or (strict and counts.warnings) else 0


def as_json(files: Iterable[FileReport], *, strict: bool) -> bytes:
    found = tuple(files)
    counts = count(found)
    code = exit_code(counts, strict=strict)
    whole = outcome_object(
        code,
        status="error" if code else "passed",
        stage="load",
        counts=counts,
        files=found,
        error=_error(found, counts, strict=strict) if code else None,
    )
    return msgspec.json.encode(whole) + b"\n"


def as_sarif(files: Iterable[FileReport]) -> str:
    rules = [
        sarif.Rule(id=rule.id, summary=rule.title, help=_help(rule.why, rule.bad, rule.good), level=rule.severity)
        for rule in RULES.values()
    ]
    findings = (
        sarif.Finding(
            rule=finding.rule,
            message=f"{finding.path}: {finding.message}" if finding.path else finding.message,
            # Standard input is no file that a code host could show.
            file=None if finding.file == "-" else finding.file,
            line=finding.line,
            level=finding.severity,
            silenced=finding.silenced,
        )
        for file in files
        for finding in file.findings
    )
    return sarif.sarif(rules, findings, version=__version__)


def _error(files: Iterable[FileReport], counts: Counts, *, strict: bool) -> ErrorRecord:
    problems = [Problem(each.file, each.line, each.path, each.message) for each in _counted(files, strict=strict)]
    return error_record(InvalidInput(f"{counts}", problems=problems))


def _counted(files: Iterable[FileReport], *, strict: bool) -> Iterator[Finding]:
    for file in files:
        for finding in file.findings:
            if finding.silenced is None and (strict or finding.severity == "error"):
                yield finding


def _help(why: str, bad: str, good: str) -> str:
    return f"{why}\n\nBreaks the rule:\n\n{bad}\nDoes not:\n\n{good}"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
