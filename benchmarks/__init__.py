"""Ratios against what a user would pick instead, measured side by side in one run.

`python -m benchmarks` runs all of them in a short form; `python -m benchmarks NAME --full` runs one in full.
"""
