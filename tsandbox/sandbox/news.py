"""What happens during a run, told to whoever shows it, as it happens. All text in it is masked."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from tsandbox.build import BuiltImage, Progress


class Said(Struct, frozen=True):
    """A sentence about what goes on outside of the container."""

    text: str


class Fetching(Struct, frozen=True, kw_only=True):
    """A download: `got` of `total` bytes, where the server says how many there are."""

    name: str
    got: int
    total: int | None


class Building(Struct, frozen=True, kw_only=True):
    progress: Progress


class Built(Struct, frozen=True, kw_only=True):
    image: BuiltImage


class StepBegan(Struct, frozen=True, kw_only=True):
    number: int
    of: int
    action: str
    tool: str
    place: str


class Output(Struct, frozen=True, kw_only=True):
    """Text of a step, or of a verification command where `step` is None: whole lines, or pieces of long ones."""

    step: int | None
    stream: Literal["stdout", "stderr"]
    text: str


class StepEnded(Struct, frozen=True, kw_only=True):
    number: int
    ok: bool
    duration_ms: int
    note: str | None


class Checking(Struct, frozen=True, kw_only=True):
    """All steps are done; the commands that verify the result run."""

    commands: tuple[str, ...]


News = Said | Fetching | Building | Built | StepBegan | Output | StepEnded | Checking
Listener = Callable[[News], None]


def nobody(_: News) -> None:
    """The listener of a run that nobody watches."""
