"""What a run in the sandbox, or on the host, showed, in the one shape that is printed, stored and reported."""

import msgspec

from tsandbox.report.result import (
    Check,
    InstallRecord,
    Limits,
    Result,
    StepRecord,
    VerifyRecord,
    error_record,
    target_record,
)
from tsandbox.sandbox.outcome import CheckOutcome, Outcome, StepOutcome
from tsandbox.sandbox.outcome import Limits as OutcomeLimits


def result_of(outcome: Outcome) -> Result:
    """The result of an outcome."""
    spec = outcome.spec
    return Result(
        status=outcome.status,
        exit_code=outcome.exit_code,
        stage=outcome.stage,
        tool=outcome.plan.tool,
        version=outcome.plan.version,
        source=outcome.plan.file,
        target=target_record(outcome.target),
        image=outcome.image,
        image_size=outcome.image_size,
        cached=outcome.cached,
        build_ms=outcome.build_ms,
        key=outcome.key,
        profile=spec.profile if spec else None,
        engine=outcome.engine,
        install=_install(outcome),
        verify=_verify(outcome.checks),
        started=outcome.started,
        duration_ms=outcome.duration_ms,
        log=str(outcome.log) if outcome.log else None,
        log_head=outcome.head,
        log_tail=outcome.tail,
        error=error_record(outcome.error) if outcome.error else None,
    )


def _install(outcome: Outcome) -> InstallRecord | None:
    """None where the run ended before anything could be installed."""
    if not outcome.steps:
        return None
    return InstallRecord(
        steps=tuple(_step(step) for step in outcome.steps),
        notes=outcome.notes,
        network=outcome.network,
        limits=_limits(outcome.limits),
        enforced=_limits(outcome.enforced),
        unenforced=outcome.unenforced,
        runner=outcome.runner,
    )


def _step(step: StepOutcome) -> StepRecord:
    return msgspec.convert(msgspec.to_builtins(step), StepRecord)


def _limits(limits: OutcomeLimits | None) -> Limits | None:
    return msgspec.convert(msgspec.to_builtins(limits), Limits) if limits else None


def _verify(checks: tuple[CheckOutcome, ...]) -> VerifyRecord | None:
    """The main command with the additional ones below it; `ok` is that of the main command alone."""
    if not checks:
        return None
    main, *others = [msgspec.to_builtins(check) for check in checks]
    additional = tuple(msgspec.convert(each, Check) for each in others)
    return msgspec.structs.replace(msgspec.convert(main, VerifyRecord), additional=additional)
