#!/usr/bin/env bash
# Create or complete the project's environment (.venv) from the lock. `make` calls it when .venv/ready is
# missing or older than the lock. It may be interrupted at any point and run again.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
lock=(envs/requirements.txt envs/fairseq.txt)
fairseq=$(grep -v '^#' envs/fairseq.txt)
torch=$(grep '^torch==' envs/requirements.txt)
numpy=$(grep '^numpy==' envs/requirements.txt)

fail() { echo "headroom: $*" >&2; exit 1; }
say() { echo "headroom: $*"; }

# Check the requirements before installing anything.
command -v "$python" > /dev/null || fail "$python: not found; install Python 3.11 or newer, or name one: make study PYTHON=python3.12"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  || fail "$python: version $("$python" -c 'import platform; print(platform.python_version())') is too old; name Python 3.11 or newer: make study PYTHON=python3.12"
"$python" -c 'import venv, ensurepip' 2> /dev/null \
  || fail "$python: module venv is missing; install it (Debian, Ubuntu: apt install python3-venv)"

# fairseq is compiled once (torch.post-deploy.sh) and its wheel cached here; the build needs a compiler.
tag=$("$python" -c 'import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform(), sep="-")')
wheels=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/headroom/wheels/$tag-${torch/==/}-${numpy/==/}
wheel=$(find "$wheels" -name "fairseq_fixed-${fairseq#*==}-*.whl" 2> /dev/null | head -n 1 || true)
if [ -z "$wheel" ]; then
  command -v "${CXX:-c++}" > /dev/null \
    || fail "${CXX:-c++}: not found; install a C++ compiler to build fairseq (Debian, Ubuntu: apt install g++)"
  "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
    || fail "Python.h: not found; install Python's headers to build fairseq (Debian, Ubuntu: apt install python3-dev)"
fi

# A complete environment is updated; an incomplete one is created again.
place=$(pwd -P)
fingerprint=$(cat "${lock[@]}" | "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
if grep -qsxF "$place" .venv/ready && .venv/bin/python -c 'import pip' 2> /dev/null; then
  if grep -qxF "$fingerprint" .venv/ready; then
    touch .venv/ready
    exit 0
  fi
  say "the lock has changed: updating .venv"
  rm .venv/ready
else
  say "creating .venv with $("$python" --version)"
  "$("$python" -c 'import sys; print(sys._base_executable)')" -m venv --clear .venv
fi
pip=(.venv/bin/python -m pip --disable-pip-version-check -qq)

say "installing $(grep -c == envs/requirements.txt) packages (a minute or two; with the CUDA build more, about 3 GB)"
"${pip[@]}" install -r envs/requirements.txt

PATH="$place/.venv/bin:$PATH" bash envs/torch.post-deploy.sh  # fairseq, as in the conda environment

# `python -m headroom <stage>` works inside the environment from any directory.
echo "$place/workflow" > "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/headroom.pth"
printf '%s\n' "$place" "$fingerprint" > .venv/ready
say "the environment is ready: .venv"
