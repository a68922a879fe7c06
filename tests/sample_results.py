"""Results as a matrix would write them: every state, every part filled, and text that tries to break out."""

from msgspec.structs import replace

from tsandbox.report.result import (
    Attempt,
    Check,
    ErrorRecord,
    InstallRecord,
    Limits,
    Result,
    StepRecord,
    TargetRecord,
    VerifyRecord,
)
from tsandbox.report.run import Earlier, Excluded, Missing, Report

FAMILIES = ("debian", "rhel", "arch", "alpine", "suse")
HOSTILE = "</script><script>document.title='owned'</script><!-- \x1b[31mred\x1b[0m \u202eevil ]]> & \u2028"


def target(family: str = "debian", arch: str = "amd64") -> TargetRecord:
    return TargetRecord(os="linux", arch=arch, linux_family=family, libc="musl" if family == "alpine" else "glibc")


def passed(tool: str = "jq", family: str = "debian", arch: str = "amd64", ms: int = 1840) -> Result:
    place = target(family, arch)
    key = f"{sum(tool.encode()) % 17:02x}{FAMILIES.index(family):02x}" * 8
    return Result(
        status="passed",
        exit_code=0,
        stage="verify",
        tool=tool,
        target=place,
        image=f"sandbox-cache:{key}",
        key=f"sha256:{key}{key}",
        image_size=24_000_000 + sum(tool.encode()) * 31_000,
        cached=ms < 4000,
        build_ms=None if ms < 4000 else ms - 2500,
        duration_ms=ms,
        engine="podman 4.3.1",
        profile="minimal",
        version="1.7.1",
        source=f"recipes/{tool}.toml",
        cell=f"{tool}-{place}",
        reproduce=f"tsandbox matrix run recipes/{tool}.toml --only {tool}-{place}",
        log=f"logs/{tool}-{place}.log",
        install=InstallRecord(
            network="none",
            steps=(
                StepRecord(number=1, action="require_system", status="passed", duration_ms=12, tool=tool, line=9),
                StepRecord(number=2, action="download_file", status="passed", duration_ms=220, tool=tool, line=14),
                StepRecord(number=3, action="install_binaries", status="passed", duration_ms=41, tool=tool, line=20),
            ),
            limits=Limits(memory=2_000_000_000, cpus=2, pids=100, timeout=120),
            unenforced=("memory",),
        ),
        verify=VerifyRecord(
            command=f"{tool} --version",
            ok=True,
            exit_code=0,
            expected=("1.7.1",),
            output=f"{tool}-1.7.1\n",
            additional=(Check(command=f"{tool} --help", ok=True, exit_code=0, output="Usage: …\n"),),
        ),
    )


def verify_failed(tool: str = "curl", family: str = "rhel", arch: str = "amd64") -> Result:
    result = passed(tool, family, arch, 3120)
    return replace(
        result,
        status="failed",
        exit_code=8,
        verify=VerifyRecord(
            command=f"{tool} --version", ok=False, exit_code=0, expected=("8.5.0",), output=f"{tool} 7.88.1 (x86_64)\n"
        ),
        error=ErrorRecord(
            type="VerifyFailed",
            message=f"{tool} --version did not print 8.5.0",
            hint="[verify] pattern must match what the tool prints; it printed 7.88.1",
            file=f"recipes/{tool}.toml",
            line=31,
        ),
        log_head=("step 1 require_system", "step 2 download_file", f"fetched {tool}-8.5.0.tar.gz"),
        log_tail=("step 3 install_binaries", f"$ {tool} --version", f"{tool} 7.88.1 (x86_64)"),
    )


def install_failed(tool: str = "ripgrep", family: str = "alpine", arch: str = "amd64") -> Result:
    result = passed(tool, family, arch, 5320)
    assert result.install
    steps = (
        *result.install.steps[:2],
        StepRecord(number=3, action="install_binaries", status="failed", duration_ms=9, tool=tool, line=20),
        StepRecord(number=4, action="set_env", status="not_run", tool=tool, line=26),
    )
    return replace(
        result,
        status="failed",
        stage="install",
        exit_code=7,
        verify=None,
        install=replace(result.install, steps=steps),
        error=ErrorRecord(
            type="InstallFailed",
            message="install_binaries: libpcre2-8.so.0 is missing",
            hint='declare it:  packages = { apt = ["libpcre2-8-0"] }',
            file=f"recipes/{tool}.toml",
            line=20,
        ),
        log_tail=("error while loading shared libraries: libpcre2-8.so.0: cannot open shared object file",),
    )


