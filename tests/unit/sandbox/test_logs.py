import io
from pathlib import Path

import pytest

from tsandbox.sandbox import logs
from tsandbox.sandbox.logs import Log, log_of, rotate


def test_a_log_shows_no_control_characters_and_remembers_both_ends(tmp_path: Path) -> None:
    written = io.StringIO()
    log = Log(tmp_path / "log", written)
    log.output("\x1b[31mred\x1b[0m\n")
    for number in range(100):
        log.output(f"line {number}\n")
    assert "\x1b" not in written.getvalue()
    assert log.head[0] == "\\e[31mred\\e[0m"
    assert log.tail[-1] == "line 99"
    assert not set(log.head) & set(log.tail)


def test_pieces_of_a_line_are_one_line_and_a_long_one_is_shown_in_part(tmp_path: Path) -> None:
    written = io.StringIO()
    log = Log(tmp_path / "log", written)
    for text in ("x" * 1500, "x" * 1500, "\nnext "):
        log.piece("stdout", text)
        log.piece("stderr", "e")
    log.flush()
    assert written.getvalue() == f"    {'x' * 3000}\n    next \n    eee\n"
    assert log.head == (f"{'x' * 2000}…", "next ", "eee")


def test_a_line_without_end_is_not_kept_in_memory(tmp_path: Path) -> None:
    written = io.StringIO()
    log = Log(tmp_path / "log", written)
    for _ in range(20):
        log.piece("stdout", "x" * (1 << 16))
    assert len(written.getvalue()) > 1 << 20


def test_output_without_end_does_not_fill_the_disk(tmp_path: Path) -> None:
    written = io.StringIO()
    log = Log(tmp_path / "log", written)
    chunk = "x" * (1 << 20) + "\n"
    for _ in range((logs.LARGEST >> 20) + 5):
        log.output(chunk)
    text = written.getvalue()
    assert len(text) < logs.LARGEST + (2 << 20)
    assert text.endswith("MiB were printed]\n")
    assert log.tail


def test_the_oldest_logs_make_room(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"2026010{number}-tool.log").write_text("x" * 100)
    rotate(tmp_path, kept=4)
    assert [path.name[7] for path in sorted(tmp_path.iterdir())] == ["2", "3", "4", "5"]
    rotate(tmp_path, kept_bytes=250)
    assert [path.name[7] for path in sorted(tmp_path.iterdir())] == ["4", "5"]
    rotate(tmp_path, kept_bytes=1)
    assert [path.name[7] for path in sorted(tmp_path.iterdir())] == ["5"]


def test_the_name_of_a_tool_cannot_lead_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path))
    with log_of("../../evil/name") as log:
        log.line("hello")
    assert log.path.parent == tmp_path / "logs"
    assert log.path.read_text() == "hello\n"
