"""Thousands of hostile strings that no grammar has seen: none of them changes the shape of a Dockerfile.

The grammar refuses nearly all of these when a recipe is loaded. Here actions are constructed directly, to show that
the second wall holds alone: a value is either refused while rendering, or it arrives as exactly one word.
"""

import json
import random
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.made_plans import SHA, doing, plan
from tsandbox.derive import derive, render
from tsandbox.derive.context import context_files
from tsandbox.derive.quoting import json_array, word, words
from tsandbox.errors import NotSupported
from tsandbox.recipe import linux
from tsandbox.recipe.actions import (
    Action,
    ApkInstall,
    ApkRepo,
    AptInstall,
    AptRepo,
    DnfInstall,
    DnfRepo,
    EnvSet,
    FileWrite,
    GroupAdd,
    PacmanInstall,
    PacmanRepo,
    ZypperInstall,
    ZypperRepo,
)
from tsandbox.recipe.target import FAMILIES

# fmt: off
CLASSICS = [
    "; rm -rf /", "$(id)", "`id`", "${IFS}x", "a && b", "a || b", "a | b", "a > b", "a < b", "&", "'", '"', "''", "\"'",
    "\\", "\\\\", "\\'", "a\\", "a \\", "#", " # x", "a\nRUN id", "a\r\nRUN id", "a\\\nRUN id", "\x00", "\x1b[2J",
    "\x85RUN id", "\u2028RUN id", "\u2029RUN id", "\x0bRUN id", "\x0cRUN id", "<<EOF", "<<-'EOF'", "a <<EOF",
    "*", "?", "[a-z]", "~", "~root", "!", "!!", "{a,b}", "$'x'", "$HOME", "$$", "$0", "${", "$(", "(", ")", "{", "}",
    "|", "%s%n", "--option", "-o", "-", "", " ", "\t", "a b", "ü", "日本語", "🙂", "\ud800", "\udcff", "\ufeff",
    "\u202e", "a=b", "A='b' C", "# syntax=x", "# escape=`", "]", '"]', '", "/"]', "[", "@", ":", "FROM scratch",
    "--from=x", "--mount=type=bind", "\\u000a", "%0aRUN", "a" * 5000,
]
# fmt: on
_PARTS = [*CLASSICS[:-1], "jq", "RUN id", "FROM x", " ", "  ", "\n", "\\\n", "'", '"', "$", "`", "\\"]
INNOCENT = "innocent"


def hostile(count: int) -> Iterator[str]:
    yield from CLASSICS
    # The same strings in every run, so that a failure can be looked into.
    chance = random.Random(20)
    for _ in range(count):
        if chance.random() < 0.5:
            yield "".join(chance.choice(_PARTS) for _ in range(chance.randint(1, 5)))
        else:
            yield "".join(chr(chance.choice((chance.randrange(256), chance.randrange(0x3000)))) for _ in range(8))


# --- One word for a real shell


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_quoted_word_is_one_word_for_a_shell(shell: str) -> None:
    accepted = [text for text in hostile(4000) if (quoted := _quoted(text)) is not None and quoted]
    assert len(accepted) > 1000
    script = "printf '%s\\0'" + "".join(f" {word(text)}" for text in accepted)
    done = subprocess.run([shell], input=script.encode(), capture_output=True, check=True, cwd="/")
    assert done.stdout.decode().split("\0")[:-1] == accepted


def test_line_breaks_and_controls_are_refused() -> None:
    for text in ("a\nb", "a\rb", "a\x00b", "\x1b", "\x7f", "\x85", "\u2028", "\ud800"):
        with pytest.raises(ValueError, match="control characters"):
            word(text)


@pytest.mark.parametrize("text", ["", "-o", "--option"])
def test_a_name_cannot_be_an_option(text: str) -> None:
    with pytest.raises(ValueError, match="option"):
        words(["jq", text])


def test_an_array_holds_what_was_put_in_and_nothing_to_expand() -> None:
    for text in hostile(2000):
        try:
            made = json_array(["first", text])
        except ValueError:
            continue
        assert json.loads(made) == ["first", text]
        assert "\n" not in made
        assert "$" not in made


def _quoted(text: str) -> str | None:
    try:
        return word(text)
    except ValueError:
        return None


