"""Docker's SDK, imported late, with its errors turned into ours."""

import os
from collections.abc import Callable
from typing import Any

from tsandbox.engine import diagnose, docker_endpoint
from tsandbox.engine.command import QUICK, EngineCommand
from tsandbox.engine.containers import CPU_PERIOD, cpu_quota
from tsandbox.engine.process import CommandFailed
from tsandbox.engine.protocol import ContainerRequest
from tsandbox.errors import TimedOut

Question = Callable[[Any], Any]


class DockerApi:
    """One connection per process, made at the first question."""

    def __init__(self, command: EngineCommand) -> None:
        self.command = command
        self._client: Any = None

    def ask(self, question: Question, *, doing: str, lookup: bool = False) -> Any:
        import requests
        from docker.errors import DockerException

        try:
            answer = question(self._connected())
        except (DockerException, requests.RequestException) as error:
            failed = CommandFailed(str(error), command=f"docker API: {doing}", returncode=1, output=_text(error))
            raise diagnose.explain(
                "docker", failed, answered=self.command.answered, doing=doing, lookup=lookup
            ) from error
        self.command.answered = True
        return answer

    def look_up(self, question: Question, *, doing: str) -> Any:
        """None only when the daemon says that there is no such thing."""
        from docker.errors import NotFound

        def answer(api: Any) -> Any:
            try:
                return question(api)
            except NotFound:
                return None

        return self.ask(answer, doing=doing, lookup=True)

    def wait(self, container: str, timeout: float | None) -> int:
        import requests

        def answer(api: Any) -> int:
            try:
                return int(api.wait(container, timeout=timeout)["StatusCode"])
            except (requests.ConnectionError, requests.ReadTimeout) as error:
                # An answer that does not come in time is reported as a lost connection.
                if timeout is not None and "timed out" in str(error).lower():
                    raise TimedOut(f"docker: the container has not ended after {timeout:g} s") from error
                raise

        return int(self.ask(answer, doing="wait for a container"))

    def _connected(self) -> Any:
        if self._client is None:
            self._client = _connect({**os.environ, **{k: v for k, v in self.command.env.items() if v is not None}})
        return self._client


def _connect(env: dict[str, str]) -> Any:
    """A client for DOCKER_HOST or, as the command line does it, for the current context."""
    import docker

    address = docker_endpoint.candidates(env)[-1].address
    if address.startswith("unix://"):
        settings: dict[str, Any] = {"base_url": address}
    elif env.get("DOCKER_HOST"):
        settings = docker.utils.kwargs_from_env(environment=env)
    else:
        context = docker.ContextAPI.get_context(env.get("DOCKER_CONTEXT") or None)
        settings = {"base_url": address, "tls": context.TLSConfig if context else None}
    over_ssh = str(settings.get("base_url", "")).startswith("ssh://")
    return docker.APIClient(version="auto", timeout=QUICK, use_ssh_client=over_ssh, **settings)


def container_config(request: ContainerRequest, *, ulimits: str | None) -> dict[str, Any]:
    """The body of a create request: unlike the command line, it adds no proxy settings of the user's."""
    return {
        "Image": request.image,
        "Entrypoint": [],
        "Cmd": list(request.argv),
        "Labels": dict(request.labels),
        "Env": [f"{name}={value}" for name, value in sorted(request.env.items())],
        "WorkingDir": request.workdir,
        "User": request.user or "",
        "OpenStdin": request.stdin,
        "StdinOnce": request.stdin,
        "AttachStdin": request.stdin,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": request.tty,
        "NetworkDisabled": False,
        "HostConfig": _host_config(request, ulimits),
    }


def _host_config(request: ContainerRequest, ulimits: str | None) -> dict[str, Any]:
    return {
        "NetworkMode": "none" if request.network == "none" else "bridge",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Init": request.init,
        "ReadonlyRootfs": request.read_only_root,
        "Tmpfs": dict(request.tmpfs),
        "Mounts": [
            {"Type": "bind", "Source": str(m.source), "Target": m.target, "ReadOnly": m.read_only}
            for m in request.mounts
        ],
        "Ulimits": [_ulimit(word) for word in (ulimits or "").split()],
        **_limits(request),
    }


def _limits(request: ContainerRequest) -> dict[str, int]:
    limits: dict[str, int] = {}
    if request.memory is not None:
        limits |= {"Memory": request.memory, "MemorySwap": request.memory}
    if request.cpus is not None:
        limits |= {"CpuPeriod": CPU_PERIOD, "CpuQuota": cpu_quota(request.cpus)}
    if request.pids is not None:
        limits["PidsLimit"] = request.pids
    return limits


def _ulimit(word: str) -> dict[str, Any]:
    name, _, value = word.partition("=")
    soft, _, hard = value.partition(":")
    return {"Name": name, "Soft": int(soft), "Hard": int(hard)}


def _text(error: Exception) -> str:
    """What the daemon said, or why it could not be asked."""
    return f"{getattr(error, 'explanation', None) or ''}\n{error}"
