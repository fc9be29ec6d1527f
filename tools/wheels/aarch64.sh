#!/usr/bin/env bash
# Build the wheel for Linux on 64-bit ARM with a cross compiler, and try it under an emulator.
#
#   tools/wheels/aarch64.sh                        the demonstration, tests of kernel and format
#   tools/wheels/aarch64.sh tests/database -k add  the demonstration, and what pytest is told
#
# It needs Debian or Ubuntu with gcc-aarch64-linux-gnu and qemu-user-static, and a Python of the
# version that the system has, 3.11 or later: PYTHON=python3.11.  All that it downloads lies in
# build/aarch64; nothing is installed on the machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3.11}
place=$PWD/build/aarch64
root=$place/root
site=$place/site-packages
say() { printf '\n== %s\n' "$*"; }

say "the system's $python for this processor"
export APT_CONFIG=$place/apt.conf
mkdir -p "$place"/{lists,archives}/partial
touch "$place/status"
cat >"$APT_CONFIG" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
Dir::State "$place";
Dir::State::status "$place/status";
Dir::Cache "$place";
END
apt-get -qq update
apt-get -qq install --yes --download-only --no-install-recommends \
  "$python" "lib$python-dev" libstdc++6
for package in "$place"/archives/*.deb; do dpkg -x "$package" "$root"; done

say "the wheel, compiled with its headers and the settings of its build"
"$python" -m venv "$place/venv"
pip() { "$place/venv/bin/python" -m pip --disable-pip-version-check "$@"; }
pip install --quiet --upgrade pip 'setuptools>=77' 'cython>=3.1'
mkdir -p "$place/settings"
cp "$root/usr/lib/$python/_sysconfigdata__aarch64-linux-gnu.py" "$place/settings"
rm -rf "$place/dist" "$site"
_PYTHON_HOST_PLATFORM=linux-aarch64 PYTHONPATH=$place/settings \
  _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata__aarch64-linux-gnu \
  CFLAGS="-I$root/usr/include/$python -I$root/usr/include" \
  pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$place/dist" . stop-words
wheel=$(ls "$place"/dist/simdb-*.whl)
wc -c "$wheel"
pip install --quiet --target "$site" --only-binary=:all: --implementation cp \
  --python-version "${python#python}" --platform linux_aarch64 --platform manylinux_2_17_aarch64 \
  --platform manylinux_2_28_aarch64 --find-links "$place/dist" \
  "$wheel[arrow,html,text,zstd]" pytest hypothesis

say "it answers, with the kernel for NEON"
run() { PYTHONPATH=$site qemu-aarch64-static -L "$root" "$root/usr/bin/$python" -P "$@"; }
run tools/wheels/compiled.py | grep " neon$"
run -m simdb demo

say "tests"
test $# -gt 0 || set -- tests/kernel tests/format
run -m pytest -q -m "not slow" -p no:cacheprovider "$@"
