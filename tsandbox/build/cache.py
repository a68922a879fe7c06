"""What the cache holds: the images with our labels under our names, and nothing else."""

import time
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tsandbox import settings
from tsandbox.build import base, host, logs
from tsandbox.build.image import KEY, PREIMAGE, TOOL, tag_in
from tsandbox.build.used import last_use
from tsandbox.derive import ContainerSpec, define_image
from tsandbox.derive.key import REPOSITORY, Preimage, tag_of
from tsandbox.engine.protocol import Engine, Image
from tsandbox.errors import UsageError

_SHORTEST = 6


class Entry(Struct, frozen=True, kw_only=True):
    """An image of the cache. `own_size` leaves out the base, which all images on it share."""

    reference: str
    id: str
    key: str
    tool: str
    platform: str
    profile: str
    base: str
    size: int
    own_size: int
    created: float
    last_used: float
    # Tool → the recipe or plan that asked for the image.
    asked: dict[str, str]


def entries(engine: Engine) -> list[Entry]:
    """Most recently used first. An image that was built on one of ours has its labels too, but not its name."""
    return [entry for entry, _ in _with_images(engine)]


def _with_images(engine: Engine) -> list[tuple[Entry, Image]]:
    bases = {image.labels[base.DIGEST]: image.size for image in base.made_bases(engine)}
    found = [(_entry(engine.name, image, bases), image) for image in engine.images(KEY) if is_ours(image)]
    return sorted(found, key=lambda pair: pair[0].last_used, reverse=True)


def is_ours(image: Image) -> bool:
    """The key in its label gives it the tag that it has."""
    return tag_of(image.labels.get(KEY, "")) == tag_in(image)


def choose(found: list[Entry], word: str) -> Entry:
    """The image that a key, the beginning of one, a tag or a tool's name means."""
    plain = word.removeprefix("localhost/").removeprefix(f"{REPOSITORY}:").removeprefix("sha256:")
    long_enough = len(plain) >= _SHORTEST
    matching = [entry for entry in found if long_enough and entry.key.removeprefix("sha256:").startswith(plain)]
    matching = matching or [entry for entry in found if entry.tool == word]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(
            f"{word!r} means {len(matching)} images",
            hint="name one by its key: " + ", ".join(entry.key.removeprefix("sha256:")[:12] for entry in matching),
        )
    raise UsageError(f"no image of the cache has the key, tag or tool {word!r}", hint="tsandbox cache ls")


class Usage(Struct, frozen=True, kw_only=True):
    """Bytes on this machine's disk, and how many things they are."""

    what: str
    count: int
    size: int
    where: str


def usage(engine: Engine) -> list[Usage]:
    found = entries(engine)
    made = base.made_bases(engine)
    return [
        Usage(what="images", count=len(found), size=sum(entry.own_size for entry in found), where=engine.name),
        Usage(what="bases", count=len(made), size=sum(image.size for image in made), where=engine.name),
        _files("base archives", base.archives_dir()),
        _files("fetched packages", host.packages_dir()),
        _files("downloads", settings.cache_dir() / "downloads"),
        _files("build logs", logs.directory()),
    ]


class Difference(Struct, frozen=True, kw_only=True):
    """A field of the preimage that is not the same."""

    field: str
    here: str
    there: str


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a spec hits or misses. On a miss `nearest` is the image that differs least, and `differences` are all."""

    key: str
    image: str
    hit: bool
    entry: Entry | None = None
    nearest: Entry | None = None
    differences: tuple[Difference, ...] = ()
    # An image has the tag, but another key: the 32 digits of a tag are not the whole key.
    note: str | None = None


def explain(engine: Engine, spec: ContainerSpec) -> Explanation:
    definition = define_image(spec)
    found = _with_images(engine)
    same = next((entry for entry, _ in found if entry.key == definition.key), None)
    if same is not None:
        return Explanation(key=definition.key, image=definition.tag, hit=True, entry=same)
    mine = msgspec.json.decode(definition.preimage, type=Preimage)
    compared = [(entry, differences(mine, _preimage(image))) for entry, image in found]
    # Of equally near images the one for the same tool tells most.
    compared.sort(key=lambda pair: (_weight(pair[1]), pair[0].tool != spec.tool))
    nearest, fields = compared[0] if compared else (None, ())
    taken = engine.image(definition.tag) is not None
    return Explanation(
        key=definition.key,
        image=definition.tag,
        hit=False,
        nearest=nearest,
        differences=fields,
        note="an image has this tag, but not this key: see `tsandbox cache verify`" if taken else None,
    )


def differences(here: Preimage, there: Preimage | None) -> tuple[Difference, ...]:
    if there is None:
        return (Difference(field="preimage", here="", there="unreadable"),)
    fields = [
        Difference(field=name, here=str(getattr(here, name)), there=str(getattr(there, name)))
        for name in ("schema", "platform", "profile", "base")
        if getattr(here, name) != getattr(there, name)
    ]
    fields += _lines(here.dockerfile, there.dockerfile)
    names = sorted({*here.files, *there.files})
    fields += [
        Difference(field=f"files/{name}", here=here.files.get(name, ""), there=there.files.get(name, ""))
        for name in names
        if here.files.get(name) != there.files.get(name)
    ]
    return tuple(fields)


def _lines(here: str, there: str) -> list[Difference]:
    """The lines of the Dockerfile that only one of the two has."""
    mine, theirs = here.splitlines(), there.splitlines()
    only_here = [line for line in mine if line not in theirs]
    only_there = [line for line in theirs if line not in mine]
    if here == there:
        return []
    return [Difference(field="dockerfile", here="\n".join(only_here), there="\n".join(only_there))]


def _weight(fields: tuple[Difference, ...]) -> int:
    return sum(1 + field.here.count("\n") + field.there.count("\n") for field in fields)


def _preimage(image: Image) -> Preimage | None:
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(image.labels.get(PREIMAGE, ""), type=Preimage)
    return None


def _entry(engine: str, image: Image, bases: dict[str, int]) -> Entry:
    labels = image.labels
    key = labels[KEY]
    use = last_use(engine, key)
    about: dict[str, object] = {}
    with suppress(msgspec.MsgspecError):
        about = msgspec.json.decode(labels.get(PREIMAGE, "{}"), type=dict[str, object])
    digest = labels.get("io.tsandbox.base", "")
    return Entry(
        reference=tag_of(key),
        id=image.id,
        key=key,
        tool=labels.get(TOOL, ""),
        platform=str(about.get("platform", "")),
        profile=str(about.get("profile", "")),
        base=digest,
        size=image.size,
        own_size=max(0, image.size - bases.get(digest, 0)),
        created=image.created,
        last_used=max(use.last if use else 0.0, image.created),
        asked=use.asked if use else {},
    )


def _files(what: str, directory: Path) -> Usage:
    sizes = [path.lstat().st_size for path in directory.rglob("*") if path.is_file()] if directory.is_dir() else []
    return Usage(what=what, count=len(sizes), size=sum(sizes), where=str(directory))


def age(entry: Entry) -> float:
    return max(0.0, time.time() - entry.created)
