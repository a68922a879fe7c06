"""Recipes to start from, and thousands of broken ones made from them."""

import random
import tomllib
from collections.abc import Iterator
from math import inf, nan
from pathlib import Path
from typing import Any

import tomli_w

from tsandbox.errors import InvalidInput
from tsandbox.plan.files import files_below
from tsandbox.recipe import load_recipe

ROOT = Path(__file__).parents[3]
HOSTILE: tuple[Any, ...] = (
    "",
    " ",
    "\0",
    "\x1b[31m",
    "a\nb",
    "$(id)",
    "`id`",
    "'; id; '",
    '"',
    "\\",
    "../../etc/passwd",
    "/etc/../x",
    "-y",
    "é",
    "\u202e",
    "\U0001f600",
    "{version}",
    "a" * 5000,
    "https://u:p@example.com",
    0,
    -1,
    2**31,
    2**63,
    2**70,
    1.5,
    nan,
    inf,
    True,
    [],
    [[]],
    {},
    {"a": {}},
    [1, "x"],
    {"action": "apt_install"},
    "linux",
    "apt_install",
    "require_system",
    "debian",
)


def texts() -> list[str]:
    """The shipped recipes: every action and layout that we use ourselves."""
    return [path.read_text(encoding="utf-8") for path in files_below(ROOT / "recipes")]


def loads(text: str) -> bool:
    try:
        load_recipe(text, "f.toml")
    except InvalidInput:
        return False
    return True


def broken_texts(seed: int, count: int) -> Iterator[str]:
    """Texts with characters, lines and pieces cut, doubled, swapped and replaced."""
    chosen = random.Random(seed)
    sources = texts()
    for _ in range(count):
        text = chosen.choice(sources)
        for _ in range(chosen.randint(1, 4)):
            text = _broken(text, chosen, sources)
        yield text


def _broken(text: str, chosen: random.Random, sources: list[str]) -> str:
    start = chosen.randint(0, len(text))
    end = min(len(text), start + chosen.randint(0, 40))
    lines = text.split("\n")
    other = chosen.choice(sources)
    shuffled = chosen.sample(lines, len(lines))
    return chosen.choice(
        [
            text[:start] + text[end:],
            text[:start] + text[start:end] * 2 + text[end:],
            text[:start] + chosen.choice("[]{}=\"'#,.\n\\\0\x1b\ufeff0") + text[start:],
            "\n".join(shuffled),
            "\n".join(lines[: len(lines) // 2]),
            text[:start] + other[len(other) // 2 :],
            text.replace(lines[0], shuffled[0]) if lines[0] else text,
        ]
    )


def mutated_tables(seed: int, count: int) -> Iterator[str]:
    """Valid TOML in which values and keys were replaced by others that do not belong there."""
    chosen = random.Random(seed)
    sources = [tomllib.loads(text) for text in texts()]
    for _ in range(count):
        table = chosen.choice(sources)
        for _ in range(chosen.randint(1, 3)):
            table = mutated(table, chosen)
        if isinstance(table, dict):
            try:
                yield tomli_w.dumps(table)
            except (TypeError, ValueError, AttributeError):
                continue


def mutated(value: Any, chosen: random.Random) -> Any:
    """`value` with one thing in it replaced, renamed or removed."""
    if chosen.random() < 0.15 or not value or not isinstance(value, dict | list):
        return chosen.choice(HOSTILE)
    if isinstance(value, list):
        spot = chosen.randrange(len(value))
        return [*value[:spot], mutated(value[spot], chosen), *value[spot + 1 :]]
    key = chosen.choice(list(value))
    rest = {name: item for name, item in value.items() if name != key}
    kind = chosen.random()
    if kind < 0.1:
        return rest
    if kind < 0.2:
        return {**rest, f"{key}{chosen.choice('xs_ é')}": value[key]}
    return {**rest, key: mutated(value[key], chosen)}
