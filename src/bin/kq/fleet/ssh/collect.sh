#!/bin/sh
# Stores a snapshot of each node over ssh, for kq fleet ask.
nodes=NODES
dir=FOLDER
# The program for the machines of the nodes, and the ssh that reaches them.
kq=${KQ:-kq}
ssh=${SSH:-ssh}
failed=0
for node in $nodes; do
    case $node in -* | *[!a-z0-9.-]*) echo "$node: no name of a node" >&2; failed=1; continue ;; esac
    # kq needs root there. Nothing stays: the copy is in a folder of its own.
    if "$ssh" "$node" 'folder=$(mktemp -d) && cat >"$folder/kq" && chmod 700 "$folder/kq" &&
        sudo -n "$folder/kq" snapshot; code=$?; rm -rf "$folder"; exit $code' \
        <"$kq" >"$dir/$node.json.part"
    then
        mv "$dir/$node.json.part" "$dir/$node.json"
    else
        echo "$node: no snapshot" >&2
        rm -f "$dir/$node.json.part"
        failed=1
    fi
done
exit $failed
