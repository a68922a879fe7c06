"""What cannot be done is said before anything is built."""

from tsandbox.build.ensure import refuse_blocked
from tsandbox.derive.spec import ContainerSpec
from tsandbox.errors import NotSupported
from tsandbox.plan import Plan, PlanStep
from tsandbox.recipe.near import did_you_mean, near
from tsandbox.runner.executable import EXECUTABLE
from tsandbox.sandbox import ecosystem
from tsandbox.sandbox.resolve import numbered

_BY_HAND = (
    "`tsandbox guide` tells a person what to do; docs/reference/vocabulary.md lists the actions that are executed"
)


def check(plan: Plan, spec: ContainerSpec, *, allow_run_command: bool) -> None:
    refuse_blocked(spec)
    check_actions(plan)
    ecosystem.check(plan)
    if not allow_run_command and (step := next(iter(unallowed_commands(plan)), None)):
        raise NotSupported(
            f"{step.place}: run_command is off: the recipe runs a shell command of its own",
            hint="allow it with --yes, or write allow_run_command = true into the recipe's [sandbox]",
            file=step.file,
            line=step.line,
        )


def check_actions(plan: Plan) -> None:
    """Every action must be one that the runner executes."""
    unknown = [(number, step) for number, step in numbered(plan) if step.action not in EXECUTABLE]
    if not unknown:
        return
    number, step = unknown[0]
    meant = near(step.action, EXECUTABLE)
    others = sorted({each.action for _, each in unknown[1:]} - {step.action})
    raise NotSupported(
        f"{step.place}: step {number}: the action {step.action!r} cannot be executed by tsandbox"
        f"{did_you_mean(step.action, EXECUTABLE)}",
        hint=f'if so, write:\n    action = "{meant}"' if meant else _BY_HAND,
        file=step.file,
        line=step.line,
        details=[f"also: {action}" for action in others],
    )


def commands(plan: Plan) -> list[PlanStep]:
    """The steps that run a command of the recipe's own."""
    return [step for part in plan.with_dependencies() for step in part.steps if step.action == "run_command"]


def unallowed_commands(plan: Plan) -> list[PlanStep]:
    """Those of them that their own recipe does not allow."""
    parts = (part for part in plan.with_dependencies() if not part.sandbox.allow_run_command)
    return [step for part in parts for step in part.steps if step.action == "run_command"]
