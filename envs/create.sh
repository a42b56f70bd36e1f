#!/usr/bin/env bash
# Complete the project's environment (.venv): `bash envs/create.sh [cluster] [fairseq] [tests]`. What every study needs (envs/workflow.txt)
# is installed first, then the named parts, each from its lock. .venv/ready has the place of the project and a line for
# each complete part. It may be interrupted at any point and run again.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
place=$(pwd -P)
if command -v flock > /dev/null; then exec 9< envs/create.sh && flock 9; fi  # of two calls at once, one waits
mark=.venv/ready
pip=(.venv/bin/python -m pip --disable-pip-version-check -qq)

fail() { echo "headroom: $*" >&2; exit 1; }
say() { echo "headroom: $*"; }

# A part's line in the mark: its name, and the checksum of its lock and of the program that completes it.
line() { echo "$1 $(cat "envs/$1.txt" $(ls "envs/$1.post-deploy.sh" 2> /dev/null) | cksum)"; }
is_complete() { grep -qsxF "$(line "$1")" "$mark"; }
note() { { grep -v "^$1 " "$mark"; line "$1"; } > "$mark.new"; mv "$mark.new" "$mark"; }

create() {
  command -v "$python" > /dev/null || fail "$python: not found; install Python 3.11 or newer, or name one: make study PYTHON=python3.12"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || fail "$python: version $("$python" -c 'import platform; print(platform.python_version())') is too old; name Python 3.11 or newer: make study PYTHON=python3.12"
  "$python" -c 'import venv, ensurepip' 2> /dev/null \
    || fail "$python: module venv is missing; install it (Debian, Ubuntu: apt install python3-venv)"
  say "creating .venv with $("$python" --version)"
  rm -rf .venv  # .venv may be a link to an environment of another project, which is left alone
  "$("$python" -c 'import sys; print(sys._base_executable)')" -m venv .venv
  command -v "${CXX:-c++}" > /dev/null \
    || say "there is no C++ compiler: studies with translation models of fairseq will need one (Debian, Ubuntu: apt install g++)"
}

# The programs in .venv have the project's place in them; a mark is missing while the first part is installed.
if ! grep -qsxF "$place" "$mark" || ! .venv/bin/python -c 'import pip' 2> /dev/null; then
  create
elif ! is_complete workflow; then
  say "the lock has changed: updating .venv"
  rm "$mark"
fi
if ! is_complete workflow; then
  say "installing $(grep -c == envs/workflow.txt) packages (a minute or two; with the CUDA build of torch more, about 3 GB)"
  "${pip[@]}" install -r envs/workflow.txt
  # `python -m headroom <stage>` works inside the environment from any directory
  echo "$place/workflow" > "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/headroom.pth"
  echo "$place" > "$mark"
  note workflow
  say "the environment is ready: .venv"
fi

# The other parts add packages to the first, which stays usable when one of them is interrupted or fails.
for part in "$@"; do
  if ! is_complete "$part"; then
    say "installing the part '$part' of .venv"
    "${pip[@]}" install -r "envs/$part.txt"
    # as in the conda environment
    if [ -e "envs/$part.post-deploy.sh" ]; then PATH="$place/.venv/bin:$PATH" bash "envs/$part.post-deploy.sh"; fi
    note "$part"
  fi
done
