"""The proof of a recipe: derive → fetch → build → run → verify, and one outcome whichever way it ends."""

import time
from pathlib import Path
from typing import Any

import msgspec

from tsandbox.build import ensure_image
from tsandbox.build.image import find
from tsandbox.derive import bases, derive
from tsandbox.derive.key import tag_of
from tsandbox.derive.known_keys import key_of
from tsandbox.derive.spec import ContainerSpec
from tsandbox.engine.protocol import Engine
from tsandbox.errors import BuildFailed, Interrupted, TsandboxError
from tsandbox.plan import Plan
from tsandbox.plan.select import platform_of
from tsandbox.recipe.target import Target
from tsandbox.runner import seal
from tsandbox.sandbox import change, container, contents_apt, downloads, ecosystem, failure, missing, support, verify
from tsandbox.sandbox.container import OUT, RECORDS, Setup
from tsandbox.sandbox.contents import Index
from tsandbox.sandbox.downloads import Download
from tsandbox.sandbox.journal import Journal
from tsandbox.sandbox.logs import Log, log_of
from tsandbox.sandbox.news import Building, Built, Fetching, Listener, Said, nobody
from tsandbox.sandbox.options import RunOptions, limits_of
from tsandbox.sandbox.outcome import CheckOutcome, Limits, Outcome
from tsandbox.sandbox.place import Place, drop, fill, kept_dir, let_read, place, secrets_in
from tsandbox.sandbox.resolve import needed, resolve
from tsandbox.sandbox.runner_build import Runner, runner
from tsandbox.sandbox.secrets import Masker


def prove(
    plan: Plan,
    target: Target,
    options: RunOptions | None = None,
    *,
    engine: Engine,
    listener: Listener | None = None,
) -> Outcome:
    """Install and verify `plan` in a sandbox of its own. What goes wrong is in the outcome, never raised."""
    return _Proof(plan, target, options or RunOptions(), engine, listener or nobody).outcome()


