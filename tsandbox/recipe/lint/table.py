"""All rules, by id. An id is never used for another rule, even after its own is gone."""

from collections.abc import Iterable

from tsandbox.recipe.lint import conditions, downloads, packages, people, secrets, words
from tsandbox.recipe.lint.rule import Found, Rule, Subject


def _found_elsewhere(_: Subject) -> Iterable[Found]:
    return ()


LOAD = Rule(
    id="TS000",
    title="The recipe is not valid",
    severity="error",
    why="The file cannot be read as a recipe: it is not TOML, or a key, a type or a value is not what the reference "
    "describes. Nothing else can be said about the recipe until this is repaired.",
    bad='[[steps]]\naction = "apt_install"\npackages = ["jq; reboot"]\n',
    good='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n',
    check=_found_elsewhere,
)
SILENCE = Rule(
    id="TS016",
    title="A silenced rule that is unknown or not broken",
    why="`[lint] ignore` names a rule that does not exist, or one that the recipe does not break any more. A stale "
    "entry would hide the next real finding.",
    bad='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n\n[lint]\nignore = { TS999 = "because" }\n',
    good='[[steps]]\naction = "apt_install"\npackages = ["jq"]\n\n'
    '[lint]\nignore = { TS001 = "the package has no command to run" }\n',
    check=_found_elsewhere,
)

_ALL = (
    LOAD,
    SILENCE,
    *people.RULES,
    *packages.RULES,
    *conditions.RULES,
    *downloads.RULES,
    *secrets.RULES,
    *words.RULES,
)
RULES: dict[str, Rule] = {rule.id: rule for rule in sorted(_ALL, key=lambda rule: rule.id)}
