"""A workflow file for a CI system: plan, shards, merge and report, from the same arguments as on a laptop."""

import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec
from jinja2 import Environment, FunctionLoader, StrictUndefined
from msgspec import Struct

from tsandbox import __version__
from tsandbox.errors import UsageError

System = Literal["github", "gitlab"]
PLACES: dict[System, str] = {"github": ".github/workflows/tsandbox-matrix.yml", "gitlab": ".gitlab-ci.yml"}

_COMMIT = re.compile(r"[0-9a-f]{40}")
_ACTION = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


class Pin(Struct, frozen=True, kw_only=True):
    commit: str
    version: str = ""


class Workflow(Struct, frozen=True, kw_only=True):
    """What a workflow is made from; `arguments` are those of `matrix plan`."""

    command: str
    arguments: tuple[str, ...]
    arches: tuple[str, ...]
    name: str = "Recipes"
    branch: str = "main"
    install: str = f"python3 -m pip install tsandbox=={__version__}"
    engine: str = "podman"
    registry: str | None = None
    retries: int = 1
    max_jobs: int | None = None
    timeout: int = 120
    # Recipes may run commands of their own and reach the network, in their sandbox.
    yes: bool = False
    pins: Mapping[str, Pin] = {}
    runners: Mapping[str, str] = {}
    # By architecture: how many images there are to build, as more machines than that would have nothing to do.
    images: Mapping[str, int] = {}


class _GitLab(Struct, frozen=True, kw_only=True):
    image: str
    podman_packages: tuple[str, ...]


class _Defaults(Struct, frozen=True, kw_only=True):
    gitlab: _GitLab
    actions: dict[str, Pin]
    runners: dict[System, dict[str, str]]
    jobs: dict[System, int]


def render_workflow(system: System, workflow: Workflow) -> str:
    _refuse_foreign_code((*workflow.arguments, workflow.name, workflow.branch, *workflow.runners.values()))
    if not workflow.command.isprintable():
        raise UsageError(
            "the command of the workflow must stand on one line", hint="join the commands of --install by &&"
        )
    known = _defaults()
    runners = known.runners[system] | dict(workflow.runners)
    jobs = min(workflow.max_jobs or known.jobs[system], known.jobs[system])
    host = (workflow.registry or "").partition("/")[0]
    return (
        _environment()
        .get_template(f"{system}.yml.j2")
        .render(
            msgspec.structs.asdict(workflow)
            | {
                "version": __version__,
                "plan_arguments": shlex.join(workflow.arguments),
                "runners": runners,
                "runs_on": _by_arch(runners),
                "registry_host": host,
                # A token of the CI system goes to its own registry and to no other.
                "registry_is_githubs": host == "ghcr.io",
                "uses": _uses(known.actions | dict(workflow.pins)),
                "max_jobs": jobs,
                "parallel": _parallel(workflow, jobs),
                **msgspec.structs.asdict(known.gitlab),
            }
        )
    )


def _parallel(workflow: Workflow, jobs: int) -> dict[str, int]:
    """Each architecture has a job of its own on GitLab, and the limit is for all of them."""
    share = jobs // len(workflow.arches)
    return {arch: max(1, min(share, workflow.images.get(arch, share))) for arch in workflow.arches}


def _by_arch(runners: Mapping[str, str]) -> str:
    """GitHub's way to look up a machine by the architecture of the shard; its strings double their quotes."""
    table = _json(runners).replace("'", "''")
    return f"${{{{ fromJSON('{table}')[matrix.arch] }}}}"


def read_pin(text: str) -> tuple[str, Pin]:
    """`actions/checkout=COMMIT`, optionally followed by `#VERSION` for people."""
    name, _, rest = text.partition("=")
    commit, _, version = rest.partition("#")
    if not _ACTION.fullmatch(name) or not _COMMIT.fullmatch(commit):
        raise UsageError(
            f"--action {text}: expected NAME=COMMIT with all 40 digits of the commit",
            hint="a tag or branch can be moved to other code; write actions/checkout=<commit>#v5",
        )
    if name not in _defaults().actions:
        raise UsageError(
            f"--action {text}: the workflow uses no {name}", hint=f"it uses: {', '.join(_defaults().actions)}"
        )
    return name, Pin(commit=commit, version=re.sub(r"[^A-Za-z0-9._-]", "", version))


def _refuse_foreign_code(words: Iterable[str]) -> None:
    """Names go into scripts: quoted for the shell, but CI systems put in their own variables before that."""
    for word in words:
        if "\n" in word or "${{" in word or "$[[" in word:
            raise UsageError(f"{word!r} cannot stand in a workflow: it holds a line break or an expression")


def _uses(pins: Mapping[str, Pin]) -> Any:
    def uses(name: str, part: str = "") -> str:
        pin = pins[name]
        return f"{name}{part}@{pin.commit}" + (f" # {pin.version}" if pin.version else "")

    return uses


@cache
def _defaults() -> _Defaults:
    return msgspec.convert(tomllib.loads(_read("defaults.toml")), _Defaults)


@cache
def _environment() -> Environment:
    # CI systems use braces for their own variables.
    environment = Environment(
        autoescape=False,  # noqa: S701 - YAML, and every value goes through a filter that quotes it
        undefined=StrictUndefined,
        loader=FunctionLoader(_read),
        variable_start_string="<<",
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # A JSON string is a YAML string, whatever is in it.
    environment.filters |= {"yaml": _json, "json": _json, "shell": shlex.quote}
    return environment


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _read(name: str) -> str:
    return (files("tsandbox.matrix.ci") / name).read_text(encoding="utf-8")
