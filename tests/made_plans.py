"""Plans and recipes for tests, written in as few words as possible."""

from typing import Any

from tsandbox.plan import Plan, PlanStep
from tsandbox.recipe import Recipe, load_recipe
from tsandbox.recipe.actions import Action
from tsandbox.recipe.load import read_action

SHA = "ab" * 32
REPOSITORY = {
    "url": "https://packages.example.com/stable",
    "key_url": "https://packages.example.com/key@example.rsa.pub",
    "key_sha256": SHA,
}
PACKAGE_ACTIONS = {
    "debian": "apt_install",
    "rhel": "dnf_install",
    "arch": "pacman_install",
    "alpine": "apk_install",
    "suse": "zypper_install",
}
REPOSITORY_ACTIONS = {
    "debian": "apt_repo",
    "rhel": "dnf_repo",
    "arch": "pacman_repo",
    "alpine": "apk_repo",
    "suse": "zypper_repo",
}


def step(action: str, *, line: int | None = None, file: str = "made.toml", **params: Any) -> PlanStep:
    """A step as the loader makes it; what the grammar refuses fails here."""
    word, does, faults = read_action(action, params)
    assert does is not None, faults
    return doing(does, action=word, params=params, line=line, file=file)


def doing(does: Action, *, action: str = "made", params: dict[str, Any] | None = None, **place: Any) -> PlanStep:
    """A step with an action that no grammar has seen."""
    return PlanStep(action=action, params=params or {}, does=does, evaluable=False, deterministic=False, **place)


def plan(*steps: PlanStep, tool: str = "made", **fields: Any) -> Plan:
    return Plan(tool=tool, version=None, steps=steps, **fields)


def recipe(text: str, name: str = "made", file: str = "made.toml") -> Recipe:
    """The recipe whose steps are `text`."""
    return load_recipe(f'[metadata]\nname = "{name}"\ndescription = "made"\n{text}', file)
