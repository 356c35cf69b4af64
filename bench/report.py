#!/usr/bin/env python3
"""Turns the result lines of bench/run.sh into docs/benchmarks.md."""
import datetime
import json
import platform
import sys


def main():
    path, items, hot, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    rows = [json.loads(line) for line in open(path) if line.startswith("{")]
    by = {(row["system"], row["workload"]): row for row in rows}

    def rate(system, workload):
        row = by.get((system, workload))
        return row["per_second"] if row else None

    def ratio(a, b):
        return f"{a / b:.2f}" if a and b else "not measured"

    out = []
    say = out.append
    say("# Benchmarks\n")
    say(f"Written by `make bench` (`bench/run.sh`) on {datetime.date.today()}: {items:,} items of 1 KB with 30 scalar "
        f"values, default indexing policy, writes durable, {seconds} s per line, one load generator process beside the "
        f"server on the same {platform.machine()} machine with 2 cores. Debian's RocksDB. Only ratios within one run "
        "mean anything; the machine is noisy.\n")
    say("| system | workload | operations/s | p50 ms | p99 ms | server CPU µs/op | client CPU µs/op | errors |")
    say("|---|---|---|---|---|---|---|---|")
    for row in rows:
        if "per_second" not in row:
            continue
        say(f"| {row['system']} | {row['workload']} | {row['per_second']:,} | {row['p50_us'] / 1000:.2f} | "
            f"{row['p99_us'] / 1000:.2f} | {row['server_cpu_us'] or '–'} | {row['client_cpu_us']} | {row['errors']} |")
    say("\n`orrery-hot` reads a set of "
        f"{hot:,} items; `read` draws uniformly from all; `mix95` and `mix50` are 95/5 and 50/50 reads and upserts with "
        "zipfian keys; `feed` reads pages of 100 items.\n")
    say("## Goals\n")
    say("| goal | measured |")
    say("|---|---|")
    say(f"| point reads, hot set ≥ 0.9 × nginx | {ratio(rate('orrery-hot', 'read'), rate('nginx', 'read'))} × |")
    say(f"| point reads, uniform ≥ 2 × PostgreSQL | {ratio(rate('orrery', 'read'), rate('postgresql', 'read'))} × |")
    say(f"| durable indexed creates ≥ 2 × PostgreSQL | {ratio(rate('orrery', 'create'), rate('postgresql', 'create'))} × |")
    say(f"| reads ≥ 20 × the npm server | {ratio(rate('orrery', 'read'), rate('npm-server', 'read'))} × |")
    say(f"| creates ≥ 20 × the npm server | {ratio(rate('orrery', 'create'), rate('npm-server', 'create'))} × |")
    raw = by.get(("rocksdb", "read"))
    ours = by.get(("orrery", "read"))
    if raw and ours:
        say(f"| a read with HTTP, auth and JSON ≤ 3 × a raw RocksDB get (CPU) | "
            f"{ours['server_cpu_us'] / raw['client_cpu_us']:.2f} × |")
    start = by.get(("orrery", "start"))
    if start:
        say(f"| ready in ≤ 300 ms on a 1 GB folder | {start['ms']} ms on {start['folder_mb']} MB |")
    idle = by.get(("orrery", "idle"))
    if idle:
        say(f"| idle < 60 MB, no CPU | {idle['rss_mb']} MB, {idle['cpu_percent']} % |")
    containers = by.get(("orrery", "containers"))
    if containers:
        say(f"| 1,000 containers in ≤ 5 s | {containers['ms'] / 1000:.1f} s |")
    print("\n".join(out))


if __name__ == "__main__":
    main()
