import pytest

from tsandbox.engine.protocol import Image


@pytest.fixture(autouse=True)
def own_directories(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's settings, and nothing left in its directories."""
    home = tmp_path_factory.mktemp("home")
    for name in ("STATE_DIR", "CACHE_DIR", "CONFIG_DIR"):
        monkeypatch.setenv(f"TSANDBOX_{name}", str(home / name.lower()))
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("TSANDBOX_APT_MIRROR", "TSANDBOX_APT_SECURITY_MIRROR", "TSANDBOX_CA_BUNDLE", "TSANDBOX_EPOCH"):
        monkeypatch.delenv(name, raising=False)


class FakeEngine:
    """Images in a dict; everything that is asked of it is written down."""

    name = "podman"

    def __init__(self, images: dict[str, Image] | None = None) -> None:
        self.stored = images or {}
        self.removed: list[str] = []

    def image(self, reference: str) -> Image | None:
        return self.stored.get(reference)

    def images(self, label: str) -> list[Image]:
        name, _, value = label.partition("=")
        return [
            each
            for each in self.stored.values()
            if each.labels.get(name, "") == value or (not value and name in each.labels)
        ]

    def remove_image(self, reference: str) -> None:
        self.removed.append(reference)
        self.stored.pop(reference, None)

    def remove(self, container: str) -> None:
        self.removed.append(container)


@pytest.fixture
def fake_engine() -> FakeEngine:
    return FakeEngine()
