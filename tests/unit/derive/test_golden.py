"""The Dockerfile of every shipped recipe, family and profile, as it is reviewed: `pytest --golden-update` writes them.

What stands in `tests/golden/` is the Dockerfile with the names of the bases left out, because those change with every
edit of a base's definition, followed by the files of the build context that are made from the recipe.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tsandbox import Recipe, load, render, select
from tsandbox.derive import ContainerSpec, derive
from tsandbox.derive.context import context_files
from tsandbox.errors import NotSupported
from tsandbox.plan.files import files_below
from tsandbox.recipe import linux
from tsandbox.recipe.target import FAMILIES

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"
RECIPES = list(files_below(ROOT / "recipes", [".toml"]))
TARGETS = [("debian", "minimal"), *((family, "full") for family in FAMILIES)]


@pytest.mark.parametrize(("family", "profile"), TARGETS)
@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_dockerfile(path: Path, family: str, profile: str, request: pytest.FixtureRequest) -> None:
    golden = GOLDEN / path.stem / f"{family}-{profile}.Dockerfile"
    text = told(path, family, profile)
    if request.config.getoption("--golden-update"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert golden.exists(), f"{golden} is missing: run pytest {Path(__file__).name} --golden-update and review it"
    assert text == golden.read_text(encoding="utf-8")


def test_nothing_is_left_from_recipes_that_are_gone() -> None:
    expected = {f"{path.stem}/{family}-{profile}.Dockerfile" for path in RECIPES for family, profile in TARGETS}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()} == expected


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "debian"])
def test_the_minimal_profile_is_refused_elsewhere(family: str) -> None:
    recipe = load(ROOT / "recipes/jq.toml")
    assert isinstance(recipe, Recipe)
    target = linux(family, "amd64")
    with pytest.raises(NotSupported, match="minimal profile"):
        derive(select(recipe, target), target, profile="minimal")


@pytest.mark.parametrize(("family", "profile"), TARGETS)
@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_bases_that_are_made_are_those_that_the_dockerfile_names(path: Path, family: str, profile: str) -> None:
    try:
        spec = derived(path, family, profile)
    except NotSupported:
        return  # the golden file says why
    first = [line.split()[1:] for line in render(spec).splitlines() if line.startswith("FROM ")]
    stages = {words[2] for words in first if len(words) > 1}
    assert {words[0] for words in first} - stages == {base.image for base in spec.stands_on}


def told(path: Path, family: str, profile: str) -> str:
    try:
        spec = derived(path, family, profile)
    except NotSupported as error:
        return f"# not supported: {error.message}\n".replace(f"{ROOT}/", "")
    return "".join([without_bases(spec), *context_texts(spec)]).replace(f"{ROOT}/", "")


def derived(path: Path, family: str, profile: str) -> ContainerSpec:
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    target = linux(family, "amd64")
    return derive(select(recipe, target), target, profile=profile)  # type: ignore[arg-type]


def without_bases(spec: ContainerSpec) -> str:
    text = "".join(f"# blocked: {blocker.message}\n" for blocker in spec.blockers) + render(spec)
    return text.replace(spec.base.image, f"<{spec.base.name}>").replace(spec.builder.image, f"<{spec.builder.name}>")


def context_texts(spec: ContainerSpec) -> Iterator[str]:
    for path, file in context_files(spec).items():
        if not path.startswith("closure/"):
            yield f"\n# --- {path}\n" + "".join(f"# {line}\n" for line in file.content.decode().splitlines())
