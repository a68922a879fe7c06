"""`tsandbox cache export` and `import`: images as files, with no registry."""

from pathlib import Path

import click

from tsandbox.cli.engines import connected, engine_option, interruptible
from tsandbox.cli.output import Output, examples, output_options, safe


@click.command(
    name="export",
    short_help="Write images to a directory as OCI archives.",
    epilog=examples("tsandbox cache export jq exports/", "tsandbox cache export 1c0ef430dad6 df8c0ee042f0 exports/"),
)
@click.argument("keys", nargs=-1, required=True, metavar="KEY…")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@engine_option
@output_options
@click.pass_obj
def export(output: Output, keys: tuple[str, ...], directory: Path, engine: str | None) -> None:
    """Write the images KEY… to DIR as OCI archives, with SHA256SUMS and a manifest.

    KEY is a key, the beginning of one, a tag, or the name of a tool that has one image.
    """
    from tsandbox.build.cache import choose, entries
    from tsandbox.build.share import export as exported
    from tsandbox.cli.build_many import shown
    from tsandbox.report.words import size

    using = connected(engine)
    found = entries(using)
    chosen = [choose(found, key) for key in keys]
    with interruptible(), shown(output) as watch:
        done = exported(using, chosen, directory, watch("export"))
    if output.json:
        output.answer(directory=str(directory), images=done)
        return
    for each in done:
        output.say(f"{directory / each.file}  {size(each.size)}")


@click.command(
    name="import",
    epilog=examples("tsandbox cache import exports/", "tsandbox cache import exports/jq-….oci.tar"),
)
@click.argument("source", metavar="DIR|FILE", type=click.Path(path_type=Path, exists=True))
@engine_option
@output_options
@click.pass_obj
def import_(output: Output, source: Path, engine: str | None) -> None:
    """Load exported images. Every byte is verified before; what was damaged or changed is refused."""
    from tsandbox.build.share import import_all
    from tsandbox.cli.build_many import shown

    with interruptible(), shown(output) as watch:
        done = import_all(connected(engine), source, watch("import"))
    if output.json:
        output.answer(images=done)
        return
    for each in done:
        output.say(f"{each.image}  {safe(each.tool)}")
