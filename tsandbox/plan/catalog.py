"""Finding the recipes that others depend on, by the name in their metadata."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from tsandbox.errors import InvalidInput
from tsandbox.plan.files import Source, files_below, is_dir, read_text, shown
from tsandbox.recipe import Recipe, load_recipe
from tsandbox.recipe.load import parse_toml
from tsandbox.settings import shipped

# The usual layout: `name` among the one-line keys right below `[metadata]`.
_NAME = (
    rb"^[ \t]*\[[ \t]*metadata[ \t]*\][^\n]*\n(?:[ \t]*(?:[#\w](?:(?!'''|\"\"\")[^\n])*)?\n)*?"
    rb"[ \t]*name[ \t]*=[ \t]*(?:\"([^\"\\\n]+)\"|'([^'\n]+)')"
)
_HEAD = 4096
_LARGEST = 1 << 20


class Catalog:
    """Directories of recipes, the first that holds a name wins. Nothing is read before a name is asked for."""

    def __init__(self, directories: Iterable[Path] = (), *, with_shipped: bool = True) -> None:
        listed = [*directories, *([shipped("recipes")] if with_shipped else [])]
        self._directories = list(dict.fromkeys(listed))
        self._names: dict[Path, dict[str, Path]] = {}
        self._recipes: dict[Path, Recipe] = {}

    def find(self, name: str) -> Recipe | None:
        """The recipe called `name`, or None; a recipe that is there but invalid is an error, not an absence."""
        for directory in self._directories:
            if (path := self._path(directory, name)) and (recipe := self._load(path)).name == name:
                return recipe
        return None

    def names(self) -> Mapping[str, Path]:
        """Every recipe of the catalog."""
        return self._all

    @cached_property
    def _all(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for directory in self._directories:
            for name, path in self._index(directory).items():
                found.setdefault(name, path)
        return found

    def _path(self, directory: Path, name: str) -> Path | None:
        # By far the most recipes lie in a file of their own name: one look instead of reading the directory.
        for guess in (directory / f"{name}.toml", directory / name[:1] / f"{name}.toml"):
            if _declared_name(guess) == name:
                return guess
        return self._index(directory).get(name)

    def _index(self, directory: Path) -> dict[str, Path]:
        if directory not in self._names:
            found: dict[str, Path] = {}
            for path in files_below(directory, [".toml"]) if is_dir(directory) else ():
                if name := _declared_name(path):
                    found.setdefault(name, path)
            self._names[directory] = found
        return self._names[directory]

    def _load(self, path: Path) -> Recipe:
        if path not in self._recipes:
            text = read_text(Source(shown(str(path)), path))
            self._recipes[path] = load_recipe(text.text, text.file)
        return self._recipes[path]


def _declared_name(path: Path) -> str | None:
    """`metadata.name`, in nearly all files without parsing them.

    A file that cannot be read has no name here: it stops no other recipe, and is told when it is itself an input.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(_HEAD)
            if match := re.search(_NAME, data, re.MULTILINE):
                return (match[1] or match[2]).decode("utf-8", "replace")
            data += file.read(_LARGEST)
    except OSError:
        return None
    return _parsed_name(data) if b"metadata" in data else None


def _parsed_name(data: bytes) -> str | None:
    try:
        metadata = parse_toml(data.decode("utf-8"), "-").get("metadata")
    except (InvalidInput, UnicodeDecodeError):
        return None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else None
