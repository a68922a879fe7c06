"""The words of a recipe: one class each, under the name of a step's action and of a primitive."""

from typing import get_args, get_type_hints

import msgspec

from reference_pages.markdown import code, table
from tsandbox.recipe import grammar
from tsandbox.recipe.actions import ACTIONS, Action
from tsandbox.recipe.actions.carried import EXECUTED, SOURCE_BUILDS
from tsandbox.recipe.grammar import Check, Matching
from tsandbox.recipe.lint.parameters import NOT_READ, PARAMETERS
from tsandbox.recipe.when import ALWAYS

# Checks that are functions and not patterns, in words.
_FUNCTIONS: dict[Check, str] = {
    grammar.https_url: "an https:// URL without credentials",
    grammar.repository_url: "an https:// URL; `$basearch`, `$arch`, `$releasever` and `$repo` may stand in it",
    grammar.file_path: "a path under /etc, /opt, /usr/local or /srv, without `..`",
    grammar.one_line: "one line of text without control characters",
    grammar.prose: "text for people, up to 64 KiB",
    grammar.file_content: "text up to 1 MiB without control characters",
    grammar.version_pattern: "a regular expression with one group that holds the version",
}
_TYPES = {str: "text", int: "number", float: "number", bool: "true or false"}


def vocabulary() -> str:
    text = (
        'A step names an action: `action = "apt_install"`. Inside `require_system` the same thing is a primitive, by\n'
        'its word: `primitives = [{ apt = ["jq"] }]`. A primitive with a shorthand takes that field\'s value alone.\n\n'
    )
    text += "".join(_action(name, kind) for name, kind in ACTIONS.items())
    return text + _carried()


def _action(name: str, kind: type[Action]) -> str:
    facts = []
    if kind.word and kind.word != name:
        facts.append(f"Primitive: {code(kind.word)}.")
    if kind.shorthand:
        facts.append(f"Shorthand for {code(kind.shorthand)}.")
    if kind.implicit != ALWAYS:
        facts.append(f"Applies only where {kind.implicit}.")
    facts += [f"{code(theirs)} is read as {code(ours)}." for theirs, ours in kind.renamed.items()]
    intro = " ".join(facts)
    return f"## {name}\n\n{intro}\n\n" + table(["Field", "Type", "Needed", "What it holds"], _fields(kind))


def _fields(kind: type[Action]) -> list[list[str]]:
    hints = get_type_hints(kind)
    return [
        [
            code(field.name),
            _type(hints[field.name]),
            "yes" if field.required else "",
            _held(kind.checks.get(field.name)),
        ]
        for field in msgspec.structs.fields(kind)
    ]


def _type(hint: object) -> str:
    if hint in _TYPES:
        return _TYPES[hint]  # type: ignore[index]
    inner = [each for each in get_args(hint) if each not in (type(None), Ellipsis)]
    if getattr(hint, "__origin__", None) is tuple:
        return f"list of {_type(inner[0])}" if inner and inner[0] is str else "list"
    if getattr(hint, "__origin__", None) is dict:
        return "table"
    return _type(inner[0]) if inner else "anything"


def _held(check: Check | None) -> str:
    if isinstance(check, Matching):
        return f"{check.what}: {code(check.pattern)}"
    return _FUNCTIONS[check] if check else ""


def _carried() -> str:
    text = (
        "## Other actions\n\n"
        "Steps that are not system dependencies keep their parameters as written. These are executed by the runner;\n"
        "those with a mark compile, and get the limits of a source build. The shipped recipes are examples: `hello`\n"
        "downloads and compiles, `ripgrep-release` downloads and unpacks, `pycodestyle` and `semver` take theirs from\n"
        "pip and npm. Parameters that are not listed change nothing.\n\n"
    )
    text += table(
        ["Action", "Parameters", "Source build"],
        [[code(name), _parameters(name), "yes" if name in SOURCE_BUILDS else ""] for name in sorted(EXECUTED)],
    )
    return text + (
        "Any other action loads, is planned, derived and linted; only executing it is an error.\n\n"
        "`dependencies`, `extra_dependencies`, `runtime_dependencies` and `extra_runtime_dependencies` of such a step\n"
        "name recipes as those of `[metadata]` do; they are needed where the step applies.\n"
    )


def _parameters(action: str) -> str:
    read = [name for name in dict.fromkeys(PARAMETERS[action]) if name not in NOT_READ.get(action, ())]
    return ", ".join(map(code, read))
