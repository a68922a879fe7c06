"""How a service is started, read from its systemd unit or its init script."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_UNIT_DIRECTORIES = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
# Marks before the program's path: `-` ignore failure, `@` other argv[0], `+ ! :` privileges and expansion.
_EXEC_MARKS = "-@+!:"
_DAEMON = re.compile(r"^DAEMON=[\"']?(/[^\s\"']+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Unit:
    argv: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    runtime_directories: tuple[str, ...] = ()
    forking: bool = False


def find_unit(service: str, root: Path = Path("/")) -> Unit | None:
    """How to start `service`, or None if this image does not say."""
    for directory in _UNIT_DIRECTORIES:
        for path in _candidates(root / directory, service):
            if path.is_file() and (unit := parse_unit(path.read_text(errors="replace"), root)):
                return unit
    return _from_init_script(root / "etc/init.d" / service)


def _candidates(directory: Path, service: str) -> tuple[Path, ...]:
    # `name@instance` is described by the template `name@`.
    template = f"{service.partition('@')[0]}@.service" if "@" in service else f"{service}.service"
    return (directory / f"{service}.service", directory / template)


def parse_unit(text: str, root: Path = Path("/")) -> Unit | None:
    values = _service_section(text)
    commands = [_command(value) for value in values.get("ExecStart", ()) if value]
    if not commands:
        return None
    env = tuple(pair for value in values.get("Environment", ()) for pair in _assignments(value))
    files = tuple(pair for value in values.get("EnvironmentFile", ()) for pair in _env_file(value, root))
    known = dict((*env, *files))
    return Unit(
        argv=_expand(commands[0], known),
        before=tuple(_expand(_command(value), known) for value in values.get("ExecStartPre", ()) if value),
        env=(*env, *files),
        runtime_directories=tuple(word for value in values.get("RuntimeDirectory", ()) for word in value.split()),
        forking=values.get("Type", [""])[-1] == "forking",
    )


def _service_section(text: str) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            section = stripped
        elif section == "[Service]" and "=" in stripped and stripped[0] not in "#;":
            key, _, value = stripped.partition("=")
            values.setdefault(key.strip(), []).append(value.strip())
    return values


def _command(value: str) -> tuple[str, ...]:
    words = shlex.split(value.lstrip(_EXEC_MARKS))
    return tuple(word.replace("$$", "$") for word in words)


def _expand(argv: tuple[str, ...], env: dict[str, str]) -> tuple[str, ...]:
    """systemd's rule: `$NAME` as a word of its own becomes several words, `${NAME}` a part of one."""
    words: list[str] = []
    for word in argv:
        if re.fullmatch(r"\$\w+", word):
            words += shlex.split(env.get(word[1:], ""))
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda match: env.get(match.group(1), ""), word))
    return tuple(words)


def _assignments(value: str) -> list[tuple[str, str]]:
    pairs = (word.partition("=") for word in shlex.split(value))
    return [(name, content) for name, equals, content in pairs if equals]


def _env_file(value: str, root: Path) -> list[tuple[str, str]]:
    path = root / value.lstrip("-").lstrip("/")
    if not path.is_file():
        return []
    lines = (line.strip() for line in path.read_text(errors="replace").splitlines())
    return [pair for line in lines if line and not line.startswith("#") for pair in _assignments(line)]


def _from_init_script(path: Path) -> Unit | None:
    match = _DAEMON.search(path.read_text(errors="replace")) if path.is_file() else None
    return Unit(argv=(match.group(1),)) if match else None
