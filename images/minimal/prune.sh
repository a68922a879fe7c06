#!/bin/sh
# Remove from a root what no base carries: prune.sh ROOT
#
# The patterns mean what they mean to dpkg (`*` also matches `/`), because the builder's dpkg gets the same ones.
# From the environment: EXCLUDE, INCLUDE.
set -euf
cd "$1"
expression='-false'
for pattern in $EXCLUDE; do expression="$expression -o -path .$pattern"; done
kept='-false'
for pattern in $INCLUDE; do kept="$kept -o -path .$pattern"; done
find . -xdev \( $expression \) ! \( $kept \) ! -type d -delete
find . -xdev -depth \( $expression \) -type d -empty -delete
