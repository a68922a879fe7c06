"""From a TOML file to a Recipe, with every fault of the file told at once."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tsandbox.errors import InvalidInput, Problem
from tsandbox.printable import one_line
from tsandbox.recipe import grammar
from tsandbox.recipe.actions import ACTIONS, Action
from tsandbox.recipe.actions.carried import read_carried
from tsandbox.recipe.decode import Fault, Path, convert, path_text
from tsandbox.recipe.model import Metadata, Recipe, Sandbox, Section, Step, Verify, Version
from tsandbox.recipe.near import did_you_mean
from tsandbox.recipe.when import ALWAYS, When, parse_when

if TYPE_CHECKING:
    from tsandbox.recipe.lines import Lines

_TABLES = ("metadata", "version", "steps", "verify", "sandbox", "resources", "patches", "lint")
_LONGEST = 600
# Far more than any recipe has: a generated file must not keep a review, or a build, busy for ever.
MOST_STEPS = 1_000
# Step keys that say something about the step and not about what it does.
_ABOUT = ("action", "when", "note", "description", "params")


def load_recipe(text: str, file: str = "-") -> Recipe:
    """The recipe in `text`; `file` names it in messages."""
    # Plans share this module and have no lines.
    from tsandbox.recipe.lines import Lines

    raw = parse_toml(text, file)
    recipe, faults = read_recipe(raw, file, Lines(text))
    if recipe is None:
        raise invalid(file, faults, Lines(text))
    return recipe


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """The tables of a TOML text; one that tomllib would read for minutes, or not at all, is refused."""
    from tsandbox.recipe.lines import deep_key

    try:
        if line := deep_key(text):
            raise _unreadable(file, line, "a key is nested too deeply")
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if text.lstrip().startswith("{"):
            raise _unreadable(file, None, "is not TOML: it looks like a plan, and plans are JSON") from None
        raise _not_toml(error, file, text) from None
    except RecursionError:
        raise _unreadable(file, None, "is nested too deeply") from None
    except ValueError:
        # Python reads no number of more than some thousand digits.
        raise _unreadable(file, None, "holds a number with too many digits") from None


def read_recipe(raw: Mapping[str, Any], file: str, lines: "Lines") -> tuple[Recipe | None, list[Fault]]:
    faults = [Fault((key,), f"unknown table{did_you_mean(key, _TABLES)}") for key in raw if key not in _TABLES]
    sections: dict[str, Any] = {}
    for name, kind, is_open in (
        ("metadata", Metadata, True),
        ("version", Version, True),
        ("verify", Verify, True),
        ("sandbox", Sandbox, False),
    ):
        if name not in raw and name != "metadata":
            continue
        section, wrong = convert(raw.get(name, {}), kind, open_table=is_open)
        faults += [Fault((name, *fault.path), fault.message) for fault in wrong]
        if section is not None:
            sections[name] = section
            faults += section_faults(name, section)
    steps, wrong = _read_steps(raw.get("steps"), lines)
    faults += wrong
    for name in ("resources", "patches"):
        sections[name], wrong = _read_tables(name, raw.get(name, []))
        faults += wrong
    sections["silenced"], wrong = _read_silenced(raw.get("lint", {}))
    faults += wrong
    if faults:
        return None, faults
    return Recipe(steps=tuple(steps), file=file, **sections), []


def invalid(file: str, faults: Iterable[Fault], lines: "Lines | None" = None) -> InvalidInput:
    """The error that tells all faults of a file, each with its line where the file has lines."""
    problems = [
        Problem(
            file,
            # What is missing altogether has no line of its own: the file's first is where to add it.
            (lines.of(*fault.path) or 1) if lines else None,
            _bounded(one_line(path_text(fault.path))),
            _bounded(one_line(fault.message)),
        )
        for fault in faults
    ]
    problems.sort(key=lambda problem: problem.line or 0)
    return InvalidInput(str(problems[0]), problems=problems, hint=_hint(problems))


def _bounded(text: str) -> str:
    """Keys and values are repeated in messages, and can be as long as the file."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 4 :]}"


def _hint(problems: list[Problem]) -> str | None:
    if any(problem.path.endswith("install_guide") for problem in problems):
        return f"tsandbox migrate --diff {problems[0].file}"
    return None


def _not_toml(error: tomllib.TOMLDecodeError, file: str, text: str) -> InvalidInput:
    message, _, place = str(error).removesuffix(")").rpartition(" (at ")
    words = place.removeprefix("line ").split(",")
    line = int(words[0]) if words[0].isdigit() else text.rstrip("\n").count("\n") + 1
    return _unreadable(file, line, f"not valid TOML: {_in_words(message) or error}")


def _in_words(message: str) -> str:
    """What Python's parser says of the two commonest mistakes, for people who do not know Python."""
    if message in ("Illegal character '\\n'", "Found invalid character '\\n'"):
        return "a text in quotes does not end on its line"
    if twice := re.fullmatch(r"Cannot declare \((.*?),?\) twice", message):
        names = re.findall(r"'([^']*)'", twice[1])
        return f"[{'.'.join(names)}] is given twice"
    return message


def _unreadable(file: str, line: int | None, message: str) -> InvalidInput:
    problem = Problem(file, line, "", one_line(message))
    return InvalidInput(str(problem), problems=[problem])


