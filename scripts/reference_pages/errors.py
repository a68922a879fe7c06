"""Exit codes, and the errors behind each."""

from collections.abc import Iterator
from itertools import groupby

from reference_pages.markdown import code, table
from tsandbox import errors as room
from tsandbox.errors import TsandboxError

_MEANING = {
    0: "passed",
    1: "internal error: a bug in tsandbox",
    2: "wrong usage",
    3: "recipe or plan invalid",
    4: "not supported on this target",
    5: "no usable engine",
    6: "image build failed",
    7: "installation failed",
    8: "verification failed",
    9: "timed out",
    10: "skipped, without `--allow-skip`",
    130: "interrupted",
    141: "the reader of the output went away",
}


def errors() -> str:
    kinds = sorted(_all(TsandboxError), key=lambda kind: kind.exit_code)
    by_code = {number: list(group) for number, group in groupby(kinds, key=lambda kind: kind.exit_code)}
    text = table(["Exit code", "Meaning"], [[code(str(number)), meaning] for number, meaning in _MEANING.items()])
    text += "With `--json` every outcome is one object; `error.type` in it is one of these:\n\n"
    rows = [
        [code(kind.__name__), code(str(number)), kind.status, (kind.__doc__ or "").strip()]
        for number, group in by_code.items()
        for kind in group
    ]
    return text + table(["Error", "Exit code", "Status", "When"], rows)


def _all(kind: type[TsandboxError]) -> Iterator[type[TsandboxError]]:
    # Those of single rooms refine these and share their exit codes.
    if kind.__module__ == room.__name__:
        yield kind
    for below in kind.__subclasses__():
        yield from _all(below)
