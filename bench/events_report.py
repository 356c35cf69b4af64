#!/usr/bin/env python3
"""Turns the result lines of bench/events.sh into docs/benchmarks-events.md."""
import datetime
import json
import os
import sys


def row(what, goal, measured, met=None):
    return f"| {what} | {goal} | {measured} | {'' if met is None else 'yes' if met else 'no'} |"


def table(out, rows):
    out += ["| what | goal | measured | met |", "|---|---|---|---|", *rows, ""]


def main():
    path, items, command = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    lines = [json.loads(line) for line in open(path) if line.startswith("{")]
    by = {line["workload"]: line for line in lines if line["workload"] != "split"}
    splits = [line for line in lines if line["workload"] == "split"]
    out = [
        "# Benchmarks of the change feed, scripts and splits", "",
        f"Written by `{command.strip()}` on {datetime.date.today()}: {os.cpu_count()} cores, which the load generator and the SDK share with the "
        "server, Debian's RocksDB, items of 1 KB with 30 scalar values, writes durable. Only ratios and CPU times mean anything elsewhere.", "",
        "## Change feed and bulk", "",
    ]
    feed, lag = by["feed"], by["feed lag"]
    rows = [
        row(f"reading {feed['changes']:,} changes from cache, one connection, pages of 1,000: for a second of one core",
            "150,000 changes or 300 MB", f"{feed['changes_per_core_second']:,} changes, {feed['mb_per_core_second']:.0f} MB",
            feed["changes_per_core_second"] >= 150_000 or feed["mb_per_core_second"] >= 300),
        row("from a write's answer to the feed that shows it, beside 64 creating connections", "below 50 ms",
            f"{lag['lag_ms_p50']:.1f} ms in the middle, {lag['lag_ms_p99']:.1f} ms at the 99th percentile, {lag['lag_ms_max']:.1f} ms at most "
            f"({lag['samples']:,} samples)", lag["lag_ms_p99"] < 50),
    ]
    bulk = by.get("bulk through the JavaScript SDK")
    if bulk:
        server, client = bulk["server_cpu_seconds"], bulk["client_cpu_seconds"]
        alone = by["bulk request of 100"]["ms_p50"]
        rows.append(row(
            f"bulk of {bulk['items']:,} items of 1 KB through the JavaScript SDK", "limited by the client",
            f"{bulk['items_per_second']:,} items/s; the server's share of the CPU time is {server / (server + client):.0%} "
            f"({server / bulk['items'] * 1e6:.0f} µs per item, the client's one thread {client / bulk['items'] * 1e6:.0f} µs). A request of 100 "
            f"alone is answered in {alone} ms: {100_000 / alone:,.0f} items/s over one connection; the SDK opens its window slowly",
            100_000 / alone > bulk["items_per_second"]))
    table(out, rows)

    out += ["## Scripts", ""]
    rows = []
    single, together, procedure = (by.get(name) for name in (
        "a hundred creates, one after the other", "a hundred creates at once", "one stored procedure"))
    if single:
        rows.append(row(
            "a stored procedure that creates 100 items, against 100 creates one after the other through the JavaScript SDK", "5 × faster",
            f"{procedure['median_ms']} ms against {single['median_ms']} ms: {single['median_ms'] / procedure['median_ms']:.1f} × "
            f"(against 100 at once, {together['median_ms']} ms: {together['median_ms'] / procedure['median_ms']:.1f} ×)",
            single["median_ms"] >= 5 * procedure["median_ms"]))
    kinds = [(name.split("/")[1].replace("_", " "), line["ns"]) for name, line in by.items() if name.startswith("call_function/")]
    rows.append(row("a call of a user-defined function", "≤ 1 µs", ", ".join(f"{kind}: {ns / 1000:.2f} µs" for kind, ns in kinds),
                    all(ns <= 1000 for kind, ns in kinds)))
    rows.append(row("a run of a procedure that does nothing", "–", f"{by['run_procedure']['ns'] / 1e6:.2f} ms"))
    table(out, rows)
    out += ["An object that a function takes is made anew in the engine, member by member: what it costs grows with its size.", ""]

    out += [
        "## Admission", "",
    ]
    admission = [(name, line["ns"]) for name, line in by.items() if name.startswith(("admit", "refuse"))]
    table(out, [row(name.replace("_", " ").replace("/threads:", ", threads: "), "< 0.2 µs", f"{ns / 1000:.3f} µs", ns < 200) for name, ns in admission])

    out += [
        "## Splits", "",
        f"{items:,} items in one partition; the load is 8 connections with half reads, half upserts, unthrottled, which leaves no core free.", "",
        "| what | goal | beside the load | without |", "|---|---|---|---|",
    ]
    loaded, idle = splits
    out += [
        f"| copied (items, index, log, images) per second while copying | 40 MB | {loaded['copied_mb'] / loaded['copy_seconds']:.0f} MB | "
        f"{idle['copied_mb'] / idle['copy_seconds']:.0f} MB |",
        f"| … over the whole split, catching up included | – | {loaded['copied_mb_per_second']:.0f} MB | {idle['copied_mb_per_second']:.0f} MB |",
        f"| writers wait | 100 ms | {loaded['pause_ms']:.0f} ms | {idle['pause_ms']:.0f} ms |",
    ]
    print("\n".join(out))


main()
