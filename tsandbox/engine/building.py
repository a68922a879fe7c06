"""Building through an engine's command line: the one way to cache mounts, secrets and a process group to end."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tsandbox import settings
from tsandbox.engine import diagnose, orphans, owner, process
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.process import CommandFailed
from tsandbox.engine.protocol import BuildRequest, Sink
from tsandbox.errors import BuildFailed, TsandboxError


def build(
    command: EngineCommand,
    request: BuildRequest,
    work: Path,
    *,
    options: tuple[str, ...],
    env: Mapping[str, str | None],
    on_line: Sink,
) -> str:
    """Build, and answer with the image's id. `options` and `env` are the engine's own."""
    id_file = work / "image-id"
    argv = command.argv("build", *shared_options(request), *options, "--iidfile", str(id_file), str(request.context))
    steps = StepWatch(on_line)
    try:
        process.run(
            argv,
            env={**command.env, **env, **orphans.mark(work)},
            # Values of build arguments (a proxy with its password) come from the environment, not from argv.
            secret_env=dict(request.build_args),
            on_line=steps,
            timeout=request.timeout,
        )
    except CommandFailed as failed:
        raise build_error(command, failed, steps_ran=steps.seen) from failed
    command.answered = True
    return id_file.read_text().strip()


def shared_options(request: BuildRequest) -> list[str]:
    words = ["--file", str(request.dockerfile), "--tag", request.tag, "--platform", request.platform]
    for key, value in sorted(request.labels.items()):
        words += ["--label", f"{key}={value}"]
    for key in sorted(request.build_args):
        words += ["--build-arg", key]
    for name, path in sorted(request.secrets.items()):
        words += ["--secret", f"id={name},src={path}"]
    if request.network != "default":
        words += ["--network", request.network]
    if request.no_cache:
        words.append("--no-cache")
    return words


class StepWatch:
    """Passes lines on and notes when the first step begins: what is said before is the client's own word."""

    # podman and the classic builder: "[1/2] STEP 1/3: FROM ..."; BuildKit: "#5 [2/3] RUN ...", after its own loading.
    STEP = re.compile(r"(\[\d+/\d+\] )?STEP \d|#\d+ \[(?!internal)", re.IGNORECASE)

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.seen = False

    def __call__(self, line: str) -> None:
        self.seen = self.seen or self.STEP.match(line) is not None
        self.sink(line)


def build_error(command: EngineCommand, failed: CommandFailed, *, steps_ran: bool) -> TsandboxError:
    """Once steps run, what is printed may be theirs: then only a full disk is read out of it.

    Whether the engine was lost is asked of the engine, for docker's client does not always say so.
    """
    if isinstance(failed, process.ProgramMissing):
        return diagnose.not_installed(command.name)
    own = (diagnose.HUNG_UP,) if steps_ran else (diagnose.UNREACHABLE, *diagnose.CLIENT_REFUSALS)
    anybodys = (diagnose.NO_SPACE, diagnose.NO_USER_NETWORK, diagnose.BASE_GONE)
    complaint = diagnose.find(last_words(failed.output), (*anybodys, *own))
    if complaint is None and steps_ran and not answers(command):
        complaint = diagnose.UNREACHABLE
    if complaint:
        answered = command.answered or steps_ran
        return diagnose.as_error(command.name, complaint, failed, answered=answered, doing="build of an image")
    return BuildFailed(f"{command.name} could not build the image", details=failed.details)


def answers(command: EngineCommand) -> bool:
    try:
        command.call("version", doing="question whether it is still there")
    except TsandboxError:
        return False
    return True


def last_words(output: str) -> str:
    """The engine's own complaint stands at the end, after what the failing step printed."""
    return "\n".join(output.splitlines()[-6:])


def builds_dir(name: str) -> Path:
    return settings.state_dir() / "engine" / "builds" / name


def discard(work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)


@contextmanager
def work_dir(name: str, clean: Callable[[Path], None] = discard) -> Iterator[Path]:
    """A directory of this build alone, named after our process so that a later one can tell that we are gone.

    After a failure `clean` removes it, and with it what else the build left.
    """
    parent = builds_dir(name)
    parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{owner.mine()}-", dir=parent))
    try:
        yield work
    except BaseException:
        clean(work)
        raise
    discard(work)


def sweep(name: str, clean: Callable[[Path], None]) -> None:
    """Clean up after builds whose process is gone."""
    with suppress(FileNotFoundError):
        for work in builds_dir(name).iterdir():
            if not owner_lives(work):
                orphans.end(work)
                clean(work)


def owner_lives(work: Path) -> bool:
    return owner.lives(work.name.rpartition("-")[0])
