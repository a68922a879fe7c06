"""`tsandbox matrix`: recipes × families × architectures, planned, run, merged and reported."""

import click

from tsandbox.cli.matrix_ci import github, gitlab
from tsandbox.cli.matrix_merge import merge, report
from tsandbox.cli.matrix_plan import plan
from tsandbox.cli.matrix_run import run
from tsandbox.cli.output import examples, output_options


@click.group(
    name="matrix",
    epilog=examples(
        "tsandbox matrix plan recipes/ --family all                       every cell, and why others are left out",
        "tsandbox matrix run recipes/ --results results                   prove them all on this machine",
        "tsandbox matrix report results --format html --output report.html",
        "tsandbox matrix github recipes/ --write                          the same in GitHub Actions",
    ),
)
@output_options
def command() -> None:
    """Prove recipes × families × architectures, in parallel or in CI."""


for each in (plan, run, merge, report, github, gitlab):
    command.add_command(each)