def _read_steps(raw: object, lines: "Lines") -> tuple[list[Step], list[Fault]]:
    if not isinstance(raw, list) or not all(isinstance(step, Mapping) for step in raw):
        what = "has no [[steps]]: a recipe needs at least one" if raw is None else "expected [[steps]] tables"
        return [], [Fault(("steps",), what)]
    if not raw:
        return [], [Fault(("steps",), "a recipe needs at least one step")]
    if len(raw) > MOST_STEPS:
        return [], [
            Fault(("steps", MOST_STEPS), f"a recipe has {MOST_STEPS:,} steps at most, and this has {len(raw):,}")
        ]
    steps, faults = [], []
    for i, (table, line) in enumerate(zip(raw, lines.of_steps(len(raw)), strict=True)):
        step, wrong = read_step(table, line)
        faults += [Fault(("steps", i, *fault.path), fault.message) for fault in wrong]
        if step is not None:
            steps.append(step)
    return steps, faults


def read_step(table: Mapping[str, Any], line: int | None) -> tuple[Step | None, list[Fault]]:
    faults: list[Fault] = []
    when: When = ALWAYS
    if "when" in table:
        when, unclear = parse_when(table["when"])
        faults += [Fault(("when", key) if key else ("when",), message) for key, message in unclear]
    texts = {key: table.get(key, "") for key in ("note", "description")}
    faults += [Fault((key,), "expected text") for key, value in texts.items() if not isinstance(value, str)]
    params, wrong = _merge_params(table)
    action, does, wrong_action = read_action(table.get("action"), params)
    nested = "params" in table
    faults += wrong + [_as_written(fault, table) if nested else fault for fault in wrong_action]
    if faults or does is None:
        return None, faults
    return Step(action=action, params=params, does=does, when=when, line=line, **texts), []


def read_action(action: object, params: Mapping[str, Any]) -> tuple[str, Action | None, list[Fault]]:
    """What a step or a plan's step does, by its word; words that we do not know are carried."""
    if action is None or action == "":
        return "", None, [Fault(("action",), "is missing")]
    if not isinstance(action, str):
        return "", None, [Fault(("action",), "expected text")]
    if message := grammar.name(action):
        return "", None, [Fault(("action",), message)]
    if kind := ACTIONS.get(action):
        return action, *kind.read(params)
    return action, *read_carried(action, params)


def _merge_params(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    beside = {key: value for key, value in table.items() if key not in _ABOUT}
    nested = table.get("params", {})
    if not isinstance(nested, Mapping):
        return beside, [Fault(("params",), "expected a table")]
    twice = [key for key in nested if key in beside]
    return {**beside, **nested}, [Fault(("params", key), "is given twice, here and beside params") for key in twice]


def _as_written(fault: Fault, table: Mapping[str, Any]) -> Fault:
    in_params = bool(fault.path) and fault.path[0] in table["params"]
    return Fault(("params", *fault.path), fault.message) if in_params else fault


def _read_tables(name: str, raw: object) -> tuple[tuple[dict[str, Any], ...], list[Fault]]:
    if not isinstance(raw, list) or not all(isinstance(item, Mapping) for item in raw):
        return (), [Fault((name,), f"expected [[{name}]] tables")]
    faults = []
    for i, item in enumerate(raw):
        faults += [Fault((name, i, *fault.path), fault.message) for fault in read_carried("download_file", item)[1]]
    return tuple(dict(item) for item in raw), faults


def _read_silenced(raw: object) -> tuple[dict[str, str], list[Fault]]:
    """`[lint] ignore = { TS004 = "why" }`: a rule is silenced only with a reason."""
    if not isinstance(raw, Mapping) or set(raw) - {"ignore"} or not isinstance(raw.get("ignore", {}), Mapping):
        return {}, [Fault(("lint",), 'expected ignore = { TS001 = "reason" }')]
    ignored = raw.get("ignore", {})
    bare = [rule for rule, why in ignored.items() if not isinstance(why, str) or not why.strip()]
    faults = [Fault(("lint", "ignore", rule), "needs a reason: a rule is not silenced without one") for rule in bare]
    return dict(ignored), faults


def section_faults(name: str, section: Section) -> list[Fault]:
    """What the types of a section do not tell, for recipes and plans alike."""
    faults = _grammar_faults(section)
    match section:
        case Verify():
            faults += _verify_faults(section)
        case Sandbox():
            faults += _sandbox_faults(section)
        case _:
            pass
    return [Fault((name, *fault.path), fault.message) for fault in faults]


def _grammar_faults(section: Section) -> list[Fault]:
    faults = []
    for key, check in section.checks.items():
        value = getattr(section, key)
        texts: list[tuple[Path, str]] = (
            [((key,), value)] if isinstance(value, str) else [((key, i), text) for i, text in enumerate(value or ())]
        )
        # An optional text that is empty is one that was left out.
        wrong = ((path, text, check(text)) for path, text in texts if text or len(path) > 1 or key == "name")
        faults += [Fault(path, message) for path, text, message in wrong if message]
    return faults


def _verify_faults(verify: Verify) -> list[Fault]:
    if verify.pattern and verify.patterns:
        return [Fault(("patterns",), "give pattern or patterns, not both")]
    return []


def _sandbox_faults(sandbox: Sandbox) -> list[Fault]:
    limits = sandbox.limits
    faults = section_faults("limits", limits)
    for key in ("cpus", "pids", "timeout"):
        value = getattr(limits, key)
        if value is not None and (message := grammar.quantity(value)):
            faults.append(Fault(("limits", key), message))
    for name, value in sandbox.env.items():
        message = grammar.env_name(name) or grammar.free_in_sandbox(name) or grammar.one_line(value)
        faults += [Fault(("env", name), message)] if message else []
    return faults
