"""The conditions of a step."""

from reference_pages.markdown import code, table
from tsandbox.recipe.target import MANAGER_OF
from tsandbox.recipe.when import VALUES


def when() -> str:
    rows = [[code(key), ", ".join(map(code, values))] for key, values in VALUES.items()]
    families = [
        [code(family), code(manager), "musl" if family == "alpine" else "glibc"]
        for family, manager in MANAGER_OF.items()
    ]
    return (
        "`when` is a table; each key takes one value or a list. A list means any of them, several keys mean all.\n"
        "`platform`, when present, decides alone. `libc` is ignored off Linux. An empty value says nothing.\n"
        "A package or repository action carries its family as a further condition. Unknown keys and\n"
        "values are errors.\n\n"
        + table(["Key", "Values"], rows)
        + "`x86_64` and `aarch64` are read as `amd64` and `arm64`.\n\n## Families\n\n"
        + table(["Family", "Package manager", "libc"], families)
    )
