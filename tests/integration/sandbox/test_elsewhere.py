"""An engine that does not see this machine's files gets them as copies. One that does is told that it does not."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.sandbox.conftest import Served
from tsandbox.engine import Engine
from tsandbox.plan import load, select
from tsandbox.recipe import Recipe, linux
from tsandbox.sandbox import Outcome, RunOptions, prove

RECIPE = """\
[metadata]
name = "elsewhere"

[[steps]]
action = "download_file"
url = "@SERVER@/tool"
checksum = "@SHA256 tool@"
dest = "tool"

[[steps]]
action = "install_binaries"
binaries = ["tool"]

[verify]
command = "tool; echo ${#TOKEN}; grep -c ' /tsandbox/' /proc/self/mountinfo"
pattern = "copied"
exit_code = 1
"""


@pytest.mark.engine
def test_files_are_copied_in_and_out(
    engine: Engine, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = replace(engine.facts(), remote=True)
    monkeypatch.setattr(type(engine), "facts", lambda _: facts)
    served.add("tool", b"#!/bin/sh\necho copied\n")
    path = tmp_path / "elsewhere.toml"
    path.write_text(served.fill_in(RECIPE))
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    outcome: Outcome = prove(
        select(recipe, linux()), linux(), RunOptions(keep=True, env={"TOKEN": "nine-long"}), engine=engine
    )
    assert outcome.error is None, (outcome.error.message, outcome.error.details)
    # grep found no mount of ours, and said so with its exit code.
    assert outcome.checks[0].output.splitlines()[:3] == ["copied", "9", "0"]
    kept = Path(outcome.kept["files"])
    assert (kept / "out/home/tools/elsewhere-unversioned/bin/tool").is_file()
    assert not (kept / "in/env.json").exists()
    shutil.rmtree(kept)
    assert engine.containers("io.tsandbox.tool=elsewhere") == []
