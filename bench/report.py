#!/usr/bin/env python3
"""Turns the result lines of bench/run.sh into docs/benchmarks.md."""
import argparse
import datetime
import json
import os
import platform
import statistics

FLAT = ("orrery-flat", "orrery-flat-hot")
METERING = ("orrery-unmetered", "orrery-metered")


def machine():
    """Processor, cores and memory in words."""
    name = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    with open("/proc/meminfo", encoding="utf-8") as lines:
        memory_gb = int(next(lines).split()[1]) / 1024 / 1024
    return f"{names[0] if names else name}, {os.cpu_count()} cores, {memory_gb:.0f} GB"


class Results:
    def __init__(self, path):
        with open(path, encoding="utf-8") as lines:
            self.rows = [json.loads(line) for line in lines if line.startswith("{")]

    def all(self, system, workload):
        return [row for row in self.rows if (row["system"], row["workload"]) == (system, workload)]

    def last(self, system, workload):
        found = self.all(system, workload)
        return found[-1] if found else None

    def ratio(self, workload, ours, theirs):
        a, b = self.last(ours, workload), self.last(theirs, workload)
        return a["per_second"] / b["per_second"] if a and b else None


def goals(results):
    """(goal, measured, met); met is None where nothing was measured."""

    def at_least(text, value, bound):
        yield text, "not measured" if value is None else f"{value:.2f} ×", None if value is None else value >= bound

    yield from at_least("point reads of a hot set ≥ 0.9 × nginx", results.ratio("read", "orrery-hot", "nginx"), 0.9)
    yield from at_least("point reads, uniform ≥ 2 × PostgreSQL", results.ratio("read", "orrery", "postgresql"), 2)
    yield from at_least("durable indexed creates ≥ 2 × PostgreSQL",
                        results.ratio("create", "orrery", "postgresql"), 2)
    yield from at_least("point reads ≥ 20 × the npm server", results.ratio("read", "orrery", "npm-server"), 20)
    yield from at_least("… with its keep-alive option", results.ratio("read", "orrery", "npm-keepalive"), 20)
    yield from at_least("creates ≥ 20 × the npm server", results.ratio("create", "orrery", "npm-server"), 20)
    yield from at_least("… with its keep-alive option", results.ratio("create", "orrery", "npm-keepalive"), 20)
    raw, ours = results.last("rocksdb", "read"), results.last("orrery", "read")
    if raw and ours:
        ratio = ours["server_cpu_us"] / raw["client_cpu_us"]
        yield ("a uniform point read with HTTP, authorization and JSON ≤ 3 × the CPU of RocksDB's gets alone",
               f"{ratio:.2f} × ({ours['server_cpu_us']} µs against {raw['client_cpu_us']} µs)", ratio <= 3)
    for workload, what in (("start", "ready in ≤ 300 ms on a folder of 1 GB"), ("start-after-kill", "… after `kill -9`")):
        found = results.all("orrery", workload) + results.all("orrery-flat", workload)
        if found:
            row = max(found, key=lambda r: r["folder_mb"])
            yield what, f"{row['ms']} ms on {row['folder_mb']:,} MB", row["ms"] <= 300
    idle = results.last("orrery", "idle")
    if idle:
        yield ("idle < 60 MB, no CPU", f"{idle['rss_mb']} MB, {idle['cpu_percent']} %",
               idle["rss_mb"] < 60 and idle["cpu_percent"] < 0.5)
    for workload in ("read", "create"):
        metered, unmetered = (results.all(system, workload) for system in ("orrery-metered", "orrery-unmetered"))
        refused = sum(row["errors"] for row in metered)
        if metered and unmetered:
            # Neighbouring turns: the machine is another one from minute to minute.
            ratio = statistics.median(m["per_second"] / u["per_second"] for m, u in zip(metered, unmetered))
            medians = [statistics.median(row["per_second"] for row in rows) for rows in (metered, unmetered)]
            yield (f"{workload}s with budgets enforced ≥ 0.97 × without (median of {len(metered)} turns)",
                   f"{ratio:.3f} × ({medians[0]:,.0f} against {medians[1]:,.0f} a second in the middle; {refused} refused)", ratio >= 0.97)
    containers = results.last("orrery", "containers")
    if containers:
        yield "1,000 containers in ≤ 5 s", f"{containers['ms'] / 1000:.1f} s", containers["ms"] <= 5000


def obstacles(say, results, missed):
    """What stands in the way of goals that were missed, as far as it does not depend on the run."""
    notes = []
    npm, nginx = results.last("npm-server", "read"), results.last("nginx", "read")
    ours, gets = results.last("orrery", "read"), results.last("rocksdb", "read")
    if ours and gets and nginx and any("RocksDB" in goal for goal in missed):
        rest = ours["server_cpu_us"] - nginx["server_cpu_us"] - gets["client_cpu_us"]
        notes.append(
            f"**A request through the kernel** cost nginx, which only sends a file, {nginx['server_cpu_us']} µs in this run, "
            f"{nginx['server_cpu_us'] / gets['client_cpu_us']:.1f} × RocksDB's gets. Taking both away leaves {rest:.1f} µs for the "
            "signature, the budget, JSON and the rest of a read.")
    if npm and nginx and any("npm" in goal for goal in missed):
        notes.append(
            "**The npm server** keeps everything in one process's memory, without an index, without durability, without checking a "
            f"signature. Twenty times its {npm['per_second']:,} reads a second are {20 * npm['per_second']:,}; nginx, which only sends "
            f"a file, serves {nginx['per_second']:,} on this machine. Its creates sync nothing; ours share the disk's syncs.")
    if any("kill -9" in goal for goal in missed):
        notes.append(
            "**Starts after `kill -9`** replay the log of what was written since the last flush, and sort its index entries anew, "
            "before anything is answered; a clean stop leaves nothing to replay.")
    if any("budgets" in goal for goal in missed):
        notes.append(
            "**Budgets** take about 50 ns of a request (`benchmarks-events.md`). Turns of a second scatter by more than what there is to "
            "see: where the ratio of neighbouring turns and that of the medians disagree, neither says anything.")
    if notes:
        say("\nWhat stands in the way of the goals that were missed:\n")
        for note in notes:
            say(f"- {note}")


