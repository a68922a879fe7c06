"""A bill of materials: what an image holds, from the package database that its build left in it."""

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tsandbox import __version__
from tsandbox.build import base
from tsandbox.build.contents import Package
from tsandbox.build.image import KEY, TOOL
from tsandbox.engine.protocol import Image

if TYPE_CHECKING:
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component
    from cyclonedx.model.tool import ToolRepository

# The same image gives the same document, serial number included.
_NAMESPACE = uuid.UUID("5f0f0e3a-6d0a-5b53-9a5e-2f3f7e3a1c11")


def cyclonedx(reference: str, image: Image, packages: list[Package]) -> str:
    """CycloneDX 1.6 as JSON."""
    from cyclonedx.output.json import JsonV1Dot6

    return JsonV1Dot6(_bom(reference, image, packages)).output_as_string(indent=2)


def _bom(reference: str, image: Image, packages: list[Package]) -> "Bom":
    from cyclonedx.model.bom import Bom, BomMetaData

    whole = _whole(reference, image)
    parts = {package.name: _component(package, image.labels.get(base.SUITE, "")) for package in packages}
    made = Bom(
        serial_number=uuid.uuid5(_NAMESPACE, image.id),
        components=parts.values(),
        metadata=BomMetaData(
            timestamp=datetime.fromtimestamp(int(image.created), UTC), component=whole, tools=_ourselves()
        ),
    )
    edges = depends_on(packages)
    asked_for = {name for needed in edges.values() for name in needed}
    # The image itself needs what no package needs: what was declared, and the packages of its base.
    made.register_dependency(whole, [part for name, part in parts.items() if name not in asked_for])
    for name, needed in edges.items():
        made.register_dependency(parts[name], [parts[each] for each in needed])
    return made


def depends_on(packages: Iterable[Package]) -> dict[str, list[str]]:
    """Package → the packages of the image that meet its dependencies; the first alternative that is there counts."""
    known = {package.name: package.name for package in packages}
    for package in packages:
        for provided in package.provides:
            known.setdefault(provided, package.name)
    return {
        package.name: sorted(
            {
                known[present[0]]
                for group in package.depends
                if (present := [name for name in group if name in known]) and known[present[0]] != package.name
            }
        )
        for package in packages
    }


def _whole(reference: str, image: Image) -> "Component":
    from cyclonedx.model import Property
    from cyclonedx.model.component import Component, ComponentType

    labels = image.labels
    told = {"id": image.id, "key": labels.get(KEY), "tool": labels.get(TOOL), "base": labels.get("io.tsandbox.base")}
    name, _, version = reference.rpartition(":")
    return Component(
        type=ComponentType.CONTAINER,
        name=name or reference,
        version=version or image.id,
        bom_ref=f"image:{image.id}",
        properties=[Property(name=f"tsandbox:{key}", value=value) for key, value in told.items() if value],
    )


def _component(package: Package, suite: str) -> "Component":
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.contact import OrganizationalEntity
    from packageurl import PackageURL

    qualifiers = {"arch": package.arch, "distro": suite, "upstream": f"{package.source}@{package.source_version}"}
    if package.source == package.name and package.source_version == package.version:
        del qualifiers["upstream"]
    purl = PackageURL(
        type="deb",
        namespace="debian",
        name=package.name,
        version=package.version,
        qualifiers={key: value for key, value in qualifiers.items() if value},
    )
    return Component(
        type=ComponentType.LIBRARY,
        name=package.name,
        version=package.version,
        purl=purl,
        bom_ref=purl.to_string(),
        supplier=OrganizationalEntity(name=package.maintainer) if package.maintainer else None,
    )


def _ourselves() -> "ToolRepository":
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.tool import ToolRepository

    return ToolRepository(components=[Component(type=ComponentType.APPLICATION, name="tsandbox", version=__version__)])
