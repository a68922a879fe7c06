# blocked: recipes/git-ppa.toml: no step of git-ppa applies to linux/suse/amd64
FROM <suse>
