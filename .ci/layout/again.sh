#!/bin/bash
# Starts over on the newest main of the clone's origin: a branch `reorg`, with all steps applied (or those given).
cd /work/clones/reorg && git checkout -qf main && git clean -fdq -e .build && git pull -q --rebase && git branch -qD reorg 2>/dev/null; git checkout -q -b reorg && python3 /work/bin/reorg/run.py "$@"