def flaky(tool: str = "git", family: str = "debian", arch: str = "amd64") -> Result:
    cause = ErrorRecord(type="EngineLost", message="podman stopped answering")
    return replace(
        passed(tool, family, arch, 9100), flaky=True, attempts=(Attempt(exit_code=5, error=cause, duration_ms=400),)
    )


def ended(status: str, tool: str, family: str, arch: str = "amd64") -> Result:
    error = {
        "timeout": (9, "TimedOut", "the time limit of 120 s passed"),
        "error": (5, "EngineNotRunning", "docker does not answer on its socket"),
        "skipped": (10, "Skipped", "nothing was proved"),
    }[status]
    return replace(
        passed(tool, family, arch, 120_400 if status == "timeout" else 350),
        status=status,
        exit_code=error[0],
        stage="install",
        verify=None,
        error=ErrorRecord(type=error[1], message=error[2], hint="see tsandbox doctor"),
    )


def hostile(tool: str = "evil") -> Result:
    error = ErrorRecord(type="InstallFailed", message=HOSTILE, hint=HOSTILE, file="recipes/evil.toml", line=3)
    return replace(
        passed(tool), status="failed", exit_code=7, error=error, log_tail=(HOSTILE,), reproduce=f"tsandbox {HOSTILE}"
    )


def report() -> Report:
    """A dozen recipes on five families with all states, exclusions, a missing cell and an earlier run."""
    names = ("bat", "cmake", "fd", "htop", "just", "make", "node", "python", "sqlite", "tmux", "wget", "zstd")
    results = [
        passed(name, family, ms=400 + 730 * i * (i + j) % 30_000)
        for i, name in enumerate(names)
        for j, family in enumerate(FAMILIES[:4])
    ]
    results += [verify_failed(), verify_failed("curl", "suse"), install_failed(), flaky(), hostile()]
    results += [ended("timeout", "llvm", "debian"), ended("error", "docker", "arch"), ended("skipped", "zig", "suse")]
    excluded = [
        Excluded(
            id=f"{name}-linux-suse-amd64",
            tool=name,
            target=target("suse"),
            kind="no_steps",
            reason="no step applies to suse",
        )
        for name in names[:9]
    ]
    excluded.append(
        Excluded(
            id="zstd-linux-suse-amd64", tool="zstd", target=target("suse"), kind="exclusion", owner="@maintainers",
            reason="the mirror lacks libzstd1 since March", link="https://example.com/issues/7", expires="2030-01-31",
        )
    )  # fmt: skip
    earlier = {
        result.cell: Earlier(state="passed", duration_ms=900, cached=result.cached) for result in results if result.cell
    }
    earlier["bat-linux-debian-amd64"] = Earlier(state="failed", duration_ms=500)
    return Report(
        results=tuple(results),
        excluded=tuple(excluded),
        missing=(Missing(id="tmux-linux-suse-amd64", tool="tmux", target=target("suse"), source="recipes/tmux.toml"),),
        version="0.1.0",
        started=1_790_000_000.0,
        earlier=earlier,
    )


def large(recipes: int) -> Report:
    """As many recipes on 5 families and 2 architectures, a few bad ones among them."""
    results = []
    for number in range(recipes):
        for family in FAMILIES:
            for arch in ("amd64", "arm64"):
                name = f"tool-{number:05}"
                if number % 97 == 13 and family == "rhel":
                    results.append(verify_failed(name, family, arch))
                else:
                    results.append(passed(name, family, arch, ms=300 + (number * 37 + len(family) * 211) % 9000))
    return Report(results=tuple(results), version="0.1.0", started=1_790_000_000.0)
