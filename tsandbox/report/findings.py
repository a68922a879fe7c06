"""Results of cells as SARIF findings: a rule for each way to fail, a finding for each line and cause."""

from collections.abc import Iterator

from tsandbox.report.result import ErrorRecord, Result
from tsandbox.report.run import BAD, Report
from tsandbox.report.sarif import Finding, Rule, sarif

_SUMMARIES = {
    "InvalidInput": "The recipe or plan is not valid",
    "MissingDependency": "A dependency of the recipe is not found",
    "NotSupported": "The recipe does not work on this target",
    "BuildFailed": "The image that the recipe declares does not build",
    "InstallFailed": "A step of the installation failed",
    "DownloadFailed": "A file of the recipe could not be fetched or is not the one described",
    "VerifyFailed": "The installed tool did not verify",
    "TimedOut": "The installation did not end within its time limit",
    "Skipped": "Nothing was proved",
}
FLAKY = Rule(id="Flaky", summary="The cell passed only after a retry", level="warning")
MISSING = Rule(id="Missing", summary="A planned cell has no result")


def render_sarif(report: Report) -> str:
    findings = tuple(_unique(report))
    used = {finding.rule for finding in findings}
    rules = [_rule(name) for name in sorted(used)]
    return sarif(rules, findings, version=report.version or "unknown")


def _rule(name: str) -> Rule:
    if name in (FLAKY.id, MISSING.id):
        return FLAKY if name == FLAKY.id else MISSING
    return Rule(id=name, summary=_SUMMARIES.get(name, f"The cell ended with {name}"))


def _unique(report: Report) -> Iterator[Finding]:
    """The same line failing for the same reason on five families is one finding that names the five."""
    cells: dict[Finding, list[str]] = {}
    for result in report.results:
        for finding in _findings(result):
            cells.setdefault(finding, []).append(result.cell or result.tool or "?")
    for finding, names in cells.items():
        yield Finding(
            rule=finding.rule,
            message=f"{finding.message} [{', '.join(names)}]",
            file=finding.file,
            line=finding.line,
        )
    for cell in report.missing:
        # With a place, like all: GitHub takes no file in which a single finding has none.
        message = f"{cell.id} was planned, but no result says how it went"
        yield Finding(rule=MISSING.id, message=message, file=cell.source)


def _findings(result: Result) -> Iterator[Finding]:
    if result.state == "flaky":
        cause = result.attempts[0].error if result.attempts else None
        message = f"passed after a retry: {cause.message}" if cause else "passed after a retry"
        yield Finding(rule=FLAKY.id, message=message, file=result.source)
    if result.state not in BAD:
        return
    error = result.error or ErrorRecord(type="Skipped", message=f"ended as {result.status} without an error")
    if error.problems:
        for problem in error.problems:
            text = f"{problem.path}: {problem.message}" if problem.path else problem.message
            yield Finding(rule=error.type, message=text, file=problem.file, line=problem.line)
        return
    message = f"{error.message}\n{error.hint}" if error.hint else error.message
    yield Finding(rule=error.type, message=message, file=error.file or result.source, line=error.line)
