# blocked: recipes/iterm2.toml: iterm2 is not supported on linux/rhel/amd64: supported_os = darwin
FROM <rhel>
