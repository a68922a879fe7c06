# Read a dpkg status file and print name, architecture and version of the packages in the dependency closure of
# `declared`. A dependency `a | b` is met by what the closure already holds, else by the first alternative that is
# installed in a version that fits; a real package goes before one that provides the name.

function value() { return substr($0, index($0, ":") + 2) }

/^Package:/ { package = value() }
/^Status:/ { state = value() }
/^Version:/ { its_version = value() }
/^Architecture:/ { its_arch = value() }
/^Multi-Arch:/ { its_multi = value() }
/^Provides:/ { its_provides = value() }
/^(Pre-)?Depends:/ { its_needs = its_needs (its_needs == "" ? "" : ", ") value() }
/^$/ { remember() }

END {
  remember()
  count = split(declared, roots, " ")
  for (r = 1; r <= count; r++) {
    # apt takes name=version and name/suite
    sub(/[=\/].*/, "", roots[r])
    require(roots[r], native, "the recipe")
  }
  for (at = 1; at <= last; at++) {
    groups_count = split(needs[queue[at]], groups, / *, */)
    for (g = 1; g <= groups_count; g++)
      if (groups[g] != "") require(groups[g], arch[queue[at]], queue[at])
  }
  for (at = 1; at <= last; at++) {
    key = queue[at]
    name = key
    sub(/:.*/, "", name)
    print name "\t" written_arch[key] "\t" version[key]
  }
  exit failed
}

function remember(    key, n, terms, i, name) {
  if (package != "" && state ~ / installed$/) {
    key = package ":" its_arch
    version[key] = its_version
    written_arch[key] = its_arch
    arch[key] = its_arch == "all" ? native : its_arch
    multi[key] = its_multi
    needs[key] = its_needs
    # The native one comes first, as apt has it.
    instances[package] = arch[key] == native ? key " " instances[package] : instances[package] " " key
    n = split(its_provides, terms, / *, */)
    for (i = 1; i <= n; i++) {
      name = terms[i]
      sub(/[ (].*/, "", name)
      providers[name] = providers[name] " " key
      if (match(terms[i], /= [^)]+/)) provided[name, key] = substr(terms[i], RSTART + 2, RLENGTH - 2)
    }
  }
  package = state = its_version = its_arch = its_multi = its_provides = its_needs = ""
}

function require(group, for_arch, who,    n, terms, i, key) {
  n = split(group, terms, / *\| */)
  for (i = 1; i <= n; i++) if (meet(terms[i], for_arch, 1) != "") return
  for (i = 1; i <= n; i++) if ((key = meet(terms[i], for_arch, 0)) != "") { choose(key); return }
  print "closure: " who " needs " group ", which is not installed" > "/dev/stderr"
  failed = 1
}

function choose(key) {
  if (key in chosen) return
  chosen[key] = 1
  queue[++last] = key
}

# The installed package (of those chosen so far, if `only_chosen`) that meets one alternative, or "".
function meet(term, for_arch, only_chosen,    name, qualifier, relation, want, words, n, keys, i, key) {
  match(term, /^[^ (:]+/)
  name = substr(term, 1, RLENGTH)
  term = substr(term, RLENGTH + 1)
  if (match(term, /^:[a-z0-9-]+/)) qualifier = substr(term, 2, RLENGTH - 1)
  if (match(term, /\([^)]*\)/)) {
    split(substr(term, RSTART + 1, RLENGTH - 2), words, " ")
    relation = words[1]
    want = words[2]
  }
  n = split(instances[name], keys, " ")
  for (i = 1; i <= n; i++) {
    key = keys[i]
    if ((!only_chosen || key in chosen) && serves(key, for_arch, qualifier) && fits(version[key], relation, want))
      return key
  }
  n = split(providers[name], keys, " ")
  for (i = 1; i <= n; i++) {
    key = keys[i]
    if ((!only_chosen || key in chosen) && serves(key, for_arch, qualifier) && fits(provided[name, key], relation, want))
      return key
  }
  return ""
}

# Debian's multi-arch rules: a dependent is served by its own architecture, by a foreign package that says it serves
# all, and with `:any` by one that allows that.
function serves(key, for_arch, qualifier) {
  if (qualifier == "any") return arch[key] == for_arch || multi[key] == "allowed" || multi[key] == "foreign"
  if (qualifier != "" && qualifier != "native") return arch[key] == qualifier
  return arch[key] == for_arch || multi[key] == "foreign"
}

function fits(have, relation, want) {
  if (relation == "") return 1
  if (have == "") return 0
  if (relation == "=" && have == want) return 1
  # Versions have no characters that a shell would take up: dpkg allows [A-Za-z0-9.+~:-] only.
  return system("dpkg --compare-versions '" have "' '" relation "' '" want "'") == 0
}
