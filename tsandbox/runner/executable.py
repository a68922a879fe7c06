"""What the runner can execute, as plain names: cheap to import, so that the host asks before it builds."""

SYSTEM = frozenset({
    "require_system", "require_command", "manual",
    "apt_install", "dnf_install", "pacman_install", "apk_install", "zypper_install",
    "apt_repo", "apt_ppa", "dnf_repo", "zypper_repo", "pacman_repo", "apk_repo",
    "group_add", "service_enable", "service_start", "env_set", "file_write",
})  # fmt: skip

# Each of these takes one file that the host has fetched before the run.
DOWNLOADS = frozenset({"download", "download_file", "download_archive", "github_archive", "github_file"})

FILES = frozenset({
    "extract", "chmod", "install_binaries", "install_libraries", "set_env", "set_rpath", "text_replace",
    "apply_patch_file", "link_dependencies", "run_command",
})  # fmt: skip

BUILDS = frozenset({"setup_build_env", "configure_make", "cmake_build", "meson_build"})

# Whose packages an action installs: the name of the directory under `ecosystem/` in the inputs.
ECOSYSTEMS = {
    "pipx_install": "pip",
    "pip_install": "pip",
    "pip_exec": "pip",
    "npm_install": "npm",
    "npm_exec": "npm",
    "cargo_install": "cargo",
    "go_install": "go",
    "gem_install": "gem",
    "cpan_install": "cpan",
}

EXECUTABLE = SYSTEM | DOWNLOADS | FILES | BUILDS | ECOSYSTEMS.keys()
