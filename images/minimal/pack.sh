#!/bin/sh
# Write a root to WORK/base.tar so that the same files always give the same bytes: pack.sh WORK [TAR-OPTION...]
set -eu
work=$1
shift
LC_ALL=C tar --create --file "$work/base.tar" --directory "$work/root" --format=gnu --sort=name --numeric-owner \
  --mtime="@$SOURCE_DATE_EPOCH" --clamp-mtime "$@" .
