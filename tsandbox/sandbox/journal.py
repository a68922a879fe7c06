"""What the runner told, understood: steps, findings, verification records, limits; logged and passed on, masked."""

from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from tsandbox.engine.protocol import Stream
from tsandbox.plan import Plan, PlanStep
from tsandbox.printable import one_line
from tsandbox.runner.seal import opened
from tsandbox.sandbox.logs import Log
from tsandbox.sandbox.news import Checking, Listener, Output, StepBegan, StepEnded
from tsandbox.sandbox.outcome import Finding, Limits, StepOutcome
from tsandbox.sandbox.resolve import numbered
from tsandbox.sandbox.secrets import MaskedStream, Masker
from tsandbox.sandbox.verify import Recorded, expected

if TYPE_CHECKING:
    from collections.abc import Callable

# No honest event is longer: a verification's two streams are cut at 512 KiB each, and JSON may need six times that.
_LONGEST = 16 << 20
_STRAY_LINES = 40


class Journal:
    """Takes the container's output as it comes and keeps what it says. Raw records stay in here; all else is masked."""

    def __init__(self, plan: Plan, masker: Masker, log: Log, listener: Listener, *, key: bytes) -> None:
        self._steps: dict[int, tuple[str, PlanStep]] = dict(enumerate(_with_tool(plan), start=1))
        self._checks = tuple(check.command for check in expected(plan.verify))
        self._masker = masker
        self._log = log
        self._tell = listener
        self._key = key
        self._handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "limits": self._limits,
            "start": self._start,
            "output": self._output,
            "end": self._end,
            "warn": self._warn,
            "error": self._error,
            "verifying": self._verifying,
            "verify": self._verify,
            "done": self._done,
        }
        self._rest = b""
        self._streams: dict[tuple[Any, ...], MaskedStream] = {}
        self._ended: dict[int, StepOutcome] = {}
        self._checking = False
        self.events: list[dict[str, Any]] = []
        self.findings: list[Finding] = []
        self.records: list[Recorded] = []
        # What the result must say of a run that passed: services that were not started, things left to a person.
        self.notes: list[str] = []
        self.enforced: Limits | None = None
        # The step that runs now; None before the first, between steps and during the verification.
        self.running: int | None = None
        self.done: bool | None = None
        # What is no event: the words of a loader or kernel when the runner cannot start or dies.
        self.stray: deque[str] = deque(maxlen=_STRAY_LINES)

    def feed(self, stream: Stream, chunk: bytes) -> None:
        if stream == "stderr":
            self._stray(chunk.decode(errors="replace"))
            return
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._line(line)
        if len(self._rest) > _LONGEST:
            self._rest = b""

    def end(self) -> None:
        if self._rest:
            self._line(self._rest)
        self._flush()

    @property
    def steps(self) -> tuple[StepOutcome, ...]:
        """Every step of the plan, those that did not run as well; one that was cut off in the middle has failed."""
        return tuple(
            self._ended.get(number) or self._outcome(number, "failed" if number == self.running else "not_run")
            for number in self._steps
        )

    @property
    def verifying(self) -> bool:
        return self._checking

    @property
    def unanswered(self) -> str | None:
        """The command of the verification whose end has not been told, masked."""
        left = self._checks[len(self.records) :] if self._checking else ()
        return self._masker.text(left[0]) if left else None

    def step(self, number: int | None) -> PlanStep | None:
        found = self._steps.get(number or 0)
        return found[1] if found else None

    def _line(self, line: bytes) -> None:
        # What a recipe's own processes manage to write here is not the runner's word.
        told = opened(line, self._key)
        try:
            event = msgspec.json.decode(told or b"", type=dict[str, Any])
            if event["event"] != "output":
                self.events.append(self._masker.scrub(event))
            self._handlers[event.pop("event")](event)
        except (msgspec.MsgspecError, KeyError, TypeError, AttributeError):
            self._stray(line.decode(errors="replace"))

    def _stray(self, text: str) -> None:
        masked = self._masker.text(text)
        self.stray.extend(one_line(line) for line in masked.splitlines() if line.strip())
        self._log.output(masked)

    def _limits(self, event: dict[str, Any]) -> None:
        self.enforced = Limits(memory=event.get("memory"), cpus=event.get("cpus"), pids=event.get("pids"))

    def _start(self, event: dict[str, Any]) -> None:
        number = event["step"]
        self.running = number
        tool, step = self._steps[number]
        began = StepBegan(number=number, of=len(self._steps), action=step.action, tool=tool, place=step.place)
        self._log.line(f"[{number}/{began.of}] {step.action}  {step.place}")
        self._tell(began)

    def _output(self, event: dict[str, Any]) -> None:
        if event.get("verify") is not None:
            self._begin_checks()
        key = (event.get("step"), event.get("verify"), event["stream"])
        masked = self._streams.setdefault(key, self._masker.stream()).feed(event["text"])
        self._say(key, masked)

    def _end(self, event: dict[str, Any]) -> None:
        self._flush()
        self.running = None
        number, ok = event["step"], event["ok"]
        note = self._masker.text(event["note"]) if event.get("note") else None
        ended = self._outcome(number, "passed" if ok else "failed", event["duration_ms"], note)
        self._ended[number] = ended
        word = "done" if ok else "FAILED"
        self._log.line(
            f"[{number}/{len(self._steps)}] {word} in {event['duration_ms']} ms{f': {note}' if note else ''}"
        )
        self._tell(StepEnded(number=number, ok=ok, duration_ms=event["duration_ms"], note=note))

    def _warn(self, event: dict[str, Any]) -> None:
        self._found(event, fatal=False)

    def _error(self, event: dict[str, Any]) -> None:
        self._found(event, fatal=True)

    def _found(self, event: dict[str, Any], *, fatal: bool) -> None:
        finding = msgspec.convert({**self._masker.scrub(event), "fatal": fatal}, Finding)
        self.findings.append(finding)
        self._log.line(f"{'error' if fatal else 'warning'}: {finding.message}")

    def _verifying(self, _: dict[str, Any]) -> None:
        self._begin_checks()

    def _verify(self, event: dict[str, Any]) -> None:
        self._begin_checks()
        self._flush()
        record = msgspec.convert(event, Recorded)
        self.records.append(record)
        self._log.line(f"$ {self._masker.text(record.command)}  (exit code {record.exit_code})")

    def _done(self, event: dict[str, Any]) -> None:
        self._flush()
        self.notes += self._masker.scrub([str(note) for note in event.get("notes") or ()])
        self.done = bool(event["ok"])

    def _begin_checks(self) -> None:
        if not self._checking:
            self._checking = True
            self._log.line("verification")
            self._tell(Checking(commands=self._checks))

    def _flush(self) -> None:
        for key, stream in self._streams.items():
            self._say(key, stream.end())
        self._streams.clear()
        self._log.flush()

    def _say(self, key: tuple[Any, ...], text: str) -> None:
        if text:
            self._log.piece(key, text)
            self._tell(Output(step=key[0], stream=key[2], text=text))

    def _outcome(
        self, number: int, status: Any, duration_ms: int | None = None, note: str | None = None
    ) -> StepOutcome:
        tool, step = self._steps[number]
        return StepOutcome(
            number=number,
            action=step.action,
            tool=tool,
            status=status,
            file=step.file,
            line=step.line,
            duration_ms=duration_ms,
            note=note,
        )


def _with_tool(plan: Plan) -> list[tuple[str, PlanStep]]:
    tools = [part.tool for part in plan.with_dependencies() for _ in part.steps]
    return [(tool, step) for tool, (_, step) in zip(tools, numbered(plan), strict=True)]
