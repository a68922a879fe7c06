"""Parts of a plan for several machines: equal in work, with the cells of one image together."""

import heapq
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tsandbox.errors import UsageError
from tsandbox.matrix.model import Cell, Shard


def shard_cells(cells: Sequence[Cell], count: int) -> tuple[list[Cell], tuple[Shard, ...]]:
    """Every cell in exactly one of at most `count` shards; no shard mixes architectures."""
    by_arch: dict[str, list[Cell]] = {}
    for cell in cells:
        by_arch.setdefault(cell.target.arch, []).append(cell)
    if len(by_arch) > count:
        raise UsageError(
            f"{len(by_arch)} architectures do not fit into {count} shards: a machine serves only its own",
            hint=f"ask for at least {len(by_arch)}, or plan one --arch at a time",
        )
    shares = _shares({arch: _cost(part) for arch, part in by_arch.items()}, count)
    numbers: dict[str, int] = {}
    shards: list[Shard] = []
    for arch, part in sorted(by_arch.items()):
        for bin_ in _balanced(part, shares[arch]):
            number = len(shards) + 1
            shards.append(Shard(number=number, arch=arch, cells=len(bin_), cost_ms=_cost(bin_)))
            numbers.update((cell.id, number) for cell in bin_)
    return [replace(cell, shard=numbers[cell.id]) for cell in cells], tuple(shards)


def default_count(cells: Sequence[Cell], max_jobs: int) -> int:
    """As many shards as there are images to build, but no more than the CI system starts."""
    return max(1, min(max_jobs, len({(cell.target.arch, cell.group) for cell in cells})))


def _shares(costs: dict[str, int], count: int) -> dict[str, int]:
    """How many shards each architecture gets: one at least, the others where a shard would be the longest."""
    shares = dict.fromkeys(costs, 1)
    for _ in range(count - len(costs) if costs else 0):
        shares[max(costs, key=lambda arch: (costs[arch] / shares[arch], arch))] += 1
    return shares


def _balanced(cells: Sequence[Cell], count: int) -> list[list[Cell]]:
    """Longest piece first into the emptiest bin; empty bins are not shards."""
    pieces = _pieces(cells, _cost(cells) // count)
    pieces.sort(key=lambda piece: (-_cost(piece), piece[0].id))
    bins: list[list[Cell]] = [[] for _ in range(min(count, len(pieces)))]
    heap = [(0, number) for number in range(len(bins))]
    for piece in pieces:
        load, number = heapq.heappop(heap)
        bins[number] += piece
        heapq.heappush(heap, (load + _cost(piece), number))
    return bins


def _pieces(cells: Sequence[Cell], fair: int) -> list[list[Cell]]:
    """The cells of each image. A group larger than a fair share would alone decide how long all take: it is cut."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    return [piece for group in groups.values() for piece in _cut(group, fair)]


def _cut(group: list[Cell], fair: int) -> Iterable[list[Cell]]:
    if _cost(group) <= fair or len(group) == 1:
        yield group
        return
    build = max(cell.build_ms for cell in group)
    piece: list[Cell] = []
    cost = build
    for cell in group:
        if piece and cost + cell.run_ms > fair:
            yield piece
            piece, cost = [], build
        piece.append(cell)
        cost += cell.run_ms
    yield piece


def _cost(cells: Iterable[Cell]) -> int:
    """What running these cells takes when each image is built once."""
    builds: dict[str, int] = {}
    total = 0
    for cell in cells:
        total += cell.run_ms
        builds[cell.group] = max(builds.get(cell.group, 0), cell.build_ms)
    return total + sum(builds.values())
