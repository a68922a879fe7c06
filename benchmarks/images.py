"""Builds against the same engine's own: a hit, a cold build, sizes, and packages that are fetched once."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Measure, interleaved
from tsandbox.build import ensure_base, ensure_image
from tsandbox.build.workplace import write_context
from tsandbox.derive import ContainerSpec, define_image, derive
from tsandbox.engine import Engine, connect
from tsandbox.errors import EngineUnavailable
from tsandbox.plan import Catalog, load, select
from tsandbox.recipe import Recipe, linux

HITS = 11
COLD = 3
HIT_LIMIT, COLD_LIMIT = 1.5, 1.15
SIZED = ("jq", "python")
BY_HAND = "localhost/tsandbox-bench:by-hand"
PLAIN = """FROM {base}
RUN apt-get update && apt-get install --yes --no-install-recommends {packages}
"""


def run() -> Iterator[Measure]:
    for name in ("podman", "docker"):
        with tempfile.TemporaryDirectory() as directory, _own_storage(Path(directory)):
            try:
                engine = connect(name)
            except EngineUnavailable as error:
                print(f"  {name} is left out: {error.message}", file=sys.stderr)
                continue
            try:
                yield from _hit(engine, Path(directory))
                yield from _cold(engine, Path(directory))
                yield from _sizes(engine, Path(directory))
            finally:
                engine.remove_image(BY_HAND)


@contextmanager
def _own_storage(directory: Path) -> Iterator[None]:
    """Podman keeps an unnamed image of every step of a build by hand: in a storage that goes away afterwards."""
    home = directory / "podman"
    (home / "state").mkdir(parents=True)
    text = f'[storage]\ndriver = "overlay"\ngraphroot = "{home}/graph"\nrunroot = "{home}/run"\n'
    (home / "storage.conf").write_text(text)
    changed = {"CONTAINERS_STORAGE_CONF": str(home / "storage.conf"), "TSANDBOX_STATE_DIR": str(home / "state")}
    before = {name: os.environ.get(name) for name in (*changed, "TSANDBOX_CACHE_DIR")}
    os.environ |= changed
    try:
        yield
    finally:
        if os.geteuid():
            subprocess.run(["podman", "unshare", "rm", "-rf", home / "graph"], check=False)
        for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            if (point := line.split(" ")[4]).startswith(str(home)):
                subprocess.run(["umount", point], check=True)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _hit(engine: Engine, directory: Path) -> Iterator[Measure]:
    spec = _spec("jq")
    hand = _by_hand(engine, spec, directory)
    ours = [str(Path(sys.executable).with_name("tsandbox")), "build", "jq", "--engine", engine.name]
    works = {"ours": lambda: _quiet(ours), "theirs": lambda: _quiet(hand, engine)}
    for work in works.values():
        work()  # from here on both are cached
    medians = interleaved(works, HITS)
    note = f"{medians['ours'] * 1000:.0f} ms, the engine's own {medians['theirs'] * 1000:.0f} ms"
    yield Measure(f"{engine.name}: cache hit", medians["ours"] / medians["theirs"], limit=HIT_LIMIT, note=note)


def _cold(engine: Engine, directory: Path) -> Iterator[Measure]:
    """All bases and nothing else is there; both sides fetch their packages from the same mirror."""
    hand = [*_by_hand(engine, _spec("jq"), directory), "--no-cache"]
    ours = [str(Path(sys.executable).with_name("tsandbox")), "build", "jq", "--no-cache", "--engine", engine.name]
    works = {"ours": lambda: _quiet(ours), "theirs": lambda: _quiet(hand, engine)}
    medians = interleaved(works, COLD)
    note = f"{medians['ours']:.1f} s, by hand {medians['theirs']:.1f} s"
    yield Measure(f"{engine.name}: cold build", medians["ours"] / medians["theirs"], limit=COLD_LIMIT, note=note)


def _sizes(engine: Engine, directory: Path) -> Iterator[Measure]:
    for name in SIZED:
        minimal, full = _spec(name), _spec(name, "full")
        packages = " ".join(minimal.packages["apt"])
        plain = directory / f"plain-{name}"
        plain.mkdir()
        (plain / "Dockerfile").write_text(PLAIN.format(base=minimal.builder.image, packages=packages))
        tag = f"localhost/tsandbox-bench:{name}"
        _quiet(_build_command(engine, plain / "Dockerfile", plain, tag), engine)
        sizes = {kind: ensure_image(engine, spec).size / 1e6 for kind, spec in (("minimal", minimal), ("full", full))}
        found = engine.image(tag)
        assert found is not None
        beside = f"full {sizes['full']:.1f} MB, plain apt-get on the builder {found.size / 1e6:.1f} MB"
        yield Measure(f"{engine.name}: size of {name}, minimal", sizes["minimal"], unit="MB", note=beside)
        engine.remove_image(tag)
    yield _fetched_again(engine, directory)


def _fetched_again(engine: Engine, directory: Path) -> Measure:
    """Two images with the same package, one after the other: how much the second one fetches of it.

    Podman begins without any packages; docker's are in BuildKit's cache, which may have them from an earlier run.
    """
    os.environ["TSANDBOX_CACHE_DIR"] = str(directory / "cache")
    fetched = []
    for turn in ("first", "second"):
        recipe = directory / f"{turn}.toml"
        recipe.write_text(
            f'[metadata]\nname = "{turn}"\ndescription = "d"\n[[steps]]\naction = "apt_install"\n'
            f'packages = ["git"]\n[[steps]]\naction = "group_add"\ngroup = "g{time.time_ns()}"\n'
        )
        spec = _spec_of(recipe)
        built = ensure_image(engine, spec)
        assert built.log is not None
        fetched.append(_debs(built.log.read_text()))
        engine.remove_image(built.reference)
    what = f"{engine.name}: packages fetched by a second image with git"
    return Measure(what, fetched[1], unit="packages", limit=0, note=f"the first one fetched {fetched[0]}")


def _debs(log: str) -> int:
    """apt's lines about packages; those about indexes name no version."""
    return len(re.findall(r"Get:\d+ \S+ \S+ \S+ \S+ (?:all|amd64|arm64) \S+ \[", log))


def _by_hand(engine: Engine, spec: ContainerSpec, directory: Path) -> list[str]:
    """What somebody would type who has the same Dockerfile."""
    for base in ("runtime", "builder"):
        ensure_base(engine, base, spec.target.arch)
    definition = define_image(spec)
    context = directory / "context"
    if not context.exists():
        write_context(definition, context)
    (directory / "Dockerfile").write_text(definition.dockerfile)
    return _build_command(engine, directory / "Dockerfile", context, BY_HAND)


def _build_command(engine: Engine, dockerfile: Path, context: Path, tag: str) -> list[str]:
    program = engine.facts().adjustments.get("client", engine.name)
    return [program, "build", "--file", str(dockerfile), "--tag", tag, str(context)]


def _quiet(argv: list[str], engine: Engine | None = None) -> None:
    adjustments = engine.facts().adjustments if engine else {}
    env = {
        **os.environ,
        "DOCKER_BUILDKIT": "1",
        **{name: value for name, value in adjustments.items() if name.isupper()},
    }
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def _spec(name: str, profile: str | None = None) -> ContainerSpec:
    return _spec_of(Catalog([]).names()[name], profile)


def _spec_of(path: Path, profile: str | None = None) -> ContainerSpec:
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    target = linux("debian")
    return derive(select(recipe, target, catalog=Catalog([])), target, profile=profile)  # type: ignore[arg-type]
