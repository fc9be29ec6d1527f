"""Reads JSON lines with the standard library and does nothing else: the measure of every other."""

import json
import sys

if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        for line in file:
            json.loads(line)
