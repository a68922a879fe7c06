"""Rules about what a recipe promises: proof, words for people, and other recipes."""

from collections.abc import Iterator

from tsandbox.recipe.actions import Carried, Manual
from tsandbox.recipe.decode import Path
from tsandbox.recipe.lint.parts import parts
from tsandbox.recipe.lint.rule import Found, Rule, Subject
from tsandbox.recipe.model import Recipe


def _no_verify(subject: Subject) -> Iterator[Found]:
    recipe = subject.recipe
    if recipe.metadata.type != "library" and not recipe.verify.command:
        yield Found(("verify",), "no command proves that the installation worked")


def _silent_manual(subject: Subject) -> Iterator[Found]:
    for i, step in enumerate(subject.recipe.steps):
        for path, action in parts(step):
            if isinstance(action, Manual) and not action.text.strip():
                yield Found(("steps", i, *path), "tells a person nothing")


def _shell_command(subject: Subject) -> Iterator[Found]:
    if subject.recipe.sandbox.allow_run_command:
        return
    for i, step in enumerate(subject.recipe.steps):
        if step.action == "run_command":
            yield Found(("steps", i), "runs a shell command, which the sandbox refuses unless it is allowed")


def _missing_dependencies(subject: Subject) -> Iterator[Found]:
    if subject.knows is None:
        return
    for path, name in _needed(subject.recipe):
        if not subject.knows(name):
            yield Found(path, f"no recipe is called {name!r}")


def _needed(recipe: Recipe) -> Iterator[tuple[Path, str]]:
    for key in ("dependencies", "extra_dependencies", "runtime_dependencies", "extra_runtime_dependencies"):
        for i, name in enumerate(getattr(recipe.metadata, key)):
            yield ("metadata", key, i), name
    for i, step in enumerate(recipe.steps):
        if isinstance(step.does, Carried):
            yield from ((("steps", i, *path), name) for path, name in step.does.needs())


RULES = (
    Rule(
        id="TS001",
        title="Nothing verifies the installation",
        why="A recipe that ends without an error has proved only that its steps ran. Libraries are excused: they have "
        "no command to run.",
        bad='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n',
        good='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n\n'
        '[verify]\ncommand = "jq --version"\npattern = "jq-"\n',
        check=_no_verify,
    ),
    Rule(
        id="TS011",
        title="A manual step without text",
        why="A `manual` step exists to tell a person what to do, and this one is empty.",
        bad='[[steps]]\naction = "manual"\ntext = " "\n',
        good='[[steps]]\naction = "manual"\ntext = "Install the driver from https://example.com, then restart."\n',
        check=_silent_manual,
    ),
    Rule(
        id="TS018",
        title="A shell command that the sandbox will refuse",
        why="`run_command` is a string for a shell, the one thing that no grammar can check. The sandbox runs it only "
        "where the recipe or the person says so. A typed step that does the same needs no permission.",
        bad='[[steps]]\naction = "run_command"\ncommand = "ln -s a b"\n',
        good='[[steps]]\naction = "run_command"\ncommand = "ln -s a b"\n\n[sandbox]\nallow_run_command = true\n',
        check=_shell_command,
    ),
    Rule(
        id="TS019",
        title="A dependency that no recipe provides",
        why="The name is in none of the directories that were searched: `--recipes DIR`, those of the files given, "
        "and the shipped recipes. `spec` and `validate` go on without it; `plan`, `build` and `install` do not.",
        bad='[metadata]\nname = "gh"\ndependencies = ["gti"]\n',
        good='[metadata]\nname = "gh"\ndependencies = ["git"]\n',
        check=_missing_dependencies,
    ),
)
