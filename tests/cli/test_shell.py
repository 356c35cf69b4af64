"""orrery shell, from a script and on a terminal."""
import json
import os
import stat

import support
from support import Case, Terminal, run

TAB, CTRL_C, CTRL_D, CTRL_R, UP = "\t", "\x03", "\x04", "\x12", "\x1b[A"


class Scripts(Case):
    def setUp(self):
        super().setUp()
        run("import", self.jsonl("a.jsonl", self.items(250)), self.container)

    def test_formats(self):
        text = "SELECT c.id, c.n FROM c WHERE c.n < 2 ORDER BY c.n"
        self.assertEqual(run("shell", self.container, "-q", "-e", text).stdout, '{"id":"0","n":0}\n{"id":"1","n":1}\n')
        self.assertEqual(run("shell", self.container, "-q", "-f", "csv", "-e", text).stdout.splitlines(), ["id,n", '"0",0', '"1",1'])
        self.assertEqual(run("shell", self.container, "-q", "-f", "table", "-e", text).stdout, "id  n\n--  -\n0   0\n1   1\n")
        self.assertEqual(json.loads(run("shell", self.container, "-q", "-f", "json", "-e", "SELECT TOP 1 c.id FROM c ORDER BY c.n").stdout), {"id": "0"})

    def test_options_before_the_container(self):
        out = run("shell", "-q", "-p", "@n=3", "-e", "SELECT VALUE c.n FROM c WHERE c.n = @n", "-e", "SELECT VALUE 1 FROM c WHERE c.n = 0", self.container)
        self.assertEqual(out.stdout.split(), ["3", "1"])

    def test_all_pages_of_a_long_answer(self):
        out = run("shell", self.container, "--page", "20", "-e", "SELECT VALUE c.n FROM c")
        self.assertEqual(sorted(int(n) for n in out.stdout.split()), list(range(250)))
        self.assertRegex(out.stderr, r"250 rows, [\d.]+ RU, [\d.]+ ms, \d+ pages")

    def test_statements_from_the_standard_input(self):
        out = run("shell", self.container, "-q", stdin="-- how many; really\nSELECT VALUE COUNT(1)\nFROM c;\n.format csv\nSELECT c.id FROM c WHERE c.n = 3;SELECT 'a;b' AS x FROM c WHERE c.n = 1")
        self.assertEqual(out.stdout.split(), ["250", "id", '"3"', "x", "a;b"])

    def test_parameters(self):
        out = run("shell", self.container, "-q", "-p", "@n=5", "-p", "@other=x", "-e", "SELECT VALUE c.id FROM c WHERE c.n = @n")
        self.assertEqual(out.stdout, '"5"\n')
        out = run("shell", self.container, "-q", stdin='.set @n 7\nSELECT VALUE c.id FROM c WHERE c.n = @n;')
        self.assertEqual(out.stdout, '"7"\n')

    def test_errors_point_at_the_place(self):
        bad = run("shell", self.container, "-e", "SELECT\n  NOPE(c.n) FROM c", expect=1)
        self.assertIn("    NOPE(c.n) FROM c\n    ^^^^", bad.stderr)
        self.assertIn("SC2005", bad.stderr)
        # Below the same column whatever stands before it: letters of several bytes, wide ones, tabs.
        bad = run("shell", self.container, "-e", "SELECT c.größe,\tc.日本 FROM c WHERE c.n = = 1", expect=1)
        self.assertIn("  SELECT c.größe,\tc.日本 FROM c WHERE c.n = = 1\n  " + " " * 15 + "\t" + " " * 26 + "^\n", bad.stderr)
        stops = run("shell", self.container, "-q", "-e", "SELECT x", "-e", "SELECT VALUE 1 FROM c WHERE c.n = 0", expect=1)
        self.assertEqual(stops.stdout, "")
        goes_on = run("shell", self.container, "-q", "--keep-going", "-e", "SELECT x", "-e", "SELECT VALUE 1 FROM c WHERE c.n = 0", expect=1)
        self.assertEqual(goes_on.stdout, "1\n")
        self.assertIn("There is no command '.nonsense'", run("shell", "-e", ".nonsense", expect=1).stderr)
        self.assertIn(".use DATABASE/CONTAINER", run("shell", "-e", "SELECT 1", expect=1).stderr)
        self.assertIn("404", run("shell", "no/where", expect=1).stderr)
        self.assertIn("names no container", run("shell", "nowhere", expect=2).stderr)
        self.assertIn("Check the key", run("shell", "--key", "AAAA", expect=1).stderr)

    def test_commands(self):
        out = run("shell", self.container, "-q", stdin=".containers\n.ranges\n.definition\n").stdout
        self.assertIn(self.container, out)
        self.assertIn("minInclusive", out)
        self.assertIn('"/pk"', out)
        out = run("shell", self.container, "-q", stdin='.upsert {"id":"new one","pk":"é"}\n.read "new one" é\n.delete "new one" é\n')
        self.assertIn("Created", out.stderr)
        self.assertEqual(json.loads(out.stdout)["pk"], "é")
        self.assertIn("Deleted", out.stderr)
        gone = run("shell", self.container, "-q", stdin='.read "new one" é\n', expect=1)
        self.assertIn("404", gone.stderr)

    def test_reports(self):
        out = run("shell", self.container, "-q", stdin=".plan on\n.charge on\n.metrics on\nSELECT * FROM c WHERE c.n = 3;")
        self.assertIn("Plan:", out.stderr)
        self.assertIn("requestCharge", out.stderr)
        self.assertIn("operators", out.stderr)
        self.assertIn("retrievedDocumentCount", out.stderr)


