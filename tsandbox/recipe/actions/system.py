"""Changes to a system beyond packages: groups, services, environment, files."""

from tsandbox.recipe import grammar
from tsandbox.recipe.actions.base import Action


class GroupAdd(Action, frozen=True, kw_only=True):
    word = "group_add"
    # No shorthand on the way out (DESIGN §4 writes the table), but a bare name is understood on the way in.
    checks = {"group": grammar.group}

    group: str

    def describe(self) -> str:
        return f"add the user to the group {self.group}"


class ServiceEnable(Action, frozen=True, kw_only=True):
    word = "service_enable"
    shorthand = "service"
    checks = {"service": grammar.service}

    service: str

    def describe(self) -> str:
        return f"enable the service {self.service}"


class ServiceStart(Action, frozen=True, kw_only=True):
    word = "service_start"
    shorthand = "service"
    checks = {"service": grammar.service}

    service: str

    def describe(self) -> str:
        return f"start the service {self.service}"


class EnvSet(Action, frozen=True, kw_only=True):
    word = "env_set"
    checks = {"name": grammar.env_name, "value": grammar.one_line}

    name: str
    value: str

    def describe(self) -> str:
        return f"set {self.name} in the environment"


class FileWrite(Action, frozen=True, kw_only=True):
    word = "file_write"
    checks = {"path": grammar.file_path, "content": grammar.file_content, "mode": grammar.mode}

    path: str
    content: str
    mode: str = "0644"

    def describe(self) -> str:
        return f"write {self.path}"
