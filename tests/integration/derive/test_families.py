"""Dockerfiles of the other families, built for real with the package managers of those families.

No registry can be reached from here, so their base images cannot be pulled. But Debian packages dnf, zypper and pacman:
in an image that holds them our Dockerfiles for rhel, suse and arch run as they are, against signed archives on the
container's own loopback.
"""

import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.integration.build.conftest import run_in
from tests.integration.conftest import run_with
from tests.made_plans import PACKAGE_ACTIONS, REPOSITORY_ACTIONS, plan, step
from tsandbox.build.workplace import write_context
from tsandbox.derive import ContainerSpec, define_image, derive
from tsandbox.derive.bases import Base
from tsandbox.engine import BuildRequest, Engine
from tsandbox.engine.probe import native_platform
from tsandbox.errors import TsandboxError
from tsandbox.recipe import linux

# The image with the tools is made once.
pytestmark = pytest.mark.xdist_group("families")

WORKSHOP = Path(__file__).parent / "workshop"
LABELS = {"io.tsandbox.test": "families"}
TOOLS = """[metadata]
name = "tools-of-other-families"
[sandbox]
profile = "full"
[[steps]]
action = "apt_install"
packages = [
  "createrepo-c", "curl", "dnf", "gpg", "gpg-agent", "gpgconf", "makepkg", "openssl", "pacman-package-manager",
  "python3", "rpm", "zypper",
]
"""
ARCHIVES = {"rhel": "rpm", "suse": "rpm", "arch": "arch"}


class Workshop(msgspec.Struct, frozen=True):
    """An image with the tools and the archives in it, and the sha256 of the key that signed them."""

    image: str
    key_sha256: str


@pytest.fixture(scope="session")
def workshop(podman: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    place = tmp_path_factory.mktemp("workshop")
    (place / "tools.toml").write_text(TOOLS)
    tools = msgspec.json.decode(run_with("podman")("build", place / "tools.toml", "--json").stdout)["image"]
    context = place / "context"
    shutil.copytree(WORKSHOP, context, ignore=shutil.ignore_patterns("__pycache__"))
    dockerfile = f'FROM localhost/{tools}\nCOPY [".", "/srv/"]\nRUN sh /srv/prepare.sh\n'
    with built(podman, dockerfile, context) as image:
        [sha256, *_] = run_in(podman, image, ["sha256sum", "/srv/www/made.key"]).split()
        yield Workshop(image, sha256)


class built:  # noqa: N801 - reads as a function
    """The image that a Dockerfile makes, which is gone afterwards."""

    def __init__(self, engine: Engine, dockerfile: str, context: Path) -> None:
        self.lines: list[str] = []
        self._engine = engine
        self._reference = f"localhost/tsandbox-test:{secrets.token_hex(8)}"
        path = context.parent / f"Dockerfile-{secrets.token_hex(4)}"
        path.write_text(dockerfile)
        self._request = BuildRequest(
            context=context,
            dockerfile=path,
            tag=self._reference,
            labels=LABELS,
            platform=native_platform(),
            network="none",
        )

    def __enter__(self) -> str:
        try:
            self._engine.build(self._request, on_line=self.lines.append)
        except TsandboxError:
            print(*self.lines, sep="\n")  # noqa: T201 - pytest shows it where the failure is not expected
            raise
        return self._reference

    def __exit__(self, *_: object) -> None:
        self._engine.remove_image(self._reference)


def spec_on(workshop: Workshop, family: str, key_sha256: str) -> ContainerSpec:
    """What a recipe for the family asks for, on the workshop instead of the family's own image."""
    repository = {
        "url": f"https://localhost:8443/{ARCHIVES[family]}",
        "name": "made",
        "key_url": "https://localhost:8443/made.key",
        "key_sha256": key_sha256,
    }
    steps = [
        step(PACKAGE_ACTIONS[family], packages=["made"]),
        step(REPOSITORY_ACTIONS[family], **repository),
        step("group_add", group="made"),
    ]
    spec = derive(plan(*steps), linux(family, "amd64"))
    base = Base(name=family, image=workshop.image, digest=spec.base.digest)
    return msgspec.structs.replace(spec, base=base, builder=base)


def serving(dockerfile: str) -> str:
    """Each step has the archives on its own loopback; the steps themselves stay as they are."""
    return re.sub(r"^RUN ", "RUN python3 /srv/serve.py && ", dockerfile, flags=re.MULTILINE)


@pytest.mark.parametrize("family", ARCHIVES)
def test_a_signed_package_is_installed(family: str, podman: Engine, workshop: Workshop, tmp_path: Path) -> None:
    image = define_image(spec_on(workshop, family, workshop.key_sha256))
    context = write_context(image, tmp_path / "context")
    with built(podman, serving(image.dockerfile), context) as reference:
        assert run_in(podman, reference, ["made"]) == "made by hand\n"
        assert re.search(r"^made:x:\d+:$", run_in(podman, reference, ["cat", "/etc/group"]), re.MULTILINE)
        left = run_in(
            podman, reference, ["find", "/var/cache/dnf", "/var/cache/zypp", "/var/lib/pacman/sync", "-type", "f"]
        )
        assert [line for line in left.splitlines() if not line.startswith("find:")] == []


@pytest.mark.parametrize("family", ARCHIVES)
def test_a_key_that_is_not_the_declared_one_ends_the_build(
    family: str, podman: Engine, workshop: Workshop, tmp_path: Path
) -> None:
    image = define_image(spec_on(workshop, family, "0" * 64))
    context = write_context(image, tmp_path / "context")
    building = built(podman, serving(image.dockerfile), context)
    with pytest.raises(TsandboxError), building:
        pass
    assert "tsandbox-1.key: FAILED" in "\n".join(building.lines)
