#!/bin/sh
# Regenerates the client of the CRI from its .proto, the tables of gates, fields and flags
# from the recorded versions, completions and man pages from the definition of the command line, JSON Schemas
# from the types of the answers, the README's pictures from its commands, and the report of its story.
set -eu
cd "$(dirname "$0")/.."
SNAPSHOTS=overwrite cargo test --quiet --test suite -- \
    edges::generated edges::mirrors edges::versions every_picture_of_the_readme the_stored_schemas the_report_of_the_story >/dev/null
cargo build --quiet --bin kq
kq=${CARGO_TARGET_DIR:-target}/debug/kq
mkdir -p completions man
"$kq" completion bash >completions/kq.bash
"$kq" completion zsh >completions/_kq
"$kq" completion fish >completions/kq.fish
rm -f man/*.1
"$kq" man man
