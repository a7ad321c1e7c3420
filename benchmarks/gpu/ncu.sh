#!/usr/bin/env bash
# Profiles kernels.py with Nsight Compute into OUT: the report, and its raw and details pages as CSV.
#   benchmarks/gpu/ncu.sh OUT
# --clock-control none: the device's clocks are not ours to fix.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) out=$1
export CUDA_VISIBLE_DEVICES=0
ncu --version
ncu --profile-from-start off --clock-control none --set full -f -o "$out/kernels" python3 "$here/kernels.py"
ncu -i "$out/kernels.ncu-rep" --csv --page raw >"$out/ncu_raw.csv"
ncu -i "$out/kernels.ncu-rep" --csv --page details >"$out/ncu_details.csv"
