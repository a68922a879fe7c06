"""One machine builds, the others pull: a real registry on this machine, and what happens without it."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.integration.conftest import Cli
from tests.integration.matrix.recipes import Workshop, spec_of
from tsandbox.build import ensure_image, registry
from tsandbox.build.registry import NotWhatItSays, Registry, RegistryDown, pull, push
from tsandbox.derive import define_image
from tsandbox.engine import Engine

CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {directory}}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
# Of user "worker" with the password "secret-word", made for this file.
PASSWORDS = "worker:$2b$04$v0KvKjQC5Md.I9kA4nhZuuC.j8EbpLF1lTeAbPX/MFyeiPIs3eKH2\n"


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Registry]:
    with serving(tmp_path) as made:
        yield made


@contextmanager
def serving(directory: Path, more: str = "") -> Iterator[Registry]:
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("no docker-registry: install Debian's package of that name")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    config = directory / "registry.yml"
    config.write_text(CONFIG.format(directory=directory / "registry", port=port) + more)
    with subprocess.Popen([program, "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/v2/")
            yield Registry(reference=f"127.0.0.1:{port}/team")
        finally:
            process.kill()


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5).close()
        except urllib.error.HTTPError as answer:
            answer.close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the registry never answered"
            time.sleep(0.05)
        else:
            return


def tags(engine: Engine, reference: str) -> list[str]:
    image = engine.image(reference)
    return [tag.removeprefix("localhost/") for tag in image.tags] if image else []


def test_one_worker_builds_and_the_others_pull(
    cli: Cli, engine_images: Engine, workshop: Workshop, shared: Registry, tmp_path: Path
) -> None:
    recipe = workshop.recipe("a")
    workshop.recipe("b")
    env = {"TSANDBOX_REGISTRY": shared.reference}
    spec = spec_of(recipe)
    definition = define_image(spec)
    argv = ("matrix", "run", workshop.directory, "--json", "--results")
    first = json.loads(cli(*argv, tmp_path / "first", env=env).stdout)
    assert (first["counts"], first["builds"], first["cache_hits"]) == ({"passed": 2}, 1, 1)
    engine_images.remove_image(definition.tag)
    # Another machine: it has no image, and must not be able to build one.
    second = json.loads(cli(*argv, tmp_path / "second", env=env).stdout)
    assert (second["counts"], second["builds"], second["cache_hits"]) == ({"passed": 2}, 0, 2)
    assert tags(engine_images, definition.tag) == [definition.tag]


def test_an_image_travels_by_command_and_is_told_when_it_is_not_there(
    cli: Cli, engine_images: Engine, workshop: Workshop, shared: Registry
) -> None:
    recipe = workshop.recipe("a")
    definition = define_image(spec_of(recipe))
    cli("build", recipe)
    pushed = json.loads(cli("cache", "push", definition.key, "--registry", shared.reference, "--json").stdout)
    assert pushed["images"][0]["key"] == definition.key
    assert pushed["images"][0]["digest"].startswith("sha256:")
    engine_images.remove_image(definition.tag)
    other = workshop.recipe("other", "two")
    pulled = json.loads(cli("cache", "pull", recipe, other, "--registry", shared.reference, "--json").stdout)
    assert [each["pulled"] for each in pulled["images"]] == [True, False]
    assert tags(engine_images, definition.tag) == [definition.tag]
    assert "reused" in cli("build", recipe).stdout


def test_a_build_that_was_pulled_says_so(cli: Cli, engine_images: Engine, workshop: Workshop, shared: Registry) -> None:
    recipe = workshop.recipe("a")
    env = {"TSANDBOX_REGISTRY": shared.reference}
    assert "built in" in cli("build", recipe, env=env).stdout
    engine_images.remove_image(define_image(spec_of(recipe)).tag)
    assert "pulled in" in cli("build", recipe, env=env).stdout
    # Asked to build anew, it does.
    assert "built in" in cli("build", recipe, "--no-cache", env=env).stdout


def test_an_image_that_is_not_what_its_name_says_is_no_hit(
    engine_images: Engine, workshop: Workshop, shared: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, other = spec_of(workshop.recipe("a")), spec_of(workshop.recipe("b", "two"))
    built = ensure_image(engine_images, other)
    key = define_image(wanted).key
    engine_images.push(built.reference, shared.name_of(key))
    with pytest.raises(NotWhatItSays, match=built.key):
        pull(engine_images, key, shared)
    assert engine_images.image(shared.name_of(key)) is None
    monkeypatch.setenv("TSANDBOX_REGISTRY", shared.reference)
    made = ensure_image(engine_images, wanted)
    assert (made.cached, made.pulled) == (False, False)
    assert "is built here instead" in made.notes[0]


@pytest.mark.parametrize("way", ["refused", "silent"])
def test_a_registry_that_is_down_costs_a_warning_and_not_the_run(
    cli: Cli, engine_images: Engine, workshop: Workshop, tmp_path: Path, way: str
) -> None:
    workshop.recipe("a")
    workshop.recipe("b", "two")
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        if way == "silent":
            deaf.listen(8)
        reference = f"127.0.0.1:{deaf.getsockname()[1]}"
        results = tmp_path / "results"
        argv = ("matrix", "run", workshop.directory, "--results", results, "--jobs", "1", "--json")
        done = cli(*argv, env={"TSANDBOX_REGISTRY": reference})
    assert done.stderr.count(f"warning: the registry {reference} does not answer") == 1
    ran = json.loads(done.stdout)
    assert (ran["counts"], ran["builds"]) == ({"passed": 2}, 2)
    notes = [json.loads(path.read_text())["install"]["notes"] for path in (results / "cells").iterdir()]
    # Told once: the second cell of the same process does not wait for it again.
    assert sum("does not answer" in str(note) for note in notes) == 1


def test_what_is_asked_for_by_name_fails_when_the_registry_is_down(
    cli: Cli, engine_images: Engine, workshop: Workshop
) -> None:
    recipe = workshop.recipe("a")
    cli("build", recipe)
    ran = cli("cache", "push", define_image(spec_of(recipe)).key, "--registry", "127.0.0.1:1", "--json", code=5)
    assert json.loads(ran.stdout)["error"]["message"].startswith("the registry 127.0.0.1:1 does not answer")
    assert "no registry is named" in cli("cache", "pull", recipe, code=2).stderr


def test_a_silent_registry_is_given_up_soon(engine_images: Engine) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(1)
        with pytest.raises(RegistryDown, match="timed out"):
            push(engine_images, "sha256:" + "0" * 64, Registry(reference=f"127.0.0.1:{deaf.getsockname()[1]}"))


@contextmanager
def stalling() -> Iterator[str]:
    """A server that says that it is a registry, and then nothing more."""
    ended = Event()

    class Handler(BaseHTTPRequestHandler):
        def handle(self) -> None:
            if self.rfile.readline().startswith(b"GET /v2/ "):
                self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            else:
                ended.wait()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            ended.set()
            server.shutdown()


def test_a_registry_that_stalls_costs_its_limit_once(
    engine_images: Engine, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [spec_of(workshop.recipe("a")), spec_of(workshop.recipe("b", "two"))]
    monkeypatch.setattr(registry, "_PATIENCE", 2.0)
    monkeypatch.setattr(registry, "_down", set())
    with stalling() as reference:
        monkeypatch.setenv("TSANDBOX_REGISTRY", reference)
        made = [ensure_image(engine_images, spec) for spec in wanted]
    assert [each.cached for each in made] == [False, False]
    assert "built here instead" in made[0].notes[0]
    assert made[1].notes == ()


def test_the_engine_s_own_login_is_all_it_needs(
    cli: Cli, engine_images: Engine, engine_name: str, workshop: Workshop, tmp_path: Path
) -> None:
    recipe = workshop.recipe("a")
    key = define_image(spec_of(recipe)).key
    cli("build", recipe)
    (tmp_path / "passwords").write_text(PASSWORDS)
    wants_login = f"auth: {{htpasswd: {{realm: tests, path: {tmp_path / 'passwords'}}}}}\n"
    env = {"REGISTRY_AUTH_FILE": str(tmp_path / "auth.json"), "DOCKER_CONFIG": str(tmp_path / "docker")}
    with serving(tmp_path, wants_login) as shared:
        argv = ("cache", "push", key, "--registry", shared.reference)
        refused = cli(*argv, env=env, code=None)
        assert refused.returncode == 5
        assert "error" in refused.stderr
        login = [engine_name, "login", "--username", "worker", "--password-stdin", shared.host]
        login[2:2] = ["--tls-verify=false"] if engine_name == "podman" else []
        subprocess.run(
            login, input="secret-word", text=True, env={**os.environ, **env}, check=True, capture_output=True
        )
        pushed = cli(*argv, env=env)
        assert "1 pushed" in pushed.stdout
        assert "secret-word" not in pushed.stdout + pushed.stderr
