"""What a command imports: nobody waits for an engine's library to read a help text."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
sys.argv = ["tsandbox", *sys.argv[1:]]
from tsandbox.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
sys.stderr.write(" ".join(sorted(sys.modules)))
"""
ENGINES = {"docker", "podman", "requests", "urllib3"}
HEAVY = ENGINES | {"rich", "PyInstaller", "distributed", "selenium", "asyncio", "http.client", "ssl"}


def imported(*arguments: object) -> set[str]:
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stderr.splitlines()[-1].split())


def test_help_imports_next_to_nothing() -> None:
    found = imported("--help")
    assert not found & (
        HEAVY | {"jinja2", "msgspec", "tomllib", "tomli_w", "json.decoder", "tsandbox.recipe", "tsandbox.plan"}
    )


@pytest.mark.parametrize("arguments", [("--version",), ("completion", "bash")], ids=" ".join)
def test_so_do_the_other_small_commands(arguments: tuple[str, ...]) -> None:
    assert not imported(*arguments) & (HEAVY | {"jinja2", "tsandbox.derive"})


@pytest.mark.parametrize(
    "arguments",
    [
        ("spec", "recipes/jq.toml"),
        ("spec", "recipes/jq.toml", "--format", "json"),
        ("plan", "recipes/jq.toml"),
        ("validate", "recipes/jq.toml"),
        ("guide", "recipes/jq.toml"),
        ("list",),
        ("schema", "recipe"),
    ],
    ids=" ".join,
)
def test_the_pure_commands_import_no_engine_and_no_terminal_library(arguments: tuple[str, ...]) -> None:
    assert not imported(*arguments) & HEAVY


def test_spec_of_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    command = [sys.executable, "-m", "tsandbox", "plan", "jq"]
    path.write_bytes(subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout)
    assert not imported("spec", path) & (HEAVY | {"tomli_w"})


def test_only_rendering_needs_the_template_engine() -> None:
    for arguments in (("plan", "recipes/jq.toml"), ("list",), ("schema", "recipe"), ("guide", "recipes/jq.toml")):
        assert "jinja2" not in imported(*arguments), arguments