def table(say, rows):
    say("| system | workload | operations/s | p50 ms | p99 ms | server CPU µs/op | client CPU µs/op | errors |")
    say("|---|---|---|---|---|---|---|---|")
    for row in rows:
        server = f"{row['server_cpu_us']}" if row["server_cpu_us"] else "–"
        say(f"| {row['system']} | {row['workload']} | {row['per_second']:,} | {row['p50_us'] / 1000:.2f} | "
            f"{row['p99_us'] / 1000:.2f} | {server} | {row['client_cpu_us']} | {row['errors']} |")


def median_row(rows):
    """One line for the turns of one system."""
    out = dict(rows[0])
    for name, value in rows[0].items():
        if isinstance(value, (int, float)):
            middle = statistics.median(row[name] for row in rows)
            out[name] = round(middle) if isinstance(value, int) else round(middle, 1)
    out["errors"] = sum(row["errors"] for row in rows)
    return out


def flatness(say, results):
    steps = [row["items"] for row in results.all("orrery-flat", "read")]
    if not steps:
        return
    say("\n## As a container grows\n")
    say("Server CPU per operation with so many items in the container. Reads of the hot set are answered from the item "
        "cache; uniform reads leave the caches as the data outgrows them: then each reads and unpacks a block of a file. Creates "
        "pay for merging files over more levels.\n")
    say("| items | folder MB | hot read µs | uniform read µs | create µs | uniform reads/s | creates/s | ready ms | after `kill -9` ms |")
    say("|---|---|---|---|---|---|---|---|---|")
    for hot, read, create, start, again in zip(results.all("orrery-flat-hot", "read"), results.all("orrery-flat", "read"),
                                               results.all("orrery-flat", "create"), results.all("orrery-flat", "start"),
                                               results.all("orrery-flat", "start-after-kill")):
        say(f"| {read['items']:,} | {start['folder_mb']:,} | {hot['server_cpu_us']} | {read['server_cpu_us']} | "
            f"{create['server_cpu_us']} | {read['per_second']:,} | {create['per_second']:,} | {start['ms']} | {again['ms']} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--growth", action="store_true", help="only what bench/growth.sh measures")
    parser.add_argument("--hot", type=int, required=True)
    parser.add_argument("--seconds", required=True)
    parser.add_argument("--cache-mb", type=int, required=True)
    parser.add_argument("--command", required=True)
    given = parser.parse_args()
    results = Results(given.results)
    say = print
    say("# Benchmarks\n")
    say(f"Written by `{given.command.strip()}` on {datetime.date.today()}. Machine: {machine()}; the load generator "
        "shares it with the server. Only ratios within one run mean anything.\n")
    if given.growth:
        say(f"Items of 1 KB with 30 scalar values, default indexing policy, writes durable, 64 connections, {given.seconds} s "
            f"per line, a hot set of {given.hot:,} items, {given.cache_mb} MB for the caches.")
        flatness(say, results)
        return
    say(f"{given.items:,} items of 1 KB with 30 scalar values, default indexing policy, writes durable, 64 connections "
        f"(feeds: 8; npm server: 16), {given.seconds} s per line, {given.cache_mb} MB for the caches of each system. "
        "Debian's RocksDB, which is built with assertions. PostgreSQL: JSONB, primary key, GIN index with its default "
        "deferred list, prepared statements.\n")
    say("## Goals\n")
    say("| goal | measured | met |")
    say("|---|---|---|")
    missed = []
    for goal, measured, met in goals(results):
        say(f"| {goal} | {measured} | {'–' if met is None else 'yes' if met else 'no'} |")
        if met is False:
            missed.append(goal)
    obstacles(say, results, missed)
    say("\n## All lines\n")
    turns = [results.all(system, workload) for system in METERING for workload in ("read", "create")]
    table(say, [row for row in results.rows if "per_second" in row and row["system"] not in FLAT + METERING]
          + [median_row(rows) for rows in turns if rows])
    say(f"\n`orrery-hot` reads a set of {given.hot:,} items; `read` draws uniformly from all; `mix95` and `mix50` are "
        "95/5 and 50/50 reads and upserts with zipfian keys; `feed` reads pages of 100 items. `rocksdb` does the same "
        "gets (id entry, item) and puts (item, id entry, log record) on one thread, `rocksdb-sync` with a sync for each. "
        "`orrery-unmetered` and `orrery-metered` take turns of a second, in memory; medians. "
        "The npm server keeps 2,000 items in memory only; as it comes it ends the connection after each answer. "
        "CPU is user and system time of the process and its children.")
    flatness(say, results)


if __name__ == "__main__":
    main()
