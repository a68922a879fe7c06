"""Having the image of a spec: reused when the cache has it, else built, once for all who want it."""

import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tsandbox.build.image import BuiltImage, find, is_hit, labels
from tsandbox.build.locking import locked
from tsandbox.build.logs import log_file
from tsandbox.build.made import note_made
from tsandbox.build.platform import refuse_foreign
from tsandbox.build.progress import Reader, Watch, tell
from tsandbox.build.used import note_use
from tsandbox.build.workplace import Workplace, reap, workplace, write_context
from tsandbox.derive import ContainerSpec, ImageDefinition
from tsandbox.derive.key import tag_of
from tsandbox.derive.known_keys import key_of, remember_key
from tsandbox.engine.protocol import BuildRequest, Engine, Image
from tsandbox.errors import (
    BuildFailed,
    EngineUnavailable,
    MissingDependency,
    NotSupported,
    Problem,
    TimedOut,
    TsandboxError,
)

DEFAULT_TIMEOUT = 1800.0


class BuildOptions(Struct, frozen=True, kw_only=True):
    """How to look for an image and how to build it; none of it changes what the image is."""

    # Build anew what is there: with the package versions of today.
    no_cache: bool = False
    # An image that is older (in seconds) is built anew.
    max_age: float | None = None
    timeout: float | None = DEFAULT_TIMEOUT


_USUAL = BuildOptions()


def ensure_image(
    engine: Engine, spec: ContainerSpec, options: BuildOptions = _USUAL, *, watch: Watch | None = None
) -> BuiltImage:
    """The image that `spec` describes."""
    begun = time.time()
    refuse_blocked(spec)
    key = key_of(spec)
    not_before = oldest_useful(options, begun)
    reap(engine)
    image = find(engine, key, not_before=not_before)
    if image is not None:
        return _hit(engine, spec, key, image, begun)
    waiting = f"{spec.tool}: another process builds the same image; waiting"
    lock = f"image-{engine.name}-{key.removeprefix('sha256:')}"
    with locked(lock, timeout=options.timeout, on_wait=lambda: tell(watch, waiting)):
        tagged = engine.image(tag_of(key))
        if tagged is not None and is_hit(tagged, key, not_before=not_before):
            return _hit(engine, spec, key, tagged, begun)
        made = _pulled_or_built(engine, spec, remember_key(spec), options, begun, watch)
        if tagged is not None and tagged.id != made.id:
            _remove_replaced(engine, tagged)
        return made


def _pulled_or_built(
    engine: Engine,
    spec: ContainerSpec,
    definition: ImageDefinition,
    options: BuildOptions,
    begun: float,
    watch: Watch | None,
) -> BuiltImage:
    """With a shared registry nobody builds what another machine has built; without one, this is a build."""
    # Late, here and below: most runs find their image, and need nothing of what builds one.
    from tsandbox.build import registry

    notes: list[str] = []

    def warn(text: str) -> None:
        notes.append(text)
        tell(watch, text)

    image = None if options.no_cache else registry.pull_if_there(engine, definition.key, warn)
    if image is not None and image.created >= oldest_useful(options, begun):
        return replace(_hit(engine, spec, definition.key, image, begun), pulled=True, notes=tuple(notes))
    built = _built(engine, spec, definition, options, begun, watch)
    registry.push_if_asked(engine, definition.key, warn)
    return replace(built, notes=tuple(notes))


def oldest_useful(options: BuildOptions, now: float) -> float:
    """The moment before which no image may have been made. What another process builds meanwhile is new enough."""
    if options.no_cache:
        return now
    return 0.0 if options.max_age is None else now - options.max_age


def refuse_blocked(spec: ContainerSpec) -> None:
    """A spec can be shown that must not be built; the first reason decides the exit code."""
    for blocker in spec.blockers:
        if blocker.kind == "missing_dependency":
            problem = Problem(blocker.file or spec.source, blocker.line, "", blocker.message)
            raise MissingDependency(blocker.message, problems=[problem], hint=blocker.hint)
        raise NotSupported(blocker.message, hint=blocker.hint, file=blocker.file, line=blocker.line)


def _hit(engine: Engine, spec: ContainerSpec, key: str, image: Image, begun: float) -> BuiltImage:
    note_use(engine.name, key, spec.tool, spec.source)
    return BuiltImage(
        reference=tag_of(key),
        id=image.id,
        key=key,
        cached=True,
        size=image.size,
        seconds=time.time() - begun,
    )


def _built(
    engine: Engine,
    spec: ContainerSpec,
    definition: ImageDefinition,
    options: BuildOptions,
    begun: float,
    watch: Watch | None,
) -> BuiltImage:
    from tsandbox.build import failure, names

    refuse_foreign(spec.target.arch)
    _ensure_bases(engine, spec, watch)
    with workplace(engine) as place, log_file(spec.tool) as log:
        reader = Reader(watch)

        def on_line(line: str) -> None:
            log.write(f"{line}\n")
            reader.line(line)

        request = _request(engine, spec, definition, options, place)
        try:
            image = engine.build(request, on_line=on_line)
        except (BuildFailed, EngineUnavailable) as failed:
            near = names.Nearby(engine, spec, place)
            raise _logged(failure.explain(failed, reader.last, spec, Path(log.name), near), log.name) from failed
        except TimedOut as slow:
            raise _logged(_too_slow(slow, spec, options, Path(log.name)), log.name) from slow
        engine.tag(image.id, definition.tag)
        note_made(engine.name, definition.key, image.id)
    note_use(engine.name, definition.key, spec.tool, spec.source)
    return BuiltImage(
        reference=definition.tag,
        id=image.id,
        key=definition.key,
        cached=False,
        size=image.size,
        seconds=time.time() - begun,
        log=Path(log.name),
    )


def _ensure_bases(engine: Engine, spec: ContainerSpec, watch: Watch | None) -> None:
    from tsandbox.build.base import ensure_base

    for needed in spec.stands_on:
        ensure_base(engine, needed.name, spec.target.arch, watch=watch)


def _request(
    engine: Engine, spec: ContainerSpec, definition: ImageDefinition, options: BuildOptions, place: Workplace
) -> BuildRequest:
    from tsandbox.build import host

    request = BuildRequest(
        context=write_context(definition, place.directory / "context"),
        dockerfile=place.directory / "Dockerfile",
        tag=place.tag,
        labels=labels(spec, definition),
        platform=spec.target.platform,
        # A builder's own cache knows steps, not the age of what they fetched.
        no_cache=options.no_cache or options.max_age is not None,
        timeout=options.timeout,
    )
    settings = host.host_settings(spec, place.directory)
    return host.request_for(engine, settings, dockerfile=definition.dockerfile, work=place.directory, request=request)


def _logged(error: TsandboxError, log: str) -> TsandboxError:
    error.log = log
    return error


def _too_slow(slow: TimedOut, spec: ContainerSpec, options: BuildOptions, log: Path) -> TimedOut:
    return TimedOut(
        f"{spec.source}: the image of {spec.tool} was not built within {options.timeout:g} s; the build was stopped",
        hint="give it more time with --timeout, or look at the log for what it was waiting for",
        file=spec.source,
        stage="build",
        details=[*slow.details[1:], f"log: {log}"],
    )


def _remove_replaced(engine: Engine, old: Image) -> None:
    """The image that had the tag before; one that something still uses stays."""
    with suppress(TsandboxError):
        if not (engine.image(old.id) or old).tags:
            engine.remove_image(old.id)
