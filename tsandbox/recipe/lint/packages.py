"""Rules about system packages."""

import re
from collections.abc import Iterator

from tsandbox.recipe.actions import RequireSystem
from tsandbox.recipe.lint.parts import PLAIN, installs_on, packages
from tsandbox.recipe.lint.rule import Found, Rule, Subject

# Names that one manager has and the others do not: what they are called elsewhere is for the author to look up.
_ONLY = {
    "apt": r"build-essential|docker\.io|g\+\+|golang-go|python3-dev|default-jre(?:-headless)?|lib[a-z0-9.+-]+-dev",
    "dnf": r"moby-engine|pkgconf-pkg-config|@development-tools|perl-core",
    "pacman": r"base-devel|base-devel-git|python-pip",
    "apk": r"build-base|py3-[a-z0-9._-]+|musl-dev|alpine-sdk|[a-z0-9._-]+-openrc",
    "zypper": r"pattern:[a-z0-9_]+|ca-certificates-mozilla|[a-z0-9]+-devel-static",
}
_ONLY_RES = {manager: re.compile(pattern) for manager, pattern in _ONLY.items()}
# How the managers name the package of headers and link libraries: by its ending.
_HEADERS = {"apt": "-dev", "apk": "-dev", "dnf": "-devel", "zypper": "-devel"}


def _cannot_be_sandboxed(subject: Subject) -> Iterator[Found]:
    for i, step in enumerate(subject.recipe.steps):
        if isinstance(step.does, RequireSystem) and step.does.packages is None and step.does.primitives is None:
            yield Found(
                ("steps", i), f"cannot be sandboxed: says that {step.does.command} is needed, and not what installs it"
            )


def _duplicates(subject: Subject) -> Iterator[Found]:
    told = set()
    for target in PLAIN:
        first: dict[tuple[str, str], tuple[str | int, ...]] = {}
        for i, step in enumerate(subject.recipe.steps):
            if not step.applies(target):
                continue
            for path, action in packages(step):
                if not installs_on(action, target):
                    continue
                for n, name in enumerate(action.packages):
                    here = ("steps", i, *path, n)
                    before = first.setdefault((action.manager, name), here)
                    if before != here and here not in told:
                        told.add(here)
                        yield Found(here, f"{name} is installed by steps[{before[1]}] already")


def _another_managers(subject: Subject) -> Iterator[Found]:
    for i, step in enumerate(subject.recipe.steps):
        for path, action in packages(step):
            for n, name in enumerate(action.packages):
                if home := _home(action.manager, name):
                    yield Found(
                        ("steps", i, *path, n), f"{name} looks like a package of {home}, not of {action.manager}"
                    )


def _home(manager: str, name: str) -> str | None:
    """The manager whose name this looks like, when it is not the one that it is given to."""
    if manager not in _ONLY_RES:
        return None
    if _ONLY_RES[manager].fullmatch(name):
        return None
    ending = _HEADERS.get(manager)
    for other, pattern in _ONLY_RES.items():
        if other != manager and pattern.fullmatch(name) and not (ending and name.endswith(ending)):
            return other
    if ending != "-devel" and name.endswith("-devel"):
        return "dnf or zypper"
    if manager in ("dnf", "zypper", "pacman") and name.endswith("-dev"):
        return "apt or apk"
    return None


RULES = (
    Rule(
        id="TS002",
        title="A system requirement that cannot be sandboxed",
        why="`require_system` names a command and neither `packages` nor `primitives`, so no image can be derived for "
        "it: building or installing the recipe in a sandbox is an error. A person is told nothing either.",
        bad='[[steps]]\naction = "require_system"\ncommand = "docker"\n',
        good='[[steps]]\naction = "require_system"\ncommand = "docker"\n'
        'packages = { apt = ["docker.io"], dnf = ["moby-engine"] }\n',
        check=_cannot_be_sandboxed,
    ),
    Rule(
        id="TS003",
        title="A package that is named twice",
        why="The second mention changes nothing, and one day only one of the two is updated.",
        bad='[[steps]]\naction = "apt_install"\npackages = ["curl", "jq", "curl"]\n',
        good='[[steps]]\naction = "apt_install"\npackages = ["curl", "jq"]\n',
        check=_duplicates,
    ),
    Rule(
        id="TS010",
        title="A package name of another manager",
        why="Distributions name the same software differently: headers end with `-dev` on Debian and Alpine and with "
        "`-devel` on Fedora and openSUSE, compilers come as `build-essential`, `base-devel` or `build-base`. A name "
        "copied from another line fails only when that family is built.",
        bad='[[steps]]\naction = "dnf_install"\npackages = ["build-essential", "libssl-dev"]\n',
        good='[[steps]]\naction = "dnf_install"\npackages = ["gcc", "make", "openssl-devel"]\n',
        check=_another_managers,
    ),
)
