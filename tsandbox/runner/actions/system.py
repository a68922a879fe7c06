"""System dependencies: nothing is installed here, the image has (or the host should have) what was declared."""

import grp
import re
import shlex
from pathlib import Path
from typing import Any

from tsandbox.runner.actions.services import service_enable, service_start
from tsandbox.runner.context import Context, Effect
from tsandbox.runner.diagnose import missing_command
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.packages import plain_name, recorded
from tsandbox.runner.params import Params
from tsandbox.runner.versions import at_least

ROOT = Path("/")
_FAMILY_MANAGERS = {"debian": "apt", "rhel": "dnf", "arch": "pacman", "alpine": "apk", "suse": "zypper"}


def require_system(context: Context, params: Params) -> Effect:
    notes = [_check_packages(context, manager, params.table("packages")) for manager in _managers(context)]
    effects = [_primitive(context, primitive) for primitive in params.tables("primitives")]
    notes += [effect.note for effect in effects]
    if "command" in params:
        notes.append(require_command(context, params).note)
    return Effect(
        note="; ".join(note for note in notes if note) or None,
        env={name: value for effect in effects for name, value in effect.env.items()},
        services=[service for effect in effects for service in effect.services],
    )


def _managers(context: Context) -> list[str]:
    family = context.plan.linux_family
    return [_FAMILY_MANAGERS[family]] if family in _FAMILY_MANAGERS else []


def _check_packages(context: Context, manager: str, packages: Any) -> str | None:
    names = Params("require_system", packages).texts(manager)
    return check_packages(context, manager, names) if names else None


def require_command(context: Context, params: Params) -> Effect:
    command = params.text("command")
    program = context.which(command)
    if program is None:
        finding = missing_command(command, needed_by=context.step.action)
        raise StepFailed(finding.kind, f"the command {command} is not there", **finding.data)
    if "version_flag" not in params and "version_regex" not in params:
        return Effect(note=f"{command} is {program}")
    return Effect(note=f"{command} {_version(context, params, program)} is {program}")


def _version(context: Context, params: Params, program: str) -> str:
    """The version that the program tells of itself, checked against `min_version`."""
    command = params.text("command")
    ended = context.run([program, *shlex.split(params.optional("version_flag") or "--version")], check=False)
    said = ended.stdout + ended.stderr
    found = _search(params.optional("version_regex") or r"(\d+(?:\.\d+)+)", said)
    wanted = params.optional("min_version")
    if found is None:
        message = f"{command} did not tell its version: it said {said.strip()[:200]!r}"
        raise StepFailed("version_unknown", message, command=command, output=said[:2000])
    if wanted and not at_least(found, wanted):
        message = f"{command} is version {found}, but at least {wanted} is needed"
        raise StepFailed("version_too_low", message, command=command, found=found, wanted=wanted)
    return found


def _search(pattern: str, text: str) -> str | None:
    try:
        match = re.search(pattern, text)
    except re.error as error:
        raise StepFailed("invalid", f"version_regex: {error}", param="version_regex") from error
    if match is None:
        return None
    return match.group(1) if match.re.groups else match.group()


def install_packages(manager: str) -> Any:
    """The action that checks packages of one manager."""

    def check(context: Context, params: Params) -> Effect:
        command = params.optional("unless_command")
        if command and context.which(command):
            return Effect(note=f"not needed: {command} is there")
        return Effect(note=check_packages(context, manager, params.texts("packages")))

    return check


def check_packages(context: Context, manager: str, packages: list[str]) -> str:
    missing = [package for package in packages if not _is_installed(context, manager, plain_name(package))]
    if missing:
        where = "on this host" if context.options.host else "in the image"
        message = f"{manager}: {', '.join(missing)} not installed {where}"
        raise StepFailed("missing_package", message, manager=manager, package=missing[0], packages=missing)
    return f"{', '.join(packages)}: there"


def _is_installed(context: Context, manager: str, package: str) -> bool:
    names = recorded(ROOT, manager)
    if names is not None:
        return package in names
    if manager in ("dnf", "zypper") and (rpm := context.which("rpm")):
        return context.run([rpm, "-q", "--whatprovides", package], check=False).exit_code == 0
    message = f"{manager}: no record of installed packages to check {package} against"
    raise StepFailed("missing_package", message, manager=manager, package=package)


def group_add(_: Context, params: Params) -> Effect:
    group = params.text("group")
    try:
        grp.getgrnam(group)
    except KeyError:
        raise StepFailed("missing_group", f"there is no group {group}", group=group) from None
    return Effect(note=f"group {group}: there")


def env_set(_: Context, params: Params) -> Effect:
    return Effect(env={params.text("name"): params.optional("value") or ""})


def file_write(_: Context, params: Params) -> Effect:
    path = ROOT / params.text("path").lstrip("/")
    if not path.is_file():
        raise StepFailed("file_mismatch", f"{path} is not there", path=str(path))
    if path.read_bytes() != (params.optional("content") or "").encode():
        raise StepFailed("file_mismatch", f"{path} has other content than declared", path=str(path))
    mode = params.optional("mode")
    if mode and path.stat().st_mode & 0o7777 != int(mode, 8):
        raise StepFailed("file_mismatch", f"{path} has another mode than {mode}", path=str(path))
    return Effect(note=f"{path}: as declared")


def repository(_: Context, params: Params) -> Effect:
    return Effect(note=f"{params.optional('url', 'ppa') or 'repository'}: part of the image, not checked here")


def manual(_: Context, params: Params) -> Effect:
    return Effect(note=f"by hand: {params.text('text')}")


def _primitive(context: Context, primitive: dict[str, Any]) -> Effect:
    """One `{ word = fields }` of a require_system: the same words as the actions, written shorter."""
    [(word, fields)] = primitive.items()
    if word in _FAMILY_MANAGERS.values():
        packages = fields if isinstance(fields, list) else fields.get("packages", [])
        return install_packages(word)(context, Params(word, {"packages": packages}))  # type: ignore[no-any-return]
    action = _PRIMITIVES.get(word)
    if action is None:
        raise StepFailed("unsupported", f"the primitive {word} cannot be executed", action=word)
    values = fields if isinstance(fields, dict) else {_SHORT_FIELD.get(word, word): fields}
    return action(context, Params(word, values))  # type: ignore[no-any-return]


# The field that a bare value stands for: `{ service_enable = "docker" }`.
_SHORT_FIELD = {
    "group_add": "group",
    "service_enable": "service",
    "service_start": "service",
    "require_command": "command",
    "manual": "text",
    "apt_ppa": "ppa",
}

_PRIMITIVES: dict[str, Any] = {
    "apt_repo": repository,
    "apt_ppa": repository,
    "dnf_repo": repository,
    "zypper_repo": repository,
    "pacman_repo": repository,
    "apk_repo": repository,
    "group_add": group_add,
    "service_enable": service_enable,
    "service_start": service_start,
    "env_set": env_set,
    "file_write": file_write,
    "require_command": require_command,
    "manual": manual,
}
