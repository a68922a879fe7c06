"""Images through the command line, in the words that podman and docker share."""

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tsandbox.engine import diagnose
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.protocol import TRANSFER, Image
from tsandbox.errors import EngineLookupFailed, EngineUnavailable

_LIST_ATTEMPTS = 8
_LIST_PAUSE = 0.1


class ImageCommands:
    """The image half of an engine; `command` is how this host calls it."""

    command: EngineCommand

    def image(self, reference: str) -> Image | None:
        found = self.command.look_up("image", "inspect", reference, doing=f"look-up of image {reference}")
        return None if found is None else parse_image(found[0])

    def images(self, label: str) -> list[Image]:
        argv = ("images", "--quiet", "--no-trunc", "--filter", f"label={label}")
        ids = sorted(set(self._list(*argv).split()))
        found = self.command.look_up("image", "inspect", *ids, doing="look-up of images") if ids else []
        if found is not None:
            return [parse_image(entry) for entry in found]
        # One of them went away between the two questions: that says nothing about the others.
        return [image for image in map(self.image, ids) if image is not None]

    def _list(self, *argv: str) -> str:
        """Podman cannot list images while another process removes one of them: then it is asked again."""
        for _ in range(_LIST_ATTEMPTS - 1):
            try:
                return self.command.call(*argv, doing="list of images").text
            except EngineUnavailable as error:
                if not diagnose.not_found(said := "\n".join(error.details)) and not diagnose.in_flux(said):
                    raise
                time.sleep(_LIST_PAUSE)
        return self.command.call(*argv, doing="list of images").text

    def tag(self, image_id: str, reference: str) -> None:
        self.command.call("tag", image_id, reference, doing=f"tag of {reference}")

    def remove_image(self, reference: str) -> None:
        """Remove a tag or, given an id, the image with all its tags; one that is not there is no error."""
        if self.image(reference) is None:
            return
        forced = ("--force",) if is_id(reference) else ()
        try:
            self.command.call("rmi", *forced, reference, doing=f"removal of image {reference}")
        except EngineUnavailable:
            # Another process may have been faster.
            if self.image(reference) is not None:
                raise

    def import_rootfs(self, tar: Path, reference: str, *, labels: Mapping[str, str], platform: str) -> Image:
        options = list(self.import_platform(platform))
        for key, value in sorted(labels.items()):
            options += ["--change", self.import_label(key, value)]
        done = self.command.call(
            "import", *options, str(tar), reference, doing=f"import of {reference}", timeout=TRANSFER
        )
        return self.found(done.text.split()[-1])

    def import_platform(self, platform: str) -> tuple[str, ...]:
        return ("--platform", platform)

    def import_label(self, key: str, value: str) -> str:
        """A LABEL instruction for `import --change`, with the value quoted as a Dockerfile wants it."""
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
        return f'LABEL {key}="{escaped}"'

    def pull(self, remote: str, *, timeout: float = TRANSFER) -> Image | None:
        """The image from its registry, or None when the registry says that it has none."""
        try:
            self.command.call(
                "pull", "--quiet", *self.registry_options(remote), remote, doing=f"pull of {remote}", timeout=timeout
            )
        except EngineUnavailable as error:
            if unknown_to_registry("\n".join(error.details)):
                return None
            raise
        return self.found(remote)

    def registry_options(self, remote: str) -> tuple[str, ...]:  # noqa: ARG002  (podman's differ by registry)
        return ()

    def found(self, reference: str) -> Image:
        """An image that must be there: podman overlooks one now and then while other processes change its storage."""
        for _ in range(_LIST_ATTEMPTS):
            image = self.image(reference)
            if image is not None:
                return image
            time.sleep(_LIST_PAUSE)
        raise EngineLookupFailed(
            f"{self.command.name}: image {reference} was there a moment ago and is gone",
            hint="another process may have removed it; run the same command again",
        )


def parse_image(entry: Mapping[str, Any]) -> Image:
    digests = entry.get("RepoDigests") or [""]
    return Image(
        id=bare_id(entry["Id"]),
        tags=tuple(entry.get("RepoTags") or ()),
        labels=(entry.get("Config") or {}).get("Labels") or {},
        size=entry.get("Size") or 0,
        created=timestamp(entry["Created"]),
        digest=entry.get("Digest") or digests[0].partition("@")[2] or None,
    )


def bare_id(identifier: str) -> str:
    return identifier.removeprefix("sha256:")


def is_id(reference: str) -> bool:
    bare = bare_id(reference)
    return len(bare) == 64 and set(bare) <= set("0123456789abcdef")


def timestamp(text: str) -> float:
    """Seconds of an engine's RFC 3339 time, whose nanoseconds Python does not read."""
    head, dot, tail = text.partition(".")
    if not dot:
        return datetime.fromisoformat(text).timestamp()
    digits = len(tail) - len(tail.lstrip("0123456789"))
    return datetime.fromisoformat(f"{head}.{tail[: min(digits, 6)]:0<6}{tail[digits:]}").timestamp()


def unknown_to_registry(text: str) -> bool:
    lowered = text.lower()
    return "manifest unknown" in lowered or "not found: manifest" in lowered or "repository name not known" in lowered
