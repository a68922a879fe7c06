#!/bin/sh
# Turn a dpkg status file into the list of packages that an image carries: name, version and architecture, sorted.
LC_ALL=C awk -F': ' '
  $1 == "Package" { name = $2 }
  $1 == "Version" { version = $2 }
  $1 == "Architecture" { architecture = $2 }
  /^$/ && name { print name "\t" version "\t" architecture; name = "" }
  END { if (name) print name "\t" version "\t" architecture }
' | LC_ALL=C sort
