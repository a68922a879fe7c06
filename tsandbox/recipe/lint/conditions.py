"""Rules about where steps apply."""

import json
from collections.abc import Iterator

from tsandbox.recipe.actions import RequireSystem
from tsandbox.recipe.lint.parts import PLAIN, TARGETS, installs_on, packages, parts, supported, where
from tsandbox.recipe.lint.rule import Found, Rule, Subject
from tsandbox.recipe.model import Recipe, Step
from tsandbox.recipe.near import did_you_mean
from tsandbox.recipe.target import Target
from tsandbox.recipe.when import VALUES, normal_platform


def _never_matches(subject: Subject) -> Iterator[Found]:
    for i, step in enumerate(subject.recipe.steps):
        if where(step):
            continue
        own = "no platform fulfils this condition"
        with_action = f"never holds together with {step.action}, which applies only on {_implicit(step)}"
        alone = any(step.when.matches(target) for target in TARGETS)
        yield Found(("steps", i, "when"), with_action if alone else own)


def _implicit(step: Step) -> str:
    return str(step.does.applies_implicitly(step.when)) or "some platforms"


def _never_selected(subject: Subject) -> Iterator[Found]:
    works_on = supported(subject.recipe)
    for i, step in enumerate(subject.recipe.steps):
        applies = where(step)
        if applies and not applies & works_on:
            yield Found(("steps", i), "applies only where [metadata] says that the recipe does not work")


def _shadowed(subject: Subject) -> Iterator[Found]:
    # What each step does → the steps that were first to do it somewhere, with the platforms where they do.
    done: dict[str, dict[int, frozenset[int]]] = {}
    for i, step in enumerate(subject.recipe.steps):
        applies = where(step)
        before = done.setdefault(_what(step), {})
        if applies - frozenset().union(*before.values()):
            before[i] = applies
        elif applies:
            numbers = ", ".join(f"steps[{j}]" for j in before)
            yield Found(("steps", i), f"does nothing that {numbers} did not do before it, on every platform")


def _what(step: Step) -> str:
    """The same text for steps that do the same, in whatever order their keys are written."""
    return json.dumps([step.action, step.params], sort_keys=True, default=str)


def _uncovered(subject: Subject) -> Iterator[Found]:
    recipe = subject.recipe
    if not any(True for step in recipe.steps for _ in packages(step)):
        return
    left_out = [
        str(target.linux_family)
        for target in PLAIN
        if target.os == "linux"
        and recipe.metadata.unsupported_on(target) is None
        and not _does_something(recipe, target)
    ]
    if left_out:
        yield Found(("steps",), f"nothing is installed on {', '.join(left_out)}, and nothing says why")


def _does_something(recipe: Recipe, target: Target) -> bool:
    """Whether a step installs, builds, or tells a person what to do: a check alone does not count."""
    idle = {"require_command", "service_enable", "service_start", "group_add", "env_set", "file_write"}
    for step in recipe.steps:
        if not step.applies(target) or step.action in idle:
            continue
        if not isinstance(step.does, RequireSystem) or not step.does.by_manager():
            return True
        if any(installs_on(action, target) for action in step.does.by_manager().values()):
            return True
    return False


def _foreign_primitive(subject: Subject) -> Iterator[Found]:
    for i, step in enumerate(subject.recipe.steps):
        if not isinstance(step.does, RequireSystem) or step.does.primitives is None:
            continue
        families = {target.linux_family or target.os for target in PLAIN if step.applies(target)}
        for path, action in parts(step):
            at_home = {target.linux_family or target.os for target in PLAIN if installs_on(action, target)}
            if away := sorted(families - at_home):
                yield Found(
                    ("steps", i, *path), f"the step also applies on {', '.join(away)}, where this cannot be done"
                )


def _unknown_platform(subject: Subject) -> Iterator[Found]:
    meta = subject.recipe.metadata
    sides = {
        "supported_os": "os",
        "supported_arch": "arch",
        "supported_libc": "libc",
        "unsupported_platforms": "platform",
    }
    for key, kind in sides.items():
        for i, name in enumerate(getattr(meta, key) or ()):
            if normal_platform(name) not in VALUES[kind]:
                yield Found(("metadata", key, i), f"no {kind} is called {name!r}{did_you_mean(name, VALUES[kind])}")


RULES = (
    Rule(
        id="TS004",
        title="A condition that can never hold",
        why="The step is written, reviewed and never run: no platform fulfils its `when`, alone or together with the "
        "platform that the action itself implies.",
        bad='[[steps]]\naction = "apt_install"\npackages = ["jq"]\nwhen = { linux_family = "alpine" }\n',
        good='[[steps]]\naction = "apk_install"\npackages = ["jq"]\n',
        check=_never_matches,
    ),
    Rule(
        id="TS005",
        title="A step where the recipe does not work",
        why="`supported_os`, `supported_arch`, `supported_libc` or `unsupported_platforms` rule out every platform on "
        "which the step applies. One of the two is wrong.",
        bad='[metadata]\nname = "jq"\nsupported_os = ["linux"]\n\n'
        '[[steps]]\naction = "brew_install"\npackages = ["jq"]\n',
        good='[metadata]\nname = "jq"\nsupported_os = ["linux", "darwin"]\n\n'
        '[[steps]]\naction = "brew_install"\npackages = ["jq"]\n',
        check=_never_selected,
    ),
    Rule(
        id="TS006",
        title="A step that earlier ones make superfluous",
        why="The same action with the same parameters has run already wherever this step applies. Often the condition "
        "of one of them was meant to be another.",
        bad='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n\n'
        '[[steps]]\naction = "apt_install"\npackages = ["jq"]\nwhen = { arch = "arm64" }\n',
        good='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n',
        check=_shadowed,
    ),
    Rule(
        id="TS009",
        title="A family that is left out",
        why="The recipe installs packages on some Linux families, and on others it does nothing and says nothing. Add "
        "the packages, a `manual` step that says what to do, or a `[metadata]` that rules the platform out.",
        bad='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n',
        good='[[steps]]\naction = "require_system"\ncommand = "jq"\n'
        'packages = { apt = ["jq"], dnf = ["jq"], pacman = ["jq"], apk = ["jq"], zypper = ["jq"] }\n',
        check=_uncovered,
    ),
    Rule(
        id="TS020",
        title="A primitive of one family in a step for several",
        why="Primitives are carried out in order, and none is left out in silence: where the step applies to a family "
        "that cannot do one of them, deriving ends with exit code 4. Give each family its own step.",
        bad='[[steps]]\naction = "require_system"\ncommand = "jq"\n'
        'primitives = [{ apt = ["jq"] }]\nwhen = { os = ["linux"] }\n',
        good='[[steps]]\naction = "require_system"\ncommand = "jq"\n'
        'primitives = [{ apt = ["jq"] }]\nwhen = { linux_family = "debian" }\n',
        check=_foreign_primitive,
    ),
    Rule(
        id="TS021",
        title="A platform that does not exist",
        why="`[metadata]` lists what the recipe supports by name, and a name that no platform has is never equal to "
        "one: the recipe then counts as unsupported everywhere, or as supported where it is not.",
        bad='[metadata]\nname = "jq"\nsupported_os = ["linus"]\n\n'
        '[[steps]]\naction = "apt_install"\npackages = ["jq"]\n',
        good='[metadata]\nname = "jq"\nsupported_os = ["linux"]\n\n'
        '[[steps]]\naction = "apt_install"\npackages = ["jq"]\n',
        check=_unknown_platform,
    ),
)
