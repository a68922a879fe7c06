"""The connection to a Dask cluster, and whether anybody is still there: Dask itself would wait for them forever."""

import time
from typing import Any

from tsandbox import __version__
from tsandbox.errors import EngineUnavailable, UsageError

# Seconds: for an answer, also of a scheduler that was lost; between two looks; without any worker before we give up.
_CONNECT = 15
_LOOK = 0.1
_ASK = 5.0
_DESERTED = 120.0


class ClusterUnavailable(EngineUnavailable):
    """The Dask scheduler does not answer, or has no workers that can do the work."""

    temporary = True


class Watch:
    """Looks after a cluster while results are waited for; what is gone for good ends the run, which can go on later."""

    def __init__(self, client: Any, scheduler: str) -> None:
        self.client = client
        self.scheduler = scheduler
        self.asked = self.inhabited = time.monotonic()

    def require_scheduler(self) -> None:
        """Dask looks for a lost scheduler for a while, and what it is handed meanwhile is lost."""
        while self.client.status == "connecting":
            time.sleep(_LOOK)
        if self.client.status != "running":
            raise self._gone("the Dask scheduler stopped answering")

    def look(self) -> None:
        """Wait a moment. A worker that dies may come back, or another may be on its way; not for ever."""
        self.require_scheduler()
        time.sleep(_LOOK)
        now = time.monotonic()
        if now - self.asked < _ASK:
            return
        self.asked = now
        if self._has_workers():
            self.inhabited = now
        elif now - self.inhabited > _DESERTED:
            raise self._gone(f"the cluster has had no workers for {_DESERTED:.0f} s")

    def _has_workers(self) -> bool:
        try:
            return bool(self.client.nthreads())
        except OSError:
            # It is the scheduler that is not there.
            return True

    def _gone(self, what: str) -> ClusterUnavailable:
        return ClusterUnavailable(
            f"{self.scheduler}: {what}",
            hint="results that came back are kept: when the cluster is there again, go on with --resume",
        )


def close(client: Any) -> None:
    client.close(timeout=_CONNECT)


def connected(scheduler: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "--executor dask needs Dask, which is not installed", hint="pip install 'tsandbox[dask]'"
        ) from None
    try:
        client = Client(scheduler, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterUnavailable(
            f"{scheduler}: the Dask scheduler does not answer: {error}",
            hint="start one with `dask scheduler`, and name its address with --scheduler",
        ) from None
    _require_workers(client, scheduler)
    return client


def _require_workers(client: Any, scheduler: str) -> None:
    try:
        versions: dict[str, str] = client.run(_version) or {}
    except ImportError:
        versions = {"a worker": "none"}
    except Exception:
        close(client)
        raise
    problem: str | None = None
    if not versions:
        problem = "has no workers"
    elif other := {version for version in versions.values() if version != __version__}:
        problem = f"has workers with tsandbox {', '.join(sorted(other))}, and this is {__version__}"
    if problem:
        close(client)
        raise ClusterUnavailable(
            f"{scheduler}: the cluster {problem}", hint="start workers that have this version of tsandbox"
        )


def _version() -> str:
    return __version__
