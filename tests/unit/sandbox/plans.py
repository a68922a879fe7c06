"""Plans for the tests of this room."""

from pathlib import Path

from tsandbox.plan import Catalog, Plan, load, select
from tsandbox.recipe import Recipe
from tsandbox.recipe.target import linux

DEBIAN = linux("debian", "amd64")


def plan_of(tmp_path: Path, text: str, name: str = "tool") -> Plan:
    """The plan of a recipe with this text after its metadata."""
    path = tmp_path / f"{name}.toml"
    path.write_text(f'[metadata]\nname = "{name}"\n\n{text}', encoding="utf-8")
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    return select(recipe, DEBIAN, catalog=Catalog([tmp_path]))
