# blocked: recipes/git-ppa.toml: no step of git-ppa applies to linux/rhel/amd64
FROM <rhel>