class _Proof:
    """One run. `known` grows as the run goes on: it is what an outcome can say, whenever the run ends."""

    def __init__(self, plan: Plan, target: Target, options: RunOptions, engine: Engine, listener: Listener) -> None:
        self.plan, self.target, self.options, self.engine = plan, target, options, engine
        self.tell = listener
        self.masker = Masker(options.env.values())
        self.known: dict[str, Any] = {"engine": engine.name, "started": time.time(), "stage": "derive"}

    def outcome(self) -> Outcome:
        began = time.monotonic()
        error: TsandboxError | None = None
        try:
            self._prove()
        except TsandboxError as failed:
            error = self._masked(failed)
        except KeyboardInterrupt:
            error = Interrupted(f"{self.plan.tool}: interrupted", stage=self.known["stage"])
        if error:
            self.known["stage"] = error.stage or self.known["stage"]
            if error.log:
                self.known["log"] = Path(error.log)
        return Outcome(
            plan=self.plan,
            target=self.target,
            error=error,
            duration_ms=round((time.monotonic() - began) * 1000),
            **self.known,
        )

    def _prove(self) -> None:
        spec = derive(self.plan, self.target, profile=self.options.profile)
        self.known |= {"spec": spec, "network": spec.network, "limits": limits_of(spec, self.options.limits)}
        self.known["key"] = key_of(spec)
        support.check(self.plan, spec, allow_run_command=self.options.allow_run_command)
        self.engine.prepare()
        self.known["stage"] = "install"
        inputs, supplied = self._fetch()
        self.known["stage"] = "build"
        image = self._image(spec)
        program = runner(self.target.libc or "glibc", say=lambda text: self.tell(Said(text)))
        self.known |= {"runner": program.digest, "stage": "install"}
        with place(self.engine, keep=self.options.keep) as made, log_of(self.plan.tool) as log:
            self.known["log"] = log.path
            if self.options.keep:
                self.known["kept"] = {"files": str(kept_dir(made.container.rpartition("-")[2]))}
            fill(made, self.plan, inputs)
            ecosystem.offer(supplied, made.inputs)
            let_read(made)
            self._run(self._setup(spec, image, made, program), program, log)

    def _fetch(self) -> tuple[dict[str, downloads.Fetched], dict[str, list[Path]]]:
        """Everything that the installation takes from the network, so that the container needs none."""

        def progress(wanted: Download, got: int, total: int | None) -> None:
            self.tell(Fetching(name=wanted.name, got=got, total=total))

        def say(text: str) -> None:
            self.tell(Said(text))

        offline = self.options.offline
        self.plan = resolve(self.plan, offline=offline, on_progress=say, on_bytes=progress)
        fetched = downloads.fetch_all(needed(self.plan), offline=offline, progress=progress)
        supplied = ecosystem.supplies(self.plan, platform_of(self.target), offline=offline, say=say)
        return {each.sha256: each for each in fetched.values()}, supplied

    def _image(self, spec: ContainerSpec) -> str:
        # What fails to be built has its name nevertheless.
        self.known["image"] = tag_of(self.known["key"])
        if self.options.offline and find(self.engine, self.known["key"]) is None:
            raise BuildFailed(
                f"--offline: {self.plan.tool}: its image is not in the cache, and building it needs the network",
                hint="run once without --offline; the image is kept",
                file=self.plan.file,
            )
        built = ensure_image(
            self.engine, spec, self.options.build, watch=lambda progress: self.tell(Building(progress=progress))
        )
        self.known |= {
            "image": built.reference,
            "image_size": built.size,
            "cached": built.cached,
            "build_ms": round(built.seconds * 1000),
            "notes": built.notes,
        }
        self.tell(Built(image=built))
        return built.reference

    def _setup(self, spec: ContainerSpec, image: str, made: Place, program: Runner) -> Setup:
        return Setup(
            image=image,
            place=made,
            runner=program,
            limits=self.known["limits"],
            network=spec.network,
            env=self.plan.declared_env(),
            user=self.plan.sandbox.user,
            tool=self.plan.tool,
        )

    def _run(self, setup: Setup, program: Runner, log: Log) -> None:
        journal = Journal(self.plan, self.masker, log, self.tell, key=seal.lay(setup.place.out))
        log.line(f"{self.plan.tool} on {self.target}, {self.engine.name}, image {setup.image}, runner {program.digest}")
        request = setup.run_request(
            online=setup.network == "egress",
            # The host has checked which commands are allowed, and a plan with another one does not get here.
            allow_run_command=True,
            stop_before=self.options.stop_before,
        )
        try:
            with secrets_in(setup.place, self.options.env):
                ended = container.run(self.engine, request, setup, journal)
        finally:
            notes = (*self.known.get("notes", ()), *journal.notes)
            self.known |= _told(journal, setup.limits, log) | {"notes": notes}
            self._drop_records(setup.place)
        error = failure.of_run(
            self.plan, journal, ended, limits=setup.limits, runner=program, tail=(*log.head, *log.tail)
        )
        if error is None and self.options.stop_before is None:
            self.known["stage"] = "verify"
            error = self._verified(journal)
        if error:
            log.line(f"{type(error).__name__}: {error.message}")
            raise self._advised(error)

    def _drop_records(self, made: Place) -> None:
        """The runner's own record holds what was printed as it was; what is kept of a run holds no secret of ours."""
        if self.masker:
            drop(made, RECORDS)

    def _verified(self, journal: Journal) -> TsandboxError | None:
        install_dir = f"{OUT}/home/tools/{self.plan.tool}-{self.plan.version or 'unversioned'}"
        judged = verify.judge(self.plan, journal.records, install_dir)
        # Judged as it was printed, shown without secrets.
        shown = self.masker.scrub(msgspec.to_builtins(judged)) if self.masker else msgspec.to_builtins(judged)
        checks = tuple(verify.shortened(check) for check in msgspec.convert(shown, tuple[CheckOutcome, ...]))
        self.known["checks"] = checks
        if not checks:
            note = "the recipe has no [verify] command: that the steps ran is all that was proved"
            self.known["notes"] = (*self.known["notes"], note)
        error = verify.failure(checks, self.plan)
        return failure.explained(error, self.known["findings"]) if error else None

    def _advised(self, error: TsandboxError) -> TsandboxError:
        def open_index() -> Index | None:
            return contents_apt.index(
                bases.default_suite(),
                self.target.arch,
                offline=self.options.offline,
                say=lambda text: self.tell(Said(text)),
            )

        advice = missing.advise(self.known["findings"], self.target, open_index)
        proposed = change.propose(self.plan, advice, self.target)
        self.known |= {"advice": advice, "change": proposed}
        return failure.with_advice(error, advice, proposed)

    def _masked(self, error: TsandboxError) -> TsandboxError:
        if self.masker:
            error.message = self.masker.text(error.message)
            error.hint = self.masker.text(error.hint) if error.hint else None
            error.details = tuple(self.masker.text(line) for line in error.details)
        return error


def _told(journal: Journal, limits: Limits, log: Log) -> dict[str, Any]:
    return {
        "steps": journal.steps,
        "events": tuple(journal.events),
        "findings": tuple(journal.findings),
        "enforced": journal.enforced,
        "unenforced": _unenforced(limits, journal.enforced),
        "head": log.head,
        "tail": log.tail,
    }


def _unenforced(wanted: Limits, enforced: Limits | None) -> tuple[str, ...]:
    """Limits that were asked for and that the container's kernel does not know of."""
    if enforced is None:
        return ()
    names = ("memory", "cpus", "pids")
    return tuple(name for name in names if getattr(wanted, name) and getattr(enforced, name) is None)
