"""What cannot be done is refused before anything is built."""

from pathlib import Path

import pytest

from tests.unit.sandbox.plans import DEBIAN, plan_of
from tsandbox.derive import derive
from tsandbox.errors import NotSupported
from tsandbox.sandbox import support

COMMAND = '[[steps]]\naction = "run_command"\ncommand = "echo"\n'


def check(tmp_path: Path, text: str, *, allowed: bool = False) -> None:
    plan = plan_of(tmp_path, text)
    support.check(plan, derive(plan, DEBIAN), allow_run_command=allowed)


def test_an_action_that_nobody_executes_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match=r"'nix_portable' cannot be executed") as raised:
        check(tmp_path, '[[steps]]\naction = "require_command"\ncommand = "sh"\n\n[[steps]]\naction = "nix_portable"\n')
    assert raised.value.line == 8
    assert raised.value.exit_code == 4


def test_a_misspelt_action_comes_with_the_line_to_write(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match="did you mean 'apt_install'") as raised:
        check(tmp_path, '[[steps]]\naction = "apt_instal"\npackages = ["jq"]\n')
    assert raised.value.hint == 'if so, write:\n    action = "apt_install"'


def test_a_command_needs_the_recipes_or_the_users_word(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match="run_command is off") as raised:
        check(tmp_path, COMMAND)
    assert "--yes" in (raised.value.hint or "")
    check(tmp_path, COMMAND, allowed=True)
    check(tmp_path, COMMAND + "[sandbox]\nallow_run_command = true\n")


def test_a_dependency_does_not_inherit_the_permission(tmp_path: Path) -> None:
    (tmp_path / "inner.toml").write_text(f'[metadata]\nname = "inner"\n{COMMAND}')
    text = f'dependencies = ["inner"]\n{COMMAND}[sandbox]\nallow_run_command = true\n'
    with pytest.raises(NotSupported, match=r"inner\.toml:3"):
        check(tmp_path, text)


def test_packages_that_cannot_be_fetched_beforehand_need_the_network(tmp_path: Path) -> None:
    step = '[[steps]]\naction = "gem_install"\ngem = "x"\n'
    with pytest.raises(NotSupported, match="gem_install") as raised:
        check(tmp_path, step)
    assert 'network = "egress"' in (raised.value.hint or "")
    check(tmp_path, step + '[sandbox]\nnetwork = "egress"\n')
