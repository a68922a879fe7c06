"""Verification, judged on the host from what the container recorded. What was not recorded did not happen.

A pattern is first looked for as plain text, as tsuku does. Where that is not found, it is tried as a regular expression
(so `.` means "prints anything"), in which `{version}` and `{install_dir}` still stand for plain text.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tsandbox.engine import process
from tsandbox.errors import TimedOut, VerifyFailed
from tsandbox.plan import Plan
from tsandbox.printable import one_line
from tsandbox.recipe.model import Check, Verify
from tsandbox.sandbox.outcome import CheckOutcome
from tsandbox.sandbox.verify_line import line_of

_ANY_VERSION = r"v?\d+(?:[.\-+~_]?[0-9A-Za-z]+)*"
_PLACEHOLDER = re.compile(r"\{(version|install_dir)\}")
_SHOWN_LINES = 12
_CARRIED = 8192
# A pattern comes from a recipe, and a bad one can keep `re` busy for years: it gets its own process and little time.
_SEARCH_SECONDS = 5.0
_SEARCH = "import json,re,sys; p,t=json.load(sys.stdin); sys.exit(0 if re.search(p,t,re.M) else 1)"
_LONGEST_SEARCHED = 1 << 18


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A verification command as the runner ran it."""

    index: int
    command: str
    # None: the runner refused to run it, and says why in `stderr`.
    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    kind: str = "main"
    truncated: bool = False
    duration_ms: int | None = None

    @property
    def output(self) -> str:
        return self.stdout + ("\n" if self.stdout and not self.stdout.endswith("\n") else "") + self.stderr


def judge(plan: Plan, records: Iterable[Recorded], install_dir: str) -> tuple[CheckOutcome, ...]:
    """One verdict for each command that the recipe wants verified, whether it was recorded or not."""
    known = _version(plan)
    values = {"version": known, "install_dir": install_dir}
    by_index = {record.index: record for record in records}
    return tuple(_check(wanted, by_index.get(index), values) for index, wanted in enumerate(expected(plan.verify)))


def expected(verify: Verify) -> Sequence[Check]:
    """The commands in the order in which the runner numbers them."""
    main = Check(command=verify.command, pattern=verify.pattern, patterns=verify.patterns, exit_code=verify.exit_code)
    return [check for check in (main, *verify.additional) if check.command]


def shortened(check: CheckOutcome) -> CheckOutcome:
    """With no more of the output than a result should carry: both ends of it. The log has all."""
    if len(check.output) <= 2 * _CARRIED:
        return check
    left_out = len(check.output) - 2 * _CARRIED
    ends = f"{check.output[:_CARRIED]}\n… {left_out} characters …\n{check.output[-_CARRIED:]}"
    return msgspec.structs.replace(check, output=ends)


def failure(checks: Sequence[CheckOutcome], plan: Plan) -> VerifyFailed | None:
    """The error for the checks that did not hold, with what was expected and what was printed."""
    wrong = [check for check in checks if not check.ok]
    if not wrong:
        return None
    first = wrong[0]
    details = [f"$ {one_line(first.command)}", *_shown(first.output)]
    details += [f"also: {one_line(other.command)}: {other.reason}" for other in wrong[1:]]
    return VerifyFailed(
        f"verification failed: {first.reason}",
        hint=_hint(first, plan),
        file=plan.file,
        line=line_of(plan, checks.index(first), first),
        details=details,
    )


def _check(wanted: Check, record: Recorded | None, values: Mapping[str, str | None]) -> CheckOutcome:
    patterns = tuple(pattern for pattern in (wanted.pattern, *wanted.patterns) if pattern)
    expected_text = tuple(_filled(pattern, values) for pattern in patterns)
    reason = _reason(wanted, record, patterns, values)
    return CheckOutcome(
        command=record.command if record else wanted.command,
        ok=reason is None,
        exit_code=record.exit_code if record else None,
        expected_exit_code=wanted.exit_code,
        expected=expected_text,
        output=record.output if record else "",
        reason=reason,
        duration_ms=record.duration_ms if record else None,
    )


def _reason(
    wanted: Check, record: Recorded | None, patterns: Sequence[str], values: Mapping[str, str | None]
) -> str | None:
    """Why the check does not hold, or None where it does."""
    if record is None:
        return "the command was not run, so nothing is proved"
    if record.exit_code is None:
        return record.stderr
    if record.exit_code != wanted.exit_code:
        return f"{_ending(record.exit_code)}, and {wanted.exit_code} was expected"
    for pattern in patterns:
        if not _found(pattern, record.output, values):
            cut = " (the output was cut in the middle)" if record.truncated else ""
            return f"the output does not hold {_filled(pattern, values)!r}{cut}"
    return None


def _ending(code: int) -> str:
    if code == 127:
        return "the command was not found (exit code 127)"
    return f"the command was ended by signal {-code}" if code < 0 else f"the command ended with exit code {code}"


def _found(pattern: str, output: str, values: Mapping[str, str | None]) -> bool:
    if None not in (values[name] for name in _PLACEHOLDER.findall(pattern)) and _filled(pattern, values) in output:
        return True
    return _search(_as_regex(pattern, values), output)


def _search(regex: str, output: str) -> bool:
    try:
        re.compile(regex)
    except (re.error, OverflowError, RecursionError):
        # Not a regular expression, so it was plain text after all, and plain text was not found.
        return False
    question = msgspec.json.encode([regex, output[:_LONGEST_SEARCHED]])
    try:
        done = process.run([sys.executable, "-I", "-c", _SEARCH], stdin=question, timeout=_SEARCH_SECONDS, check=False)
    except TimedOut:
        raise VerifyFailed(
            f"the pattern {regex!r} is too hard to search for: not done after {_SEARCH_SECONDS:g} s",
            hint="use a simpler pattern: plain text is found at once",
        ) from None
    return done.returncode == 0


def _filled(pattern: str, values: Mapping[str, str | None]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]] or "<any version>", pattern)


def _as_regex(pattern: str, values: Mapping[str, str | None]) -> str:
    return _PLACEHOLDER.sub(lambda match: re.escape(found) if (found := values[match[1]]) else _ANY_VERSION, pattern)


def _version(plan: Plan) -> str | None:
    """The version to look for; None accepts any: packages of a distribution have their own, `mode = "output"` too."""
    version = plan.version
    if version is None or plan.verify.mode == "output":
        return None
    match plan.verify.version_format:
        case "strip_v":
            return version.removeprefix("v")
        case "semver_core":
            core = re.search(r"\d+(?:\.\d+){0,2}", version)
            return core.group() if core else version
        case _:
            return version


def _hint(check: CheckOutcome, plan: Plan) -> str | None:
    if check.exit_code is None:
        return "see the log: the run ended before the verification"
    if check.exit_code == 127:
        return f"declare what provides the command, or correct [verify] command in {plan.file}"
    if check.exit_code == check.expected_exit_code:
        return f"correct [verify] pattern in {plan.file}, or the version that is installed"
    return None


def _shown(output: str) -> list[str]:
    lines = [one_line(line) for line in output.splitlines()]
    if len(lines) <= _SHOWN_LINES:
        return lines
    half = _SHOWN_LINES // 2
    return [*lines[:half], f"… {len(lines) - 2 * half} lines …", *lines[-half:]]
