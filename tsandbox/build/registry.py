"""A registry as a shared cache: images travel under their key, and one that is not what its name says is no hit."""

import re
from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct

from tsandbox import settings
from tsandbox.build.image import KEY, PREIMAGE
from tsandbox.build.registry_alive import alive
from tsandbox.derive.key import tag_of
from tsandbox.engine.protocol import TRANSFER, Engine, Image
from tsandbox.errors import EngineUnavailable, TimedOut, UsageError

Warn = Callable[[str], None]

# Seconds for an image that nobody asked to move: one that takes longer to travel is sooner built.
_PATIENCE = 300.0
# `host[:port][/path]`; credentials never belong here, they are in the engine's own auth files.
_REFERENCE = re.compile(r"(?:[a-zA-Z0-9][a-zA-Z0-9.-]*|\[[0-9a-f:]+\])(?::\d+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")


class Registry(Struct, frozen=True, kw_only=True):
    """Where images are shared: `registry.example.com/team`."""

    reference: str

    @property
    def host(self) -> str:
        return self.reference.partition("/")[0]

    def name_of(self, key: str) -> str:
        return f"{self.reference}/{tag_of(key)}"


class NotWhatItSays(EngineUnavailable):
    """What the registry holds under a key is not the image with that key."""


class RegistryDown(EngineUnavailable):
    """The registry does not answer."""

    temporary = True


def registry(reference: str | None = None) -> Registry | None:
    """The registry that was asked for, or TSANDBOX_REGISTRY, or the configuration file's, or none."""
    wanted = reference or settings.option("registry")
    if not wanted:
        return None
    if not _REFERENCE.fullmatch(wanted.rstrip("/")):
        raise UsageError(
            f"{wanted!r} does not name a registry",
            hint="write host[:port][/path] without a scheme, as in registry.example.com/team",
        )
    return Registry(reference=wanted.rstrip("/"))


def pull(engine: Engine, key: str, shared: Registry, *, timeout: float = TRANSFER) -> Image | None:
    """The image with this key from the registry, under its cache tag; None when the registry does not have it."""
    _require(shared)
    remote = shared.name_of(key)
    image = engine.pull(remote, timeout=timeout)
    if image is None:
        return None
    try:
        _check(image, key, remote)
        engine.tag(image.id, tag_of(key))
    finally:
        # The registry's name is only the way it came: the cache knows images by their own tag.
        engine.remove_image(remote)
    return engine.image(tag_of(key))


def push(engine: Engine, key: str, shared: Registry, *, timeout: float = TRANSFER) -> str:
    """Give the image to the registry; the digest that it has there."""
    _require(shared)
    return engine.push(tag_of(key), shared.name_of(key), timeout=timeout)


def pull_if_there(engine: Engine, key: str, warn: Warn) -> Image | None:
    """Before a build: what the configured registry has is not built. Trouble with it costs a warning, not the run."""
    shared = registry()
    if shared is None or shared.reference in _down:
        return None
    try:
        return pull(engine, key, shared, timeout=_PATIENCE)
    except (EngineUnavailable, TimedOut) as error:
        _give_up_if_slow(shared, error)
        _tell(error, "the image is built here instead", warn)
        return None


def push_if_asked(engine: Engine, key: str, warn: Warn) -> str | None:
    """After a build: let the others have it, where a registry is configured and answers."""
    shared = registry()
    if shared is None or shared.reference in _down:
        return None
    try:
        return push(engine, key, shared, timeout=_PATIENCE)
    except (EngineUnavailable, TimedOut) as error:
        _give_up_if_slow(shared, error)
        _tell(error, "the image stays on this machine", warn)
        return None


def _give_up_if_slow(shared: Registry, error: Exception) -> None:
    if isinstance(error, TimedOut):
        _down.add(shared.reference)


def _check(image: Image, key: str, remote: str) -> None:
    """By label and digest: the engine names the digest it checked, the label the key, and the preimage proves it."""
    if image.digest is None:
        raise NotWhatItSays(f"{remote} came without a digest")
    if image.labels.get(KEY) != key:
        raise NotWhatItSays(f"{remote} holds an image with the key {image.labels.get(KEY) or 'of nobody'}")
    if f"sha256:{sha256(image.labels.get(PREIMAGE, '').encode()).hexdigest()}" != key:
        raise NotWhatItSays(f"{remote} holds an image whose preimage does not give its key")


def _require(shared: Registry) -> None:
    if reason := alive(shared.host):
        _down.add(shared.reference)
        raise RegistryDown(
            f"the registry {shared.reference} does not answer: {reason}",
            hint="check --registry, TSANDBOX_REGISTRY and the network",
        )


# Asked once per process: a registry that is down costs its timeout once, not once per image.
_down: set[str] = set()


def _tell(error: EngineUnavailable | TimedOut, so: str, warn: Warn) -> None:
    said = error.details[-1] if error.details and not isinstance(error, RegistryDown | NotWhatItSays) else ""
    why = f": {said}" if said else ""
    warn(f"{error.message}{why}; {so}")
