"""A plan with everything written down that a network can answer: versions, addresses, checksums, sizes."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from tsandbox.errors import DownloadFailed
from tsandbox.plan import Plan, PlanStep, Platform
from tsandbox.recipe import grammar
from tsandbox.recipe.digest import read_digest
from tsandbox.recipe.load import read_action
from tsandbox.runner.executable import DOWNLOADS, ECOSYSTEMS
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.substitute import substitute
from tsandbox.sandbox import downloads, ecosystem, github, http
from tsandbox.sandbox.downloads import Download, Progress

_HEX = re.compile(r"\b[0-9a-fA-F]{64}\b")
Say = Callable[[str], None]


def resolve(
    plan: Plan,
    *,
    offline: bool = False,
    online: bool = False,
    on_progress: Say | None = None,
    on_bytes: Progress | None = None,
) -> Plan:
    """`plan` with what it leaves open filled in; a plan that leaves nothing open comes back as it is.

    `online`: the installation has a network, as on the host; its ecosystems' clients fetch for themselves.
    """
    platform = plan.platform or Platform(os="linux", arch="amd64")
    say = on_progress or (lambda _: None)
    # What the installation itself may fetch is not fetched, nor fixed, before it.
    online = online or ecosystem.online(plan)
    return _Resolution(platform, offline=offline, online=online, say=say, on_bytes=on_bytes).plan(plan)


def needed(plan: Plan) -> list[Download]:
    """The files that a resolved plan needs."""
    return [
        Download(
            step=_called(number, step),
            urls=(step.url or "", *_fallbacks(step)),
            sha256=_bare(step.checksum),
            size=step.size,
            digests=_declared(step.params),
            file=step.file,
            line=step.line,
        )
        for number, step in numbered(plan)
        if step.action in DOWNLOADS
    ]


def numbered(plan: Plan) -> Iterator[tuple[int, PlanStep]]:
    """Every step with its number, as the runner counts: dependencies first."""
    steps = (step for part in plan.with_dependencies() for step in part.steps)
    yield from enumerate(steps, start=1)


class _Resolution:
    def __init__(self, platform: Platform, *, offline: bool, online: bool, say: Say, on_bytes: Progress | None) -> None:
        self.platform = platform
        self.offline = offline
        self.online = online
        self.say = say
        self.on_bytes = on_bytes
        self.versions: dict[str, str | None] = {}

    def plan(self, plan: Plan) -> Plan:
        dependencies = tuple(self.plan(nested) for nested in plan.dependencies)
        version = plan.version or (_as_version(plan, self._latest(plan)) if _wants_version(plan) else None)
        self.versions[plan.tool] = version
        known = msgspec.structs.replace(plan, version=version, dependencies=dependencies)
        return msgspec.structs.replace(known, steps=tuple(self._step(known, step) for step in plan.steps))

    def _latest(self, plan: Plan) -> str | None:
        """The newest version, from where the recipe says or else from where its steps install from."""
        source = plan.version_source
        repos = [source.github_repo, *(str(step.params.get("repo") or "") for step in plan.steps)]
        packages = [step for step in plan.steps if step.action in ECOSYSTEMS]
        asked = next((repo for repo in repos if repo), None)
        if asked:
            self._need_network(plan, f"the latest release of {asked}")
            self.say(f"{plan.tool}: asking GitHub for the latest release of {asked}")
            return github.latest_version(asked, source.tag_prefix)
        if packages:
            return ecosystem.latest_version(packages[0], offline=self.offline)
        raise DownloadFailed(
            f"{plan.tool}: the recipe does not say which version to install",
            hint=f'write [version] pin = "…" into {plan.file}, or name it: {plan.tool}@VERSION',
            file=plan.file,
        )

    def _step(self, plan: Plan, step: PlanStep) -> PlanStep:
        try:
            if step.action in DOWNLOADS:
                return self._download(plan, step)
            if step.action in ECOSYSTEMS:
                return self._packages(plan, step)
        except StepFailed as error:
            raise DownloadFailed(f"{step.action}: {error}", file=step.file, line=step.line) from None
        except DownloadFailed as error:
            if error.file is None:
                error.file, error.line = step.file, step.line
            raise
        return step

    def _packages(self, plan: Plan, step: PlanStep) -> PlanStep:
        params = dict(step.params)
        if "version" not in params and plan.version:
            params["version"] = plan.version
        known = _with_params(step, params)
        if self.online:
            return known
        locked = ecosystem.lock(known, plan.version, self.platform, offline=self.offline, say=self.say)
        return _with_params(known, locked)

    def _download(self, plan: Plan, step: PlanStep) -> PlanStep:
        if step.url and step.checksum:
            return step
        variables = self._variables(plan, step.params)
        params: Mapping[str, Any] = substitute(dict(step.params), variables)
        if step.action.startswith("github_") and not params.get("url"):
            found = self._asset(plan, params)
            url, sha256, size = found.browser_download_url, found.sha256, found.size
        else:
            url, sha256, size = step.url or str(params.get("url") or ""), None, step.size
        sha256 = sha256 or _bare(step.checksum) or dict(_declared(params)).get("sha256") or self._published(params, url)
        if sha256 is None:
            fetched = self._first_look(step, url, params)
            sha256, size = fetched.sha256, fetched.size
        return msgspec.structs.replace(step, url=url, checksum=sha256, size=size)

    def _asset(self, plan: Plan, params: Mapping[str, Any]) -> github.Asset:
        repo, pattern = str(params.get("repo") or ""), str(params.get("asset_pattern") or params.get("file") or "")
        self._need_network(plan, f"the files of {repo} {plan.version}")
        if not plan.version:
            raise DownloadFailed(f"{plan.tool}: the version is not known", hint='write [version] pin = "…"')
        return github.asset(github.release(repo, plan.version, plan.version_source.tag_prefix), pattern)

    def _published(self, params: Mapping[str, Any], url: str) -> str | None:
        """The digest in a checksum file that the project publishes beside its downloads."""
        where = params.get("checksum_url")
        if not where:
            return None
        if self.offline:
            raise DownloadFailed("--offline: the checksum is not in the plan", details=[str(where)])
        name = url.rpartition("/")[2]
        try:
            lines = http.get_text(str(where)).splitlines()
        except http.FetchError as error:
            raise DownloadFailed(
                f"the published checksums could not be read: {error}", temporary=error.temporary
            ) from None
        named = [line for line in lines if name in line]
        for line in named or (lines if len(lines) == 1 else []):
            if match := _HEX.search(line):
                return match.group().lower()
        raise DownloadFailed(f"{where} holds no sha256 for {name}", hint="write checksum into the step instead")

    def _first_look(self, step: PlanStep, url: str, params: Mapping[str, Any]) -> downloads.Fetched:
        # Nobody has said what the file is: it is fetched once, and from then on it must stay what it is now.
        self.say(f"{step.place}: no checksum is given; {url.rpartition('/')[2]} is fetched to write one down")
        wanted = Download(
            step=step.action,
            urls=(url, *_texts(params.get("fallback_urls"))),
            digests=_declared(params),
            file=step.file,
            line=step.line,
        )
        return downloads.fetch_all([wanted], offline=self.offline, progress=self.on_bytes)[wanted]

    def _need_network(self, plan: Plan, what: str) -> None:
        if self.offline:
            raise DownloadFailed(
                f"--offline: {plan.tool} needs an answer from the network: {what}",
                hint="tsandbox plan --resolve RECIPE > plan.json while online, then install --plan plan.json",
                file=plan.file,
            )

    def _variables(self, plan: Plan, params: Mapping[str, Any]) -> dict[str, str | None]:
        system, arch = self.platform.os, self.platform.arch
        return {
            "name": plan.tool,
            "version": plan.version,
            "os": _mapped(params.get("os_mapping"), system),
            "arch": _mapped(params.get("arch_mapping"), arch),
            **{f"deps.{name}.version": version for name, version in self.versions.items()},
        }


def _as_version(plan: Plan, answer: str | None) -> str | None:
    """What the network calls the latest becomes a part of paths and commands, as a version in a recipe does."""
    if answer is not None and (fault := grammar.version(answer)):
        raise DownloadFailed(
            f"{plan.tool}: the latest version: {fault}", hint='write [version] pin = "…"', file=plan.file
        )
    return answer


def _wants_version(plan: Plan) -> bool:
    """System packages come in the version that the distribution has; everything else is asked for by version."""
    if any(step.action in ECOSYSTEMS or step.action.startswith("github_") for step in plan.steps):
        return True
    return any("{version}" in str(step.params) for step in plan.steps)


def _with_params(step: PlanStep, params: dict[str, Any]) -> PlanStep:
    _, does, faults = read_action(step.action, params)
    if does is None:
        raise DownloadFailed(f"{step.action}: {faults[0].message}", file=step.file, line=step.line)
    return msgspec.structs.replace(step, params=params, does=does)


def _called(number: int, step: PlanStep) -> str:
    return f"step {number} ({step.action})"


def _fallbacks(step: PlanStep) -> tuple[str, ...]:
    # A fallback with a placeholder cannot be filled in here any more; resolved plans hold plain addresses.
    return tuple(url for url in _texts(step.params.get("fallback_urls")) if "{" not in url)


def _declared(params: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    checksum = params.get("checksum")
    if not isinstance(checksum, str) or not checksum or "{" in checksum:
        return ()
    try:
        return (read_digest(checksum, params.get("checksum_algo")),)
    except ValueError as error:
        # What a placeholder stood for was not known when the recipe was loaded.
        raise DownloadFailed(f"checksum: {error}", hint="write the file's digest into the step") from None


def _bare(checksum: str | None) -> str | None:
    return checksum.removeprefix("sha256:").lower() if checksum else None


def _mapped(mapping: Any, name: str) -> str:
    return str(mapping.get(name, name)) if isinstance(mapping, Mapping) else name


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list | tuple) else ()
