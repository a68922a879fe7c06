# Merge dpkg status files: the paragraphs of the first file whose package is in `wanted` (name, architecture, version),
# then those of the second that the first did not give. What only dpkg itself reads is left out.
BEGIN {
  while ((getline line < wanted) > 0) {
    split(line, field, "\t")
    keep[field[1] ":" field[2]] = 1
  }
  RS = ""
  FS = "\n"
}
{
  package = architecture = ""
  text = ""
  dropping = 0
  for (i = 1; i <= NF; i++) {
    if ($i ~ /^Package: /) package = substr($i, 10)
    if ($i ~ /^Architecture: /) architecture = substr($i, 15)
    if ($i !~ /^ /) dropping = $i ~ /^Conffiles:/
    if (!dropping) text = text $i "\n"
  }
  key = package ":" architecture
  from_runtime = FILENAME == second
  if (key in given || (!from_runtime && !(key in keep))) next
  given[key] = 1
  print text
}
