"""Shell completion: commands, options, and recipes by name and file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell(shell: str, run: Run) -> None:
    script = run("completion", shell).stdout
    assert f"_TSANDBOX_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_in_an_object(shell: str, run: Run) -> None:
    script = run("completion", shell).stdout
    found = run("completion", shell, "--json").json
    assert (found["shell"], found["script"]) == (shell, script)


def test_an_unknown_shell_is_a_usage_error(run: Run) -> None:
    run("completion", "tcsh", code=2)


def complete(*words: str, shell: str = "bash", cwd: Path | None = None) -> list[str]:
    """What a shell offers for the last of `words`, which it is in the middle of."""
    line = {"COMP_WORDS": " ".join(("tsandbox", *words)), "COMP_CWORD": str(len(words))}
    if shell == "fish":
        line = {"COMP_WORDS": " ".join(("tsandbox", *words)), "COMP_CWORD": words[-1]}
    done = subprocess.run(
        [Path(sys.executable).with_name("tsandbox")],
        env={**os.environ, **line, "_TSANDBOX_COMPLETE": f"{shell}_complete"},
        capture_output=True, text=True, check=True, cwd=cwd,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


def offered(*words: str, cwd: Path | None = None) -> set[str]:
    return {value for kind, value in (line.split(",", 1) for line in complete(*words, cwd=cwd)) if kind == "plain"}


def test_commands() -> None:
    assert offered("sp") == {"spec"}
    assert {"install", "spec", "plan", "doctor"} <= offered("")


def test_options() -> None:
    assert offered("spec", "--fa") == {"--family"}
    assert {"--json", "--format"} <= offered("spec", "--")


def test_values_of_options() -> None:
    assert offered("spec", "--format", "") == {"text", "json", "toml", "dockerfile"}
    assert offered("spec", "--family", "") == {"debian", "rhel", "arch", "alpine", "suse", "all"}
    assert offered("spec", "--arch", "a") == {"amd64", "arm64"}


@pytest.mark.parametrize("command", ["spec", "plan", "guide", "install", "build"])
def test_recipes_by_name(command: str, tmp_path: Path) -> None:
    assert {"nginx", "nodejs"} <= offered(command, "n", cwd=tmp_path)
    assert "jq" not in offered(command, "n", cwd=tmp_path)


def test_recipes_of_another_directory(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('[metadata]\nname = "mine"\n')
    assert "mine" in offered("spec", "--recipes", str(tmp_path), "mi")


def test_files_are_left_to_the_shell(tmp_path: Path) -> None:
    assert any(
        line.startswith(("file,", "plain,")) and "file" in line for line in complete("spec", "./m", cwd=tmp_path)
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_recipes(shell: str, tmp_path: Path) -> None:
    assert any("nginx" in line for line in complete("spec", "ngi", shell=shell, cwd=tmp_path))


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_completing_in_a_real_bash(run: Run, tmp_path: Path) -> None:
    script = run("completion", "bash").stdout
    ask = (
        'COMP_WORDS=(tsandbox spec ngi); COMP_CWORD=2; _tsandbox_completion tsandbox; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.split() == ["nginx"]
