"""Steps that install nothing: a command that must be there, and what only a person can do."""

from tsandbox.recipe import grammar
from tsandbox.recipe.actions.base import Action
from tsandbox.recipe.decode import Fault

VERSION_CHECK: dict[str, grammar.Check] = {
    "command": grammar.command,
    "version_flag": grammar.flag,
    "version_regex": grammar.version_pattern,
    "min_version": grammar.version,
}


class RequireCommand(Action, frozen=True, kw_only=True):
    word = "require_command"
    shorthand = "command"
    checks = VERSION_CHECK

    command: str
    version_flag: str | None = None
    version_regex: str | None = None
    min_version: str | None = None

    def more_faults(self) -> list[Fault]:
        return version_check_faults(self.version_flag, self.version_regex, self.min_version)

    def describe(self) -> str:
        return f"require the command {self.command}" + (f" ≥ {self.min_version}" if self.min_version else "")


class Manual(Action, frozen=True, kw_only=True):
    word = "manual"
    shorthand = "text"
    checks = {"text": grammar.prose}

    text: str

    def describe(self) -> str:
        return f"by hand: {self.text}"


def version_check_faults(flag: str | None, regex: str | None, minimum: str | None) -> list[Fault]:
    missing = [name for name, value in (("version_flag", flag), ("version_regex", regex)) if value is None]
    if minimum is None or not missing:
        return []
    return [Fault(("min_version",), f"needs {' and '.join(missing)} to find out the installed version")]
