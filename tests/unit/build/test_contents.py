"""Packages from a dpkg status file, and their dependencies in an SBOM."""

import json

from tsandbox.build.contents import parse_status
from tsandbox.build.sbom import cyclonedx, depends_on
from tsandbox.engine.protocol import Image

STATUS = """\
Package: jq
Status: install ok installed
Maintainer: A B <a@example.com>
Architecture: amd64
Version: 1.6-2.1
Depends: libjq1 (= 1.6-2.1), libc6 (>= 2.34) | libc6-alt, missing
Description: command-line JSON processor
 Package: not-a-field
 .
 more

Package: libjq1
Status: install ok installed
Architecture: amd64
Source: jq (1.6)
Version: 1.6-2.1
Depends: virtual-regex:any

Package: libonig5
Status: install ok installed
Architecture: amd64
Source: libonig
Version: 6.9.8-1
Provides: virtual-regex (= 1)

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9
"""


def test_installed_packages_with_their_sources() -> None:
    packages = {package.name: package for package in parse_status(STATUS)}
    assert list(packages) == ["jq", "libc6", "libjq1", "libonig5"]
    assert (packages["libjq1"].source, packages["libjq1"].source_version) == ("jq", "1.6")
    assert (packages["libonig5"].source, packages["libonig5"].source_version) == ("libonig", "6.9.8-1")
    assert packages["jq"].depends == (("libjq1",), ("libc6", "libc6-alt"), ("missing",))


def test_dependencies_are_those_that_are_there() -> None:
    assert depends_on(parse_status(STATUS)) == {
        "jq": ["libc6", "libjq1"],
        "libc6": [],
        "libjq1": ["libonig5"],
        "libonig5": [],
    }


def test_the_same_image_gives_the_same_document() -> None:
    image = Image(id="a" * 64, tags=(), labels={"io.tsandbox.base.suite": "bookworm"}, size=1, created=1e9)
    text = cyclonedx("sandbox-cache:abc", image, parse_status(STATUS))
    assert text == cyclonedx("sandbox-cache:abc", image, parse_status(STATUS))
    bill = json.loads(text)
    assert bill["metadata"]["component"]["version"] == "abc"
    assert {part["purl"] for part in bill["components"]} >= {
        "pkg:deb/debian/jq@1.6-2.1?arch=amd64&distro=bookworm",
        "pkg:deb/debian/libjq1@1.6-2.1?arch=amd64&distro=bookworm&upstream=jq%401.6",
    }
    roots = next(each for each in bill["dependencies"] if each["ref"] == f"image:{'a' * 64}")
    assert roots["dependsOn"] == ["pkg:deb/debian/jq@1.6-2.1?arch=amd64&distro=bookworm"]
