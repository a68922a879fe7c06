# blocked: recipes/iterm2.toml: iterm2 is not supported on linux/suse/amd64: supported_os = darwin
FROM <suse>
