"""Resource limits that an engine may set on this host, for containers that ask for none."""

import resource
from pathlib import Path

_NOFILE_CEILING = 1 << 20


def ulimits() -> list[str]:
    """`name=soft:hard` words, soft equal to hard, for podman's service swaps the two."""
    # Podman lowers its own process limit to the kernel's number of pids, and cannot raise it again afterwards.
    ceilings = {"nofile": _NOFILE_CEILING, "nproc": int(Path("/proc/sys/kernel/pid_max").read_text())}
    numbers = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
    words = []
    for name, ceiling in ceilings.items():
        hard = resource.getrlimit(numbers[name])[1]
        value = ceiling if hard == resource.RLIM_INFINITY else min(hard, ceiling)
        words.append(f"{name}={value}:{value}")
    return words
