"""Making room: images of the cache that nobody needs, least recently used first. Nothing foreign is touched."""

import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tsandbox.build import base, host, made, used
from tsandbox.build.cache import Entry, entries
from tsandbox.engine.protocol import Engine, Image
from tsandbox.errors import EngineUnavailable

Why = Literal["not reachable", "not used lately", "too much in all", "no image stands on it", "old"]


class Limits(Struct, frozen=True, kw_only=True):
    """What may stay. With none of the first two, everything goes that is not reachable."""

    max_size: int | None = None
    older_than: float | None = None
    # Keys that the given recipes ask for; None when none were given.
    reachable: frozenset[str] | None = None


class Removal(Struct, frozen=True, kw_only=True):
    what: str
    tool: str
    size: int
    why: Why
    # Why it is still there, if it could not be removed.
    kept: str | None = None


def collect(engine: Engine, limits: Limits, *, dry_run: bool = False) -> list[Removal]:
    """Remove what the limits do not let stay, and the bases and packages that are of no use any more."""
    found = entries(engine)
    chosen = dict(chosen_images(found, limits, time.time()))
    done = [_image(engine, entry, chosen[entry.key], dry_run) for entry in found if entry.key in chosen]
    gone = {entry.key for entry in found if entry.key in chosen}
    in_use = {entry.base for entry in found if entry.key not in gone}
    done += [_base(engine, image, dry_run) for image in base.made_bases(engine) if _stale(image, in_use)]
    if limits.older_than is not None:
        done += _old_files(limits.older_than, dry_run)
    return done


def chosen_images(found: Collection[Entry], limits: Limits, now: float) -> Iterator[tuple[str, Why]]:
    """The keys to remove, least recently used first."""
    oldest_first = sorted(found, key=lambda entry: entry.last_used)
    candidates = [entry for entry in oldest_first if entry.key not in (limits.reachable or ())]
    if limits.max_size is None and limits.older_than is None:
        yield from ((entry.key, "not reachable") for entry in candidates)
        return
    total = sum(entry.own_size for entry in found)
    for entry in candidates:
        if limits.older_than is not None and now - entry.last_used > limits.older_than:
            yield entry.key, "not used lately"
        elif limits.max_size is not None and total > limits.max_size:
            yield entry.key, "too much in all"
        else:
            continue
        total -= entry.own_size


def _image(engine: Engine, entry: Entry, why: Why, dry_run: bool) -> Removal:
    kept = None if dry_run else _remove(engine, entry.reference)
    if not dry_run and kept is None:
        used.forget(engine.name, entry.key)
        made.forget(engine.name, entry.key)
    return Removal(what=entry.reference, tool=entry.tool, size=entry.own_size, why=why, kept=kept)


def _stale(image: Image, in_use: Collection[str]) -> bool:
    """A base of another epoch or definition than today's, which no image stands on."""
    return image.labels[base.DIGEST] not in in_use and not base.is_current(image)


def _base(engine: Engine, image: Image, dry_run: bool) -> Removal:
    tag = base.base_tag(image) or image.id
    kept = None if dry_run else _remove(engine, tag)
    if not dry_run and kept is None:
        base.archive_of(image.labels[base.NAME], image.labels[base.DIGEST]).unlink(missing_ok=True)
    return Removal(what=tag, tool="", size=image.size, why="no image stands on it", kept=kept)


def _remove(engine: Engine, tag: str) -> str | None:
    """By its tag, so that an image with other people's tags keeps them; the answer is why it is still there."""
    try:
        engine.remove_image(tag)
    except EngineUnavailable as error:
        if type(error) is not EngineUnavailable:
            raise
        return (error.details or (error.message,))[-1]
    return None


def _old_files(older_than: float, dry_run: bool) -> list[Removal]:
    """Fetched packages that no build has taken for so long, and archives of bases that nothing would make again."""
    before = time.time() - older_than
    kinds = {
        "fetched packages": set(host.packages_dir().glob("*.deb")),
        "archives of bases": set(base.archives_dir().glob("*.tar")) - base.current_archives(),
    }
    removed = []
    for what, paths in kinds.items():
        if old := _sizes(paths, before):
            removed.append(Removal(what=f"{len(old)} {what}", tool="", size=sum(old.values()), why="old"))
            for path in old if not dry_run else ():
                path.unlink(missing_ok=True)
    return removed


def _sizes(paths: Collection[Path], before: float) -> dict[Path, int]:
    """Of those that were last changed before a moment; another process may remove one meanwhile."""
    found = {}
    for path in paths:
        with suppress(FileNotFoundError):
            about = path.stat()
            if about.st_mtime < before:
                found[path] = about.st_size
    return found
