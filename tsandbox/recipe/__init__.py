"""Recipes: TOML in, typed and checked values out."""

from tsandbox.recipe.load import load_recipe
from tsandbox.recipe.model import Recipe, Step
from tsandbox.recipe.target import Target, darwin, linux
from tsandbox.recipe.when import When

__all__ = ["Recipe", "Step", "Target", "When", "darwin", "linux", "load_recipe"]
