"""`tsandbox schema`: the formats, for editors and other programs."""

from importlib import import_module
from typing import Any

import click

from tsandbox.cli.output import Output, examples, output_options

# Format → the room that owns its model, and the function there.
_FORMATS = {
    "recipe": ("tsandbox.recipe.schema", "recipe_schema"),
    "plan": ("tsandbox.plan.schema", "plan_schema"),
    "spec": ("tsandbox.derive.schema", "spec_schema"),
    "result": ("tsandbox.report.schema", "result_schema"),
}


@click.command(
    name="schema",
    epilog=examples(
        "tsandbox schema recipe > recipe.schema.json    for an editor that completes recipes",
        "tsandbox schema result                         what --json prints",
    ),
)
@click.argument("form", metavar="FORMAT", type=click.Choice(list(_FORMATS)))
@output_options
@click.pass_obj
def command(output: Output, form: str) -> None:
    """Print the JSON Schema of FORMAT: recipe, plan, spec or result."""
    import msgspec

    output.data(msgspec.json.format(msgspec.json.encode(schema_of(form)), indent=2) + b"\n")


def schema_of(form: str) -> dict[str, Any]:
    module, function = _FORMATS[form]
    made = getattr(import_module(module), function)()
    assert isinstance(made, dict)
    return made
