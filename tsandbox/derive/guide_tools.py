"""What a person does for the steps that are not about the system: downloads, builds, language ecosystems."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from shlex import join, quote
from typing import Any

from tsandbox.derive.guide_system import Instruction
from tsandbox.plan import Plan
from tsandbox.recipe.actions import Carried
from tsandbox.recipe.digest import read_digest
from tsandbox.recipe.model import Check, Verify
from tsandbox.recipe.target import Target

_PLACEHOLDER = re.compile(r"\{(version|os|arch)\}")
_MAKE_BIN = "sudo mkdir -p /usr/local/bin && sudo install"


# They put the programs where they belong by themselves: what a recipe says about its own directories is done then.
_INSTALLS = frozenset(
    [
        "cargo_install",
        "cmake_build",
        "configure_make",
        "cpan_install",
        "download_archive",
        "gem_install",
        "github_archive",
        "github_file",
        "go_install",
        "homebrew",
        "npm_install",
        "pip_install",
        "pipx_install",
    ]
)


def is_done_by(step: Carried, earlier: Iterable[str]) -> bool:
    """Whether earlier actions left nothing to do for a step on a person's machine."""
    return step.action == "install_binaries" and not _INSTALLS.isdisjoint(earlier)


def for_carried(step: Carried, plan: Plan, target: Target) -> Iterator[Instruction]:
    mapped = {key: _mapped(step.params, key, value) for key, value in (("os", target.os), ("arch", target.arch))}
    values = {"version": plan.version or "VERSION", **mapped}
    params = _filled({key: value for key, value in step.params.items() if not key.endswith("_mapping")}, values)
    made = _TOLD.get(step.action)
    told = made(params, plan.version) if made else _unknown(step.action, params)
    yield _for_mac(told) if target.os == "darwin" else told


def _mapped(params: Mapping[str, Any], key: str, value: str) -> str:
    """What the project itself calls this os or architecture in its file names."""
    names = params.get(f"{key}_mapping")
    return str(names.get(value, value)) if isinstance(names, Mapping) else value


def _for_mac(told: Instruction) -> Instruction:
    commands = (re.sub(r"\| sha(\d+)sum -c -$", r"| shasum -a \1 -c -", command) for command in told.commands)
    # A new Mac has no such directory.
    commands = (re.sub(r"^sudo install(?=.* /usr/local/bin/$)", _MAKE_BIN, command) for command in commands)
    return Instruction(text=told.text, commands=tuple(commands), note=told.note)


def for_verify(verify: Verify, version: str | None) -> Iterator[Instruction]:
    if not verify.command:
        return
    checks: tuple[Verify | Check, ...] = (verify, *verify.additional)
    told = (_expected(check, version, "It" if len(checks) == 1 else f"`{check.command}`") for check in checks)
    yield Instruction(
        text="Check the result:",
        commands=tuple(check.command for check in checks),
        note="\n".join(note for note in told if note),
    )


def _expected(check: Verify | Check, version: str | None, what: str) -> str:
    texts = [text.replace("{version}", version or "VERSION") for text in (check.pattern, *check.patterns) if text]
    parts = [f"prints {' and '.join(map(repr, texts))}"] if texts else []
    parts += [f"ends with exit code {check.exit_code}"] if check.exit_code else []
    return f"{what} {' and '.join(parts)}." if parts else ""


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: values[match[1]], value)
    if isinstance(value, list | tuple):
        return [_filled(item, values) for item in value]
    if isinstance(value, Mapping):
        return {key: _filled(item, values) for key, item in value.items()}
    return value


def _download(params: Mapping[str, Any], _: str | None) -> Instruction:
    url = str(params.get("url", ""))
    name = str(params.get("dest") or url.rpartition("/")[2] or "download")
    commands = [f"curl -fL -o {quote(name)} {quote(url)}"]
    checksum = str(params.get("checksum") or "")
    if checksum and "{" not in checksum:
        algorithm, digits = read_digest(checksum, params.get("checksum_algo"))
        commands[0] += f" \\\n  && echo {quote(f'{digits}  {name}')} | {algorithm}sum -c -"
    sums = params.get("checksum_url")
    note = f"Compare its checksum with {sums}." if sums and not checksum else ""
    return Instruction(text="Download:", commands=tuple(commands), note=note)


def _extract(params: Mapping[str, Any], _: str | None) -> Instruction:
    archive = quote(str(params.get("archive", "ARCHIVE")))
    if str(params.get("format", "")) == "zip":
        return Instruction(text="Unpack it:", commands=(f"unzip {archive}",))
    strip = params.get("strip_dirs")
    options = f" --strip-components={strip}" if isinstance(strip, int) and strip else ""
    return Instruction(text="Unpack it:", commands=(f"tar -xf {archive}{options}",))


def _install_binaries(params: Mapping[str, Any], _: str | None) -> Instruction:
    names = _sources(params.get("binaries") or params.get("executables") or params.get("outputs") or [])
    commands = [f"sudo install -m 0755 {join(names)} /usr/local/bin/"] if names else []
    return Instruction(text="Put the programs on your PATH:", commands=tuple(commands))


