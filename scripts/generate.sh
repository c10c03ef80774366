#!/bin/sh
# Writes the completions and man pages anew from the definition of the command line.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --bin kq
kq=${CARGO_TARGET_DIR:-target}/debug/kq
mkdir -p completions man
"$kq" completion bash >completions/kq.bash
"$kq" completion zsh >completions/_kq
"$kq" completion fish >completions/kq.fish
rm -f man/*.1
"$kq" man man
