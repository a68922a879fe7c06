#!/bin/sh
echo "hello $1 from greet 1.2.3"
