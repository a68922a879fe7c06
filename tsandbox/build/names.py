"""The names of all packages in the archive, asked for only when a recipe names one that does not exist."""

import re
from collections.abc import Iterable
from secrets import token_hex

from tsandbox.build import host
from tsandbox.build.workplace import Workplace
from tsandbox.derive import ContainerSpec
from tsandbox.engine.protocol import BuildRequest, Engine
from tsandbox.errors import TsandboxError

_MARK = "tsandbox-packages"
_NAMES = re.compile(rf"{_MARK} (.+)")
_TIMEOUT = 120.0
_MOST = 3


class Nearby:
    """Looks near names up in the index that the failed build used: the same base, mirror and settings."""

    def __init__(self, engine: Engine, spec: ContainerSpec, place: Workplace) -> None:
        self._engine = engine
        self._spec = spec
        self._place = place

    def __call__(self, unknown: Iterable[str]) -> dict[str, list[str]]:
        if self._spec.target.linux_family != "debian":
            return {}
        try:
            known = self._known()
        except TsandboxError:
            # A guess is a kindness; that it cannot be made must not hide what went wrong.
            return {}
        return {name: near_names(name, known) for name in unknown}

    def _known(self) -> list[str]:
        found: list[str] = []

        def on_line(line: str) -> None:
            if match := _NAMES.search(line):
                found.extend(match[1].split())

        context = self._place.directory / "names"
        context.mkdir()
        request = BuildRequest(
            context=context,
            dockerfile=context / "Dockerfile",
            tag=self._place.tag,
            labels={},
            platform=self._spec.target.platform,
            no_cache=True,
            timeout=_TIMEOUT,
        )
        dockerfile = (
            f"FROM {self._spec.builder.image}\n"
            # Unlike any other step: BuildKit merges equal ones of builds that run at the same time, whatever their
            # settings. Many names to a line, because it also cuts output that is long.
            f"RUN : {token_hex(8)} && apt-get -qq update && apt-cache pkgnames | sort -u | xargs -n 50 echo {_MARK}\n"
        )
        settings = host.host_settings(self._spec, self._place.directory)
        self._engine.build(
            host.request_for(self._engine, settings, dockerfile=dockerfile, work=context, request=request),
            on_line=on_line,
        )
        return found


def near_names(word: str, known: Iterable[str]) -> list[str]:
    """The nearest first. A misspelt name rarely begins with another letter, and comparing all is slow."""
    from difflib import get_close_matches

    alike = [name for name in known if name[:1] == word[:1] and abs(len(name) - len(word)) <= 4]
    close = get_close_matches(word, alike, n=_MOST, cutoff=0.75)
    longer = sorted((name for name in known if name.startswith(f"{word}-") or name.endswith(f"-{word}")), key=len)
    return list(dict.fromkeys([*close, *longer]))[:_MOST]
