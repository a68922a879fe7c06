"""Running commands in this process: fast, and with everything that they print and end with."""

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest

from tsandbox.cli import main


class Ran(NamedTuple):
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Stdout as exactly one JSON object."""
        return msgspec.json.decode(self.stdout)


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("spec", path, code=0)` runs the command, and fails the test when it ends with another code."""

    def run(*args: object, code: int | None = 0, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        ran = Ran(int(ended.value.code or 0), out, err)
        assert code is None or ran.code == code, ran
        assert "Traceback" not in ran.stderr
        return ran

    return run
