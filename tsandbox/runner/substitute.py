"""Variables in parameters: replaced literally and once, so that no value is read as a template or command."""

import re
from collections.abc import Mapping
from typing import Any

from tsandbox.runner.failures import StepFailed

# `${name}` is the shell's and stays; so does all that is not a lower-case word, like JSON or awk blocks.
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_@+.-]+)?)\}")

# These hold programs or texts of their own, in which an unknown `{word}` is nothing of ours.
_TEXTS = frozenset({
    "command", "content", "data", "description", "pattern", "replacement", "text", "version_regex",
})  # fmt: skip

Variables = Mapping[str, str | None]


def substitute(value: Any, variables: Variables, *, param: str = "") -> Any:
    """`value` with the variables filled in, through lists and tables."""
    if isinstance(value, str):
        return _text(value, variables, param)
    if isinstance(value, list):
        return [substitute(item, variables, param=param) for item in value]
    if isinstance(value, dict):
        return {key: substitute(item, variables, param=key) for key, item in value.items()}
    return value


def _text(text: str, variables: Variables, param: str) -> str:
    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if (value := variables.get(name)) is not None:
            return value
        if name not in variables and param in _TEXTS:
            return match.group()
        reason = _reason(name, variables, param)
        raise StepFailed("unknown_placeholder", reason, placeholder=name, param=param)

    return _PLACEHOLDER.sub(fill, text)


def _reason(name: str, variables: Variables, param: str) -> str:
    where = f" in {param!r}" if param else ""
    if name in variables:
        return f"{{{name}}}{where} has no value: the plan is not resolved (`tsandbox plan --resolve`)"
    return f"unknown placeholder {{{name}}}{where}; known are {', '.join(sorted(variables))}"
