"""The vocabulary: one class per action, and the two tables of words that lead to them.

A typed action (`apt_install`) and a primitive inside `require_system` (`apt`) are the same class under two names.
To add an action: write its class, name it in `ACTIONS` (and in `PRIMITIVES` where it may stand in `require_system`);
the type checker then names each `match` that has to say what it does.
"""

from tsandbox.recipe.actions.base import Action
from tsandbox.recipe.actions.carried import Carried
from tsandbox.recipe.actions.checks import Manual, RequireCommand
from tsandbox.recipe.actions.packages import (
    ApkInstall,
    AptInstall,
    BrewCask,
    BrewInstall,
    DnfInstall,
    InstallPackages,
    PacmanInstall,
    ZypperInstall,
)
from tsandbox.recipe.actions.repositories import (
    ApkRepo,
    AptPpa,
    AptRepo,
    DnfRepo,
    PacmanRepo,
    Repository,
    ZypperRepo,
)
from tsandbox.recipe.actions.require_system import RequireSystem
from tsandbox.recipe.actions.system import EnvSet, FileWrite, GroupAdd, ServiceEnable, ServiceStart
from tsandbox.recipe.actions.words import PRIMITIVES, Primitive

ACTIONS: dict[str, type[Action]] = {
    "apt_install": AptInstall,
    "dnf_install": DnfInstall,
    "pacman_install": PacmanInstall,
    "apk_install": ApkInstall,
    "zypper_install": ZypperInstall,
    "brew_install": BrewInstall,
    "brew_cask": BrewCask,
    "apt_repo": AptRepo,
    "apt_ppa": AptPpa,
    "dnf_repo": DnfRepo,
    "zypper_repo": ZypperRepo,
    "pacman_repo": PacmanRepo,
    "apk_repo": ApkRepo,
    "group_add": GroupAdd,
    "service_enable": ServiceEnable,
    "service_start": ServiceStart,
    "env_set": EnvSet,
    "file_write": FileWrite,
    "require_command": RequireCommand,
    "require_system": RequireSystem,
    "manual": Manual,
}

__all__ = [
    "ACTIONS",
    "PRIMITIVES",
    "Action",
    "ApkInstall",
    "ApkRepo",
    "AptInstall",
    "AptPpa",
    "AptRepo",
    "BrewCask",
    "BrewInstall",
    "Carried",
    "DnfInstall",
    "DnfRepo",
    "EnvSet",
    "FileWrite",
    "GroupAdd",
    "InstallPackages",
    "Manual",
    "PacmanInstall",
    "PacmanRepo",
    "Primitive",
    "Repository",
    "RequireCommand",
    "RequireSystem",
    "ServiceEnable",
    "ServiceStart",
    "ZypperInstall",
    "ZypperRepo",
]
