"""In which order cells run: an image's first cell builds it, the others follow when it is there."""

from collections import deque
from collections.abc import Sequence

from msgspec.structs import replace

from tsandbox.matrix.attempts import finished
from tsandbox.matrix.model import Cell
from tsandbox.report.result import Result

Group = tuple[Cell, ...]


class Schedule:
    """What is left to do. `stop()` hands out no further cells; what runs may end."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        groups: dict[str, list[Cell]] = {}
        for cell in cells:
            groups.setdefault(cell.group, []).append(cell)
        self.groups: list[Group] = sorted(map(tuple, groups.values()), key=_cost, reverse=True)
        self.stopped = False
        self._leaders = deque(group[0] for group in self.groups)
        self._followers = {group[0].id: group[1:] for group in self.groups if len(group) > 1}
        self._ready: deque[Cell] = deque()

    def take(self) -> Cell | None:
        """A cell to start now, or None: cells whose image is there first, since they are sure to be quick."""
        if self.stopped:
            return None
        if self._ready:
            return self._ready.popleft()
        return self._leaders.popleft() if self._leaders else None

    def again(self, cell: Cell) -> None:
        self._ready.append(cell)

    def ended(self, cell: Cell, result: Result) -> list[tuple[Cell, Result]]:
        """Lets followers go; where their image could not be built, their results are known without a try."""
        followers = self._followers.pop(cell.id, ())
        if not build_failed(result):
            self._ready.extend(followers)
            return []
        return [(follower, inherited(follower, result)) for follower in followers]

    @property
    def empty(self) -> bool:
        """Nothing can be taken before something that runs has ended."""
        return self.stopped or not (self._ready or self._leaders)

    def stop(self) -> None:
        self.stopped = True


def build_failed(result: Result) -> bool:
    return result.stage == "build" and result.status == "failed"


def inherited(cell: Cell, result: Result) -> Result:
    """The failed build of another cell's image, which is this one's image too."""
    return finished(cell, replace(result, duration_ms=0, install=None, verify=None, log_head=()))


def _cost(group: Group) -> int:
    return sum(cell.run_ms for cell in group) + max(cell.build_ms for cell in group)
