"""Why a run did not pass, in one error that says what, where and what to do."""

import json
from collections.abc import Sequence

from tsandbox.errors import InstallFailed, Interrupted, Stage, TimedOut, TsandboxError, VerifyFailed
from tsandbox.plan import Plan, PlanStep
from tsandbox.printable import one_line
from tsandbox.sandbox import missing
from tsandbox.sandbox.change import describe as describe_change
from tsandbox.sandbox.container import Ended
from tsandbox.sandbox.journal import Journal
from tsandbox.sandbox.options import written_as
from tsandbox.sandbox.outcome import Advice, Change, Finding, Limits
from tsandbox.sandbox.runner_build import Runner, start_failure

_TAIL = 15


def of_run(
    plan: Plan, journal: Journal, ended: Ended, *, limits: Limits, runner: Runner, tail: Sequence[str]
) -> TsandboxError | None:
    """The error of a run whose installation did not come to its end; None where only the verification is left."""
    lines = [one_line(line) for line in tail[-_TAIL:]]
    step = journal.step(journal.running)
    where = _where(journal)
    if ended.reason == "interrupted":
        return Interrupted(f"{plan.tool}: interrupted {where}; the container was removed", stage=_stage(journal))
    # Once the runner has told its end, the container only winds down: a limit that passes then is nobody's fault.
    reason = ended.reason if journal.done is None else None
    if reason == "timeout":
        return _timeout(plan, journal, limits, lines)
    if reason == "disk":
        return _disk(step, where, limits, lines)
    if fatal := next((finding for finding in journal.findings if finding.fatal), None):
        return step_failed(plan, journal, fatal, lines)
    if not journal.done:
        return _died(plan, journal, ended, limits, runner)
    return None


def with_advice(error: TsandboxError, advice: Sequence[Advice], change: Change | None) -> TsandboxError:
    """The error with what is missing, who provides it and what to write, as its hint."""
    if not advice:
        return error
    lines = [missing.describe(each) for each in advice]
    if change:
        lines += [f"{describe_change(change)}:", *(f"    {line}" for line in change.toml.splitlines())]
    error.hint = "\n".join(lines)
    return error


def explained(error: TsandboxError, findings: Sequence[Finding]) -> TsandboxError:
    """What a verification ran into explains its end better than its exit code does."""
    if met := next((finding for finding in findings if finding.kind in _EXPLAINS and finding.step is None), None):
        error.message = f"{error.message}; {met.message}"
        error.hint = _HINTS.get(met.kind) or _to_install(met)
    return error


def _to_install(left: Finding) -> str:
    # JSON's way of writing a text is TOML's as well.
    binaries = f"binaries = [{json.dumps(left.data.get('path'))}]"
    return f'add a step at the end:\n    [[steps]]\n    action = "install_binaries"\n    {binaries}'


def step_failed(plan: Plan, journal: Journal, finding: Finding, lines: Sequence[str]) -> TsandboxError:
    step = journal.step(finding.step)
    if step is None:
        return InstallFailed(f"{plan.tool}: {finding.message}", file=plan.file, details=_traceback(finding))
    quoted = [one_line(line) for line in lines[-_TAIL:]] if finding.kind not in _CLEAR else []
    return InstallFailed(
        f"{step.place}: step {finding.step} ({step.action}) failed: {finding.message}",
        hint=_HINTS.get(finding.kind),
        file=step.file,
        line=step.line,
        details=quoted,
    )


def _timeout(plan: Plan, journal: Journal, limits: Limits, lines: Sequence[str]) -> TimedOut:
    step = journal.step(journal.running)
    return TimedOut(
        f"{plan.tool}: not done after {limits.timeout:g} s {_where(journal)}; the container was stopped and removed",
        hint="give it more time with --timeout SECONDS, or [sandbox] limits = { timeout = … } in the recipe",
        file=step.file if step else plan.file,
        line=step.line if step else None,
        stage=_stage(journal),
        details=lines,
    )


