"""From plan JSON to a Plan, with every fault told at once."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn

import msgspec

from tsandbox.errors import InvalidInput, Problem
from tsandbox.plan.model import READ_VERSIONS, Plan, PlanStep, Platform
from tsandbox.printable import one_line
from tsandbox.recipe import grammar
from tsandbox.recipe.decode import Fault, Path, convert
from tsandbox.recipe.load import invalid, read_action, section_faults
from tsandbox.recipe.model import Sandbox, Verify
from tsandbox.recipe.near import did_you_mean
from tsandbox.recipe.when import VALUES

_DEEPEST = 100
_MOST_STEPS = 10_000
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class _Refused(ValueError):
    """What Python's reader takes, and JSON does not have."""


class RawStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step as plans write it."""

    action: str
    params: dict[str, Any] = {}
    evaluable: bool = False
    deterministic: bool = False
    phase: str | None = None
    url: str | None = None
    checksum: str | None = None
    size: Count | None = None
    line: Count | None = None


class RawPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as it is written, nested ones still unread."""

    tool: str
    steps: list[dict[str, Any]]
    version: str | None = None
    format_version: int = 0
    platform: Platform | None = None
    dependencies: list[dict[str, Any]] | None = None
    deterministic: bool = False
    generated_at: str | None = None
    recipe_source: str | None = None
    recipe_hash: str | None = None
    recipe_type: str | None = None
    binaries: tuple[str, ...] | None = None
    verify: Verify | None = None
    sandbox: Sandbox | None = None


def read_plan(text: str, file: str = "-") -> Plan:
    """The plan in `text`; `file` names it in messages."""
    raw = _parse(text, file)
    _check_version(raw, file)
    if (count := _steps_in(raw)) > _MOST_STEPS:
        raise _fault(file, f"a plan has {_MOST_STEPS:,} steps at most, with its dependencies, and this has {count:,}")
    faults: list[Fault] = []
    plan = _read(raw, file, (), faults)
    if plan is not None and plan.platform is None:
        faults.append(Fault(("platform",), "is missing"))
    if faults or plan is None:
        raise invalid(file, faults)
    return plan


