"""What an install guide's text asks for, where every word of it can be understood. Nothing here is ever run."""

import re
import shlex
from collections.abc import Iterator

from tsandbox.recipe import grammar
from tsandbox.recipe.actions import BrewCask, BrewInstall, GroupAdd, InstallPackages, ServiceEnable, ServiceStart
from tsandbox.recipe.actions.words import PRIMITIVES

Ask = InstallPackages | GroupAdd | ServiceEnable | ServiceStart

# The program and how it says "install".
_VERBS = {
    "apt": ("apt", ("install",)),
    "apt-get": ("apt", ("install",)),
    "aptitude": ("apt", ("install",)),
    "dnf": ("dnf", ("install",)),
    "yum": ("dnf", ("install",)),
    "microdnf": ("dnf", ("install",)),
    "apk": ("apk", ("add",)),
    "zypper": ("zypper", ("install", "in")),
    "brew": ("brew", ("install",)),
}
# They only fetch indexes, which every image does anyway.
_REFRESH = frozenset(["update", "refresh", "ref", "makecache", "check-update"])
# Options that change nothing in what is installed: images are built without questions, and with what is required only.
# Any other may well matter, and no word of ours says it.
_HARMLESS = re.compile(
    r"-[yqvU]+|-n|--(?:yes|assume-?yes|quiet|verbose|non-?interactive|noconfirm|needed|asdeps|fix-missing|fix-broken|nodocs"
    r"|no-install-recommends|no-recommends|setopt=install_weak_deps=(?:[Ff]alse|0)|no-cache|update|update-cache|refresh"
    r"|cask|formula)"
)
# What scripts put before apt so that it asks nothing.
_SILENT = "DEBIAN_FRONTEND=noninteractive"
_PACMAN_INSTALL = re.compile(r"-S[yu]*")
_LABEL = re.compile(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)?(?:[A-Za-z][A-Za-z0-9 /,.&()+-]{0,60}:\s+)?")
_STARTS_A_COMMAND = rf"(?:{'|'.join(('sudo', 'doas', _SILENT, 'pacman', 'usermod', 'systemctl', *_VERBS))})\s"
_ALTERNATIVE = re.compile(rf"\s*(?:,\s*|,?\s+or\s+|,?\s+and\s+|\s+then\s+)(?={_STARTS_A_COMMAND})", re.IGNORECASE)
# A shell would do more with these than pass them on.
_SHELL = re.compile(r"[|<>`\\*?(){}]|\$(?!USER\b)")


def read_guide(text: str) -> list[Ask] | None:
    """Everything that the text asks for, in order; None where any part of it is not understood."""
    asks: list[Ask] = []
    for line in _commands(text):
        words = _split(line)
        found = _read(words) if words else None
        if found is None:
            return None
        asks += found
    return asks or None


def _commands(text: str) -> Iterator[str]:
    whole = re.sub(r"\\[ \t]*\r?\n", " ", text.strip().strip("`"))
    for line in whole.splitlines():
        bare = _without_label(line).strip().strip("`").rstrip(".")
        if bare:
            for part in _ALTERNATIVE.split(bare):
                yield from re.split(r"\s*(?:&&|;)\s*", part)


def _without_label(line: str) -> str:
    """`Debian/Ubuntu: sudo apt install x` says where, and the package manager says it too."""
    rest = line[match.end() :] if (match := _LABEL.match(line)) else line
    # A shell's prompt, as pages show it.
    rest = re.sub(r"^\s*\$\s+", "", rest)
    return rest if re.match(_STARTS_A_COMMAND, rest) else line


def _split(command: str) -> list[str]:
    if _SHELL.search(command.replace("${USER}", "$USER")):
        return []
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    while words and words[0] in ("sudo", "doas", "#", _SILENT):
        words = words[1:]
        while words and words[0] in ("-E", "-H", "-n"):
            words = words[1:]
    return words


def _read(words: list[str]) -> list[Ask] | None:
    program, rest = words[0], words[1:]
    if program in _VERBS:
        return _read_manager(program, rest)
    if program == "pacman":
        return _read_pacman(rest)
    if program == "systemctl":
        return _read_systemctl(rest)
    if program in ("usermod", "adduser", "gpasswd"):
        return _read_group(program, rest)
    return None


def _read_manager(program: str, words: list[str]) -> list[Ask] | None:
    manager, verbs = _VERBS[program]
    options = [word for word in words if word.startswith("-")]
    plain = [word for word in words if not word.startswith("-")]
    if not all(map(_HARMLESS.fullmatch, options)):
        return None
    if plain and plain[0] in _REFRESH and len(plain) == 1:
        return []
    if program == "brew" and plain[:1] == ["cask"]:
        options, plain = [*options, "--cask"], plain[1:]
    if not plain or plain[0] not in verbs:
        return None
    word = "brew_cask" if program == "brew" and "--cask" in options else manager
    return _packages(word, plain[1:])


def _read_pacman(words: list[str]) -> list[Ask] | None:
    installs = [word for word in words if _PACMAN_INSTALL.fullmatch(word)]
    options = [word for word in words if word.startswith("-") and word not in installs]
    names = [word for word in words if not word.startswith("-")]
    if not installs or not all(map(_HARMLESS.fullmatch, options)):
        return None
    return _packages("pacman", names) if names else []


def _packages(word: str, names: list[str]) -> list[Ask] | None:
    kind = PRIMITIVES[word]
    assert issubclass(kind, InstallPackages)
    if word in ("brew", "brew_cask") and (tapped := _tapped(word, names)):
        return [tapped]
    action, faults = kind.read(names)
    return [action] if action is not None and not faults else None


def _tapped(word: str, names: list[str]) -> InstallPackages | None:
    """`brew install owner/tap/formula` names the tap with the formula."""
    if len(names) != 1 or names[0].count("/") != 2:
        return None
    tap, _, formula = names[0].rpartition("/")
    kind = BrewCask if word == "brew_cask" else BrewInstall
    return kind.read({"packages": [formula], "tap": tap})[0]


def _read_systemctl(words: list[str]) -> list[Ask] | None:
    plain = [word for word in words if word not in ("--now", "--quiet", "-q")]
    if len(plain) != 2 or plain[0] not in ("enable", "start") or grammar.service(plain[1]):
        return None
    name = plain[1].removesuffix(".service")
    start = ServiceStart(service=name)
    if plain[0] == "start":
        return [start]
    return [ServiceEnable(service=name), *([start] if "--now" in words else [])]


def _read_group(program: str, words: list[str]) -> list[Ask] | None:
    patterns = {
        "usermod": r"(?:-aG|-a -G|-G -a) (?P<group>\S+) \$\{?USER\}?",
        "adduser": r"\$\{?USER\}? (?P<group>\S+)",
        "gpasswd": r"-a \$\{?USER\}? (?P<group>\S+)",
    }
    match = re.fullmatch(patterns[program], " ".join(words))
    if match is None or grammar.group(match["group"]):
        return None
    return [GroupAdd(group=match["group"])]
