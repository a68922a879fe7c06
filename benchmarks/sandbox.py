"""A second `install --sandbox` against what it cannot do without: one container, and the start of the runner in it."""

import compileall
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import tsandbox
from benchmarks.measure import Measure, command, interleaved
from tsandbox.engine import Engine, connect
from tsandbox.errors import EngineUnavailable
from tsandbox.sandbox.runner_build import MOUNT, PROGRAM, runner

ROUNDS = 9
LIMIT = 2.0
RECIPE = "jq"


def run() -> Iterator[Measure]:
    # As pip leaves an installed package, also where PYTHONDONTWRITEBYTECODE keeps a checkout from being compiled.
    compileall.compile_dir(Path(tsandbox.__file__).parent, quiet=1)
    for name in ("podman", "docker"):
        try:
            engine = connect(name)
        except EngineUnavailable as error:
            print(f"  {name} is left out: {error.message}")
            continue
        yield _second_install(engine)


def _second_install(engine: Engine) -> Measure:
    program = str(Path(sys.executable).with_name("tsandbox"))
    install = [program, "install", RECIPE, "--sandbox", "--engine", engine.name, "--quiet"]
    # The first one builds what is missing; the measured ones find everything.
    first = subprocess.run([*install, "--json"], check=True, capture_output=True, text=True)
    image = json.loads(first.stdout)["image"]
    works = {
        "true": _container(engine, image, "true"),
        "runner": command([str(runner().directory / PROGRAM), "run", "--help"]),
        "install": command(install),
    }
    medians = interleaved(works, ROUNDS)
    floor = medians["true"] + medians["runner"]
    note = ", ".join(f"{name} {median * 1000:.0f} ms" for name, median in medians.items())
    return Measure(f"second install --sandbox, {engine.name}", medians["install"] / floor, limit=LIMIT, note=note)


def _container(engine: Engine, image: str, *argv: str) -> Callable[[], object]:
    """The engine's own `run`, with the settings that this host needs."""
    own = engine.command  # type: ignore[attr-defined] # the adapters have one, the protocol does not promise it
    words = own.argv("run", "--rm", "--network=none", f"--volume={runner().directory}:{MOUNT}:ro", image, *argv)
    env = {key: value for key, value in {**os.environ, **own.env}.items() if value is not None}
    return lambda: subprocess.run(words, check=True, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
