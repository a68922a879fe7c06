"""What a person types to do what a primitive says."""

import re
from shlex import join, quote

from msgspec import Struct

from tsandbox.derive.context import key_name, repository_file
from tsandbox.recipe.actions import (
    ApkInstall,
    ApkRepo,
    AptInstall,
    AptPpa,
    AptRepo,
    BrewCask,
    BrewInstall,
    DnfInstall,
    DnfRepo,
    EnvSet,
    FileWrite,
    GroupAdd,
    InstallPackages,
    Manual,
    PacmanInstall,
    PacmanRepo,
    Primitive,
    Repository,
    RequireCommand,
    ServiceEnable,
    ServiceStart,
    ZypperInstall,
    ZypperRepo,
)
from tsandbox.recipe.target import Target


class Instruction(Struct, frozen=True, kw_only=True):
    """One numbered point: a sentence, commands to copy, and what to know about them."""

    text: str
    commands: tuple[str, ...] = ()
    note: str = ""


_INSTALL = {
    "apt": ("sudo apt-get update", "sudo apt-get install --yes --no-install-recommends"),
    "dnf": ("sudo dnf install --assumeyes",),
    # Arch supports no system that is upgraded in part.
    "pacman": ("sudo pacman -Syu --needed",),
    "apk": ("sudo apk add",),
    "zypper": ("sudo zypper install",),
    "brew": ("brew install",),
    "brew_cask": ("brew install --cask",),
}


def for_primitive(does: Primitive, target: Target) -> Instruction:  # noqa: PLR0911 - one answer per word
    match does:
        case (
            AptInstall() | DnfInstall() | PacmanInstall() | ApkInstall() | ZypperInstall() | BrewInstall() | BrewCask()
        ):
            return _install(does)
        case AptRepo() | DnfRepo() | ZypperRepo() | PacmanRepo() | ApkRepo():
            return _repository(does)
        case AptPpa():
            return _ppa(does)
        case GroupAdd():
            return _group(does, target)
        case ServiceEnable() | ServiceStart():
            return _service(does, target)
        case EnvSet():
            return _variable(does)
        case FileWrite():
            return _file(does)
        case RequireCommand():
            return _check(does)
        case Manual():
            return Instruction(text=does.text.strip() or "Do what the recipe's author forgot to write down.")


def _install(does: InstallPackages) -> Instruction:
    *before, install = _INSTALL[does.manager]
    tap = [f"brew tap {quote(does.tap)}"] if does.tap else []
    notes = [f"If that fails: {does.fallback}"] if does.fallback else []
    if does.unless_command:
        notes.append(f"Not needed where `command -v {quote(does.unless_command)}` finds it already.")
    names = " ".join(does.packages)
    return Instruction(
        text=f"Install {names}:",
        commands=(*before, *tap, f"{install} {join(does.packages)}"),
        note="\n".join(notes),
    )


def _repository(does: Repository) -> Instruction:
    """One chained command: nothing after a key whose sha256 is wrong."""
    name = quote(does.name or re.sub(r"[^A-Za-z0-9.]+", "-", does.url.split("://", 1)[1]).strip("-."))
    fetch = (
        f"curl -fsSL --proto =https -o {name}.key {quote(does.key_url)}",
        f"echo {does.key_sha256}'  '{name}.key | sha256sum -c -",
    )
    return Instruction(
        text=f"Add the {does.manager} repository {does.url} after checking its key:",
        commands=(" \\\n  && ".join((*fetch, *_trust(does, name))),),
    )


def _ppa(does: AptPpa) -> Instruction:
    command = f"sudo add-apt-repository --yes {quote('ppa:' + does.ppa.removeprefix('ppa:'))}"
    return Instruction(text="Add the Ubuntu archive (Ubuntu only):", commands=(command,))


