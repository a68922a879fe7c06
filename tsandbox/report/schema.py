"""The JSON Schema of results."""

from tsandbox.recipe.schema import DRAFT, Schema, components
from tsandbox.report.result import Result


def result_schema() -> Schema:
    """The schema of one result; fields are only ever added."""
    made = components([Result])
    return {"$schema": DRAFT, **made.pop("Result"), "title": "tsandbox result", "$defs": made}
