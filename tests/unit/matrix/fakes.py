"""Provers without containers, and recipes without content: what a matrix does around them is what is tested."""

import os
import signal
import time
from pathlib import Path

from msgspec import Struct

from tests import sample_results as samples
from tsandbox.errors import EngineLost, VerifyFailed
from tsandbox.matrix.attempts import Prover
from tsandbox.matrix.model import Cell
from tsandbox.matrix.schedule import Group
from tsandbox.report.result import Result, from_error

RECIPE = """\
[metadata]
name = "{name}"
description = "A tool"
{more}
[[steps]]
action = "require_system"
command = "{name}"
packages = {{ apt = ["{package}"] }}
{step}
[verify]
command = "{name} --version"
pattern = "{name}"
"""


def write_recipe(directory: Path, name: str, package: str = "jq", *, more: str = "", step: str = "") -> Path:
    path = directory / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RECIPE.format(name=name, package=package, more=more, step=step), encoding="utf-8")
    return path


def cell(
    tool: str = "jq", key: str | None = "sha256:aa", *, arch: str = "amd64", run_ms: int = 5, build_ms: int = 9
) -> Cell:
    target = samples.target("debian", arch)
    return Cell(
        id=f"{tool}-{target}",
        tool=tool,
        recipe=f"recipes/{tool}.toml",
        target=target,
        key=key,
        image="sandbox-cache:aa",
        digest=f"sha256:{tool}",
        run_ms=run_ms,
        build_ms=build_ms,
    )


class FakeProver(Struct, frozen=True, kw_only=True):
    """Passes, unless the tool's name says otherwise; leaves a line in `diary` for every cell that it is asked for."""

    diary: str

    def __call__(self, cell: Cell) -> Result:
        with Path(self.diary).open("a", encoding="utf-8") as file:
            file.write(f"{cell.id} {os.getpid()}\n")
        return self._result(cell)

    def _result(self, cell: Cell) -> Result:
        if "slow" in cell.tool:
            time.sleep(60)
        if "hangs-once" in cell.tool and self.asked().count(cell.id) == 1:
            time.sleep(600)
        if "bad" in cell.tool:
            return from_error(VerifyFailed(f"{cell.tool} did not verify"), cached=True)
        if "bug" in cell.tool:
            raise ZeroDivisionError(cell.tool)
        if "dies" in cell.tool or (cell.tool == "once" and self.asked().count(cell.id) == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if "lost" in cell.tool or ("flaky" in cell.tool and self.asked().count(cell.id) == 1):
            return from_error(EngineLost("the engine stopped answering"))
        return samples.passed(cell.tool)

    def asked(self) -> list[str]:
        return [line.split()[0] for line in Path(self.diary).read_text(encoding="utf-8").splitlines()]

    def processes(self) -> set[str]:
        return {line.split()[1] for line in Path(self.diary).read_text(encoding="utf-8").splitlines()}

    def carrying(self, cells: Group) -> Prover:
        assert cells
        return self
