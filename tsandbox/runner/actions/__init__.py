"""Every action that the runner executes, by its name in recipes and plans."""

from collections.abc import Callable

from tsandbox.runner.actions.builds import cmake_build, configure_make, meson_build, setup_build_env
from tsandbox.runner.actions.downloads import download, download_archive, github_file
from tsandbox.runner.actions.files import apply_patch_file, chmod, extract, run_command, text_replace
from tsandbox.runner.actions.install import (
    install_binaries,
    install_libraries,
    link_dependencies,
    set_env,
    set_rpath,
)
from tsandbox.runner.actions.node import npm_exec, npm_install
from tsandbox.runner.actions.python import pip_install
from tsandbox.runner.actions.services import service_enable, service_start
from tsandbox.runner.actions.system import (
    env_set,
    file_write,
    group_add,
    install_packages,
    manual,
    repository,
    require_command,
    require_system,
)
from tsandbox.runner.actions.toolchains import cargo_install, cpan_install, gem_install, go_install
from tsandbox.runner.context import Context, Effect
from tsandbox.runner.params import Params

Action = Callable[[Context, Params], Effect]

ACTIONS: dict[str, Action] = {
    "require_system": require_system,
    "require_command": require_command,
    "apt_install": install_packages("apt"),
    "dnf_install": install_packages("dnf"),
    "pacman_install": install_packages("pacman"),
    "apk_install": install_packages("apk"),
    "zypper_install": install_packages("zypper"),
    "apt_repo": repository,
    "apt_ppa": repository,
    "dnf_repo": repository,
    "zypper_repo": repository,
    "pacman_repo": repository,
    "apk_repo": repository,
    "group_add": group_add,
    "service_enable": service_enable,
    "service_start": service_start,
    "env_set": env_set,
    "file_write": file_write,
    "manual": manual,
    "download": download,
    "download_file": download,
    "download_archive": download_archive,
    "github_archive": download_archive,
    "github_file": github_file,
    "extract": extract,
    "chmod": chmod,
    "install_binaries": install_binaries,
    "install_libraries": install_libraries,
    "set_env": set_env,
    "set_rpath": set_rpath,
    "text_replace": text_replace,
    "apply_patch_file": apply_patch_file,
    "link_dependencies": link_dependencies,
    "run_command": run_command,
    "setup_build_env": setup_build_env,
    "configure_make": configure_make,
    "cmake_build": cmake_build,
    "meson_build": meson_build,
    "pipx_install": pip_install,
    "pip_install": pip_install,
    "pip_exec": pip_install,
    "npm_install": npm_install,
    "npm_exec": npm_exec,
    "cargo_install": cargo_install,
    "go_install": go_install,
    "gem_install": gem_install,
    "cpan_install": cpan_install,
}
