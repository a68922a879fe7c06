"""The whole plan: cells, minus exclusions, minus what did not change, with costs, in shards."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tsandbox import __version__
from tsandbox.matrix.changes import Changes
from tsandbox.matrix.durations import Durations, with_costs
from tsandbox.matrix.exclusions import Exclusion, find_exclusion, unused
from tsandbox.matrix.model import Cell, MatrixPlan
from tsandbox.matrix.planning import Planned, plan_cells
from tsandbox.matrix.sharding import default_count, shard_cells
from tsandbox.plan import Catalog
from tsandbox.plan.files import Source
from tsandbox.recipe import Target
from tsandbox.report.run import Excluded


class Wishes(Struct, frozen=True, kw_only=True):
    """What the user asked of a plan beyond recipes and targets."""

    exclusions: tuple[Exclusion, ...] = ()
    changes: Changes | None = None
    durations: Durations = Durations()
    shards: int | None = None
    max_jobs: int | None = None
    recipes: tuple[str, ...] = ()


def make_plan(sources: Iterable[Source], targets: Sequence[Target], catalog: Catalog, wishes: Wishes) -> MatrixPlan:
    planned = [_decide(each, wishes) for each in plan_cells(sources, targets, catalog, wishes.recipes)]
    cells = with_costs((each.cell for each in planned if each.cell), wishes.durations)
    count = wishes.shards or (default_count(cells, wishes.max_jobs) if wishes.max_jobs else None)
    sharded, shards = shard_cells(cells, count or len({target.arch for target in targets}))
    warnings = [f"the exclusion {pattern!r} matches no cell" for pattern in unused(wishes.exclusions, _ids(planned))]
    if wishes.changes and wishes.changes.everything:
        warnings.append(f"{wishes.changes.everything} changed since {wishes.changes.ref}: every cell counts as changed")
    return MatrixPlan(
        cells=tuple(sharded),
        excluded=tuple(each.excluded for each in planned if each.excluded),
        shards=shards,
        warnings=tuple(warnings),
        version=__version__,
    )


def shard_again(plan: MatrixPlan, count: int) -> MatrixPlan:
    """The same cells in another number of shards: every machine that asks for the same number gets the same parts."""
    if len(plan.shards) == count:
        return plan
    cells, shards = shard_cells(plan.cells, count)
    return replace(plan, cells=tuple(cells), shards=shards)


def default_exclusions(names: Iterable[str], file_name: str) -> list[Path]:
    """Exclusions that lie in the directories of recipes which were named."""
    return [path for name in names if (path := Path(name) / file_name).is_file()]


def _decide(planned: Planned, wishes: Wishes) -> Planned:
    cell = planned.cell
    if cell is None:
        return planned
    if exclusion := find_exclusion(cell.id, wishes.exclusions):
        return Planned(excluded=_excluded(cell, exclusion), files=planned.files)
    # What cannot be planned is never "unchanged": a dependency may have gone away under it.
    if wishes.changes and not cell.error and not wishes.changes.touch(planned.files):
        reason = f"neither it nor what it needs changed since {wishes.changes.ref}"
        left_out = Excluded(id=cell.id, tool=cell.tool, target=cell.target, kind="unchanged", reason=reason)
        return Planned(excluded=left_out, files=planned.files)
    return planned


def _excluded(cell: Cell, exclusion: Exclusion) -> Excluded:
    return Excluded(
        id=cell.id,
        tool=cell.tool,
        target=cell.target,
        kind="exclusion",
        reason=exclusion.reason,
        owner=exclusion.owner,
        link=exclusion.link,
        expires=exclusion.expires.isoformat(),
    )


def _ids(planned: Iterable[Planned]) -> list[str]:
    return [each.id for each in planned]
