"""How much longer than a bare interpreter the commands take that people and scripts run all the time."""

import compileall
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tsandbox
from benchmarks.measure import Measure, command, interleaved

# Odd, so that the median is a run that happened.
ROUNDS = 15
LIMITS = {"tsandbox --help": 5.0, "tsandbox spec plan.json": 9.0}
PLAN = {
    "format_version": 5,
    "tool": "jq",
    "version": "1.7.1",
    "platform": {"os": "linux", "arch": "amd64", "linux_family": "debian"},
    "deterministic": False,
    "dependencies": [],
    "steps": [
        {
            "action": "require_system",
            "params": {"command": "jq", "packages": {"apt": ["jq"]}},
            "evaluable": False,
            "deterministic": False,
        }
    ],
    "verify": {"command": "jq --version", "pattern": "jq"},
}


def run() -> Iterator[Measure]:
    # As pip leaves an installed package, also where PYTHONDONTWRITEBYTECODE keeps a checkout from being compiled.
    compileall.compile_dir(Path(tsandbox.__file__).parent, quiet=1)
    program = str(Path(sys.executable).with_name("tsandbox"))
    with tempfile.TemporaryDirectory() as directory:
        plan = Path(directory, "plan.json")
        plan.write_text(json.dumps(PLAN), encoding="utf-8")
        works = {
            "bare": command([sys.executable, "-c", "pass"]),
            "tsandbox --help": command([program, "--help"]),
            "tsandbox spec plan.json": command([program, "spec", str(plan)]),
        }
        for work in works.values():
            work()  # files are in memory from here on
        medians = interleaved(works, ROUNDS)
    bare = medians.pop("bare")
    for name, median in medians.items():
        note = f"{median * 1000:.0f} ms, bare interpreter {bare * 1000:.0f} ms"
        yield Measure(name, median / bare, limit=LIMITS[name], note=note)
