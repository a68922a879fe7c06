"""From a Plan to the JSON that others read: stable keys, sorted, the same bytes for the same input."""

from pathlib import PurePath
from typing import Any

import msgspec

from tsandbox.plan.model import FORMAT_VERSION, Plan, PlanStep
from tsandbox.recipe.model import Sandbox, Verify


def write_plan(plan: Plan) -> bytes:
    return msgspec.json.format(msgspec.json.encode(plan_object(plan), order="sorted"), indent=2) + b"\n"


def plan_object(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, with its format version and platform."""
    head = {"format_version": FORMAT_VERSION, "platform": msgspec.to_builtins(plan.platform)}
    return {**head, **_body(plan)}


def _body(plan: Plan) -> dict[str, Any]:
    body: dict[str, Any] = {
        "tool": plan.tool,
        "version": plan.version,
        "deterministic": plan.deterministic,
        # The file's name only: where a checkout lies must not change the plan's bytes.
        "recipe_source": PurePath(plan.file).name,
        "steps": [_step(step) for step in plan.steps],
    }
    optional = {
        "dependencies": [_body(nested) for nested in plan.dependencies],
        "verify": msgspec.to_builtins(plan.verify) if plan.verify != Verify() else None,
        "sandbox": msgspec.to_builtins(plan.sandbox) if plan.sandbox != Sandbox() else None,
        "recipe_type": plan.recipe_type,
        "binaries": list(plan.binaries),
    }
    return body | {key: value for key, value in optional.items() if value}


def _step(step: PlanStep) -> dict[str, Any]:
    made: dict[str, Any] = {
        "action": step.action,
        "params": step.params,
        "evaluable": step.evaluable,
        "deterministic": step.deterministic,
    }
    optional = {key: getattr(step, key) for key in ("phase", "url", "checksum", "size", "line")}
    return made | {key: value for key, value in optional.items() if value is not None}
