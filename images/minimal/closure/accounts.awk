# Carry accounts over: the lines of the runtime's file (third), with those that the installation changed or added since
# the builder's pristine file (first), as they stand now (second). Accounts of apt and the like stay behind.
BEGIN { FS = ":" }
part == "before" { before[$0] = 1; next }
part == "now" { if (!($0 in before)) { now[$1] = $0; order[++count] = $1 }; next }
{ if ($1 in now) { print now[$1]; delete now[$1] } else print }
END { for (i = 1; i <= count; i++) if (order[i] in now) print now[order[i]] }
