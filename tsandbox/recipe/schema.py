"""The JSON Schema of recipes, made from the classes that read them: for editors, and for tools that write recipes.

It never refuses what loads. The loader says more: what takes two fields, two steps or another file to see is not here.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tsandbox.recipe import grammar
from tsandbox.recipe.actions import ACTIONS, PRIMITIVES, Action, InstallPackages
from tsandbox.recipe.actions.carried import EXECUTED
from tsandbox.recipe.actions.require_system import RequireSystem
from tsandbox.recipe.decode import field_names
from tsandbox.recipe.lint.parameters import PARAMETERS
from tsandbox.recipe.load import MOST_STEPS
from tsandbox.recipe.model import LimitOverrides, Metadata, Sandbox, Section, Verify, Version
from tsandbox.recipe.when import VALUES

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
REF = "#/$defs/{name}"
_ALIASES = {"arch": ("x86_64", "aarch64"), "platform": ("linux/x86_64", "linux/aarch64", "darwin/aarch64")}
# Checks that are functions: as much of them as a pattern can say.
_FUNCTIONS: dict[grammar.Check, Schema] = {
    grammar.https_url: {"pattern": "^https://"},
    grammar.repository_url: {"pattern": "^https://"},
    grammar.file_path: {"pattern": "^/(?:etc|opt|usr/local|srv)/"},
    grammar.inside_path: {"pattern": "^[^/]"},
}
_BOUNDS = {"exclusiveMinimum": 0, "exclusiveMaximum": 1_000_000}


def recipe_schema() -> Schema:
    """The schema of a recipe file."""
    return {
        "$schema": DRAFT,
        "title": "tsandbox recipe",
        "type": "object",
        "properties": {
            "metadata": _ref("Metadata"),
            "version": _ref("Version"),
            "steps": {"type": "array", "minItems": 1, "maxItems": MOST_STEPS, "items": _ref("Step")},
            "verify": _ref("Verify"),
            "sandbox": _ref("Sandbox"),
            "resources": {"type": "array", "items": {"type": "object"}},
            "patches": {"type": "array", "items": {"type": "object"}},
            "lint": _lint(),
        },
        "required": ["metadata", "steps"],
        "additionalProperties": False,
        "$defs": {
            "Step": _step(),
            "When": when_schema(),
            **{f"step.{word}": _typed_step(word) for word in ACTIONS},
            **section_schemas((Metadata, Version, Verify, Sandbox)),
            **primitive_schemas(),
        },
    }


def section_schemas(kinds: Iterable[type[Section]]) -> dict[str, Schema]:
    """Sections by the names of their classes, with those inside them."""
    made = components(kinds)
    for kind in (*kinds, *((LimitOverrides,) if "LimitOverrides" in made else ())):
        made[kind.__name__]["properties"] = _with_grammar(made[kind.__name__]["properties"], kind.checks)
    if limits := made.get("LimitOverrides"):
        for key in ("cpus", "pids", "timeout"):
            limits["properties"][key] = {**limits["properties"][key], **_BOUNDS}
    return made


def components(kinds: Iterable[type]) -> dict[str, Schema]:
    return dict(msgspec.json.schema_components(kinds, ref_template=REF)[1])


def primitive_schemas() -> dict[str, Schema]:
    """Every word of `require_system` as a table, and `Primitive` for a table with one of the words."""
    return {
        **{word: action_schema(kind) for word, kind in PRIMITIVES.items()},
        "Primitive": {
            "type": "object",
            "properties": {word: _with_shorthand(word, kind) for word, kind in PRIMITIVES.items()},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        },
    }


def action_schema(kind: type[Action]) -> Schema:
    """The parameters of a typed action as one table."""
    made = components([kind])[kind.__name__]
    properties = _with_grammar(made["properties"], kind.checks)
    required = list(made["required"])
    if issubclass(kind, InstallPackages):
        properties["packages"] = {**properties["packages"], "minItems": 1}
    if issubclass(kind, RequireSystem):
        properties["packages"] = _packages_by_manager()
        properties["primitives"] = {"type": "array", "items": _ref("Primitive")}
    for other, ours in kind.renamed.items():
        # Either name will do, so neither can be demanded alone.
        properties[other] = properties[ours]
        required = [key for key in required if key != ours]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if "min_version" in properties:
        schema["dependentRequired"] = {"min_version": ["version_flag", "version_regex"]}
    if issubclass(kind, RequireSystem):
        schema["not"] = {"required": ["packages", "primitives"]}
    return schema


def when_schema() -> Schema:
    return {
        "type": "object",
        "properties": {key: _one_or_many((*values, *_ALIASES.get(key, ()), "")) for key, values in VALUES.items()},
        "additionalProperties": False,
    }


def text_schema(check: grammar.Check, *, optional: bool = False) -> Schema:
    """A text that passes `check`; an optional one may be empty."""
    if isinstance(check, grammar.Matching):
        maybe = "?" if optional else ""
        return {"pattern": f"^(?:{check.pattern}){maybe}$", "maxLength": check.longest}
    return _FUNCTIONS.get(check, {})


def _step() -> Schema:
    """Any step: typed ones are held to their words, those of others are carried as they are."""
    known = sorted({*ACTIONS, *EXECUTED})
    return {
        "type": "object",
        "properties": {
            "action": {"anyOf": [{"enum": known}, {"type": "string", **text_schema(grammar.name)}]},
            **_about(),
        },
        "required": ["action"],
        "allOf": [
            # Editors that do not follow `if` complete from here.
            _hints(_all_parameters()),
            *(_if_action(word, _ref(f"step.{word}")) for word in ACTIONS),
            *(_if_action(word, _hints(names)) for word, names in PARAMETERS.items()),
        ],
    }


def _all_parameters() -> list[str]:
    typed = (name for kind in ACTIONS.values() for name in field_names(kind))
    return sorted({*typed, *(name for names in PARAMETERS.values() for name in names)})


def _about() -> Schema:
    """What a step says beside its parameters."""
    return {
        "when": _ref("When"),
        "note": {"type": "string"},
        "description": {"type": "string"},
        "params": {"type": "object"},
    }


def _if_action(word: str, then: Schema) -> Schema:
    return {"if": {"properties": {"action": {"const": word}}, "required": ["action"]}, "then": then}


def _hints(names: Iterable[str]) -> Schema:
    """Parameters for an editor to offer; others may be given, as such steps are not ours alone."""
    return {"properties": dict.fromkeys(names, True)}


def _typed_step(word: str) -> Schema:
    schema = action_schema(ACTIONS[word])
    parameters = schema["properties"]
    # Parameters may stand in `params` as well, each in one place: what must be there can be told without it only.
    whole = {key: schema.pop(key) for key in ("required", "dependentRequired", "not") if key in schema}
    nested = {"type": "object", "properties": parameters, "additionalProperties": False}
    return {
        **schema,
        "properties": {**parameters, "action": {"const": word}, **_about(), "params": nested},
        "if": {"required": ["params"]},
        "else": whole,
    }


def _packages_by_manager() -> Schema:
    managers = {word: kind for word, kind in PRIMITIVES.items() if issubclass(kind, InstallPackages)}
    return {
        "type": "object",
        "properties": {word: _with_shorthand(word, kind) for word, kind in managers.items()},
        "additionalProperties": False,
    }


def _with_shorthand(word: str, kind: type[Action]) -> Schema:
    """A primitive's value: a table of its fields, or the bare value of its main one."""
    # A bare group name is understood on the way in only, so the class does not call it a shorthand.
    field = kind.shorthand or ("group" if word == "group_add" else None)
    return {"anyOf": [action_schema(kind)["properties"][field], _ref(word)]} if field else _ref(word)


def _with_grammar(properties: Mapping[str, Schema], checks: Mapping[str, grammar.Check]) -> dict[str, Schema]:
    made = dict(properties)
    for key, check in checks.items():
        made[key] = _restrict(made[key], check)
    return made


def _restrict(schema: Schema, check: grammar.Check) -> Schema:
    """The schema with every text in it held to the check."""
    if schema.get("type") == "string":
        return {**schema, **text_schema(check, optional=schema.get("default") == "")}
    if "items" in schema:
        return {**schema, "items": _restrict(schema["items"], check)}
    if "anyOf" in schema:
        return {**schema, "anyOf": [_restrict(option, check) for option in schema["anyOf"]]}
    return schema


def _one_or_many(values: Iterable[str]) -> Schema:
    value = {"enum": list(values)}
    return {"anyOf": [value, {"type": "array", "items": value}]}


def _lint() -> Schema:
    ignore = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
    return {"type": "object", "properties": {"ignore": ignore}, "additionalProperties": False}


def _ref(name: str) -> Schema:
    return {"$ref": REF.format(name=name)}
