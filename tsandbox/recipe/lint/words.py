"""Rules about words that tsandbox does not know."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from tsandbox.recipe.actions import ACTIONS, Carried
from tsandbox.recipe.actions.carried import EXECUTED, SOURCE_BUILDS
from tsandbox.recipe.decode import field_names
from tsandbox.recipe.lint.parameters import NOT_READ, PARAMETERS
from tsandbox.recipe.lint.rule import Found, Rule, Subject
from tsandbox.recipe.model import Metadata, Verify, Version

_KNOWN_ACTIONS = (*ACTIONS, *sorted(EXECUTED | SOURCE_BUILDS), "homebrew", "app_bundle")
# Closer than for an error: here the word may well be right, and only unknown to us.
_CLOSE = 0.8


def _misspelt_parameters(subject: Subject) -> Iterator[Found]:
    for i, step in enumerate(subject.recipe.steps):
        known = PARAMETERS.get(step.action)
        if known is None or not isinstance(step.does, Carried):
            continue
        for key in step.params:
            if key not in known and (meant := _close(key, known)):
                yield Found(("steps", i, key), f"{step.action} has no parameter {key!r} (did you mean {meant!r}?)")


def _misspelt_action(subject: Subject) -> Iterator[Found]:
    for i, step in enumerate(subject.recipe.steps):
        if step.action not in _KNOWN_ACTIONS and (meant := _close(step.action, _KNOWN_ACTIONS)):
            yield Found(("steps", i, "action"), f"unknown action {step.action!r} (did you mean {meant!r}?)")


def _close(word: str, known: tuple[str, ...]) -> str | None:
    matches = get_close_matches(word, known, n=1, cutoff=_CLOSE) if len(word) <= 64 else []
    return matches[0] if matches else None


def _unknown_keys(subject: Subject) -> Iterator[Found]:
    for table, kind in (("metadata", Metadata), ("version", Version), ("verify", Verify)):
        written = subject.raw.get(table)
        strays = set(written) - set(field_names(kind)) if isinstance(written, Mapping) else set()
        for key in sorted(map(str, strays)):
            yield Found((table, key), "is not read by tsandbox")
    for i, step in enumerate(subject.recipe.steps):
        for key in step.params:
            if key in NOT_READ.get(step.action, ()):
                yield Found(("steps", i, key), f"is not read by tsandbox: {step.action} runs without it")


RULES = (
    Rule(
        id="TS013",
        title="A misspelt parameter",
        why="Steps that are not system dependencies carry their parameters as they are, so a misspelt one is no error: "
        "the step simply runs without it.",
        bad='[[steps]]\naction = "extract"\narchive = "tool.tar.gz"\nstrip_dir = 1\n',
        good='[[steps]]\naction = "extract"\narchive = "tool.tar.gz"\nstrip_dirs = 1\n',
        check=_misspelt_parameters,
    ),
    Rule(
        id="TS014",
        title="A key that is not read",
        why="`[metadata]`, `[version]`, `[verify]` and steps may hold keys of other tools. Nothing here depends on "
        "this one; if something should, look for another spelling in the reference.",
        bad='[metadata]\nname = "jq"\nfavourite_colour = "green"\n',
        good='[metadata]\nname = "jq"\ndescription = "Command-line JSON processor"\n',
        check=_unknown_keys,
    ),
    Rule(
        id="TS015",
        title="A misspelt action",
        why="Unknown actions load, because new ones appear all the time; running such a step is an error. This one "
        "looks like a word that tsandbox knows.",
        bad='[[steps]]\naction = "apt_instal"\npackages = ["jq"]\n',
        good='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n',
        check=_misspelt_action,
    ),
)
