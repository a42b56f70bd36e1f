#!/usr/bin/env bash
# Snakemake runs this inside the finished conda environment. fairseq is compiled against the torch that is
# installed there (no build isolation) and without its own dependencies, which torch.yaml pins.
set -euo pipefail
command -v "${CXX:-c++}" > /dev/null || { echo "a C++ compiler is needed to build fairseq (apt install g++)" >&2; exit 1; }
python -m pip install --no-deps --no-build-isolation --no-cache-dir fairseq-fixed==0.12.3.1
