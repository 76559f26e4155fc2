#!/usr/bin/env python3
"""Applies the steps of the reorganization to the clone in the current directory, one commit a folder or topic.

usage: cd CLONE && python3 /work/bin/reorg/run.py [STEP…]    (all steps, in this order, unless given)
"""
import importlib, os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib
STEPS = ["core", "targets", "adapters", "locks", "kit", "tests", "docs"]
for step in sys.argv[1:] or STEPS:
    print("== step", step, flush=True)
    importlib.import_module("step_" + step).run()
if lib.reports:
    print(f"\n{len(lib.reports)} REPORTS:")
    print("\n".join(lib.reports))
