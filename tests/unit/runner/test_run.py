"""The run as a whole: numbering, order, events, evidence, failure."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.runner.conftest import Bench
from tsandbox.runner.actions import ACTIONS
from tsandbox.runner.executable import EXECUTABLE

SHOW = {"action": "run_command", "command": "echo hello"}


def test_the_names_that_the_host_reads_are_those_that_run() -> None:
    assert set(ACTIONS) == EXECUTABLE


def test_steps_are_numbered_dependencies_first(bench: Bench) -> None:
    step = {"action": "require_command", "params": {"command": "sh"}}
    inner = {"tool": "inner", "version": "1", "steps": [step]}
    outer = {"tool": "outer", "version": "2", "steps": [step, step], "dependencies": [inner]}
    ran = bench.run({"action": "require_command", "command": "sh", "line": 14}, dependencies=[outer])
    started = [(each["step"], each["tool"], each["line"]) for each in ran.of("start")]
    assert started == [(1, "inner", None), (2, "outer", None), (3, "outer", None), (4, "tool", 14)]
    assert ran.code == 0
    assert ran.evidence["dependencies"] == {"inner": "1", "outer": "2"}


def test_a_dependency_that_two_tools_share_is_installed_once(bench: Bench) -> None:
    step = {"action": "run_command", "params": {"command": "echo x >> {install_dir}/times"}}
    shared = {"tool": "shared", "version": "1", "steps": [step]}
    ran = bench.run(dependencies=[shared, {"tool": "b", "steps": [], "dependencies": [shared]}], allow_run_command=True)
    assert [(each["step"], each["note"]) for each in ran.of("end")] == [(1, None), (2, "already installed")]
    assert (bench.out / "home/tools/shared-1/times").read_text() == "x\n"


def test_in_a_sandbox_a_receipt_that_was_not_written_by_this_run_counts_for_nothing(bench: Bench) -> None:
    forged = "mkdir -p {libs_dir}/tool-1.0 && echo '{{}}' > {libs_dir}/tool-1.0/.tsandbox.json"
    before = {"tool": "before", "steps": [{"action": "run_command", "params": {"command": forged}}]}
    ran = bench.run(
        {"action": "require_command", "command": "not-there"}, dependencies=[before], allow_run_command=True
    )
    assert ran.error["kind"] == "missing_command"


def test_events_and_evidence_tell_of_a_passed_run(bench: Bench) -> None:
    ran = bench.run({**SHOW, "source": "r.toml"}, allow_run_command=True, verify={"command": "echo v{version}"})
    assert [each["event"] for each in ran.events] == ["start", "output", "end", "verifying", "output", "verify", "done"]
    assert ran.of("output")[0] == {"event": "output", "step": 1, "stream": "stdout", "text": "hello\n"}
    [verify] = ran.evidence["verify"]
    assert (verify["command"], verify["exit_code"], verify["stdout"]) == ("echo v1.0", 0, "v1.0\n")
    [step] = ran.evidence["steps"]
    assert (step["action"], step["ok"], step["source"]) == ("run_command", True, "r.toml")
    assert ran.evidence["ok"]
    kept = [json.loads(line) for line in (bench.out / "events.jsonl").read_text().splitlines()]
    assert kept == ran.events


def test_a_failed_step_ends_the_run_and_nothing_is_verified(bench: Bench) -> None:
    steps = [{"action": "run_command", "command": "echo why >&2; exit 3"}, SHOW]
    ran = bench.run(*steps, allow_run_command=True, verify={"command": "true"})
    assert ran.code == 7
    assert ran.error["step"] == 1
    assert ran.error["kind"] == "command_failed"
    assert ran.error["data"]["exit_code"] == 3
    assert [each["step"] for each in ran.of("start")] == [1]
    assert ran.of("verify") == []
    assert ran.of("done") == [{"event": "done", "ok": False, "notes": []}]
    assert not ran.evidence["ok"]


def test_an_unknown_action_is_named(bench: Bench) -> None:
    ran = bench.run({"action": "homebrew_relocate", "formula": "make"})
    assert (ran.code, ran.error["kind"], ran.error["data"]) == (7, "unsupported", {"action": "homebrew_relocate"})


def test_run_command_is_off_unless_allowed(bench: Bench) -> None:
    ran = bench.run({"action": "run_command", "command": "touch ran"})
    assert (ran.code, ran.error["kind"]) == (7, "not_allowed")
    assert not (bench.work / "ran").exists()


def test_a_verify_command_that_fails_is_recorded_not_judged(bench: Bench) -> None:
    verify = {"command": "exit 4", "additional": [{"command": "echo more"}]}
    ran = bench.run(verify=verify)
    assert ran.code == 0
    assert [(each["kind"], each["exit_code"]) for each in ran.evidence["verify"]] == [("main", 4), ("additional", 0)]


def test_what_a_verify_command_misses_is_found(bench: Bench) -> None:
    ran = bench.run(verify={"command": "nonesuch --version"})
    assert ran.code == 0
    assert ran.findings("missing_command") == [{"command": "nonesuch", "needed_by": "verify"}]


def test_variables_that_are_handed_over_by_file_reach_steps_and_verification(bench: Bench) -> None:
    (bench.inputs / "env.json").write_text('{"TOKEN": "two\\nlines"}')
    show = {"action": "run_command", "command": 'echo "$TOKEN"'}
    ran = bench.run(show, allow_run_command=True, verify={"command": 'echo "$TOKEN"'})
    assert [each["text"] for each in ran.of("output")] == ["two\nlines\n"] * 2


def test_a_run_can_stop_before_a_step(bench: Bench) -> None:
    ran = bench.run(SHOW, SHOW, SHOW, allow_run_command=True, stop_before=3, verify={"command": "true"})
    assert [each["step"] for each in ran.of("end")] == [1, 2]
    assert (ran.code, ran.evidence["stopped_before"], ran.of("verify")) == (0, 3, [])


@pytest.mark.parametrize("name", ["../evil", "a/b", "", "-x", ".hidden"])
def test_a_tool_name_that_is_no_name_is_refused(bench: Bench, name: str) -> None:
    ran = bench.run(SHOW, tool=name)
    assert (ran.code, ran.error["kind"]) == (7, "invalid")


def test_mappings_of_a_step_change_its_words_for_os_and_arch(bench: Bench) -> None:
    step = {"action": "text_replace", "file": "{os}-{arch}", "pattern": "a", "replacement": "b"}
    mapping = {"os_mapping": {"linux": "unknown-linux-gnu"}, "arch_mapping": {"amd64": "x86_64"}}
    bench.file("unknown-linux-gnu-x86_64", "aa")
    assert bench.run({**step, **mapping}).code == 0
    assert (bench.work / "unknown-linux-gnu-x86_64").read_text() == "bb"


def test_the_version_of_a_dependency_can_be_named(bench: Bench) -> None:
    step = {"action": "run_command", "command": "echo {libs_dir}/zlib-{deps.zlib.version}"}
    ran = bench.run(step, allow_run_command=True, dependencies=[{"tool": "zlib", "version": "1.3", "steps": []}])
    assert ran.of("output")[0]["text"] == f"{bench.out}/home/tools/zlib-1.3\n"


def test_programs_of_dependencies_are_found_by_later_steps(bench: Bench) -> None:
    tool = "{install_dir}/bin/deptool"
    make = f"mkdir -p {{install_dir}}/bin && printf '#!/bin/sh\necho dep' > {tool} && chmod +x {tool}"
    dependency = {"tool": "dep", "version": "1", "steps": [{"action": "run_command", "params": {"command": make}}]}
    ran = bench.run({"action": "run_command", "command": "deptool"}, allow_run_command=True, dependencies=[dependency])
    assert ran.of("output")[-1]["text"] == "dep\n"


def test_a_missing_library_of_an_installed_program_is_a_warning(bench: Bench, tmp_path: Path) -> None:
    bench.file("bin/script", "#!/usr/bin/env nonesuch\n", 0o755)
    ran = bench.run({"action": "install_binaries", "binaries": ["bin/script"]})
    assert ran.code == 0
    assert ran.findings("missing_command") == [{"command": "nonesuch", "needed_by": "bin/script"}]
    assert ran.of("warn")[0]["step"] == 1


def test_output_is_passed_on_whole_but_kept_in_bounds(bench: Bench) -> None:
    command = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"
    ran = bench.run({"action": "run_command", "command": command}, allow_run_command=True, verify={"command": command})
    told = "".join(each["text"] for each in ran.of("output") if each["step"] == 1)
    assert told == "x" * 3_000_000 + "\nend\n"
    [verify] = ran.evidence["verify"]
    assert verify["truncated"]
    assert len(verify["stdout"]) < 600_000
    assert verify["stdout"].endswith("end\n")


def test_bytes_that_are_no_text_are_survived(bench: Bench) -> None:
    ran = bench.run({"action": "run_command", "command": r"printf 'a\377b\n'"}, allow_run_command=True)
    assert ran.of("output")[0]["text"] == "a\ufffdb\n"


def test_a_daemon_that_a_step_leaves_behind_is_ended(bench: Bench) -> None:
    step = {"action": "run_command", "command": "sleep 300 & echo $! > pid"}
    assert bench.run(step, allow_run_command=True).code == 0
    assert ends(int((bench.work / "pid").read_text()))


def ends(pid: int) -> bool:
    """Whether a process is gone soon: a kill is asynchronous, and an orphan may be a zombie for a while."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_what_runs_and_is_told(bench: Bench, number: int) -> None:
    plan = {"tool": "tool", "steps": [{"action": "run_command", "params": {"command": "echo $$ > pid; sleep 300"}}]}
    (bench.inputs / "plan.json").write_text(json.dumps(plan))
    argv = [sys.executable, "-m", "tsandbox.runner", "run", "--plan", bench.inputs / "plan.json"]
    argv += ["--inputs", bench.inputs, "--out", bench.out, "--allow-run-command"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as child:
        pid = wait_for(bench.work / "pid")
        os.kill(child.pid, number)
        told, _ = child.communicate(timeout=60)
    assert child.returncode == 128 + number
    events = [json.loads(line) for line in told.splitlines()]
    assert [each["kind"] for each in events if each["event"] == "error"] == ["interrupted"]
    assert events[-1] == {"event": "done", "ok": False, "notes": []}
    assert ends(pid)


def wait_for(file: Path) -> int:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if file.exists() and (text := file.read_text().strip()):
            return int(text)
        time.sleep(0.02)
    raise AssertionError(f"{file} did not appear")


def test_a_bug_in_the_runner_is_told_as_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACTIONS, "chmod", lambda context, params: 1 / 0)
    ran = bench.run({"action": "chmod"})
    assert (ran.code, ran.error["kind"]) == (70, "internal")
    assert "ZeroDivisionError" in ran.error["data"]["traceback"]


