"""orrery bench, top, completion and --help."""
import json
import os
import shutil
import subprocess
import unittest

import support
from support import Case, Server, Terminal, run

COMMANDS = ["serve", "check", "healthcheck", "shell", "import", "export", "bench", "top", "lab", "completion"]


class Bench(unittest.TestCase):
    def test_every_workload(self):
        for workload in ("read", "create", "upsert", "mix95", "mix50", "query", "query-cross"):
            with self.subTest(workload):
                done = run("bench", workload, "--items", "100", "--operations", "200", "--seconds", "60", "--parallel", "4", "--throughput", "100000", "--json",
                           "--container", f"bench/{workload}")
                result = json.loads(done.stdout)
                self.assertEqual(result["errors"], 0)
                self.assertGreaterEqual(result["operations"], 200)
                self.assertGreater(result["charge"], 0)
                self.assertLessEqual(result["p50Us"], result["p99Us"])
        names = run("shell", "-e", ".containers").stdout
        self.assertNotIn("bench/", names)

    def test_throttling_is_counted(self):
        done = run("bench", "create", "--seconds", "3", "--parallel", "8", "--throughput", "400", "--container", "bench/slow")
        self.assertRegex(done.stdout, r"throttled +[1-9][\d,]* answers 429")
        self.assertIn("p99.9", done.stdout)

    def test_a_foreign_container_is_refused(self):
        support.SERVER.container("bench-foreign/c", key="/other")
        self.assertIn("--container", run("bench", "read", "--container", "bench-foreign/c", expect=1).stderr)


class Top(Case):
    throughput = 20000

    def test_once(self):
        run("import", self.jsonl("a.jsonl", self.items(50)), self.container)
        text = run("top", self.container, "--once").stdout
        self.assertIn(self.container, text)
        self.assertNotIn("\x1b", text)
        data = json.loads(run("top", self.container, "--json").stdout)
        self.assertGreater(len(data["partitions"]), 1)
        self.assertEqual(sum(p["items"] for p in data["partitions"]), 50)
        self.assertIn("There is no container", run("top", "no/where", "--once", expect=1).stderr)

    def test_live_view_resizes_and_leaves(self):
        with Terminal("top", "--interval", "0.2", columns=110, rows=20) as terminal:
            terminal.expect(r"\x1b\[\?1049h")
            terminal.expect("req/s")
            terminal.expect("order: load")
            terminal.send("s")
            terminal.expect("order: storage")
            terminal.resize(60, 12)
            terminal.send("s")
            terminal.expect("order: name")
            terminal.send("q")
            terminal.expect(r"\x1b\[\?25h\x1b\[\?1049l")
            self.assertEqual(terminal.wait(), 0)

    def test_ctrl_c_leaves_a_clean_terminal(self):
        with Terminal("top", columns=110, rows=20) as terminal:
            terminal.expect("req/s")
            terminal.send("\x03")
            terminal.expect(r"\x1b\[\?1049l")
            self.assertEqual(terminal.wait(), 0)

    def test_a_server_that_goes_away(self):
        with Server() as server:
            with Terminal("top", "--interval", "0.2", "--endpoint", server.endpoint, "--patience", "0") as terminal:
                terminal.expect("There are no containers yet")
                server.stop()
                terminal.expect("Nobody answers|closed the connection|Connection reset")
                self.assertEqual(terminal.wait(), 1)


class Help(unittest.TestCase):
    def test_every_command_has_examples(self):
        for command in COMMANDS:
            if command in ("check", "healthcheck"):
                continue
            with self.subTest(command):
                words = ("lab", "report") if command == "lab" else (command,)
                self.assertIn("Examples:", run(*words, "--help").stdout)
        overview = run("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, overview)

    def test_usage_errors(self):
        for arguments in (["import"], ["import", "a.json", "x", "--mode", "what"], ["export", "nowhere", "-"], ["bench", "what"], ["shell", "--page", "0"],
                          ["completion", "csh"], ["import", "a.csv", "a/b", "--delimiter", "ab"], ["shell", "--endpoint", "ftp://x"],
                          ["shell", "--endpoint", "https://name.example"], ["import", "a.csv", "a/b", "--column", "x"]):
            with self.subTest(arguments):
                done = run(*arguments, expect=None)
                self.assertNotEqual(done.returncode, 0)
                self.assertTrue(done.stderr or done.stdout)


class Completion(unittest.TestCase):
    def complete(self, *words):
        script = run("completion", "bash").stdout
        line = " ".join(f"'{w}'" for w in words)
        script += f"\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_orrery\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        return subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True).stdout.split()

    def test_bash(self):
        self.assertEqual(self.complete("orrery", "sh"), ["shell"])
        self.assertIn("--memory", self.complete("orrery", "serve", "--me"))
        self.assertEqual(sorted(self.complete("orrery", "import", "--mode", "")), ["create", "skip", "upsert"])
        self.assertEqual(self.complete("orrery", "completion", "z"), ["zsh"])
        self.assertIn("run.sh", self.complete("orrery", "import", "run"))

    def test_zsh_and_fish(self):
        for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
            text = run("completion", shell).stdout
            for command in COMMANDS:
                self.assertIn(command, text)
            if shutil.which(shell):
                path = f"/tmp/orrery-completion-{os.getpid()}"
                with open(path, "w") as file:
                    file.write(text)
                try:
                    subprocess.run([*check, path], check=True, capture_output=True)
                finally:
                    os.remove(path)
