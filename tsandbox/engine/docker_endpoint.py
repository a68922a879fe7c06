"""Which docker daemon this user's environment names, and whether it answers: asked before any client is started."""

import hashlib
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tsandbox.engine import diagnose
from tsandbox.engine.process import CommandFailed
from tsandbox.errors import EngineUnavailable

DEFAULT = "unix:///var/run/docker.sock"
_PATIENCE = 20.0


class Endpoint(Struct, frozen=True, kw_only=True):
    """A daemon's address; `env` is what a client needs to find it beside the environment that it inherits."""

    address: str
    env: dict[str, str] = {}

    @property
    def socket_path(self) -> str | None:
        return self.address.removeprefix("unix://") if self.address.startswith("unix://") else None


def candidates(environ: Mapping[str, str] | None = None) -> list[Endpoint]:
    """In the order in which they are tried: a rootless daemon's own socket comes before that of the system.

    DOCKER_HOST and contexts name exactly one daemon, as they do for the command line.
    """
    env = os.environ if environ is None else environ
    if host := env.get("DOCKER_HOST"):
        return [Endpoint(address=host)]
    if (name := _context_name(env)) != "default":
        return [Endpoint(address=_context_address(name, env))]
    rootless = Path(env.get("XDG_RUNTIME_DIR") or "/nonexistent") / "docker.sock"
    found = [Endpoint(address=f"unix://{rootless}", env={"DOCKER_HOST": f"unix://{rootless}"})]
    return [*(found if rootless.exists() else []), Endpoint(address=DEFAULT)]


def identity(endpoint: Endpoint) -> str:
    """What the daemon behind a socket says of its version; raises the reason if it does not answer."""
    path = endpoint.socket_path
    if path is None:
        # Another machine, perhaps over ssh or TLS: only the client knows how to ask it.
        return ""
    try:
        answer = _ping(path)
    except OSError as error:
        raise _silent(endpoint, error) from error
    head = answer.partition(b"\r\n\r\n")[0].decode(errors="replace").splitlines()
    said = [line for line in head if line.lower().startswith(("server:", "api-version:"))]
    if not said:
        raise _silent(endpoint, OSError("connection reset by peer: it hung up without an answer"))
    return " ".join(sorted(said))


def _ping(path: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE)
        connection.connect(path)
        connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
        answer = b""
        while b"\r\n\r\n" not in answer and (chunk := connection.recv(4096)):
            answer += chunk
        return answer


def _silent(endpoint: Endpoint, error: OSError) -> EngineUnavailable:
    reason = error.strerror or str(error)
    failed = CommandFailed(
        reason,
        command=f"curl --unix-socket {endpoint.socket_path} http://docker/_ping",
        returncode=1,
        output=f"dial unix {endpoint.socket_path}: connect: {reason}",
    )
    explained = diagnose.explain("docker", failed, answered=False, doing="first contact")
    assert isinstance(explained, EngineUnavailable)
    return explained


def _config_dir(env: Mapping[str, str]) -> Path:
    return Path(env.get("DOCKER_CONFIG") or "~/.docker").expanduser()


def config_file(environ: Mapping[str, str] | None = None) -> Path:
    return _config_dir(os.environ if environ is None else environ) / "config.json"


def _context_name(env: Mapping[str, str]) -> str:
    if name := env.get("DOCKER_CONTEXT"):
        return name
    return _json(config_file(env)).get("currentContext") or "default"


def _context_address(name: str, env: Mapping[str, str]) -> str:
    # Docker names a context's directory by the digest of its name.
    directory = hashlib.sha256(name.encode()).hexdigest()
    meta = _json(_config_dir(env) / "contexts" / "meta" / directory / "meta.json")
    address = meta.get("Endpoints", {}).get("docker", {}).get("Host")
    if not address:
        raise EngineUnavailable(
            f"docker: there is no context {name!r}", hint="see `docker context ls`; `docker context use default`"
        )
    return str(address)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise EngineUnavailable(f"docker: {path} cannot be read: {error}", hint="correct or remove it") from error
    return found if isinstance(found, dict) else {}