def _disk(step: PlanStep | None, where: str, limits: Limits, lines: Sequence[str]) -> InstallFailed:
    return InstallFailed(
        f"the installation wrote more than the disk limit of {written_as(limits.disk or 0)} {where}",
        hint=_HINTS["disk_full"],
        file=step.file if step else None,
        line=step.line if step else None,
        details=lines,
    )


def _died(plan: Plan, journal: Journal, ended: Ended, limits: Limits, runner: Runner) -> TsandboxError:
    """The runner itself did not live to tell."""
    said = "\n".join(journal.stray)
    step = journal.step(journal.running)
    if ended.oom_killed:
        limit = written_as(limits.memory or 0)
        return InstallFailed(
            f"{plan.tool}: killed {_where(journal)}: it needed more memory than the limit of {limit}",
            hint=_HINTS["out_of_memory"],
            file=step.file if step else plan.file,
            line=step.line if step else None,
        )
    if command := journal.unanswered:
        return VerifyFailed(
            f"{plan.tool}: the verification ended the sandbox (exit code {ended.exit_code}): {one_line(command)}",
            hint="a command of [verify] must leave alone the processes that it did not start",
            file=plan.file,
        )
    if journal.enforced is None and (unable := start_failure(runner, ended.exit_code, said)):
        unable.file = plan.file
        return unable
    return InstallFailed(
        f"{plan.tool}: the runner ended without a result (exit code {ended.exit_code}) {_where(journal)}",
        hint=_HINTS["ended"] if step else _HINTS["died"],
        file=step.file if step else plan.file,
        line=step.line if step else None,
        details=list(journal.stray)[-_TAIL:],
    )


def _where(journal: Journal) -> str:
    if journal.verifying:
        return "in the verification"
    step = journal.step(journal.running)
    if step:
        return f"in step {journal.running} ({step.action}, {step.place})"
    ended = [step.number for step in journal.steps if step.status != "not_run"]
    return f"after step {ended[-1]}" if ended else "before the first step"


def _stage(journal: Journal) -> Stage:
    return "verify" if journal.verifying else "install"


def _traceback(finding: Finding) -> list[str]:
    return [one_line(line) for line in str(finding.data.get("traceback") or "").splitlines()[-_TAIL:]]


# The message alone says it; the output of the step would only hide it.
_CLEAR = frozenset({
    "missing_command", "missing_package", "missing_group", "file_mismatch", "version_too_low", "unsafe_archive",
    "checksum", "missing_download", "unknown_placeholder", "invalid", "not_allowed", "unsupported", "missing_output",
})  # fmt: skip
_EXPLAINS = ("out_of_memory", "too_many_processes", "disk_full", "not_installed")
_HINTS = {
    "out_of_memory": 'allow more with --limits memory=4g, or [sandbox] limits = { memory = "4g" } in the recipe',
    "too_many_processes": "allow more with --limits pids=500, or [sandbox] limits = { pids = 500 } in the recipe",
    "disk_full": 'allow more with --limits disk=20g, or [sandbox] limits = { disk = "20g" } in the recipe, '
    "if what it writes is what it should write",
    "no_space": "free space on this host (`tsandbox cache gc`), or allow more with --limits disk=20g",
    "unsafe_archive": "do not use this archive: an honest one stays inside of its own directory",
    "checksum": "if the new file is right, write its checksum into the recipe; if not, do not use it",
    "missing_package": "the image does not hold what the step declares: `tsandbox build --no-cache` makes it anew",
    "version_too_low": "lower min_version, or declare a package that brings a newer version",
    "missing_output": "compare the names with what the archive or build really holds (see the log)",
    "ended": "the programs of a step must leave alone the processes that they did not start; "
    "if they do, it is a bug in tsandbox, and the log belongs to the report",
    "died": "run it again; if it happens again, it is a bug in tsandbox, and the log belongs to the report",
    "not_allowed": "allow it with --yes, or write allow_run_command = true into the recipe's [sandbox]",
    "unknown_placeholder": 'correct the placeholder, or pin the version: [version] pin = "…"',
}
