#!/bin/bash
# Steps of the gate that need the debug build, by name: pk reorg bash /work/bin/reorg/checks.sh rejected adapters versions recipes documentation mutants
cd /work/clone
eval "$(sed -e '/^swift --version/,$d' -e '/^cd "/d' -e '/^exec </d' .ci/run)"
products=$(swift build --show-bin-path)
for name in "$@"; do
  case $name in
    rejected) step rejected check_rejected ;;
    mutants) step mutants check_mutants ;;
    documentation) step documentation make_documentation ;;
    explored) step explored explore_engine ;;
    *) step "$name" check_elsewhere "$name" ;;
  esac
done
