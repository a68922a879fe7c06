"""Checks of what tsandbox itself keeps: bases and cached images."""

import time

from tsandbox.build import cache
from tsandbox.build.base import archive_of
from tsandbox.build.doctor.check import Check, gigabytes
from tsandbox.build.make_base import host_can
from tsandbox.derive import bases
from tsandbox.engine import Engine
from tsandbox.recipe.target import host_arch

_OLD = 30 * 86400.0
_LARGE = 20e9


def base(engine: Engine) -> Check:
    arch = host_arch()
    wanted = {name: bases.base(name, arch) for name in bases.MADE_HERE}
    images = {name: engine.image(one.image) for name, one in wanted.items()}
    missing = [name for name, image in images.items() if image is None]
    epoch = bases.epoch()
    if not missing:
        age = time.time() - min(image.created for image in images.values() if image)
        old = age > _OLD
        return Check(
            name="base",
            engine=engine.name,
            state="warning" if old else "ok",
            found=f"{' and '.join(wanted)} are made: Debian {bases.default_suite()}, epoch {epoch}",
            meaning="they lack the security updates of the last month" if old else "",
            fix="tsandbox base build --refresh" if old else "",
        )
    kept = all(archive_of(name, wanted[name].digest).is_file() for name in missing)
    if kept or host_can(bases.definition(missing[0], arch)):
        return Check(
            name="base",
            engine=engine.name,
            state="info",
            found=f"not made yet in {engine.name}: {', '.join(missing)}",
            meaning="made on first need, from Debian's packages",
            fix="tsandbox base build",
            remedy="base",
        )
    return Check(
        name="base",
        engine=engine.name,
        state="warning",
        found=f"not made yet in {engine.name}: {', '.join(missing)}, and this host has no apt to make them with",
        meaning="they are made inside a container of a Debian image, which has to be pulled",
        fix="tsandbox base build, where a registry can be reached; or tsandbox cache import from a host that has them",
        remedy="base",
    )


def images(engine: Engine) -> Check:
    found = cache.entries(engine)
    total = sum(entry.own_size for entry in found)
    text = f"{len(found)} {'image' if len(found) == 1 else 'images'}, {gigabytes(total)} beside their bases"
    if total < _LARGE:
        return Check(name="cache", engine=engine.name, state="ok", found=text)
    return Check(
        name="cache",
        engine=engine.name,
        state="info",
        found=text,
        fix="tsandbox cache gc --max-size 10G --older-than 30d",
    )
