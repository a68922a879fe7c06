"""Which docker daemon this user's environment names, and whether it answers: asked before any client is started."""

import hashlib
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tsandbox.engine import diagnose
from tsandbox.engine.process import CommandFailed
from tsandbox.errors import EngineUnavailable, TsandboxError

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
    answer = ask(path, "/_ping", doing="first contact")
    said = [line for line in answer.head if line.lower().startswith(("server:", "api-version:"))]
    return " ".join(sorted(said))


class Answer(NamedTuple):
    status: int
    head: list[str]
    body: bytes


def ask(path: str, question: str, *, doing: str, answered: bool = False) -> Answer:
    """A GET of the daemon's API without a client or the SDK, which take longer to start than all else of a look-up."""
    try:
        return _get(path, question)
    except OSError as error:
        raise _silent(path, question, error, doing=doing, answered=answered) from error


def _get(path: str, question: str) -> Answer:
    head, _, body = _exchange(path, question).partition(b"\r\n\r\n")
    first, *lines = head.decode(errors="replace").splitlines() or [""]
    status = re.match(r"HTTP/1\.\d (\d{3})", first)
    if status is None:
        raise OSError("connection reset by peer: it hung up without an answer")
    return Answer(int(status[1]), lines, body)


def _exchange(path: str, question: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE)
        connection.connect(path)
        # By this version an answer comes in one piece and ends with the connection.
        connection.sendall(f"GET {question} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
        answer = bytearray()
        while chunk := connection.recv(1 << 16):
            answer += chunk
        return bytes(answer)


def _silent(path: str, question: str, error: OSError, *, doing: str, answered: bool) -> TsandboxError:
    reason = error.strerror or str(error)
    failed = CommandFailed(
        reason,
        command=f"curl --unix-socket {path} http://docker{question}",
        returncode=1,
        output=f"dial unix {path}: connect: {reason}",
    )
    return diagnose.explain("docker", failed, answered=answered, doing=doing, lookup=True)


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
