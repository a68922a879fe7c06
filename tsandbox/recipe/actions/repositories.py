"""Package repositories. A key is always given by https URL and sha256, and checked before it is trusted."""

from typing import ClassVar

from tsandbox.recipe import grammar
from tsandbox.recipe.actions.base import Action
from tsandbox.recipe.decode import Fault
from tsandbox.recipe.when import only


class Repository(Action, frozen=True, kw_only=True):
    manager: ClassVar[str]
    renamed = {"gpgkey": "key_url"}
    checks = {
        "url": grammar.repository_url,
        "key_url": grammar.https_url,
        "key_sha256": grammar.sha256,
        "name": grammar.repository_name,
    }

    url: str
    key_url: str
    key_sha256: str
    name: str | None = None

    def describe(self) -> str:
        return f"add the {self.manager} repository {self.url}"


class AptRepo(Repository, frozen=True, kw_only=True):
    word = "apt_repo"
    manager = "apt"
    implicit = only("debian")
    checks = {**Repository.checks, "suite": grammar.suite, "components": grammar.component}

    suite: str | None = None
    components: tuple[str, ...] = ()

    def more_faults(self) -> list[Fault]:
        if self.suite and self.suite.endswith("/") and self.components:
            return [Fault(("components",), "a flat repository (a suite that ends with '/') has no components")]
        return []


class DnfRepo(Repository, frozen=True, kw_only=True):
    word = "dnf_repo"
    manager = "dnf"
    implicit = only("rhel")


class ZypperRepo(Repository, frozen=True, kw_only=True):
    word = "zypper_repo"
    manager = "zypper"
    implicit = only("suse")


class PacmanRepo(Repository, frozen=True, kw_only=True):
    word = "pacman_repo"
    manager = "pacman"
    implicit = only("arch")


class ApkRepo(Repository, frozen=True, kw_only=True):
    word = "apk_repo"
    manager = "apk"
    implicit = only("alpine")


class AptPpa(Action, frozen=True, kw_only=True):
    word = "apt_ppa"
    shorthand = "ppa"
    checks = {"ppa": grammar.ppa}
    implicit = only("debian")

    ppa: str

    def describe(self) -> str:
        return f"add the Ubuntu archive {self.ppa}"
