"""One cell, tried until it says something about the recipe: only causes outside of it are tried again."""

import shlex
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from tsandbox.errors import Interrupted, InvalidInput, Stage
from tsandbox.matrix.model import Cell
from tsandbox.report.result import Attempt, Result, from_error

# Must survive a journey to another process or machine: a function of a module, or an instance of its class.
Prover = Callable[[Cell], Result]

_LINES = 40
_WIDTH = 500


def attempt(
    prove: Prover,
    cell: Cell,
    *,
    retries: int,
    earlier: tuple[Attempt, ...] = (),
    wait: Callable[[float], None] = time.sleep,
) -> Result:
    """The result of a cell, whatever happens; what passed only after a temporary failure is marked as flaky."""
    attempts = list(earlier)
    while True:
        result = _once(prove, cell)
        if not is_temporary(result) or len(attempts) >= retries:
            return finished(cell, result, tuple(attempts))
        attempts.append(Attempt(exit_code=result.exit_code, error=result.error, duration_ms=result.duration_ms))
        wait(2 ** len(attempts) / 2)


def is_temporary(result: Result) -> bool:
    return result.error is not None and result.error.temporary


def finished(cell: Cell, result: Result, attempts: tuple[Attempt, ...] = ()) -> Result:
    """The result with all that names its cell, and no more of its output than a report shows."""
    return replace(
        result,
        cell=cell.id,
        digest=cell.digest,
        tool=cell.tool,
        target=cell.target,
        source=cell.recipe,
        key=result.key or cell.key,
        image=result.image or cell.image,
        reproduce=reproduce(cell),
        attempts=attempts,
        flaky=bool(attempts) and result.status == "passed",
        log_head=_cut(result.log_head[:_LINES]),
        log_tail=_cut(result.log_tail[-_LINES:]),
    )


def unplannable(cell: Cell) -> Result:
    """The result of a cell whose recipe could not be read or planned: it needs no engine to fail."""
    assert cell.error
    stage: Stage = "load" if cell.exit_code == InvalidInput.exit_code else "derive"
    return finished(cell, Result(status="error", exit_code=cell.exit_code, stage=stage, error=cell.error))


def reproduce(cell: Cell) -> str:
    own = Path(cell.recipe).parent
    recipes = [word for each in cell.recipes if Path(each) != own for word in ("--recipes", each)]
    return shlex.join(
        ["tsandbox", "matrix", "run", cell.recipe, *recipes, "--only", cell.id, *["--yes"] * cell.consent]
    )


def _once(prove: Prover, cell: Cell) -> Result:
    started = time.time()
    try:
        return prove(cell)
    except KeyboardInterrupt:
        return from_error(Interrupted("interrupted"), started=started)
    except Exception as error:  # noqa: BLE001 - one bad cell never stops the others
        return from_error(error, started=started, duration_ms=round((time.time() - started) * 1000))


def _cut(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line if len(line) <= _WIDTH else f"{line[:_WIDTH]} …" for line in lines)
