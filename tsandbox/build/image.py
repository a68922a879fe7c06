"""The images of the cache: what they are called, what their labels say, and which of them is a hit."""

from pathlib import Path

from msgspec import Struct

from tsandbox import __version__
from tsandbox.derive import ContainerSpec, ImageDefinition
from tsandbox.derive.key import REPOSITORY, SCHEMA, tag_of
from tsandbox.engine.protocol import Engine, Image

KEY = "io.tsandbox.key"
PREIMAGE = "io.tsandbox.preimage"
TOOL = "io.tsandbox.tool"
# A build gets a name of its own, and the tag only at its end: what was interrupted never stands under the tag.
UNFINISHED = "sandbox-build"


class BuiltImage(Struct, frozen=True, kw_only=True):
    """An image that is there. `cached`: nothing was built; `pulled`: a registry had it."""

    reference: str
    id: str
    key: str
    cached: bool
    size: int
    seconds: float
    log: Path | None = None
    pulled: bool = False
    # What went wrong on the way and did not matter, for people: a registry that does not answer.
    notes: tuple[str, ...] = ()


def labels(spec: ContainerSpec, definition: ImageDefinition) -> dict[str, str]:
    about = {
        KEY: definition.key,
        PREIMAGE: definition.preimage,
        TOOL: spec.tool,
        "io.tsandbox.schema": str(SCHEMA),
        "io.tsandbox.base": spec.base.digest,
        "org.opencontainers.image.title": f"Sandbox of {spec.tool}",
        "org.opencontainers.image.version": spec.version or "",
        "org.opencontainers.image.base.name": spec.base.image,
        "org.opencontainers.image.base.digest": spec.base.digest,
        "org.opencontainers.image.vendor": f"tsandbox {__version__}",
    }
    return {name: value for name, value in about.items() if value}


def find(engine: Engine, key: str, *, not_before: float = 0.0) -> Image | None:
    """The image with this content, in one look-up: a hit has the full key in its label and is young enough."""
    image = engine.image(tag_of(key))
    return image if image is not None and is_hit(image, key, not_before=not_before) else None


def is_hit(image: Image, key: str, *, not_before: float = 0.0) -> bool:
    return image.labels.get(KEY) == key and image.created >= not_before


def tag_in(image: Image) -> str | None:
    """The cache's tag of an image, without the registry that podman puts before it."""
    for tag in image.tags:
        name = tag.removeprefix("localhost/").removeprefix("docker.io/library/")
        if name.startswith(f"{REPOSITORY}:"):
            return name
    return None
