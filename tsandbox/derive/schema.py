"""The JSON Schema of what `tsandbox spec --format json` prints."""

from typing import Any

from tsandbox.derive.bases import Base
from tsandbox.derive.key import SCHEMA
from tsandbox.derive.spec import Blocker, ContainerSpec, Limits
from tsandbox.recipe.actions import AptRepo
from tsandbox.recipe.schema import DRAFT, REF, Schema, components, primitive_schemas
from tsandbox.recipe.target import MANAGER_OF, Target

# Part of the model and not of what is printed: the Dockerfile and the primitives tell it.
_NOT_PRINTED = ("builder", "groups", "env", "files", "origins")
_REPOSITORY = ("url", "suite", "components", "name", "key_url", "key_sha256")


def spec_schema() -> Schema:
    """The schema of one spec; every key is always there."""
    model = components([ContainerSpec])["ContainerSpec"]["properties"]
    properties: dict[str, Any] = {
        "schema": {"const": SCHEMA},
        **{key: value for key, value in model.items() if key not in _NOT_PRINTED},
        "repositories": {"type": "array", "items": _repository()},
        "primitives": {"type": "array", "items": {"$ref": REF.format(name="Primitive")}},
        "dockerfile": {"type": "string"},
        "image": {"type": "string", "pattern": "^sandbox-cache:[0-9a-f]{32}$"},
        "key": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }
    return {
        "$schema": DRAFT,
        "title": "tsandbox spec",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "$defs": {**components([Target, Base, Limits, Blocker]), **primitive_schemas()},
    }


def _repository() -> Schema:
    """Of every manager; defaults are filled in when it is printed."""
    model = components([AptRepo])["AptRepo"]
    return {
        "type": "object",
        "properties": {
            "manager": {"enum": list(MANAGER_OF.values())},
            **{key: model["properties"][key] for key in _REPOSITORY},
        },
        "required": ["manager", "url", "key_url", "key_sha256"],
        "additionalProperties": False,
    }
