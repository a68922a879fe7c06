"""A failed run in one file: what it was asked to do, on what, and all that it told, so that another can do it again."""

import gzip
import io
import itertools
import os
import tarfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tsandbox import __version__
from tsandbox.derive import render, spec_object
from tsandbox.derive.spec import Profile
from tsandbox.engine.protocol import Engine
from tsandbox.errors import InvalidInput, Problem, UsageError
from tsandbox.plan import Plan
from tsandbox.plan.read import read_plan
from tsandbox.plan.write import write_plan
from tsandbox.recipe.target import Target
from tsandbox.sandbox.options import RunOptions
from tsandbox.sandbox.outcome import Limits, Outcome

SCHEMA = 1
_ABOUT, _PLAN = "capsule.json", "plan.json"
# Of what is read back; a log may be long, and nobody reads it from here.
_LARGEST = 16 << 20
# So many members are looked at: ours are the first two of seven.
_LOOKED_AT = 16


class About(Struct, frozen=True, kw_only=True):
    """How the run was asked for and how it ended. `env` holds names only: values are secrets."""

    tsandbox: str
    target: Target
    exit_code: int
    key: str | None
    engine: str | None
    runner: str | None
    profile: Profile | None = None
    limits: Limits = Limits()
    env: tuple[str, ...] = ()
    allow_run_command: bool = False
    message: str | None = None
    schema: int = SCHEMA


class Capsule(Struct, frozen=True, kw_only=True):
    about: About
    plan: Plan

    def options(self, env: dict[str, str], **more: Any) -> RunOptions:
        """The options of the run, to run it again; its secrets have to be given anew."""
        if missing := [name for name in self.about.env if name not in env]:
            words = " ".join(f"--env {name}" for name in missing)
            raise UsageError(f"the run had variables that a capsule does not hold: {', '.join(missing)}", hint=words)
        return RunOptions(profile=self.about.profile, limits=self.about.limits, env=env, **more)


def run_log(outcome: Outcome) -> Path | None:
    """The log of the installation: that of a build is not masked and stays with its owner."""
    return outcome.log if outcome.stage != "build" else None


def write(path: Path, outcome: Outcome, options: RunOptions, engine: Engine) -> Path:
    """The capsule of a run, whole or not at all."""
    log = run_log(outcome)
    about = About(
        tsandbox=__version__,
        target=outcome.target,
        exit_code=outcome.exit_code,
        key=outcome.key,
        engine=outcome.engine,
        runner=outcome.runner,
        profile=options.profile,
        limits=options.limits,
        env=tuple(sorted(options.env)),
        allow_run_command=options.allow_run_command,
        message=outcome.error.message if outcome.error else None,
    )
    files = {
        _ABOUT: _json(about),
        _PLAN: write_plan(outcome.plan),
        "engine.json": _json(engine.facts()),
        "events.jsonl": b"".join(msgspec.json.encode(event) + b"\n" for event in outcome.events),
        "log.txt": log.read_bytes() if log and log.is_file() else b"",
    }
    if outcome.spec:
        files |= {
            "spec.json": _json(spec_object(outcome.spec)),
            "Dockerfile": render(outcome.spec).encode(),
        }
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(_packed(files))
    return fresh.replace(path)


def is_capsule(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"\x1f\x8b"
    except OSError:
        return False


def read(path: Path) -> Capsule:
    """A capsule that somebody sent: only its two known members are read, and both are checked like any input."""
    try:
        with _Bounded(path) as packed, tarfile.open(fileobj=packed, mode="r:") as tar:
            members = {member.name: member for member in itertools.islice(tar, _LOOKED_AT)}
            about = _content(tar, members[_ABOUT])
            plan = _content(tar, members[_PLAN])
        told = msgspec.json.decode(about, type=About)
    except (OSError, EOFError, tarfile.TarError, KeyError, ValueError) as error:
        raise _invalid(path, f"is no capsule: {error}") from None
    if told.schema > SCHEMA:
        raise _invalid(path, f"was written by a newer tsandbox ({told.tsandbox})")
    return Capsule(about=told, plan=read_plan(plan.decode("utf-8", "replace"), str(path)))


class _Bounded(gzip.GzipFile):
    """A header in an archive may say that it is gigabytes long, and be packed into little: it would be read whole."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= _LARGEST:
            raise ValueError("it holds something of an unreasonable size")
        return super().read(size)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = tar.extractfile(member) if member.isreg() and member.size <= _LARGEST else None
    if content is None:
        raise ValueError(f"{member.name} is not a file of a reasonable size")
    return content.read()


def _packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _invalid(path: Path, why: str) -> InvalidInput:
    problem = Problem(str(path), None, "", why)
    return InvalidInput(str(problem), problems=[problem], hint="a capsule is what install --capsule FILE writes")
