# blocked: recipes/git-ppa.toml: no step of git-ppa applies to linux/alpine/amd64
FROM <alpine>
