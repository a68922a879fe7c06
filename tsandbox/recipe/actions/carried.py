"""Steps that are not system dependencies: downloads, archives, ecosystem installs, source builds, and whatever comes.

They are carried with their parameters as written. Parameters that tsandbox itself acts on are checked here, so that a
hostile path or URL is refused with its line; parameters that it does not know pass through.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from tsandbox.recipe import grammar
from tsandbox.recipe.actions.base import Action
from tsandbox.recipe.decode import Fault, Path
from tsandbox.recipe.digest import read_digest
from tsandbox.recipe.grammar import Check

_DEEPEST = 32
# Beyond this other readers of a plan round in silence.
_LARGEST = 1 << 63
# Lists of recipes that one step needs, by the same words as in the metadata of the whole recipe.
_NEEDS = ("dependencies", "extra_dependencies", "runtime_dependencies", "extra_runtime_dependencies")


def _unless_placeholder(check: Check) -> Check:
    """What is filled in later is checked then."""
    return lambda text: None if "{" in text else check(text)


_ALWAYS_CHECKED: dict[str, Check] = {
    "url": grammar.download_url,
    "fallback_urls": grammar.download_url,
    "checksum_url": grammar.download_url,
    "dest": grammar.inside_path,
    "archive": grammar.inside_path,
    "source_dir": grammar.inside_path,
    "executables": grammar.inside_path,
    "package": grammar.one_line,
    "crate": grammar.one_line,
    "module": grammar.one_line,
    **dict.fromkeys(_NEEDS, grammar.dependency),
}
_PYTHON: dict[str, Check] = {
    "package": grammar.python_package,
    "version": _unless_placeholder(grammar.package_version),
}
_NODE: dict[str, Check] = {
    "package": grammar.node_package,
    "version": _unless_placeholder(grammar.package_version),
}
# What a client on the host is asked for by name is narrower than a line of text.
_CHECKED: dict[str, dict[str, Check]] = {
    "npm_exec": _NODE,
    "npm_install": _NODE,
    "pip_exec": _PYTHON,
    "pip_install": _PYTHON,
    "pipx_install": _PYTHON,
}
# Actions whose parameters we act on; for all others only the shape is checked.
EXECUTED = frozenset(
    [
        "apply_patch_file",
        "cargo_install",
        "chmod",
        "cmake_build",
        "configure_make",
        "cpan_install",
        "download",
        "download_archive",
        "download_file",
        "extract",
        "gem_install",
        "github_archive",
        "github_file",
        "go_install",
        "install_binaries",
        "install_libraries",
        "link_dependencies",
        "meson_build",
        "npm_exec",
        "npm_install",
        "pip_exec",
        "pip_install",
        "pipx_install",
        "run_command",
        "set_env",
        "set_rpath",
        "text_replace",
    ]
)
SOURCE_BUILDS = frozenset(
    [
        "configure_make",
        "cmake_build",
        "meson_build",
        "cargo_install",
        "cargo_build",
        "go_install",
        "go_build",
        "cpan_install",
        "gem_install",
        "gem_exec",
        "setup_build_env",
        "nix_portable",
    ]
)


class Carried(Action, frozen=True, kw_only=True):
    action: str
    params: dict[str, Any]

    def needs(self) -> Iterator[tuple[Path, str]]:
        """The recipes that this step needs, with their places; another tool may mean something else by the words."""
        for key in _NEEDS:
            value = self.params.get(key)
            for i, name in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(name, str) and grammar.dependency(name) is None:
                    yield (key, i) if isinstance(value, list) else (key,), name

    def describe(self) -> str:
        return self.action


def read_carried(action: str, params: Mapping[str, Any]) -> tuple[Carried | None, list[Fault]]:
    faults = [fault for key, value in params.items() for fault in _shape_faults(value, (key,))]
    if action in EXECUTED:
        checks = {**_ALWAYS_CHECKED, **_CHECKED.get(action, {})}
        found = [fault for key, check in checks.items() for fault in _content_faults(key, params.get(key), check)]
        faults += [
            fault for fault in (*found, *_digest_faults(params)) if fault.path not in {each.path for each in faults}
        ]
    return (None if faults else Carried(action=action, params=dict(params))), faults


def _shape_faults(value: Any, path: Path) -> list[Fault]:
    """A plan is JSON, so what JSON cannot say (dates, NaN) is refused here and not when the plan is written."""
    if value is None or isinstance(value, str | bool):
        return []
    if isinstance(value, int | float):
        can_carry = isfinite(value) if isinstance(value, float) else -_LARGEST <= value < _LARGEST
        return [] if can_carry else [Fault(path, "is not a number that a plan can carry")]
    if len(path) > _DEEPEST:
        return [Fault(path[:3], "is nested too deeply")]
    if isinstance(value, Mapping):
        return [fault for key, item in value.items() for fault in _shape_faults(item, (*path, str(key)))]
    if isinstance(value, list | tuple):
        return [fault for i, item in enumerate(value) for fault in _shape_faults(item, (*path, i))]
    return [Fault(path, f"a {type(value).__name__} cannot be carried into a plan; write it as text")]


def _digest_faults(params: Mapping[str, Any]) -> list[Fault]:
    """Of a file: its name in the cache, so nothing but a digest will do."""
    checksum, algorithm = params.get("checksum") or "", params.get("checksum_algo") or ""
    for key, value in (("checksum", checksum), ("checksum_algo", algorithm)):
        if not isinstance(value, str):
            return [Fault((key,), "expected text")]
    if not checksum or "{" in checksum:
        return []
    try:
        read_digest(checksum, algorithm)
    except ValueError as error:
        return [Fault(("checksum",), str(error))]
    return []


def _content_faults(key: str, value: Any, check: Check) -> list[Fault]:
    if value is None:
        return []
    items = enumerate(value) if isinstance(value, list) else [(None, value)]
    faults = []
    for i, item in items:
        path: Path = (key,) if i is None else (key, i)
        if not isinstance(item, str):
            if key != "executables":
                faults.append(Fault(path, "expected text"))
        elif item and (message := check(item)):
            faults.append(Fault(path, message))
    return faults
