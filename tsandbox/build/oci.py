"""An OCI archive, checked from the inside before an engine sees it: every blob against its name, and what it claims."""

import hashlib
import tarfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tsandbox.errors import InvalidInput

_REF = "org.opencontainers.image.ref.name"
_INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
# Of the documents that describe an image; blobs of files have no limit.
_DOCUMENT = 4 << 20


class Described(Struct, frozen=True, kw_only=True):
    """What an archive says about its one image."""

    name: str
    arch: str
    labels: dict[str, str]


def described(archive: Path, shown: str) -> Described:
    """Raises unless every blob has the content that its name promises, and there is exactly one image.

    `shown` is what the user calls the archive.
    """
    try:
        with tarfile.open(archive, "r:") as tar:
            return _described(tar, shown)
    except KeyError as error:
        raise _refused(shown, f"not an OCI archive: it has no {error.args[0]}") from error
    except (tarfile.TarError, msgspec.MsgspecError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise _refused(shown, f"not an OCI archive: {error}") from error


def _described(tar: tarfile.TarFile, name: str) -> Described:
    members = {member.name.removeprefix("./"): member for member in tar if member.isfile()}
    documents = {path: _checked(tar, member, path, name) for path, member in members.items()}
    index = msgspec.json.decode(documents["index.json"] or b"")
    manifests = index["manifests"]
    if len(manifests) != 1 or manifests[0].get("mediaType") in _INDEXES:
        raise _refused(name, "it holds not one image but several")
    manifest = _document(documents, manifests[0]["digest"])
    missing = [layer["digest"] for layer in manifest["layers"] if _place(layer["digest"]) not in members]
    if missing:
        raise _refused(name, f"the layer {missing[0]} is missing")
    config = _document(documents, manifest["config"]["digest"])
    return Described(
        name=str(manifests[0].get("annotations", {}).get(_REF, "")),
        arch=str(config["architecture"]),
        labels=dict((config.get("config") or {}).get("Labels") or {}),
    )


def _checked(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str, name: str) -> bytes | None:
    """The content, if it is small enough to be a document; a blob must have the hash that it is named by."""
    stream = tar.extractfile(member)
    assert stream is not None
    kept = bytearray()
    digest = hashlib.sha256()
    while chunk := stream.read(1 << 20):
        digest.update(chunk)
        if member.size <= _DOCUMENT:
            kept += chunk
    if path.startswith("blobs/sha256/") and path != f"blobs/sha256/{digest.hexdigest()}":
        raise _refused(name, f"{path} is damaged")
    return bytes(kept) if member.size <= _DOCUMENT else None


def _document(documents: dict[str, bytes | None], digest: str) -> Any:
    return msgspec.json.decode(documents[_place(digest)] or b"")


def _place(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _refused(name: str, why: str) -> InvalidInput:
    return InvalidInput(f"{name}: {why}; nothing of it was loaded", file=name, hint="export it again where it was made")
