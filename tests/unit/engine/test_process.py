"""The one door to other programs: what comes in, what goes out, and that nothing stays behind."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tsandbox.engine import process
from tsandbox.errors import Interrupted, TimedOut


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def alive(pid: int) -> bool:
    """A zombie waits for its parent, it does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pid: int) -> bool:
    for _ in range(200):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


# A child that starts a grandchild which ignores TERM, and tells the grandchild's pid.
STUBBORN = (
    "import subprocess, sys, time\n"
    "code = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True);'\n"
    "code += 'time.sleep(60)'\n"
    "grandchild = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE)\n"
    "grandchild.stdout.readline()\n"
    "print(grandchild.pid, flush=True)\n"
    "time.sleep(60)\n"
)


def test_output_of_both_streams_is_kept_apart() -> None:
    done = process.run(python("import sys; print('out'); print('err', file=sys.stderr)"))
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 0)


def test_who_wants_to_know_is_told_of_every_program_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(process, "told", told.append)
    process.run(["true", "a b"], env={"X": "1"}, secret_env={"TOKEN": "hidden"})
    assert told == ["X=1 TOKEN=... true 'a b'"]


def test_arguments_reach_no_shell() -> None:
    assert process.run(["printf", "%s", "$(id); `id` * 'x'"]).text == "$(id); `id` * 'x'"


def test_lines_are_streamed_as_they_come_with_progress_bars_cut_at_carriage_returns() -> None:
    seen: list[str] = []
    done = process.run(
        python("import sys; print('a', flush=True); sys.stderr.write('10%\\r90%\\r\\nlast')"), on_line=seen.append
    )
    assert sorted(seen) == ["10%", "90%", "a", "last"]
    assert set(done.text.split()) == set(seen)


def test_stdin_takes_bytes_larger_than_a_pipe_and_a_file(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    assert process.run(["cat"], stdin=data).stdout == data
    (tmp_path / "in").write_bytes(data)
    with (tmp_path / "in").open("rb") as file:
        assert process.run(["cat"], stdin=file).stdout == data


def test_without_stdin_a_program_reads_nothing() -> None:
    assert process.run(["cat"], timeout=20).stdout == b""


def test_environment_is_added_to_and_taken_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOES", "1")
    done = process.run(
        python("import os; print(os.environ.get('COMES'), os.environ.get('GOES'), 'PATH' in os.environ)"),
        env={"COMES": "yes", "GOES": None},
    )
    assert done.text.split() == ["yes", "None", "True"]


def test_a_failure_shows_the_command_to_run_again_and_the_tail_of_the_output() -> None:
    with pytest.raises(process.CommandFailed) as caught:
        process.run(
            python("import sys; [print('line', i, file=sys.stderr) for i in range(100)]; sys.exit(3)"),
            env={"A": "b c"},
            secret_env={"TOKEN": "hunter2"},
        )
    error = caught.value
    assert error.returncode == 3
    assert error.details[0].startswith("$ A='b c' TOKEN=... ")
    assert error.details[-1] == "line 99"
    assert len(error.details) == 1 + process.TAIL_LINES
    assert "hunter2" not in repr((error.message, error.details, error.command))


def test_a_word_of_many_lines_is_shown_by_its_beginning() -> None:
    with pytest.raises(process.CommandFailed) as caught:
        process.run([*python("import sys; sys.exit(3)"), "FROM x " * 1000, "the end"])
    assert len(caught.value.command) < 1000
    assert "…' 'the end'" in caught.value.command


def test_a_failure_of_a_streamed_command_has_its_tail_too() -> None:
    with pytest.raises(process.CommandFailed) as caught:
        process.run(python("print('reason'); raise SystemExit(1)"), on_line=lambda _: None)
    assert caught.value.details[-1] == "reason"


def test_terminal_escapes_of_a_program_are_shown_and_not_obeyed() -> None:
    with pytest.raises(process.CommandFailed) as caught:
        process.run(python("import sys; sys.exit('\\x1b[2J')"))
    assert caught.value.details[-1] == "\\e[2J"


def test_a_failure_may_be_looked_at_instead_of_raised() -> None:
    assert process.run(["false"], check=False).returncode == 1


def test_a_program_that_is_not_there_is_its_own_error() -> None:
    with pytest.raises(process.ProgramMissing, match="no-such-program"):
        process.run(["no-such-program"])


def test_death_by_signal_is_named() -> None:
    with pytest.raises(process.CommandFailed, match="SIGKILL"):
        process.run(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))


def test_a_timeout_ends_the_whole_group_even_what_ignores_term() -> None:
    seen: list[str] = []
    with pytest.raises(TimedOut) as caught:
        process.run(python(STUBBORN), on_line=seen.append, timeout=3)
    assert wait_until_gone(int(seen[0]))
    assert caught.value.details[-1] == seen[0]


def test_a_program_that_closes_its_output_and_works_on_is_still_timed_out() -> None:
    with pytest.raises(TimedOut):
        process.run(python("import os, time; os.close(1); os.close(2); time.sleep(60)"), timeout=0.5)


def test_an_interrupt_in_the_callback_ends_the_group() -> None:
    seen: list[str] = []

    def interrupt(line: str) -> None:
        seen.append(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process.run(python(STUBBORN), on_line=interrupt)
    assert wait_until_gone(int(seen[0]))


def test_a_daemon_that_keeps_the_pipe_open_does_not_hold_us() -> None:
    code = (
        "import subprocess, sys\n"
        "code = 'import time; time.sleep(60)'\n"
        "print(subprocess.Popen([sys.executable, '-c', code], start_new_session=True).pid)"
    )
    daemon = int(process.run(python(code), timeout=30).text)
    try:
        assert alive(daemon), "what a command deliberately leaves running is not ours to end"
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_stop_all_interrupts_children_of_other_threads() -> None:
    started = threading.Event()
    caught: list[BaseException] = []

    def work() -> None:
        try:
            process.run(python("import time; print(1, flush=True); time.sleep(60)"), on_line=lambda _: started.set())
        except Interrupted as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(20)
    process.stop_all()
    thread.join(20)
    assert [type(error) for error in caught] == [Interrupted]
