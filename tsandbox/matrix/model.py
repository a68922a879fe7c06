"""A matrix plan: every cell with its identifier and image, every exclusion with its reason, and the shards."""

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from tsandbox.errors import InvalidInput
from tsandbox.report.result import ErrorRecord, TargetRecord
from tsandbox.report.run import Excluded

SCHEMA = 1

# Identifiers are names of files too: no slash, no dot in front, and short enough for every file system.
_ID = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,239}")
_LONGEST_NAME = 200


class Cell(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recipe on one target. `error` holds why it cannot even be planned: it fails when it is run."""

    id: str
    tool: str
    # As it can be named again on another machine: a path as it was given, or the name of a shipped recipe.
    recipe: str
    target: TargetRecord
    # Directories where its dependencies are looked up besides its own, as given.
    recipes: tuple[str, ...] = ()
    key: str | None = None
    image: str | None = None
    # Of the plan: tells results of this very cell from those of an earlier state of the recipe.
    digest: str | None = None
    # It wants what a person has to agree to: to run commands of its own, or the network.
    consent: bool = False
    error: ErrorRecord | None = None
    exit_code: int = 0
    # Expected, from recorded durations; the build is paid once per image.
    run_ms: int = 0
    build_ms: int = 0
    # Always written, unlike other defaults: what divides the cells among machines reads it.
    shard: int = msgspec.field(default_factory=lambda: 1)

    @property
    def group(self) -> str:
        """Cells of one group share an image; one without an image stands alone."""
        return self.key or self.id


class Shard(Struct, frozen=True, kw_only=True):
    """A part of the plan for one machine: all its cells are of one architecture."""

    number: int
    arch: str
    cells: int
    cost_ms: int


class MatrixPlan(Struct, frozen=True, kw_only=True):
    cells: tuple[Cell, ...]
    excluded: tuple[Excluded, ...] = ()
    shards: tuple[Shard, ...] = ()
    warnings: tuple[str, ...] = ()
    version: str = ""
    schema: int = SCHEMA

    def images(self) -> int:
        return len({cell.key for cell in self.cells if cell.key})


def cell_name(tool: str) -> str:
    """The tool as identifiers hold it; `@scope/tool` is `@scope_tool` there."""
    name = re.sub(r"[^A-Za-z0-9._@+-]|^\.", "_", tool) or "_"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{sha256(tool.encode(errors='surrogateescape')).hexdigest()[:8]}"


def cell_id(tool: str, target: TargetRecord) -> str:
    return f"{cell_name(tool)}-{target}"


def write_matrix_plan(plan: MatrixPlan) -> bytes:
    return msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"


def read_matrix_plan(path: Path) -> MatrixPlan:
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=MatrixPlan)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}", file=str(path)) from None
    except msgspec.DecodeError as error:
        raise InvalidInput(
            f"{path}: not a matrix plan: {error}", file=str(path), hint="write one: tsandbox matrix plan --output FILE"
        ) from None
    if plan.schema > SCHEMA:
        raise InvalidInput(f"{path}: matrix plan schema {plan.schema} is newer than {SCHEMA}", file=str(path))
    _check_ids((cell.id for cell in plan.cells), str(path))
    return plan


def _check_ids(ids: Iterable[str], file: str) -> None:
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise InvalidInput(f"{file}: the cell {name} is planned twice", file=file)
        # Result files are called so, and a plan may come from another machine.
        if not _ID.fullmatch(name):
            raise InvalidInput(f"{file}: {name!r} does not name a cell", file=file)
        seen.add(name)
