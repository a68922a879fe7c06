"""`tsandbox replay`: a run that failed elsewhere, again."""

from pathlib import Path

import click

from tsandbox.cli.engines import interruptible
from tsandbox.cli.inputs import Chosen
from tsandbox.cli.install import in_sandbox
from tsandbox.cli.install_consent import ask
from tsandbox.cli.install_options import environment
from tsandbox.cli.output import Output, examples, output_options, safe


@click.command(
    name="replay",
    epilog=examples(
        "tsandbox install my.toml --sandbox --capsule failed.tar.gz   where it fails",
        "tsandbox replay failed.tar.gz --yes                          anywhere else",
        "tsandbox shell failed.tar.gz --step 3                        look around before step 3",
    ),
)
@click.argument("capsule", metavar="CAPSULE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--engine", metavar="ENGINE", help="podman, docker or auto; by default the one of the capsule.")
@click.option(
    "--env", "env", multiple=True, metavar="KEY[=VALUE]", help="A variable that the run had; may be repeated."
)
@click.option("--offline", is_flag=True, help="Fetch nothing: use what is in the caches.")
@click.option("--yes", "-y", is_flag=True, help="Agree to commands and network access of the recipe.")
@output_options
@click.pass_obj
def command(output: Output, capsule: Path, engine: str | None, env: tuple[str, ...], offline: bool, yes: bool) -> int:
    """Run again what CAPSULE holds: the same plan, target, limits and profile. Ends with the run's exit code."""
    from tsandbox.derive import define_image, derive
    from tsandbox.sandbox.capsule import read

    with interruptible():
        held = read(capsule)
        about = held.about
        agreed = ask(held.plan, yes=yes, output=output)
        options = held.options(environment(env), offline=offline, allow_run_command=agreed)
        chosen = Chosen(held.plan, about.target)
        if about.key not in (None, define_image(derive(held.plan, about.target, profile=about.profile)).key):
            output.warn("the image is another one than then: tsandbox, its bases or their date have changed")
        code = in_sandbox(output, chosen, "-", options, engine=engine or about.engine)
    if code == about.exit_code:
        output.progress(f"the same exit code as in the capsule: {code}")
    else:
        output.warn(f"in the capsule it ended with exit code {about.exit_code}: {safe(about.message or 'passed')}")
    return code
