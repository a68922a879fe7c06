"""The JSON Schema of plans, made from the classes that read them."""

from typing import Any

from tsandbox.plan.model import READ_VERSIONS
from tsandbox.plan.read import RawPlan, RawStep
from tsandbox.recipe import grammar
from tsandbox.recipe.actions import ACTIONS
from tsandbox.recipe.model import Sandbox, Verify
from tsandbox.recipe.schema import (
    DRAFT,
    REF,
    Schema,
    action_schema,
    components,
    primitive_schemas,
    section_schemas,
    text_schema,
)
from tsandbox.recipe.when import VALUES


def plan_schema() -> Schema:
    """The schema of a plan file."""
    made = components([RawPlan, RawStep])
    whole = _plan(made.pop("RawPlan"))
    return {
        "$schema": DRAFT,
        **whole,
        "title": "tsandbox plan",
        "required": ["format_version", "tool", "platform", "steps"],
        "$defs": {
            # Nested plans have neither a version of the format nor a platform of their own.
            "Plan": {**whole, "title": "Plan", "required": ["tool", "steps"]},
            "Step": _step(made.pop("RawStep")),
            **made,
            "Platform": _platform(made["Platform"]),
            **section_schemas((Verify, Sandbox)),
            **primitive_schemas(),
        },
    }


def _plan(schema: Schema) -> Schema:
    properties: dict[str, Any] = {
        **schema["properties"],
        "format_version": {"enum": list(READ_VERSIONS)},
        "tool": {"type": "string", **text_schema(grammar.name)},
        "version": {"anyOf": [{"type": "string", **text_schema(grammar.version, optional=True)}, {"type": "null"}]},
        "platform": {"$ref": REF.format(name="Platform")},
        "steps": {"type": "array", "items": {"$ref": REF.format(name="Step")}},
        "dependencies": {"anyOf": [{"type": "array", "items": {"$ref": REF.format(name="Plan")}}, {"type": "null"}]},
    }
    return {"type": "object", "properties": properties}


def _step(schema: Schema) -> Schema:
    return {
        **schema,
        "title": "Step",
        "allOf": [
            {
                "if": {"properties": {"action": {"const": word}}, "required": ["action"]},
                "then": {"properties": {"params": action_schema(kind)}},
            }
            for word, kind in ACTIONS.items()
        ],
    }


def _platform(schema: Schema) -> Schema:
    known = {**VALUES, "arch": (*VALUES["arch"], "x86_64", "aarch64")}
    required = schema["required"]
    properties = {
        key: {"enum": [*known[key], *([] if key in required else ["", None])]} for key in schema["properties"]
    }
    return {**schema, "properties": properties}
