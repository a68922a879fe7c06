"""What a builder prints, understood: which step runs, which package is fetched or set up, and how much of it."""

import re
from collections import deque
from collections.abc import Callable

from msgspec import Struct

# `[2/3] STEP 4/6: RUN …` of podman, `#7 [builder 2/4] RUN …` of BuildKit, `Step 4/6 : RUN …` of docker's old builder.
_PODMAN_STEP = re.compile(r"(?:\[\d+/\d+\] )?STEP (\d+)/(\d+): (.*)")
_CLASSIC_STEP = re.compile(r"Step (\d+)/(\d+) : (.*)")
_BUILDKIT_STEP = re.compile(r"#(\d+) \[(?:([\w.-]+) +)?(\d+)/(\d+)\] (.*)")
_BUILDKIT_LINE = re.compile(r"#(\d+) (?:\d+\.\d+ )?(.*)")
_BUILDKIT_STATE = re.compile(r"#\d+ (DONE|CACHED|CANCELED|sha256:|extracting|resolve|transferring|exporting|writing)")
# What the engine was told about this host, which the Dockerfile that is shown does not hold.
_MOUNT = re.compile(r"--mount=\S+ ")

_FETCHED = re.compile(r"Get:\d+ \S+ \S+ \S+ (\S+) \S+ \S+ \[([\d.,]+) ?(B|kB|MB|GB)\]")
_TO_FETCH = re.compile(r"Need to get (?:[\d.,]+ ?[kMG]?B/)?([\d.,]+) ?(B|kB|MB|GB) of archives")
_INDEX = re.compile(r"(?:Get|Hit|Ign):\d+ \S+ (\S+) (?:InRelease|Release)")
_SET_UP = re.compile(r"(Unpacking|Setting up) ([a-z0-9][a-z0-9.+-]*)")
# dpkg counts its files in a new line per step.
_COUNTING = "(Reading database"
_UNITS = {"B": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3}
_TAIL = 30


class Progress(Struct, frozen=True, kw_only=True):
    """One thing that happened. `bytes` of `total` have been fetched so far."""

    what: str
    step: int | None = None
    steps: int | None = None
    package: str | None = None
    bytes: int | None = None
    total: int | None = None


Watch = Callable[[Progress], None]


def tell(watch: Watch | None, what: str) -> None:
    if watch:
        watch(Progress(what=what))


class Step(Struct, kw_only=True):
    """A step as it runs: its instruction and the end of its output."""

    number: int
    of: int
    instruction: str
    tail: deque[str]


class Reader:
    """Reads a build's lines one by one. BuildKit runs steps at the same time and marks each line with its own."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._steps: dict[str, Step] = {}
        self._current = ""
        self._buildkit = False
        self._fetched = 0
        self._total: int | None = None

    def line(self, text: str) -> None:
        if found := self._new_step(text):
            self._total = None
            # Our own labels are steps of podman's, and nothing that anybody waits for.
            if not found.instruction.startswith("LABEL "):
                self._tell(found, found.instruction)
            return
        vertex, said = self._split(text)
        step = self._steps.get(vertex)
        if step is None or _BUILDKIT_STATE.match(text) or said.startswith(_COUNTING):
            return
        step.tail.append(said)
        self._output(step, said)

    @property
    def last(self) -> Step | None:
        """The step that said something last: the one that failed, if the build failed in a step."""
        return self._steps.get(self._current)

    def _new_step(self, text: str) -> Step | None:
        if match := _PODMAN_STEP.match(text) or _CLASSIC_STEP.match(text):
            number, of, instruction = match.groups()
            vertex = f"{len(self._steps)}"
        elif match := _BUILDKIT_STEP.match(text):
            vertex, _, number, of, instruction = match.groups()
            self._buildkit = True
        else:
            return None
        self._current = vertex
        instruction = " ".join(_MOUNT.sub("", instruction).split())
        known = self._steps.get(vertex)
        if known is not None and known.instruction == instruction:
            return None
        made = Step(number=int(number), of=int(of), instruction=instruction, tail=deque(maxlen=_TAIL))
        self._steps[vertex] = made
        return made

    def _split(self, text: str) -> tuple[str, str]:
        match = _BUILDKIT_LINE.match(text) if self._buildkit else None
        if match is None:
            return self._current, text
        # What BuildKit does for itself is numbered as well, but is no step.
        if match[1] in self._steps:
            self._current = match[1]
        return match[1], match[2]

    def _output(self, step: Step, said: str) -> None:
        if match := _TO_FETCH.match(said):
            self._total, self._fetched = _size(match[1], match[2]), 0
            self._tell(step, "fetching packages")
        elif match := _FETCHED.match(said):
            self._fetched += _size(match[2], match[3])
            self._tell(step, f"fetched {match[1]}", package=match[1])
        elif match := _SET_UP.match(said):
            self._tell(step, f"{match[1].lower()} {match[2]}", package=match[2])
        elif match := _INDEX.match(said):
            self._tell(step, f"reading the package index of {match[1]}")

    def _tell(self, step: Step, what: str, *, package: str | None = None) -> None:
        if self._watch:
            self._watch(
                Progress(
                    what=what,
                    step=step.number,
                    steps=step.of,
                    package=package,
                    bytes=self._fetched if self._total is not None else None,
                    total=self._total,
                )
            )


def _size(number: str, unit: str) -> int:
    return int(float(number.replace(",", "")) * _UNITS[unit])