class OnATerminal(Case):
    def setUp(self):
        super().setUp()
        items = [{"id": str(i), "pk": "k", "n": i, "address": {"city": f"town {i}", "zip": i}} for i in range(45)]
        run("import", self.jsonl("a.jsonl", items), self.container)
        self.env = support.environment(HOME=str(self.folder))
        self.prompt = self.container + "> "

    def shell(self, *arguments, **more):
        terminal = Terminal("shell", self.container, *arguments, env=self.env, **more)
        terminal.expect("Connected to")
        terminal.expect(self.prompt)
        return terminal

    def leave(self, terminal):
        terminal.line(".quit")
        self.assertEqual(terminal.wait(), 0)

    def test_a_query_over_lines_with_footer(self):
        with self.shell() as terminal:
            terminal.line("SELECT c.id, c.n")
            terminal.expect(r"\.\.\.> ")
            terminal.line("FROM c WHERE c.n = 7;")
            terminal.expect(r"id +n\r\n")
            terminal.expect(r"7 +7\r\n")
            terminal.expect(r"1 row, [\d.]+ RU, [\d.]+ ms")
            terminal.expect(self.prompt)
            terminal.send(CTRL_D)
            self.assertEqual(terminal.wait(), 0)

    def test_pages(self):
        with self.shell("--page", "10") as terminal:
            terminal.line("SELECT VALUE c.n FROM c;")
            terminal.expect("-- more")
            terminal.send("\n")
            terminal.expect("-- more")
            terminal.send("q")
            terminal.expect(r"20 rows so far")
            terminal.line("SELECT VALUE c.n FROM c;")
            terminal.expect("-- more")
            terminal.send("a")
            terminal.expect(r"45 rows, .* pages")
            self.leave(terminal)

    def test_completion(self):
        with self.shell() as terminal:
            # The editor draws only what changes.
            terminal.send("sel" + TAB)
            terminal.expect("SELECT ")
            terminal.send("c.addr" + TAB)
            terminal.expect(r"addr.*ess")
            terminal.send(".ci" + TAB)
            terminal.expect(r"ci.*ty")
            terminal.send("FROM c WHERE c.n = 4;\n")
            terminal.expect("town 4")
            terminal.send("SELECT c.address." + TAB + TAB)
            terminal.expect(r"address\.city +address\.zip")
            terminal.send(CTRL_C)
            terminal.expect(self.prompt)
            terminal.send(".defi" + TAB + "\n")
            terminal.expect('"partitionKey"')
            terminal.send(".use " + self.container[:-3] + TAB + "\n")
            terminal.expect(self.prompt)
            self.leave(terminal)

    def test_ctrl_c_gives_up_the_line_only(self):
        with self.shell() as terminal:
            terminal.send("SELECT half a thought")
            terminal.expect("thought")
            terminal.send(CTRL_C)
            terminal.expect(self.prompt)
            terminal.line("SELECT VALUE 'still' || ' here' FROM c WHERE c.n = 1;")
            terminal.expect("still here")
            self.leave(terminal)

    def test_ctrl_c_stops_a_query_that_runs(self):
        run("shell", self.container, "-q", "-e", ".upsert " + json.dumps({"id": "long", "pk": "k", "list": list(range(300))}))
        with self.shell() as terminal:
            terminal.line("SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list JOIN e IN c.list WHERE a + b + d + e < -1;")
            terminal.expect(";\r\n")
            # Sent again until the query has begun: before that it is a key that gives up an empty line.
            for _ in range(100):
                terminal.send(CTRL_C)
                if terminal.sees(r"Stopped|so far", 0.5):
                    break
            terminal.expect(r"Stopped|so far")
            terminal.expect(self.prompt)
            terminal.line("SELECT VALUE 40 + c.n FROM c WHERE c.n = 2;")
            terminal.expect(r"42\r\n")
            self.leave(terminal)

    def test_history_survives_the_session(self):
        with self.shell() as terminal:
            terminal.line("SELECT VALUE 40 + c.n FROM c WHERE c.n = 2;")
            terminal.expect(r"42\r\n")
            terminal.expect(self.prompt)
            terminal.send(UP + "\n")
            terminal.expect(r"\r\n +42\r\n")
            self.leave(terminal)
        history = self.folder / ".local/state/orrery/history"
        self.assertEqual(stat.S_IMODE(os.stat(history).st_mode), 0o600)
        with self.shell() as terminal:
            terminal.line(".history")
            terminal.expect("SELECT VALUE 40")
            terminal.expect(self.prompt)
            self.leave(terminal)

    def test_wide_rows_fit_the_window(self):
        with self.shell(columns=50) as terminal:
            terminal.line(".upsert " + json.dumps({"id": "wide", "pk": "k", "text": "w" * 500}))
            terminal.expect("Created")
            terminal.line("SELECT c.id, c.text FROM c WHERE c.id = 'wide';")
            terminal.expect(r"\r\n(wide  w+…)\r\n")
            self.leave(terminal)

    def test_errors_do_not_end_the_shell(self):
        with self.shell() as terminal:
            terminal.line("SELECT NOPE(1) FROM c;")
            terminal.expect("SC2005")
            terminal.expect(self.prompt)
            terminal.line(".use no/where")
            terminal.expect("404")
            terminal.expect(self.prompt)
            self.leave(terminal)
