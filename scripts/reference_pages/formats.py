"""The formats, from their JSON Schemas: `tsandbox schema FORMAT` prints the whole of each."""

import json
from typing import Any

from reference_pages.markdown import code, table
from tsandbox.cli.schema import schema_of

_INTRO = {
    "recipe": "TOML, written by people. Actions and their fields: [vocabulary.md](vocabulary.md).",
    "plan": "JSON, written by `tsandbox plan`: the steps that apply to one platform, with all that they need.",
    "spec": "JSON, printed by `tsandbox spec --format json`: what an image must hold.",
    "result": "JSON, printed by every command with `--json` when it proves something or fails.",
}
# More values than a table cell should list; the schema does.
_MANY = 20
# A schema's definitions that other pages describe.
_ELSEWHERE = ("step.", "primitive.", "Primitive", "When")


def formats() -> str:
    return "".join(_format(name, intro) for name, intro in _INTRO.items())


def _format(name: str, intro: str) -> str:
    schema = schema_of(name)
    text = f"## {name.capitalize()}\n\n{intro}\n\n" + _object(schema)
    for title, definition in schema.get("$defs", {}).items():
        if "properties" in definition and not title.startswith(_ELSEWHERE):
            text += f"### {name}: {title}\n\n" + _object(definition)
    return text


def _object(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        [code(key), _type(value), "yes" if key in required else "", _default(value)]
        for key, value in schema.get("properties", {}).items()
    ]
    return table(["Key", "Type", "Always", "Default"], rows) if rows else ""


def _type(schema: Any) -> str:
    """In words, as far as a table cell goes."""
    match schema:
        case {"$ref": reference}:
            said = reference.rpartition("/")[2]
        case {"const": value}:
            said = code(str(value))
        case {"enum": values}:
            said = ", ".join(code(json.dumps(value)) for value in values) if len(values) < _MANY else "string"
        case {"anyOf": options} | {"oneOf": options}:
            said = " or ".join(dict.fromkeys(_type(option) for option in options))
        case {"type": "array", "items": items}:
            said = f"list of {_type(items)}"
        case {"type": str() as kind}:
            said = kind
        case {"type": kinds}:
            said = " or ".join(kinds)
        case _:
            said = "anything"
    return said


def _default(schema: Any) -> str:
    match schema:
        case {"default": None | bool() | str() | int() | float() as value}:
            return code(json.dumps(value))
        case _:
            return ""
