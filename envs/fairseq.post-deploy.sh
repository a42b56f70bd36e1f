#!/usr/bin/env bash
# fairseq has no ready-made wheel: it is compiled against the torch that is installed (no build isolation) and without
# its own dependencies, which fairseq.yaml pins. Snakemake runs a copy of this file inside the finished conda environment,
# create.sh runs it inside .venv. A wheel is built once per version of Python, torch and numpy, and kept.
set -euo pipefail
fairseq=fairseq-fixed==0.12.3.1

tag=$(python -c '
import sys, sysconfig
from importlib.metadata import version
built = [name + version(name).partition("+")[0] for name in ("torch", "numpy")]
print(sys.implementation.cache_tag, sysconfig.get_platform(), *built, sep="-")')
wheels=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/headroom/wheels/$tag
find_wheel() { find "$wheels" -maxdepth 1 -name "fairseq_fixed-${fairseq#*==}-*.whl" 2> /dev/null | head -n 1 || true; }
fail() { echo "headroom: $*" >&2; exit 1; }

if [ -z "$(find_wheel)" ]; then
  command -v "${CXX:-c++}" > /dev/null \
    || fail "${CXX:-c++}: not found; install a C++ compiler to build fairseq (Debian, Ubuntu: apt install g++)"
  python -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
    || fail "Python.h: not found; install Python's headers to build fairseq (Debian, Ubuntu: apt install python3-dev)"
  echo "headroom: building $fairseq (three minutes, once; kept in $wheels)"
  mkdir -p "$wheels"
  build=$(mktemp -d "$wheels/build.XXXXXX")
  trap 'rm -rf "$build"' EXIT
  python -m pip --disable-pip-version-check -qq wheel --no-deps --no-build-isolation --no-cache-dir \
    --wheel-dir "$build" "$fairseq"
  mv "$build"/*.whl "$wheels/"
fi
python -m pip --disable-pip-version-check -qq install --no-deps --force-reinstall "$(find_wheel)"
