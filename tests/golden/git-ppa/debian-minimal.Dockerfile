# not supported: recipes/git-ppa.toml:8: apt_ppa: the PPA ppa:git-core/ppa needs an Ubuntu base
