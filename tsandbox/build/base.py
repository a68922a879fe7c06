"""The bases that images stand on: made on first need, once, and kept in the engine."""

import shutil
import tarfile
import time
from itertools import product
from pathlib import Path

from tsandbox import __version__, settings
from tsandbox.build.contents import Package, parse_status
from tsandbox.build.locking import locked
from tsandbox.build.make_base import make_base
from tsandbox.build.progress import Watch, tell
from tsandbox.build.workplace import workplace
from tsandbox.derive import bases
from tsandbox.derive.bases import Base, Definition
from tsandbox.engine.protocol import Engine, Image
from tsandbox.errors import BuildFailed, EngineUnavailable, TsandboxError
from tsandbox.recipe.target import ARCHES

DIGEST = "io.tsandbox.base.digest"
NAME = "io.tsandbox.base.name"
SUITE = "io.tsandbox.base.suite"
ARCH = "io.tsandbox.base.arch"
EPOCH = "io.tsandbox.base.epoch"
PACKAGES = "io.tsandbox.base.packages"


def ensure_base(
    engine: Engine, base_name: str, arch: str, suite: str | None = None, *, watch: Watch | None = None
) -> Image:
    """A base: `runtime` or `builder` of a Debian suite, found or made, or another family's, found or pulled."""
    wanted = bases.base(base_name, arch, suite)
    if (image := _found(engine, wanted)) is not None:
        return image
    if base_name not in bases.MADE_HERE:
        return _pulled(engine, wanted, watch)
    made_from = bases.definition(base_name, arch, suite)
    waiting = f"base {base_name}: another process makes it; waiting"
    with locked(f"base-{wanted.digest.removeprefix('sha256:')}", on_wait=lambda: tell(watch, waiting)):
        return _found(engine, wanted) or _imported(engine, wanted, made_from, watch)


def archives_dir() -> Path:
    """The bases as tar archives: a second engine, or a new storage of the first, need not make them again."""
    return settings.cache_dir() / "bases"


def archive_of(name: str, digest: str) -> Path:
    return archives_dir() / f"{name}-{digest.removeprefix('sha256:')}.tar"


def current_archives() -> set[Path]:
    """Where the bases of today's definition and epoch are kept, for all suites and architectures."""
    wanted = (bases.base(*which) for which in product(bases.MADE_HERE, ARCHES, bases.suites()))
    return {archive_of(one.name, one.digest) for one in wanted}


def made_bases(engine: Engine) -> list[Image]:
    """The bases in an engine, of whatever epoch. Images that stand on one inherit its labels, but not its name."""
    return [image for image in engine.images(DIGEST) if base_tag(image) is not None]


def base_tag(image: Image) -> str | None:
    return next((tag for tag in image.tags if tag.startswith(f"{bases.REPOSITORY}:")), None)


def is_current(image: Image) -> bool:
    """Whether a base is the one of its suite by today's definition and epoch: what new images stand on."""
    name, arch, suite = (image.labels.get(label, "") for label in (NAME, ARCH, SUITE))
    return suite in bases.suites() and bases.base(name, arch, suite).digest == image.labels[DIGEST]


def _found(engine: Engine, wanted: Base) -> Image | None:
    image = engine.image(wanted.image)
    if image is None or wanted.name not in bases.MADE_HERE:
        return image
    return image if image.labels.get(DIGEST) == wanted.digest else None


def _imported(engine: Engine, wanted: Base, made_from: Definition, watch: Watch | None) -> Image:
    tar = archive_of(wanted.name, wanted.digest)
    if not tar.is_file():
        with workplace(engine) as place:
            _keep(make_base(engine, made_from, place, watch), tar)
    tell(watch, f"base {wanted.name}: into {engine.name}")
    labels = {
        DIGEST: wanted.digest,
        NAME: made_from.name,
        SUITE: made_from.suite,
        ARCH: made_from.arch,
        EPOCH: made_from.epoch,
        PACKAGES: str(len(_packages_in(tar))),
        "org.opencontainers.image.title": f"tsandbox {made_from.name} base, Debian {made_from.suite}",
        "org.opencontainers.image.vendor": f"tsandbox {__version__}",
    }
    return engine.import_rootfs(tar, wanted.image, labels=labels, platform=f"linux/{made_from.arch}")


def _keep(made: Path, tar: Path) -> None:
    """Under its name only when it is whole."""
    tar.parent.mkdir(parents=True, exist_ok=True)
    temporary = tar.with_suffix(f".{time.monotonic_ns()}")
    try:
        shutil.copyfile(made, temporary)
        temporary.replace(tar)
    finally:
        temporary.unlink(missing_ok=True)


def _packages_in(tar: Path) -> list[Package]:
    with tarfile.open(tar) as archive:
        member = archive.extractfile("./var/lib/dpkg/status")
        assert member is not None
        return parse_status(member.read().decode())


def _pulled(engine: Engine, wanted: Base, watch: Watch | None) -> Image:
    tell(watch, f"pulling the base {wanted.image}")
    try:
        image = engine.pull(wanted.image)
    except EngineUnavailable as error:
        raise _unreachable(wanted, error) from error
    if image is None:
        raise _unreachable(wanted, None)
    return image


def _unreachable(wanted: Base, error: TsandboxError | None) -> BuildFailed:
    registry = wanted.image.partition("/")[0]
    return BuildFailed(
        f"the base of {wanted.name}, {wanted.image}, could not be pulled",
        hint=f"is the registry {registry} reachable from here? debian is the one family that needs none",
        details=error.details if error else (f"{registry} does not have it",),
        temporary=error is not None,
    )
