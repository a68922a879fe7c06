"""Which packages an image holds, read from the image itself: a container is made from it, and never started."""

import re
from pathlib import Path

from msgspec import Struct

from tsandbox.build.workplace import Workplace, container_name, workplace
from tsandbox.engine.protocol import ContainerRequest, Engine
from tsandbox.errors import EngineUnavailable, NotSupported

LABEL = "io.tsandbox.reading"
_STATUS = "/var/lib/dpkg/status"


class Package(Struct, frozen=True, kw_only=True):
    """An installed Debian package, and the source package that it was built from."""

    name: str
    version: str
    arch: str
    source: str
    source_version: str
    maintainer: str = ""
    homepage: str = ""
    # Names that it depends on, one group per dependency, each of its alternatives; and names that it provides.
    depends: tuple[tuple[str, ...], ...] = ()
    provides: tuple[str, ...] = ()


def packages_in(engine: Engine, reference: str) -> list[Package]:
    """Sorted by name. Every image of ours on Debian has the list, those of the `full` profile and the bases too."""
    return parse_status(read_file(engine, reference, _STATUS).decode(errors="replace"))


def read_file(engine: Engine, reference: str, path: str) -> bytes:
    with workplace(engine) as place:
        return copied_out(engine, reference, path, place).read_bytes()


def copied_out(engine: Engine, reference: str, path: str, place: Workplace) -> Path:
    """A file of an image, in `place`."""
    target = place.directory / "copied"
    container = engine.create(
        ContainerRequest(
            image=reference, argv=["/nothing"], name=container_name(place), labels={LABEL: "1"}, init=False
        )
    )
    try:
        engine.copy_out(container, path, target)
    except EngineUnavailable as error:
        if type(error) is not EngineUnavailable:
            raise
        raise NotSupported(
            f"{reference} has no {path}: only the packages of Debian images can be listed",
            hint="images of other families carry their own package databases; ask their package manager",
            details=error.details,
        ) from error
    finally:
        engine.remove(container)
    return target


def parse_status(text: str) -> list[Package]:
    """The installed packages of a dpkg status file."""
    found = [_package(paragraph) for paragraph in text.split("\n\n") if paragraph.strip()]
    return sorted((each for each in found if each), key=lambda each: (each.name, each.arch))


def _package(paragraph: str) -> Package | None:
    fields: dict[str, str] = {}
    for line in paragraph.splitlines():
        name, colon, value = line.partition(":")
        if colon and not line.startswith((" ", "\t")):
            fields[name] = value.strip()
    if not fields.get("Status", "").endswith(" installed") or "Package" not in fields:
        return None
    name, version = fields["Package"], fields.get("Version", "")
    # `Source: glibc (2.36-9)`: the version is given only where it differs.
    source, _, source_version = fields.get("Source", name).partition(" ")
    return Package(
        name=name,
        version=version,
        arch=fields.get("Architecture", ""),
        source=source,
        source_version=source_version.strip("()") or version,
        maintainer=fields.get("Maintainer", ""),
        homepage=fields.get("Homepage", ""),
        depends=(*_relations(fields.get("Pre-Depends", "")), *_relations(fields.get("Depends", ""))),
        provides=tuple(name for group in _relations(fields.get("Provides", "")) for name in group),
    )


def _relations(text: str) -> tuple[tuple[str, ...], ...]:
    """`a (>= 1) | b:any, c` → ((a, b), (c,))."""
    groups = [group for group in text.split(",") if group.strip()]
    return tuple(
        tuple(re.split(r"[\s(:]", each.strip(), maxsplit=1)[0] for each in group.split("|")) for group in groups
    )
