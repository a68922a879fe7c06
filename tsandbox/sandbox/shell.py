"""A shell in the sandbox of a run: the same image, files, limits and network, with a person at the keyboard."""

import secrets
from pathlib import Path

from msgspec.structs import replace

from tsandbox.engine.protocol import Engine
from tsandbox.errors import InstallFailed
from tsandbox.sandbox.container import Setup
from tsandbox.sandbox.outcome import Limits, Outcome
from tsandbox.sandbox.place import Place, container_name
from tsandbox.sandbox.runner_build import runner


def open_shell(outcome: Outcome, engine: Engine, *, argv: tuple[str, ...] = ("/bin/sh",), tty: bool = True) -> int:
    """Run a shell where the kept files of `outcome` are mounted as they were; its exit status."""
    if outcome.image is None or "files" not in outcome.kept or not Path(outcome.kept["files"]).is_dir():
        raise InstallFailed(f"{outcome.plan.tool}: there is nothing to look at: the run ended before its container")
    place = Place(directory=Path(outcome.kept["files"]), container=container_name(secrets.token_hex(6)))
    setup = Setup(
        image=outcome.image,
        place=place,
        runner=runner(outcome.target.libc or "glibc"),
        limits=replace(outcome.limits or Limits(), timeout=None),
        network=outcome.network,
        env={
            **outcome.plan.declared_env(),
            "HOME": "/tsandbox/out/home",
            "PATH": "/tsandbox/out/home/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PS1": f"{outcome.plan.tool} sandbox:\\w$ ",
        },
        user=outcome.plan.sandbox.user,
        tool=outcome.plan.tool,
    )
    return engine.interactive(setup.request(argv, stdin=True, tty=tty))