# --- The commands of a Dockerfile, run by a real shell with stand-ins for the programs


@pytest.mark.parametrize(("family", "profile"), [("debian", "minimal"), *((family, "full") for family in FAMILIES)])
def test_package_managers_get_each_name_as_one_argument(family: str, profile: str, tmp_path: Path) -> None:
    names = sorted({text for text in hostile(1500) if _accepted(text)})
    assert len(names) > 400
    spec = derive(
        plan(doing(PACKAGES[family](packages=tuple(names)))),
        linux(family, "amd64"),
        profile=profile,  # type: ignore[arg-type]
    )
    [body] = [body for kind, body in instructions(render(spec)) if kind == "RUN"]
    calls = run_with_stand_ins(body, tmp_path)
    [installing] = [call for call in calls if "install" in call or "add" in call or "--sync" in call]
    assert installing[-len(names) :] == names
    closing = [call for call in calls if call[:2] == ["sh", "/tsandbox/closure.sh"]]
    assert closing == ([["sh", "/tsandbox/closure.sh", "/rootfs", *names]] if profile == "minimal" else [])


def _accepted(text: str) -> bool:
    try:
        words([text])
    except ValueError:
        return False
    return True


def run_with_stand_ins(body: str, place: Path) -> list[list[str]]:
    """The argument lists of all programs that a RUN line starts; none of them is really run."""
    log = place / "log"
    stand_in = f"#!/bin/bash\nprintf '%s\\0' \"${{0##*/}}\" \"$@\" $'\\x01' >> {shlex.quote(str(log))}\n"
    for name in ("apt-get", "apk", "dnf", "pacman", "zypper", "rm", "sh"):
        (place / name).write_text(stand_in)
        (place / name).chmod(0o755)
    subprocess.run(["/bin/sh"], input=body.encode(), check=True, env={"PATH": str(place)}, cwd=place)
    *records, _ = log.read_bytes().decode().split("\0\x01\0")
    return [record.split("\0") for record in records]


# --- The shape of whole Dockerfiles


Make = Callable[[str], list[Action]]
PACKAGES: dict[str, type[AptInstall | DnfInstall | PacmanInstall | ApkInstall | ZypperInstall]] = {
    "debian": AptInstall,
    "rhel": DnfInstall,
    "arch": PacmanInstall,
    "alpine": ApkInstall,
    "suse": ZypperInstall,
}
KEY = "https://packages.example.com/key.rsa.pub"
URL = "https://packages.example.com/made"
REPOSITORIES: dict[str, Callable[[str], Action]] = {
    "debian": lambda text: AptRepo(url=text, key_url=KEY, key_sha256=SHA, suite=text, components=(text,)),
    "rhel": lambda text: DnfRepo(url=text, key_url=KEY, key_sha256=SHA, name=text),
    "arch": lambda text: PacmanRepo(url=f"https://x/{text}", key_url=KEY, key_sha256=SHA, name="made"),
    "alpine": lambda text: ApkRepo(url=text, key_url=KEY, key_sha256=SHA),
    "suse": lambda text: ZypperRepo(url=text, key_url=KEY, key_sha256=SHA, name=text),
}
KINDS = {"debian": AptRepo, "rhel": DnfRepo, "arch": PacmanRepo, "alpine": ApkRepo, "suse": ZypperRepo}


def _fields() -> Iterator[tuple[str, str, Make]]:
    """Every field of every action that reaches a Dockerfile, per family."""
    for family in FAMILIES:
        yield "packages", family, lambda text, family=family: [PACKAGES[family](packages=("another", text))]  # type: ignore[misc]
        yield "url", family, lambda text, family=family: [REPOSITORIES[family](text), _package(family)]  # type: ignore[misc]
        yield "key_url", family, lambda text, family=family: _with_repository(family, key_url=f"https://x/{text}")  # type: ignore[misc]
        yield "key_sha256", family, lambda text, family=family: _with_repository(family, key_sha256=text)  # type: ignore[misc]
        yield "group", family, lambda text: [GroupAdd(group="first"), GroupAdd(group=text)]
        yield "value", family, lambda text: [EnvSet(name="A", value=text), EnvSet(name="B", value=text)]
        yield "name", family, lambda text: [EnvSet(name=f"A{text}", value="1")]
        yield "path", family, lambda text: [FileWrite(path=f"/etc/{text}", content="x")]
        yield "content", family, lambda text: [FileWrite(path="/etc/made", content=text)]


