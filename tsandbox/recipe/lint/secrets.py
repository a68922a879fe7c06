"""The rule against secrets in recipes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tsandbox.recipe.actions import EnvSet, FileWrite
from tsandbox.recipe.decode import Path
from tsandbox.recipe.lint.parts import parts
from tsandbox.recipe.lint.rule import Found, Rule, Subject

_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?|AUTH)(?:_|$)",
    re.IGNORECASE,
)
# Shapes that services give to their tokens, so that they can be found.
_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}|npm_[A-Za-z0-9]{30,})"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{35}\b|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+"
)
# A path, a switch or an empty value is no secret, whatever the variable is called.
_HARMLESS = re.compile(r"|/.*|~.*|\$.*|\{.*\}|true|false|yes|no|none|auto|\d{1,4}", re.IGNORECASE)


def _secrets(subject: Subject) -> Iterator[Found]:
    for path, name, value in _variables(subject):
        # The value itself stays out of the message: reports are public.
        if _VALUE.search(value):
            yield Found(path, f"the value of {name} looks like a token or key: a recipe is public")
        elif _NAME.search(name) and not _HARMLESS.fullmatch(value):
            yield Found(path, f"{name} sounds like a secret, and a recipe is public")
    for i, step in enumerate(subject.recipe.steps):
        for path, action in parts(step):
            if isinstance(action, FileWrite) and _VALUE.search(action.content):
                yield Found(("steps", i, *path, "content"), "holds what looks like a token or key: a recipe is public")


def _variables(subject: Subject) -> Iterator[tuple[Path, str, str]]:
    for name, value in subject.recipe.sandbox.env.items():
        yield ("sandbox", "env", name), name, value
    for i, step in enumerate(subject.recipe.steps):
        for path, action in parts(step):
            if isinstance(action, EnvSet):
                yield ("steps", i, *path, "value"), action.name, action.value
        if step.action == "set_env":
            yield from _set_env(i, step.params)


def _set_env(i: int, params: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    """tsuku's `set_env`: `vars` as a table, or as a list of { name, value }."""
    listed = params.get("vars")
    if isinstance(listed, Mapping):
        yield from ((("steps", i, "vars", key), str(key), str(value)) for key, value in listed.items())
    elif isinstance(listed, list):
        for n, item in enumerate(listed):
            if isinstance(item, Mapping):
                yield ("steps", i, "vars", n), str(item.get("name", "")), str(item.get("value", ""))


RULES = (
    Rule(
        id="TS012",
        title="A secret in the recipe",
        why="Recipes, plans, image labels and reports are read by everyone. Pass secrets at run time instead: "
        "`tsandbox install --env NAME` takes the value from your environment and keeps it out of all of them.",
        bad='[[steps]]\naction = "env_set"\nname = "REGISTRY_TOKEN"\nvalue = "correct-horse-battery-staple"\n',
        good='[[steps]]\naction = "env_set"\nname = "REGISTRY_URL"\nvalue = "https://registry.example.com"\n',
        check=_secrets,
    ),
)