def _trust(does: Repository, name: str) -> tuple[str, ...]:
    """Trust the checked key and describe the repository, as each package manager wants it."""
    match does:
        case AptRepo():
            keyring, sources = f"/etc/apt/keyrings/{name}.asc", f"/etc/apt/sources.list.d/{name}.sources"
            description = repository_file(does, 0).replace("/etc/apt/keyrings/tsandbox-1.asc", keyring)
            return f"sudo install -D -m 0644 {name}.key {keyring}", _write(description, sources)
        case PacmanRepo():
            fingerprint = f"$(gpg --show-keys --with-colons {name}.key | awk -F: '/^fpr/ {{ print $10; exit }}')"
            append = f"{_print(repository_file(does, 0))} | sudo tee -a /etc/pacman.conf > /dev/null"
            return f"sudo pacman-key --add {name}.key", f'sudo pacman-key --lsign-key "{fingerprint}"', append
        case ApkRepo():
            install = f"sudo install -D -m 0644 {name}.key /etc/apk/keys/{quote(key_name(does))}"
            return install, f"echo {quote(does.url)} | sudo tee -a /etc/apk/repositories"
        case _:
            folder = "/etc/zypp/repos.d" if isinstance(does, ZypperRepo) else "/etc/yum.repos.d"
            key = f"/etc/pki/rpm-gpg/{name}.key"
            description = repository_file(does, 0).replace("tsandbox-1", name)
            install = f"sudo install -D -m 0644 {name}.key {key}"
            return install, f"sudo rpm --import {key}", _write(description, f"{folder}/{name}.repo")


def _write(content: str, path: str) -> str:
    return f"{_print(content)} | sudo tee {quote(path)} > /dev/null"


def _print(content: str) -> str:
    """One quoted word per line: what is copied from an indented page must not carry the indentation into the file."""
    whole = content.endswith("\n")
    lines = content.removesuffix("\n").split("\n")
    if len(lines) == 1 and not whole:
        return f"printf '%s' {quote(content)}"
    printed = " \\\n    ".join(("printf '%s\\n'", *map(quote, lines)))
    # The shell takes the last line break away from what a command in `$()` prints.
    return printed if whole else f"printf '%s' \"$({printed})\""


def _group(does: GroupAdd, target: Target) -> Instruction:
    group = quote(does.group)
    if target.os == "darwin":
        commands: tuple[str, ...] = (f'sudo dseditgroup -o edit -a "$USER" -t user {group}',)
    elif target.linux_family == "alpine":
        commands = (f"sudo addgroup -S {group}", f'sudo addgroup "$USER" {group}')
    else:
        commands = (f"sudo groupadd --force --system {group}", f'sudo usermod --append --groups {group} "$USER"')
    return Instruction(
        text=f"Add yourself to the group {does.group}:",
        commands=commands,
        note="It takes effect when you log in again.",
    )


def _service(does: ServiceEnable | ServiceStart, target: Target) -> Instruction:
    service = quote(does.service)
    if target.os == "darwin":
        # Homebrew has one word for both.
        return Instruction(text="Start the service now and at login:", commands=(f"brew services start {service}",))
    openrc = target.linux_family == "alpine"
    if isinstance(does, ServiceEnable):
        command = f"sudo rc-update add {service}" if openrc else f"sudo systemctl enable {service}"
        return Instruction(text="Let the service start with the system:", commands=(command,))
    command = f"sudo rc-service {service} start" if openrc else f"sudo systemctl start {service}"
    return Instruction(text="Start the service:", commands=(command,))


def _variable(does: EnvSet) -> Instruction:
    export = f"export {does.name}={quote(does.value)}"
    return Instruction(text="Set in your shell's start-up file, such as ~/.profile:", commands=(export,))


def _file(does: FileWrite) -> Instruction:
    folder, _, _ = does.path.rpartition("/")
    commands = [f"sudo mkdir -p {quote(folder)}", _write(does.content, does.path)]
    if does.mode != "0644":
        commands.append(f"sudo chmod {does.mode} {quote(does.path)}")
    return Instruction(text=f"Write {does.path}:", commands=tuple(commands))


def _check(does: RequireCommand) -> Instruction:
    found = f"{quote(does.command)} {does.version_flag}" if does.version_flag else f"command -v {quote(does.command)}"
    at_least = f", version {does.min_version} or newer" if does.min_version else ""
    return Instruction(text=f"Check that {does.command} is there{at_least}:", commands=(found,))
