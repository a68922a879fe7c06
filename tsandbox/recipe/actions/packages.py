"""Packages from a system's package manager."""

from typing import ClassVar

from tsandbox.recipe import grammar
from tsandbox.recipe.actions.base import Action
from tsandbox.recipe.decode import Fault
from tsandbox.recipe.when import ALWAYS, When, only


def _checks(manager: str) -> dict[str, grammar.Check]:
    return {
        "packages": grammar.package(manager),
        "fallback": grammar.prose,
        "unless_command": grammar.command,
        "tap": grammar.tap,
    }


class InstallPackages(Action, frozen=True, kw_only=True):
    """Install packages with one package manager; its family is an implicit condition."""

    manager: ClassVar[str]
    shorthand = "packages"

    packages: tuple[str, ...]
    # What to tell a person when the packages cannot be installed.
    fallback: str | None = None
    # On a host, nothing is asked for when this command is already there.
    unless_command: str | None = None
    # A Homebrew tap to add first; the other managers have repositories for that.
    tap: str | None = None

    def more_faults(self) -> list[Fault]:
        faults = [] if self.packages else [Fault(("packages",), "names no package")]
        if self.tap is not None and not self.manager.startswith("brew"):
            faults.append(Fault(("tap",), f"{self.manager} has no taps"))
        return faults

    def describe(self) -> str:
        return f"install with {self.manager}: {' '.join(self.packages)}"


class AptInstall(InstallPackages, frozen=True, kw_only=True):
    word = manager = "apt"
    checks = _checks("apt")
    implicit = only("debian")


class DnfInstall(InstallPackages, frozen=True, kw_only=True):
    word = manager = "dnf"
    checks = _checks("dnf")
    implicit = only("rhel")


class PacmanInstall(InstallPackages, frozen=True, kw_only=True):
    word = manager = "pacman"
    checks = _checks("pacman")
    implicit = only("arch")


class ApkInstall(InstallPackages, frozen=True, kw_only=True):
    word = manager = "apk"
    checks = _checks("apk")
    implicit = only("alpine")


class ZypperInstall(InstallPackages, frozen=True, kw_only=True):
    word = manager = "zypper"
    checks = _checks("zypper")
    implicit = only("suse")


class BrewInstall(InstallPackages, frozen=True, kw_only=True):
    word = manager = "brew"
    checks = _checks("brew")

    def applies_implicitly(self, when: When) -> When:
        # Homebrew also exists on Linux hosts, but nobody means that unless the step says so.
        says_linux = "linux" in when.os or any(platform.startswith("linux/") for platform in when.platform)
        return ALWAYS if says_linux else When(os=("darwin",))


class BrewCask(InstallPackages, frozen=True, kw_only=True):
    word = manager = "brew_cask"
    checks = _checks("brew_cask")
    implicit = When(os=("darwin",))
