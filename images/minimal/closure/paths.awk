# Decide which paths go into the overlay. Tab-separated inputs, told apart by `part=` before each file name:
#   links      symlinks to directories and where they lead: paths are compared as the file system has them
#   theirs     what the packages of the closure own
#   owned      what any package owns
#   pristine   what no package owned before the installation: path, kind, hash or target or mode
#   runtime    what the runtime base has: path, kind, hash or target or mode
#   hashes     hash and path of the files that the last two name
#   inventory  what is there now: path, kind, target or mode
# Output: kind (d for directories, f for all others) and path.
BEGIN { FS = "\t" }

part == "links" { leads_to[$1] = $2; next }
part == "theirs" { theirs[real($1)] = 1; next }
part == "owned" { owned[real($1)] = 1; next }
part == "pristine" { pristine[$1] = $2 FS $3; next }
part == "runtime" { runtime[$1] = $2 FS $3; next }
part == "hashes" { hash[$2] = $1; next }

{ what = $2 FS ($2 == "f" ? hash[$1] : $3) }
runtime[$1] == what { next }
$1 in theirs { if ($2 == "d" || $1 !~ volatile) take($1, $2); next }
$1 in owned || ($2 != "d" && $1 ~ volatile) || $1 ~ unwanted || ($2 == "l" && $3 ~ undocumented) { next }
adopted != "" && $1 ~ adopted { take($1, $2); next }
pristine[$1] == what { if ($2 == "l") left_over[$1] = $3; next }
{ take($1, $2) }

END {
  # An alternative that was set before the installation (awk is mawk) belongs to the package that it leads to, and so
  # does the name of one that was set anew (gawk changes where /etc/alternatives/awk leads, not /usr/bin/awk).
  do {
    again = 0
    for (path in left_over) {
      target = left_over[path]
      sub(/^\//, "", target)
      if (target in theirs || target in taken) {
        again = 1
        take(path, "l")
        delete left_over[path]
      }
    }
  } while (again)
}

function take(path, kind) {
  taken[path] = 1
  print (kind == "d" ? "d" : "f") FS path
}

function real(path,    n, parts, i, prefix) {
  sub(/^\//, "", path)
  n = split(path, parts, "/")
  for (i = 1; i < n; i++) {
    prefix = (i == 1 ? "" : prefix "/") parts[i]
    if (prefix in leads_to) prefix = leads_to[prefix]
  }
  return n > 1 ? prefix "/" parts[n] : path
}
