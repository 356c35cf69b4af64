"""Reads what bench/compare.sh measured: one line's ratios, or without a name the means of all lines."""
import json
import math
import statistics
import sys


def ratios(rows, name):
    """Turn by turn new/old of the rate, old/new of the server's time."""
    side = {s: [r for r in rows if r["compared"] == name and r["side"] == s] for s in ("old", "new")}
    pairs = list(zip(side["old"], side["new"]))
    return ([new["per_second"] / old["per_second"] for old, new in pairs],
            [old["server_cpu_us"] / new["server_cpu_us"] for old, new in pairs if new["server_cpu_us"] > 0 and old["server_cpu_us"] > 0])


def main():
    rows = [json.loads(line) for line in open(sys.argv[1])]
    assert all(row["errors"] == 0 for row in rows), [row for row in rows if row["errors"]]
    if len(sys.argv) > 2:
        rate, time = ratios(rows, sys.argv[2])
        print(f"{sys.argv[2]:45} rate {statistics.median(rate):5.2f} ({min(rate):.2f} to {max(rate):.2f})   "
              f"server's time {statistics.median(time):5.2f} ({min(time):.2f} to {max(time):.2f})", flush=True)
        return
    medians = [[statistics.median(part) for part in ratios(rows, name)] for name in dict.fromkeys(row["compared"] for row in rows)]
    for what, values in zip(("rate", "server's time"), zip(*medians)):
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"{what}: geometric mean {mean:.3f}, lowest {min(values):.2f}, {len(values)} lines")


if __name__ == "__main__":
    main()
