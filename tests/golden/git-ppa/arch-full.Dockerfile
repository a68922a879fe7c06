# blocked: recipes/git-ppa.toml: no step of git-ppa applies to linux/arch/amd64
FROM <arch>
