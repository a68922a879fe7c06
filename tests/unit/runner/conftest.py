"""A workbench for steps: runs a plan in this process, in a directory of its own, and gives back what was told."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tsandbox.runner.context import Options, Places
from tsandbox.runner.events import Events
from tsandbox.runner.main import run


@dataclass(frozen=True)
class Ran:
    code: int
    events: list[dict[str, Any]]
    evidence: dict[str, Any]

    def of(self, event: str) -> list[dict[str, Any]]:
        return [each for each in self.events if each["event"] == event]

    @property
    def error(self) -> dict[str, Any]:
        [error] = self.of("error")
        return error

    @property
    def note(self) -> str:
        return self.of("end")[-1]["note"]

    def findings(self, kind: str) -> list[dict[str, Any]]:
        return [each["data"] for each in self.evidence["findings"] if each["kind"] == kind]


class Bench:
    def __init__(self, root: Path) -> None:
        self.inputs = root / "in"
        self.out = root / "out"
        self.work = self.out / "work" / "tool"
        self.installed = self.out / "home/tools/tool-1.0"
        self.work.mkdir(parents=True)
        (self.inputs / "downloads").mkdir(parents=True)

    def file(self, name: str, content: str = "content", mode: int = 0o644) -> Path:
        """A file in the tool's work directory."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(mode)
        return path

    def download(self, content: bytes) -> str:
        """Content that the host has fetched; returns its sha256."""
        digest = hashlib.sha256(content).hexdigest()
        (self.inputs / "downloads" / digest).write_bytes(content)
        return digest

    def run(self, *steps: dict[str, Any], **plan: Any) -> Ran:
        """Each step is `{"action": …, parameter: …}`; keys that belong to the step itself stay there."""
        options = {key: plan.pop(key) for key in ("host", "online", "allow_run_command", "stop_before") if key in plan}
        raw = {
            "tool": "tool",
            "version": "1.0",
            "platform": {"os": "linux", "arch": "amd64", "linux_family": "debian"},
            "steps": [as_step(step) for step in steps],
            **plan,
        }
        file = self.inputs / "plan.json"
        file.write_text(json.dumps(raw))
        told = self.out / "told"
        places = Places(inputs=self.inputs, out=self.out, tools=self.out / "home/tools")
        descriptor = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            with Events(descriptor, self.out / "events.jsonl") as events:
                code = run(file, places, Options(**options), events)
        finally:
            os.close(descriptor)
        events_told = [json.loads(line) for line in told.read_text().splitlines()]
        return Ran(code, events_told, json.loads((self.out / "evidence.json").read_text()))


def as_step(step: dict[str, Any]) -> dict[str, Any]:
    own = {key: step[key] for key in ("action", "line", "source", "url", "checksum") if key in step}
    params = {key: value for key, value in step.items() if key not in ("action", "line", "source")}
    return {**own, "params": params}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
