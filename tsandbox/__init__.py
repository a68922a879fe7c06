"""tsandbox: prove in a derived, offline container that an install recipe declares all it needs.

From a recipe to the name of its image, with no engine and no network:

    from tsandbox import Target, derive, image_key, load, render, select

    target = Target(os="linux", arch="amd64", linux_family="debian", libc="glibc")
    recipe = load("recipes/jq.toml")
    plan = select(recipe, target)
    spec = derive(plan, target)

    print(spec.packages)  # {'apt': ('jq',)}
    print(render(spec))  # FROM localhost/tsandbox-base:runtime-…
    print(image_key(spec))  # sha256:…

`load` also reads plans, which say themselves what they are for: `derive(load("plan.json"))`.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tsandbox.derive import ContainerSpec, derive, image_key, render
    from tsandbox.plan import Plan, load, select
    from tsandbox.recipe import Recipe, Target

__all__ = [
    "ContainerSpec",
    "Plan",
    "Recipe",
    "Target",
    "derive",
    "image_key",
    "load",
    "render",
    "select",
]

# `import tsandbox` must cost nothing (the command line imports it on every start), so names load on first use.
_HOMES = {
    "ContainerSpec": "tsandbox.derive",
    "derive": "tsandbox.derive",
    "image_key": "tsandbox.derive",
    "render": "tsandbox.derive",
    "Plan": "tsandbox.plan",
    "load": "tsandbox.plan",
    "select": "tsandbox.plan",
    "Recipe": "tsandbox.recipe",
    "Target": "tsandbox.recipe",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = _HOMES.get(name)
    # Submodules win over same-named functions once imported; `tsandbox.derive` stays callable through its room.
    if home is None:
        raise AttributeError(f"module 'tsandbox' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
