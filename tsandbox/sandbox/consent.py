"""What a recipe wants beyond installing files: shipped recipes have been looked at, all others need a yes."""

from pathlib import Path

from tsandbox.plan import Plan
from tsandbox.settings import shipped


def wishes(plan: Plan) -> list[str]:
    """Everything in the plan that a person has to agree to, in words."""
    found = []
    for part in plan.with_dependencies():
        commands = [step for step in part.steps if step.action == "run_command"]
        asked = [f"{step.place}: to run: {step.params.get('command')}" for step in commands]
        if part.sandbox.network == "egress":
            asked.append(f"{part.file}: access to the network")
        if asked and not _is_shipped(part.file):
            found += asked
    return found


def _is_shipped(file: str) -> bool:
    return file != "-" and Path(file).resolve().is_relative_to(shipped("recipes").resolve())
