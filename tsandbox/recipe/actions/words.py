"""The words that may stand inside `require_system`."""

from typing import get_args

from tsandbox.recipe.actions.base import Action
from tsandbox.recipe.actions.checks import Manual, RequireCommand
from tsandbox.recipe.actions.packages import (
    ApkInstall,
    AptInstall,
    BrewCask,
    BrewInstall,
    DnfInstall,
    PacmanInstall,
    ZypperInstall,
)
from tsandbox.recipe.actions.repositories import ApkRepo, AptPpa, AptRepo, DnfRepo, PacmanRepo, ZypperRepo
from tsandbox.recipe.actions.system import EnvSet, FileWrite, GroupAdd, ServiceEnable, ServiceStart

# A closed union: `match` over it without `case _`, and the type checker names what was forgotten.
Primitive = (
    AptInstall
    | DnfInstall
    | PacmanInstall
    | ApkInstall
    | ZypperInstall
    | BrewInstall
    | BrewCask
    | AptRepo
    | AptPpa
    | DnfRepo
    | ZypperRepo
    | PacmanRepo
    | ApkRepo
    | GroupAdd
    | ServiceEnable
    | ServiceStart
    | EnvSet
    | FileWrite
    | RequireCommand
    | Manual
)

PRIMITIVES: dict[str, type[Action]] = {kind.word: kind for kind in get_args(Primitive)}
