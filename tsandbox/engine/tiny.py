"""The smallest program that proves a container runs: it writes "ok" and waits to be killed.

A probe must work without a registry, a network or any program of the host, so the image holds this one file.
"""

import io
import struct
import tarfile

from tsandbox.errors import NotSupported

_BASE = 0x400000
_HEADERS = 64 + 56
_MACHINE = {"x86_64": 62, "aarch64": 183}
_MESSAGE = b"ok\n"
_CODE = {
    # write(1, message, 3); then pause() for ever
    "x86_64": bytes.fromhex("b801000000 bf01000000 488d3510000000 ba03000000 0f05 b822000000 0f05 ebf7"),
    # write(1, message, 3); then ppoll(NULL, 0, NULL, NULL) for ever
    "aarch64": struct.pack(
        "<12I",
        0xD2800020, 0x10000161, 0xD2800062, 0xD2800808, 0xD4000001,
        0xD2800000, 0xD2800001, 0xD2800002, 0xD2800003, 0xD2800928, 0xD4000001,
        0x17FFFFFA,
    ),
}  # fmt: skip


def program(machine: str) -> bytes:
    """A static ELF executable for `machine` (as `os.uname()` names it)."""
    if machine not in _CODE:
        raise NotSupported(f"no probe program for the architecture {machine}", hint="amd64 and arm64 are supported")
    body = _CODE[machine] + _MESSAGE
    size = _HEADERS + len(body)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, _MACHINE[machine], 1, _BASE + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000) + body


def rootfs(machine: str, mark: str) -> bytes:
    """A tar archive of a root file system with that program at `/probe`.

    `mark` makes its layer one that no other process has: podman cannot import a layer while somebody removes the same.
    """
    data = program(machine)
    entry = tarfile.TarInfo("probe")
    entry.size, entry.mode = len(data), 0o755
    # Owned by nobody, as files of real images are: a user without sub-ids cannot unpack it, and shall be told here.
    foreign = tarfile.TarInfo(f"foreign-{mark}")
    foreign.type, foreign.mode, foreign.uid, foreign.gid = tarfile.DIRTYPE, 0o755, 65534, 65534
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(data))
        tar.addfile(foreign)
    return archive.getvalue()
