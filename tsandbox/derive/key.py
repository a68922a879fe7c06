"""The identity of an image: a hash over everything that decides its content, and over nothing else."""

import hashlib

import msgspec

from tsandbox.derive.context import ContextFile, context_files
from tsandbox.derive.dockerfile import render
from tsandbox.derive.spec import ContainerSpec

SCHEMA = 1
REPOSITORY = "sandbox-cache"
_TAG_LENGTH = 32


class Preimage(msgspec.Struct, frozen=True, kw_only=True):
    """What is hashed, and stored in the image's labels so that a miss can be explained."""

    schema: int
    platform: str
    profile: str
    base: str
    dockerfile: str
    files: dict[str, str]


class ImageDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """All that a builder needs, and the name that the result will have."""

    dockerfile: str
    files: dict[str, ContextFile]
    preimage: str
    key: str

    @property
    def tag(self) -> str:
        return tag_of(self.key)


def define_image(spec: ContainerSpec) -> ImageDefinition:
    dockerfile = render(spec)
    files = context_files(spec)
    preimage = Preimage(
        schema=SCHEMA,
        platform=spec.target.platform,
        profile=spec.profile,
        base=spec.base.digest,
        dockerfile=dockerfile,
        files={path: _digest(file.content) for path, file in files.items()},
    )
    canonical = _canonical(preimage)
    return ImageDefinition(dockerfile=dockerfile, files=files, preimage=canonical.decode(), key=_digest(canonical))


def image_key(spec: ContainerSpec) -> str:
    """`sha256:<64 hex>`; the first 32 digits are the image's tag."""
    return define_image(spec).key


def tag_of(key: str) -> str:
    return f"{REPOSITORY}:{key.removeprefix('sha256:')[:_TAG_LENGTH]}"


def _canonical(preimage: Preimage) -> bytes:
    # podman 4.3 looks for variables in the labels of a build, and refuses `${` in one.
    return msgspec.json.encode(preimage, order="sorted").replace(b"$", b"\\u0024")


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
