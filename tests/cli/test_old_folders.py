"""Folders that an earlier version wrote: they open, say what they said, and go on being written."""
import tempfile
import unittest

import old_folder
from support import Server, run


class OldFolders(unittest.TestCase):
    maxDiff = 4000

    def opens(self, name):
        with tempfile.TemporaryDirectory(prefix="orrery-old-") as folder:
            data, said = old_folder.unpack(name, folder)
            run("check", "--data", str(data), env={})
            arguments = ("--data", str(data), "--unthrottled", "--no-recording")
            for _ in range(2):  # the second time after this version has written
                with Server(*arguments) as server:
                    now = old_folder.answers(server)
                    for question in said:
                        self.assertEqual(now[question], said[question], question)
                    written = old_folder.key("new")
                    for method, path, body in (
                        ("POST", f"{old_folder.SPLIT}/docs", {"id": "new", "pk": "new"}),
                        ("PUT", f"{old_folder.SPLIT}/docs/new", {"id": "new", "pk": "new", "n": 1}),
                        ("DELETE", f"{old_folder.SPLIT}/docs/new", None),
                    ):
                        status, _, answer = old_folder.request(server, method, path, body, written)
                        self.assertLess(status, 300, answer)
                    said = self.as_after_writing(said, now, server)
                    server.stop()
            run("check", "--data", str(data), env={})

    @staticmethod
    def as_after_writing(said, now, server):
        """The writes above moved the container's LSN; what follows is compared with what the server says now."""
        after = old_folder.answers(server)
        return {q: (after[q] if old_folder.SPLIT in q else said[q]) for q in said}

    def test_stopped(self):
        self.opens("v1-clean")

    def test_killed(self):
        self.opens("v1-killed")


if __name__ == "__main__":
    unittest.main()