def test_on_the_host_no_shell_reads_the_verify_command(bench: Bench) -> None:
    ran = bench.run(host=True, verify={"command": "echo 'a b' c", "additional": [{"command": "echo x; touch ran"}]})
    first, second = ran.evidence["verify"]
    assert first["stdout"] == "a b c\n"
    assert second["exit_code"] is None
    assert "shell syntax" in second["stderr"]
    assert not (bench.out / "home/ran").exists()


def test_a_program_that_no_step_installed_is_found_where_it_lies(bench: Bench) -> None:
    for name in ("greet-1.0/bin/greet", "greet-1.0/share/doc/greet/greet"):
        bench.file(name)
    ran = bench.run(verify={"command": "greet --version"})
    assert ran.findings("not_installed") == [{"command": "greet", "path": "greet-1.0/bin/greet"}]
    assert ran.findings("missing_command") == []


def test_a_script_whose_interpreter_is_missing_names_the_interpreter(bench: Bench) -> None:
    greet = "{install_dir}/bin/greet"
    make = f"mkdir -p {{install_dir}}/bin && echo '#!/nowhere/fancysh' > {greet} && chmod +x {greet}"
    step = {"action": "run_command", "command": make}
    ran = bench.run(step, verify={"command": "greet"}, allow_run_command=True)
    assert {finding["command"] for finding in ran.findings("missing_command")} == {"fancysh"}
