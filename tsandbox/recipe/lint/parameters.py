"""The parameters of the steps that tsandbox executes; what is near one of these and none of them is a misspelling."""

_MAPPED = ("os_mapping", "arch_mapping")
_ARCHIVE = ("strip_dirs", "binaries", "install_mode", "outputs", "executables", *_MAPPED)
_FETCH = (
    "url",
    "checksum",
    "checksum_algo",
    "checksum_url",
    "checksum_format",
    "dest",
    "fallback_urls",
    "size",
    *_MAPPED,
)
_SIGNED = ("signature_url", "signature_key_url", "signature_key_fingerprint")
_BUILD = ("source_dir", "executables", "env", "dependencies", "make_args", "targets", "prefix", "skip_install")
_GITHUB = ("repo", "asset_pattern", "tag", "binary", "checksum", "checksum_url", *_ARCHIVE)

PARAMETERS: dict[str, tuple[str, ...]] = {
    "apply_patch_file": ("file", "patch", "url", "checksum", "strip", "subdir", "source_dir", "data", "patch_file"),
    "cargo_install": ("crate", "version", "executables", "features", "no_default_features", "locked", "path"),
    "chmod": ("files", "mode"),
    "cmake_build": (*_BUILD, "cmake_args", "build_type", "build_dir"),
    "configure_make": (*_BUILD, "configure_args", "skip_configure", "make_targets", "install_args"),
    "cpan_install": ("distribution", "module", "version", "executables", "mirror", "cpanfile"),
    "download": (*_FETCH, *_SIGNED),
    "download_archive": (*_FETCH, *_SIGNED, *_ARCHIVE, "archive_format", "format"),
    "download_file": (*_FETCH, *_SIGNED),
    "extract": ("archive", "format", "strip_dirs", "dest", "files", *_MAPPED),
    "gem_install": ("gem", "version", "executables"),
    "github_archive": (*_GITHUB, "archive_format", "format"),
    "github_file": _GITHUB,
    "go_install": ("module", "version", "executables", "cgo_enabled", "build_tags", "package"),
    "install_binaries": ("binaries", "outputs", "executables", "install_mode", *_MAPPED),
    "install_libraries": ("patterns", "libraries", "outputs"),
    "link_dependencies": ("library", "version", "dependencies"),
    "meson_build": (*_BUILD, "meson_args", "buildtype", "wrap_mode", "build_dir"),
    "npm_exec": ("package", "version", "executables", "package_lock", "ignore_scripts"),
    "npm_install": ("package", "version", "executables", "package_lock", "ignore_scripts"),
    "pip_exec": ("package", "version", "executables", "locked_requirements", "python_version", "has_native_addons"),
    "pip_install": ("package", "packages", "version", "executables", "requirements", "constraints", "source_dir"),
    "pipx_install": ("package", "version", "executables", "python_version", "extras", "inject"),
    "run_command": ("command", "description", "working_dir", "requires_sudo", "dependencies", "env"),
    "set_env": ("vars", "name", "value"),
    "set_rpath": ("binaries", "rpath", "create_wrapper", "libraries"),
    "text_replace": ("file", "files", "pattern", "replacement", "regex", "count"),
}

# Words of recipes that other tools run as well: they are no misspellings, and nothing here reads them.
NOT_READ: dict[str, frozenset[str]] = {
    "apply_patch_file": frozenset({"patch", "url", "checksum", "source_dir", "patch_file"}),
    "cargo_install": frozenset({"features", "no_default_features", "locked", "path"}),
    "cmake_build": frozenset({"env", "make_args", "targets", "prefix", "skip_install", "build_dir"}),
    "configure_make": frozenset({"env", "targets", "prefix", "skip_install", "install_args"}),
    "cpan_install": frozenset({"version", "mirror", "cpanfile"}),
    "download": frozenset({"checksum_format", "size", *_SIGNED}),
    "download_archive": frozenset({"checksum_format", "size", "executables", *_SIGNED}),
    "download_file": frozenset({"checksum_format", "size", *_SIGNED}),
    "github_archive": frozenset({"tag", "executables"}),
    "github_file": frozenset({"tag", "executables", "strip_dirs"}),
    "go_install": frozenset({"cgo_enabled", "build_tags"}),
    "link_dependencies": frozenset({"version"}),
    "meson_build": frozenset({"env", "make_args", "targets", "prefix", "skip_install", "build_dir"}),
    "npm_exec": frozenset({"ignore_scripts"}),
    "npm_install": frozenset({"ignore_scripts"}),
    "pip_exec": frozenset({"python_version", "has_native_addons"}),
    "pip_install": frozenset({"packages", "constraints"}),
    "pipx_install": frozenset({"python_version", "extras", "inject"}),
    "run_command": frozenset({"requires_sudo", "env"}),
    "set_env": frozenset({"name", "value"}),
    "set_rpath": frozenset({"create_wrapper", "libraries"}),
    "text_replace": frozenset({"files", "count"}),
    "install_binaries": frozenset({"executables"}),
    "install_libraries": frozenset({"libraries", "outputs"}),
    "extract": frozenset({"files"}),
}
