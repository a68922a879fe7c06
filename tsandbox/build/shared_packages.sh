# Packages that other builds have fetched. apt runs this as a hook: `offer` before it decides what to fetch, `take` when
# all packages of an installation are there, with their paths on stdin, and `clear` when they are installed.
shared=/var/cache/apt/shared
archives=/var/cache/apt/archives
case $1 in
  offer)
    mkdir -p $archives
    find $shared -maxdepth 1 -name '*.deb' -exec ln -sf -t $archives {} +
    ;;
  take)
    borrowed=$(mktemp) known=$(mktemp)
    while read -r deb; do
      if [ -L "$deb" ]; then
        echo "$deb" >> "$borrowed"
      elif [ -f "$deb" ]; then
        # Under another name until it is whole: other builds look into the same directory.
        cp "$deb" "$shared/.${deb##*/}.$$" && mv "$shared/.${deb##*/}.$$" "$shared/${deb##*/}"
      fi
    done
    # apt looks only at the size of a package that is already there, and install scripts of other builds could write to
    # this directory: what the signed index says about a package decides.
    if [ -s "$borrowed" ]; then
      /usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*_Packages* |
        grep -E '^(Package|Version|Architecture|SHA256): ' | awk -v borrowed="$borrowed" '
        BEGIN { while ((getline path < borrowed) > 0) { n = split(path, parts, "/"); wanted[parts[n]] = path } }
        /^Package: / { name = $2 }
        /^Version: / { version = $2; gsub(":", "%3a", version) }
        /^Architecture: / { architecture = $2 }
        /^SHA256: / {
          deb = name "_" version "_" architecture ".deb"
          if (deb in wanted) print $2 "  " wanted[deb]
        }' > "$known"
      xargs sha256sum < "$borrowed" | while read -r sum deb; do
        grep -qxF "$sum  $deb" "$known" || {
          rm -f "$shared/${deb##*/}"
          echo "tsandbox: the shared package ${deb##*/} is damaged and was removed" >&2
          exit 1
        }
      done || exit 1
      # When a package was last of use, for `tsandbox cache gc`.
      xargs touch < "$borrowed"
    fi
    rm -f "$borrowed" "$known"
    ;;
  clear)
    find $archives -maxdepth 1 -type l -delete
    ;;
esac
