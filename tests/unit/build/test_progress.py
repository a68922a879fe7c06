"""The output of three builders, read line by line."""

import pytest

from tsandbox.build.progress import Progress, Reader

PODMAN = """\
[1/2] STEP 1/2: FROM localhost/tsandbox-base:builder-1 AS builder
[1/2] STEP 2/2: RUN apt-get update && apt-get install jq
Get:1 http://mirror.example.com/debian bookworm InRelease [151 kB]
Need to get 64.4 kB/389 kB of archives.
Get:1 http://mirror.example.com/debian bookworm/main amd64 jq amd64 1.6-2.1 [64.4 kB]
(Reading database ... 5%
Unpacking jq (1.6-2.1) ...
Setting up jq (1.6-2.1) ...
[2/2] STEP 1/3: FROM localhost/tsandbox-base:runtime-1
[2/2] STEP 2/3: LABEL "io.tsandbox.tool"="jq"
[2/2] STEP 3/3: COPY --from=builder ["/rootfs/", "/"]
"""
BUILDKIT = """\
#1 [internal] load build definition from Dockerfile
#1 transferring dockerfile: 1.2kB done
#5 [builder 1/2] FROM localhost/tsandbox-base:builder-1
#8 [builder 2/2] RUN --mount=type=secret,id=a,target=/a apt-get update && apt-get install jq
#9 [internal] load build context
#9 DONE 0.0s
#8 0.412 Need to get 389 kB of archives.
#8 1.500 Get:1 http://mirror.example.com/debian bookworm/main amd64 jq amd64 1.6-2.1 [64.4 kB]
#8 2.000 E: something went wrong
#8 ERROR: executor failed
"""
CLASSIC = """\
Step 1/2 : FROM localhost/tsandbox-base:builder-1
 ---> 123456
Step 2/2 : RUN false
 ---> Running in 654321
"""


def read(text: str) -> tuple[Reader, list[Progress]]:
    seen: list[Progress] = []
    reader = Reader(seen.append)
    for line in text.splitlines():
        reader.line(line)
    return reader, seen


def test_podman_tells_steps_packages_and_bytes() -> None:
    reader, seen = read(PODMAN)
    assert [each.what for each in seen] == [
        "FROM localhost/tsandbox-base:builder-1 AS builder",
        "RUN apt-get update && apt-get install jq",
        "reading the package index of bookworm",
        "fetching packages",
        "fetched jq",
        "unpacking jq",
        "setting up jq",
        "FROM localhost/tsandbox-base:runtime-1",
        'COPY --from=builder ["/rootfs/", "/"]',
    ]
    fetched = seen[4]
    assert (fetched.step, fetched.steps, fetched.package, fetched.bytes, fetched.total) == (2, 2, "jq", 64400, 389000)
    assert seen[-1].total is None
    assert reader.last is not None
    assert reader.last.number == 3


def test_buildkit_marks_lines_with_their_step_and_its_own_work_is_none() -> None:
    reader, seen = read(BUILDKIT)
    assert seen[1].what == "RUN apt-get update && apt-get install jq"
    assert reader.last is not None
    assert reader.last.instruction.startswith("RUN apt-get update")
    assert [line for line in reader.last.tail if "load build context" in line] == []
    assert "E: something went wrong" in reader.last.tail


def test_the_classic_builder() -> None:
    reader, seen = read(CLASSIC)
    assert [each.what for each in seen] == ["FROM localhost/tsandbox-base:builder-1", "RUN false"]
    assert reader.last is not None
    assert list(reader.last.tail) == [" ---> Running in 654321"]


@pytest.mark.parametrize("text", ["", "no step at all", "#7 [internal] load metadata", "STEP one: nothing"])
def test_what_is_no_step_is_nothing(text: str) -> None:
    reader, seen = read(text)
    assert (reader.last, seen) == (None, [])