def _download_archive(params: Mapping[str, Any], version: str | None) -> Instruction:
    download = _download(params, version)
    name = str(params.get("dest") or str(params.get("url", "")).rpartition("/")[2] or "download")
    unpack = _extract({**params, "archive": name, "format": "zip" if name.endswith(".zip") else ""}, version)
    install = _install_binaries(params, version)
    commands = (*download.commands, *unpack.commands, *install.commands)
    return Instruction(
        text="Download it, unpack it, and put its programs on your PATH:", commands=commands, note=download.note
    )


def _github(params: Mapping[str, Any], version: str | None) -> Instruction:
    """The release's page and not an address: how a project names its tags is known only when they are asked for."""
    asset, repo = params.get("asset_pattern", "the archive for your platform"), params.get("repo", "")
    what = f"Download {asset} of version {version or 'VERSION'} from https://github.com/{repo}/releases."
    names = [str(params["binary"])] if params.get("binary") else _sources(params.get("binaries") or [])
    return Instruction(text=what, note=f"Put {' and '.join(names)} from it on your PATH." if names else "")


def _homebrew(params: Mapping[str, Any], _: str | None) -> Instruction:
    return Instruction(
        text="Install it with Homebrew:", commands=(join(["brew", "install", str(params.get("formula", "FORMULA"))]),)
    )


def _chmod(params: Mapping[str, Any], _: str | None) -> Instruction:
    files = _sources(params.get("files") or [])
    command = join(["chmod", str(params.get("mode") or "0755"), *files])
    return Instruction(text="Set the permissions:", commands=(command,) if files else ())


def _sources(listed: Any) -> list[str]:
    items = [listed] if isinstance(listed, str) else listed
    return [str(item.get("src", "")) if isinstance(item, Mapping) else str(item) for item in items]


def _configure_make(params: Mapping[str, Any], _: str | None) -> Instruction:
    source, arguments = quote(str(params.get("source_dir", "."))), params.get("configure_args", [])
    configure = join(["./configure", "--prefix=/usr/local", *map(str, arguments)])
    # In a shell of its own: whoever copies all instructions stays where the next one begins.
    command = f"(cd {source} \\\n  && {configure} \\\n  && make \\\n  && sudo make install)"
    return Instruction(text="Build and install it:", commands=(command,))


def _cmake_build(params: Mapping[str, Any], _: str | None) -> Instruction:
    source = quote(str(params.get("source_dir", ".")))
    arguments = join(map(str, params.get("cmake_args", [])))
    build = f"cmake -S {source} -B build {arguments}".rstrip()
    return Instruction(
        text="Build and install it:", commands=(f"{build} \\\n  && sudo cmake --build build --target install",)
    )


# Not part of the language that a recipe declares: the sandbox does without them, a person does not.
_SEPARATE = ("pipx", "cpanm")


def _ecosystem(tool: str, command: str, between: str) -> Callable[[Mapping[str, Any], str | None], Instruction]:
    """`pipx install black==24.1.0`, `npm install -g semver@7.7.2`: the same sentence with other words."""

    def told(params: Mapping[str, Any], version: str | None) -> Instruction:
        keys = ("package", "crate", "module", "gem", "distribution")
        name = next((str(params[key]) for key in keys if params.get(key)), "PACKAGE")
        wanted = params.get("version") or version
        return Instruction(
            text=f"Install it with {tool}:",
            commands=(f"{command} {quote(f'{name}{between}{wanted}' if wanted else name)}",),
            note=f"{tool} itself comes from your system's packages." if tool in _SEPARATE else "",
        )

    return told


def _run_command(params: Mapping[str, Any], _: str | None) -> Instruction:
    return Instruction(text=str(params.get("description") or "Run:"), commands=(str(params.get("command", "")),))


def _unknown(action: str, params: Mapping[str, Any]) -> Instruction:
    """Told as it is written: better than a step that is left out in silence."""
    return Instruction(text=f"{action}: {json.dumps(params, ensure_ascii=False, sort_keys=True)}")


_TOLD: dict[str, Callable[[Mapping[str, Any], str | None], Instruction]] = {
    "download": _download,
    "download_file": _download,
    "download_archive": _download_archive,
    "extract": _extract,
    "install_binaries": _install_binaries,
    "configure_make": _configure_make,
    "cmake_build": _cmake_build,
    "pipx_install": _ecosystem("pipx", "pipx install", "=="),
    "pip_install": _ecosystem("pip", "python3 -m pip install --user", "=="),
    "npm_install": _ecosystem("npm", "npm install --global", "@"),
    "cargo_install": _ecosystem("cargo", "cargo install", "@"),
    "go_install": _ecosystem("go", "go install", "@"),
    "gem_install": _ecosystem("gem", "gem install --user-install", ":"),
    "cpan_install": _ecosystem("cpanm", "cpanm", "@"),
    "run_command": _run_command,
    "github_archive": _github,
    "github_file": _github,
    "homebrew": _homebrew,
    "chmod": _chmod,
}
