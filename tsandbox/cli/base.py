"""`tsandbox base`: the bases that images stand on."""

from typing import TYPE_CHECKING, Any

import click

from tsandbox.cli.engines import connected, engine_option, interruptible
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import UsageError

if TYPE_CHECKING:
    from tsandbox.engine import Image


@click.group(
    name="base",
    epilog=examples(
        "tsandbox base build                     both bases of the default suite, unless they are there",
        "tsandbox base build runtime --suite trixie",
        "tsandbox base build --refresh           from the archive of today: every image is built anew on it",
        "tsandbox base ls                        size, suite, epoch, age",
        "tsandbox base inspect runtime           its packages and what decides its digest",
    ),
)
@output_options
def command() -> None:
    """Make and inspect the bases that images stand on."""


@command.command(
    name="build",
    short_help="Make the bases, unless they are there.",
    epilog=examples(
        "tsandbox base build", "tsandbox base build builder --suite trixie", "tsandbox base build --refresh"
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--suite", metavar="SUITE", help="Debian suite: bookworm or trixie.")
@click.option("--arch", metavar="ARCH", help="amd64 or arm64; by default this machine's.")
@click.option("--refresh", is_flag=True, help="Move the epoch to now: bases and all keys become new.")
@engine_option
@output_options
@click.pass_obj
def build(
    output: Output, names: tuple[str, ...], suite: str | None, arch: str | None, refresh: bool, engine: str | None
) -> None:
    """Make the bases NAME (runtime, builder, or a family's; by default the first two), unless they are there."""
    from tsandbox.build import ensure_base
    from tsandbox.cli.build_many import shown
    from tsandbox.derive import bases
    from tsandbox.recipe.target import host_arch, normal_arch

    if refresh:
        from tsandbox.build.refresh import move_epoch

        output.progress(f"the bases now stand for {move_epoch()}")
    wanted_arch = normal_arch(arch) if arch else host_arch()
    using = connected(engine)
    rows = []
    for name in names or bases.MADE_HERE:
        with interruptible(), shown(output) as watch:
            image = ensure_base(using, name, wanted_arch, suite, watch=watch(using.name))
        wanted = bases.base(name, wanted_arch, suite)
        # An image of another family carries none of our labels.
        told = {"name": name, "arch": wanted_arch, "current": True, "digest": wanted.digest, "image": wanted.image}
        rows.append(_row(image) | told)
    _print(rows, output)


@command.command(name="ls", epilog=examples("tsandbox base ls", "tsandbox base ls --json"))
@engine_option
@output_options
@click.pass_obj
def ls(output: Output, engine: str | None) -> None:
    """List the bases in the engine.

    New images stand on the current ones, which are made by the definition and epoch of today.
    """
    from tsandbox.build.base import made_bases

    rows = [_row(image) for image in made_bases(connected(engine))]
    _print(sorted(rows, key=lambda row: (row["suite"], row["name"], row["epoch"])), output)


@command.command(
    name="inspect",
    short_help="Show what a base is made of.",
    epilog=examples("tsandbox base inspect runtime", "tsandbox base inspect builder --json"),
)
@click.argument("name")
@click.option("--suite", metavar="SUITE", help="Debian suite: bookworm or trixie.")
@click.option("--arch", metavar="ARCH", help="amd64 or arm64; by default this machine's.")
@engine_option
@output_options
@click.pass_obj
def inspect(output: Output, name: str, suite: str | None, arch: str | None, engine: str | None) -> None:
    """Show what the base NAME is made of: its definition and, where it has been made, its packages."""
    from tsandbox.build.contents import packages_in
    from tsandbox.derive import bases
    from tsandbox.recipe.target import host_arch, normal_arch

    if name not in bases.MADE_HERE:
        raise UsageError(f"{name!r} is not a base that is made here", hint=f"one of: {', '.join(bases.MADE_HERE)}")
    wanted_arch = normal_arch(arch) if arch else host_arch()
    wanted = bases.base(name, wanted_arch, suite)
    using = connected(engine)
    image = using.image(wanted.image)
    packages = packages_in(using, wanted.image) if image else []
    about = {
        "name": name,
        "image": wanted.image,
        "digest": wanted.digest,
        "made": image is not None,
        "size": image.size if image else None,
        "definition": bases.definition(name, wanted_arch, suite),
        "packages": packages,
    }
    if output.json:
        output.answer(**about)
        return
    from tsandbox.report.words import size

    made_from = bases.definition(name, wanted_arch, suite)
    shown = {"image": wanted.image, "digest": wanted.digest, "suite": made_from.suite, "epoch": made_from.epoch}
    for key, value in {**shown, "size": size(image.size) if image else "not made yet: tsandbox base build"}.items():
        output.say(f"{key:8} {value}")
    for package in packages:
        output.say(f"  {safe(package.name)} {safe(package.version)}")


def _row(image: "Image") -> dict[str, Any]:
    import time

    from tsandbox.build import base

    labels = image.labels
    return {
        "name": labels.get(base.NAME, ""),
        "suite": labels.get(base.SUITE, ""),
        "arch": labels.get(base.ARCH, ""),
        "epoch": labels.get(base.EPOCH, ""),
        "packages": int(labels.get(base.PACKAGES, "0")),
        "size": image.size,
        "age_seconds": max(0, round(time.time() - image.created)),
        "current": base.is_current(image),
        "digest": labels.get(base.DIGEST, ""),
        "image": next(iter(image.tags), image.id),
    }


def _print(rows: list[dict[str, Any]], output: Output) -> None:
    from tsandbox.cli.tables import age, table
    from tsandbox.report.words import size

    if output.json:
        output.answer(bases=rows)
        return
    columns = [
        [row["name"], row["suite"], row["arch"], row["epoch"], "yes" if row["current"] else "no",
         age(row["age_seconds"]), size(row["size"]), str(row["packages"]), row["image"].rpartition(":")[2]]
        for row in rows
    ]  # fmt: skip
    heads = ["NAME", "SUITE", "ARCH", "EPOCH", "CURRENT", "AGE", "SIZE", "PACKAGES", "TAG"]
    output.say(table(heads, columns) if rows else "no bases yet: tsandbox base build")
