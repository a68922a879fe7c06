"""Making a base inside a container: for hosts that are not Debian, where any Debian image is to be had."""

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from tsandbox import settings
from tsandbox.build import host
from tsandbox.build.base import base_tag
from tsandbox.build.contents import copied_out
from tsandbox.build.make_base import base_error, environment, mirror_environment, steps
from tsandbox.build.progress import Watch, tell
from tsandbox.build.workplace import Workplace
from tsandbox.derive import bases
from tsandbox.derive.bases import Definition
from tsandbox.engine.process import CommandFailed
from tsandbox.engine.protocol import BuildRequest, Engine
from tsandbox.errors import BuildFailed, EngineUnavailable

_SETTINGS = "/run/tsandbox-settings"
_CA = "/run/tsandbox-ca.crt"
_LABEL = "io.tsandbox.base.maker"
_PUBLISHED = "docker.io/library/debian:stable-slim"


def make_inside(engine: Engine, made_from: Definition, place: Workplace, watch: Watch | None) -> Path:
    """Two stages: a Debian makes the archive, and an image that holds nothing else lets us copy it out."""
    debian, work, tag = debian_image(engine), place.directory, place.tag
    tell(watch, f"base {made_from.name}: making it in a container of {debian}")
    context = work / "scripts"
    shutil.copytree(bases.directory(), context, ignore=shutil.ignore_patterns("closure"))
    request = BuildRequest(
        context=context,
        dockerfile=context / "Dockerfile",
        tag=tag,
        labels={_LABEL: made_from.name},
        platform=f"linux/{made_from.arch}",
        no_cache=True,
        timeout=3600.0,
    )
    given = host.HostSettings(
        files=dict(_files(work)), proxies=host.proxies(), packages=None, loopback=host.on_loopback()
    )
    lines: list[str] = []
    try:
        engine.build(
            host.request_for(engine, given, dockerfile=_dockerfile(made_from, debian), work=work, request=request),
            on_line=lines.append,
        )
    except BuildFailed as failed:
        said = CommandFailed(failed.message, command="sh fetch.sh", returncode=1, output="\n".join(lines))
        raise base_error(made_from, said) from failed
    return copied_out(engine, tag, "/base.tar", place)


def debian_image(engine: Engine) -> str:
    """The image that the user names, a builder base of ours, a Debian that is there, or one from a registry."""
    for reference in _candidates(engine):
        if engine.image(reference) is not None:
            return reference
    try:
        if engine.pull(_PUBLISHED) is not None:
            return _PUBLISHED
    except EngineUnavailable:
        pass
    raise BuildFailed(
        "this host is not Debian, and there is no Debian image to make the bases in",
        hint="pull one (`podman pull debian:stable-slim`), or name one that you have: TSANDBOX_DEBIAN_IMAGE=…",
    )


def _candidates(engine: Engine) -> Iterator[str]:
    if chosen := settings.option("debian_image"):
        yield chosen
        return
    yield from (tag for image in engine.images("io.tsandbox.base.name=builder") if (tag := base_tag(image)))
    yield from (f"debian:{tag}" for tag in ("stable-slim", "bookworm-slim", "trixie-slim", "stable", "latest"))


def _dockerfile(made_from: Definition, debian: str) -> str:
    """Without the mirror, which may hold credentials: that is in the mounted settings."""
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment(made_from).items())
    commands = " && ".join(shlex.join(step) for step in steps(made_from, "/scripts", "/made"))
    return (
        f"FROM {debian} AS maker\n"
        'COPY [".", "/scripts/"]\n'
        f"RUN . {_SETTINGS} && mkdir /made && export {variables} && {commands}\n"
        "FROM scratch\n"
        'COPY --from=maker ["/made/base.tar", "/base.tar"]\n'
    )


def _files(work: Path) -> Iterator[tuple[str, Path]]:
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in mirror_environment().items()]
    if bundle := host.ca_bundle():
        yield _CA, bundle
        lines.append(f"export CA_BUNDLE={_CA}\n")
    path = work / "settings"
    path.write_text("".join(lines) or ":\n", encoding="utf-8")
    yield _SETTINGS, path
