# blocked: recipes/iterm2.toml: iterm2 is not supported on linux/arch/amd64: supported_os = darwin
FROM <arch>