def _parse(text: str, file: str) -> Mapping[str, Any]:
    try:
        raw = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        if re.search(r"^\s*\[\s*metadata\s*\]", text, re.MULTILINE):
            raise _fault(file, "is not JSON: it looks like a recipe, and recipes are TOML") from None
        raise _fault(file, f"not valid JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise _fault(file, "is nested too deeply") from None
    except _Refused as error:
        raise _fault(file, str(error)) from None
    except ValueError:
        # Python reads no number of more than some thousand digits.
        raise _fault(file, "holds a number with too many digits") from None
    if not isinstance(raw, dict):
        raise _fault(file, "a plan is a JSON object")
    if re.search(r"\\u[dD][89a-fA-F]", text):
        _refuse_surrogates(raw, file)
    if "metadata" in raw and "tool" not in raw:
        raise _fault(file, "is not a plan: it looks like a recipe, and recipes are TOML")
    return raw


def _check_version(raw: Mapping[str, Any], file: str) -> None:
    version = raw.get("format_version")
    readable = ", ".join(map(str, READ_VERSIONS))
    if type(version) is not int:
        raise _fault(file, f"format_version is missing or not a whole number; tsandbox reads {readable}")
    if version not in READ_VERSIONS:
        age = "newer than this tsandbox" if version > max(READ_VERSIONS) else "too old"
        raise _fault(file, f"format_version {version} is {age}; versions {readable} are read")


def _steps_in(raw: Mapping[str, Any]) -> int:
    """Of the plan and all that it needs, before anything in it was checked."""
    count, unseen = 0, [raw]
    while unseen:
        plan = unseen.pop()
        steps, inner = plan.get("steps"), plan.get("dependencies")
        count += len(steps) if isinstance(steps, list) else 0
        unseen += [each for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []
    return count


def _read(raw: Mapping[str, Any], file: str, path: Path, faults: list[Fault]) -> Plan | None:
    if len(path) > 2 * _DEEPEST:
        faults.append(Fault(path[:2], f"dependencies nest more than {_DEEPEST} deep"))
        return None
    plan, wrong = convert(raw, RawPlan, open_table=True)
    faults += [Fault((*path, *fault.path), fault.message) for fault in wrong]
    if plan is None:
        return None
    faults += [Fault((*path, *fault.path), fault.message) for fault in _plan_faults(plan)]
    source = plan.recipe_source or file
    steps = [_read_step(step, source, (*path, "steps", i), faults) for i, step in enumerate(plan.steps)]
    nested = [_read(inner, file, (*path, "dependencies", i), faults) for i, inner in enumerate(plan.dependencies or ())]
    return Plan(
        tool=plan.tool,
        version=plan.version or None,
        steps=tuple(step for step in steps if step is not None),
        platform=plan.platform,
        dependencies=tuple(inner for inner in nested if inner is not None),
        verify=plan.verify or Verify(),
        sandbox=plan.sandbox or Sandbox(),
        recipe_type=plan.recipe_type,
        binaries=plan.binaries or (),
        file=file,
    )


def _read_step(raw: dict[str, Any], source: str, path: Path, faults: list[Fault]) -> PlanStep | None:
    step, wrong = convert(raw, RawStep, open_table=True)
    faults += [Fault((*path, *fault.path), fault.message) for fault in wrong]
    if step is None:
        return None
    faults += [Fault((*path, key), message) for key, message in _file_faults(step)]
    action, does, wrong = read_action(step.action, step.params)
    faults += [Fault(_step_path(path, fault), fault.message) for fault in wrong]
    if does is None:
        return None
    return PlanStep(
        action=action,
        params=step.params,
        does=does,
        evaluable=step.evaluable,
        deterministic=step.deterministic,
        phase=step.phase,
        url=step.url or None,
        checksum=step.checksum or None,
        size=step.size,
        file=source,
        line=step.line,
    )


def _file_faults(step: RawStep) -> list[tuple[str, str]]:
    """Of what a resolved step says of its file: both are used as they are, as an address and as a name."""
    url = grammar.download_url(step.url) if step.url else None
    bare = (step.checksum or "").removeprefix("sha256:")
    return [
        (key, message)
        for key, message in (("url", url), ("checksum", grammar.sha256(bare) if bare else None))
        if message
    ]


def _step_path(path: Path, fault: Fault) -> Path:
    return (*path, *fault.path) if fault.path == ("action",) else (*path, "params", *fault.path)


def _plan_faults(plan: RawPlan) -> list[Fault]:
    faults = [Fault(("tool",), message)] if (message := grammar.name(plan.tool)) else []
    if plan.version and (message := grammar.version(plan.version)):
        faults.append(Fault(("version",), message))
    if plan.platform is not None:
        faults += _platform_faults(plan.platform)
    for name, section in (("verify", plan.verify), ("sandbox", plan.sandbox)):
        faults += section_faults(name, section) if section is not None else []
    return faults


def _platform_faults(platform: Platform) -> list[Fault]:
    known = {**VALUES, "arch": ("amd64", "arm64", "x86_64", "aarch64")}
    faults = []
    for key in Platform.__struct_fields__:
        value = getattr(platform, key)
        if value not in known[key] and (value or key in ("os", "arch")):
            faults.append(Fault(("platform", key), f"unknown value {value!r}{did_you_mean(str(value), known[key])}"))
    return faults


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Refused(f"the key {twice!r} is given twice in one object")
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not JSON")


def _refuse_surrogates(raw: object, file: str) -> None:
    """Half of a surrogate pair can be written as an escape, but never again as text."""
    try:
        msgspec.json.encode(raw)
    except UnicodeEncodeError as error:
        raise _fault(file, f"\\u{ord(error.object[error.start]):04x} alone is not a character") from None


def _fault(file: str, message: str, line: int | None = None) -> InvalidInput:
    problem = Problem(file, line, "", one_line(message))
    return InvalidInput(str(problem), problems=[problem])
