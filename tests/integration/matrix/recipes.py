"""Recipes that cost nearly nothing: the tool is a script in the image, and a marker makes the image new."""

import uuid
from pathlib import Path

from tsandbox.derive import ContainerSpec, define_image, derive
from tsandbox.engine import Engine
from tsandbox.plan import load, select
from tsandbox.recipe import Recipe, linux

SCRIPT = """\
[metadata]
name = "{name}"
description = "A script"

[[steps]]
action = "file_write"
path = "/usr/local/bin/speak"
content = "#!/bin/sh\\nsleep ${{2:-0}}\\necho $1 {marker} {image}\\n"
mode = "0755"

[verify]
command = "speak {said} {seconds}"
pattern = "{expected}"
"""


class Workshop:
    """A directory of recipes whose images exist for one test only."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.marker = uuid.uuid4().hex
        self.tags: set[str] = set()

    def recipe(self, name: str, image: str = "one", *, expected: str | None = None, seconds: int = 0) -> Path:
        """A recipe; those with the same `image` share it."""
        path = self.directory / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = SCRIPT.format(
            name=name, marker=self.marker, image=image, said=name, expected=expected or name, seconds=seconds
        )
        path.write_text(text, encoding="utf-8")
        self.tags.add(define_image(spec_of(path)).tag)
        return path

    def clean(self, engine: Engine) -> None:
        for tag in self.tags:
            engine.remove_image(tag)


def spec_of(recipe: Path) -> ContainerSpec:
    loaded = load(recipe)
    assert isinstance(loaded, Recipe)
    target = linux()
    return derive(select(loaded, target), target)
