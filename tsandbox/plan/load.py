"""The way in: whatever the user named becomes a Recipe or a Plan."""

from pathlib import Path

from tsandbox.errors import InvalidInput, Problem
from tsandbox.plan.files import Kind, Source, read_text, shown
from tsandbox.plan.model import Plan
from tsandbox.recipe import Recipe, load_recipe


def load(source: str | Path | Source, *, only: Kind | None = None) -> Recipe | Plan:
    """The recipe or plan in a file, or on standard input for `-`; `only` says that one of the two is needed."""
    text = read_text(source if isinstance(source, Source) else _source(str(source)))
    if only is not None and text.kind != only:
        raise wrong_kind(text.file, text.kind, only)
    if text.kind == "recipe":
        return load_recipe(text.text, text.file)
    # Plans are read by the json module, which recipes never need.
    from tsandbox.plan.read import read_plan

    return read_plan(text.text, text.file)


def _source(name: str) -> Source:
    return Source(shown(name), None if name == "-" else Path(name))


def wrong_kind(file: str, kind: Kind, wanted: Kind) -> InvalidInput:
    words = {"recipe": "a recipe (TOML)", "plan": "a plan (JSON)"}
    problem = Problem(file, None, "", f"is {words[kind]}, and {words[wanted]} is needed here")
    hints = {"recipe": None, "plan": f"tsandbox plan {file} writes the plan of a recipe"}
    return InvalidInput(str(problem), problems=[problem], hint=hints[wanted])
