"""Twelve of the operators that an exported model may call: a sample of scripts/soak.d/operators."""

import sys

import operators

if __name__ == "__main__":
    sys.exit(operators.main(["12"]))
