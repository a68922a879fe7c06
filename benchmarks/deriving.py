"""From parsed recipes to rendered Dockerfiles and keys: how long each takes, and whether it grows with their number."""

from collections.abc import Iterator
from functools import partial
from time import process_time

from benchmarks.measure import Measure, interleaved
from tsandbox import Recipe, Target, image_key, select
from tsandbox.derive import derive
from tsandbox.recipe import linux, load_recipe
from tsandbox.recipe.target import FAMILIES

RECIPES = 1000
ROUNDS = 5
LIMIT_MS = 0.5
# How much longer one of twice as many may take before the growth counts as more than linear.
LINEAR = 1.3

TEXT = """
[metadata]
name = "made-{i}"
description = "A recipe as registries have them"

[[steps]]
action = "require_system"
command = "made-{i}"
packages = {{ apt = ["made-{i}", "libmade{i}"], dnf = ["made-{i}"], pacman = ["made-{i}"], apk = ["made-{i}"], zypper = ["made-{i}"] }}
when = {{ os = ["linux"] }}

[[steps]]
action = "apt_repo"
url = "https://packages.example.com/{i}"
suite = "stable"
components = ["main"]
key_url = "https://packages.example.com/key-{i}.asc"
key_sha256 = "{sha}"

[[steps]]
action = "env_set"
name = "MADE"
value = "{i}"

[[steps]]
action = "brew_install"
packages = ["made-{i}"]

[verify]
command = "made-{i} --version"
"""  # noqa: E501 - as people write it


def run() -> Iterator[Measure]:
    recipes = [load_recipe(TEXT.format(i=i, sha=f"{i:064x}"), f"made-{i}.toml") for i in range(2 * RECIPES)]
    targets = {family: linux(family, "amd64") for family in FAMILIES}
    for target in targets.values():
        _derive_all(recipes[:1], target)  # templates are compiled
    # The processor's time: the limit is about our work, not about what else the machine does.
    each = {family: partial(_derive_all, recipes[:RECIPES], target) for family, target in targets.items()}
    for family, median in interleaved(each, ROUNDS, process_time).items():
        yield Measure(f"derive and render {RECIPES} recipes, {family}", median / RECIPES * 1000, "ms each", LIMIT_MS)
    sizes = {count: partial(_derive_all, recipes[:count], targets["debian"]) for count in (RECIPES, 2 * RECIPES)}
    medians = interleaved({str(count): work for count, work in sizes.items()}, ROUNDS, process_time)
    growth = medians[str(2 * RECIPES)] / medians[str(RECIPES)] / 2
    yield Measure(f"one of {2 * RECIPES} recipes against one of {RECIPES}", growth, limit=LINEAR)


def _derive_all(recipes: list[Recipe], target: Target) -> None:
    for recipe in recipes:
        image_key(derive(select(recipe, target), target))