def _package(family: str) -> Action:
    return PACKAGES[family](packages=("p",))


def _with_repository(family: str, **fields: str) -> list[Action]:
    repository = KINDS[family](**{"url": URL, "key_url": KEY, "key_sha256": SHA, **fields})
    return [repository, _package(family)]


@pytest.mark.parametrize(("what", "family", "make"), [pytest.param(*each, id="-".join(each[:2])) for each in _fields()])
def test_no_value_changes_the_shape(what: str, family: str, make: Make) -> None:
    expected = shape(rendered(make(INNOCENT), family))
    kept = 0
    for text in hostile(500):
        try:
            dockerfile = rendered(make(text), family)
        except (ValueError, NotSupported):
            continue  # refused: nothing is built
        kept += 1
        assert shape(dockerfile) == expected, (what, text)
    assert kept, "every string was refused, so nothing was shown"


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "alpine"])
def test_no_value_adds_a_setting_to_a_repository_file(family: str) -> None:
    expected = _settings(REPOSITORIES[family](INNOCENT), family)
    for text in hostile(500):
        try:
            settings = _settings(REPOSITORIES[family](text), family)
        except (ValueError, NotSupported):
            continue
        # A suite that ends with a slash has no components.
        assert settings in (expected, [key for key in expected if key != "Components"]), text


def rendered(actions: list[Action], family: str) -> str:
    return render(derive(plan(*map(doing, actions)), linux(family, "amd64")))


def _settings(repository: Action, family: str) -> list[str]:
    spec = derive(plan(doing(repository), doing(_package(family))), linux(family, "amd64"))
    [file] = [file for path, file in context_files(spec).items() if path.startswith("repositories/")]
    # At every line break that Unicode knows, whatever the parsers of these files do.
    return [re.split("[:=]", line)[0] for line in file.content.decode().splitlines()]


# --- A reader of Dockerfiles that knows nothing of how ours are made


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Kind and body, as builders read them: comment lines out, then lines that end with a backslash joined."""
    lines = [
        line for line in re.split(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]", dockerfile) if not re.match(r"\s*#", line)
    ]
    joined = re.sub(r"\\[ \t]*\n", " ", "\n".join(lines))
    found = [re.match(r"\s*([A-Za-z]+)\s+(.*)", line) for line in joined.split("\n") if line.strip()]
    assert all(found), dockerfile
    return [(match[1].upper(), match[2]) for match in found if match]


def shape(dockerfile: str) -> list[tuple[object, ...]]:
    """What a builder would do, with the words themselves left out."""
    return [(kind, *_shape_of(kind, body)) for kind, body in instructions(dockerfile)]


_TOKEN = re.compile(
    r"""(?P<operator>[();<>|&]+)|(?P<word>(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s();<>|&'"\\])+)|(?P<space>\s+)|(?P<bad>.)"""
)


def _shape_of(kind: str, body: str) -> tuple[object, ...]:
    if kind == "RUN":
        return tuple(filter(None, map(_shape_of_token, _TOKEN.finditer(body))))
    if body.endswith("]"):
        flags, _, array = body.partition("[")
        return flags, len(json.loads(f"[{array}"))
    if kind == "ENV":
        [name, *rest] = shlex.split(body)
        return bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name.split("=", 1)[0])), len(rest)
    return (body,)


def _shape_of_token(token: re.Match[str]) -> str | None:
    if token["space"]:
        return None
    if token["operator"] or token["bad"]:
        return token[0]
    # What a shell would still look into: all but what stands in single quotes.
    outside = re.sub(r"""'[^']*'|"'\"""", "", token["word"])
    return "word" + "".join(sorted(re.findall(r"[$`#*?~\[{!]", outside)))


def test_the_reader_sees_an_injection() -> None:
    """A test that cannot fail proves nothing: what it looks for is found where it is."""
    clean = rendered([AptInstall(packages=("jq",))], "debian")
    for bad in ("jq; id", "jq && id", "jq\nRUN id", "jq $(id)"):
        assert shape(clean.replace("-- jq ", f"-- {bad} ")) != shape(clean)
