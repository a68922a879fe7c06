"""Run benchmarks by name, all of them without one; exit 1 where a promised limit is exceeded."""

import sys
from importlib import import_module
from pkgutil import iter_modules

import benchmarks

_NOT_BENCHMARKS = {"__main__", "measure"}


def main(wanted: list[str]) -> int:
    names = sorted(module.name for module in iter_modules(benchmarks.__path__) if module.name not in _NOT_BENCHMARKS)
    if unknown := set(wanted) - set(names):
        print(f"no benchmark is called {', '.join(sorted(unknown))}; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    kept = True
    for name in wanted or names:
        print(name, flush=True)
        for measure in import_module(f"benchmarks.{name}").run():
            print(measure, flush=True)
            kept = kept and measure.holds
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
