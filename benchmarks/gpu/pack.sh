#!/usr/bin/env bash
# Packs vLLM and what it needs for a GPU machine that has torch and no network:
#   benchmarks/gpu/pack.sh WORK_FOLDER PARTS [PACKAGES_THERE]
# leaves site.part0 … in WORK_FOLDER/parts. PACKAGES_THERE is a file with the names of what the machine has, a line each.
set -euo pipefail
work=$1 parts=$2 there=${3:-/dev/null}
vllm=0.26.0 python=3.12 released=2026-08-01
mkdir -p "$work/deps" "$work/site" "$work/parts"
cd "$work"

platforms=()
for glibc in 39 35 34 31 28 27 26 24 17 12 5; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
for name in manylinux2014 manylinux2010 manylinux1; do platforms+=(--platform "${name}_x86_64"); done
abis=(--abi cp312 --abi abi3 --abi none --abi cp38)
fetch() { python3 -m pip download -q --no-deps --only-binary=:all: --python-version $python --implementation cp "${abis[@]}" "${platforms[@]}" "$@"; }

fetch -d deps "vllm==$vllm"
# The kernels of other GPUs, and what only some models use, stay behind.
unzip -p deps/vllm-*.whl '*/METADATA' | sed -n 's/^Requires-Dist: //p' | grep -v 'extra ==' | sed 's/^mistral_common\[image\]/mistral_common/' \
  | grep -viE '^(torch|flashinfer|tilelang|quack|nvidia-c|humming|tokenspeed|fastsafetensors|PyNvVideoCodec|opencv|numba|transformers|nvtx)' >wanted.txt
# As of the release: later majors of a dependency break it.
uv pip compile -q --exclude-newer $released --python-version $python --python-platform x86_64-manylinux_2_39 \
  --no-annotate --no-header wanted.txt -o resolved.txt
# What the machine has already stays behind too; names are compared as packaging does.
grep -viE '^(torch|triton|transformers|tokenizers|nvidia-.*|cuda-.*)==' resolved.txt | sed 's/^xgrammar==.*/xgrammar==0.2.1/' \
  | awk -F== 'function plain(name) { name = tolower(name); gsub(/[-_.]+/, "-", name); return name }
      FILENAME != "-" { there[plain($1)]; next } !(plain($1) in there)' "$there" - >needed.txt
fetch -d deps -r needed.txt

for wheel in deps/*.whl; do unzip -qo "$wheel" -d site; done
for data in site/*.data; do
  for lib in purelib platlib; do if [ -d "$data/$lib" ]; then cp -r "$data/$lib/." site/; fi; done
  rm -rf "$data"
done
# Hopper uses FlashAttention 3; the Rust front end is not used.
rm -f site/vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so site/vllm/vllm-rs
tar -cf - --exclude=__pycache__ site | xz -3 -T2 >parts/site.tar.xz
split -n "$parts" -d -a 1 parts/site.tar.xz parts/site.part
