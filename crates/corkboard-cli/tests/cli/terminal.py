"""Runs a command in a pseudo-terminal and says what came of it.

Arguments: columns, rows, a JSON list of steps, the command. Steps: ["expect", text] waits until a line of the screen has
it, ["send", text], ["size", columns, rows], ["run", command], ["signal", number]. Prints a JSON object: what the command
wrote, how it ended, whether the terminal is as it was.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

DEADLINE = 30
SEQUENCE = re.compile(r"\x1b\[(?P<arguments>[?0-9;]*)(?P<final>[@-~])|(?P<text>[^\x1b])|\x1b", re.DOTALL)


def screen(written):
    """The lines that a terminal shows after all this: it knows the cursor, clearing, and nothing else."""
    cells, row, column = {}, 1, 1
    for match in SEQUENCE.finditer(written):
        if match["text"] == "\r":
            column = 1
        elif match["text"] == "\n":
            row += 1
        elif match["text"]:
            cells[row, column] = match["text"]
            column += 1
        elif match["final"] == "H":
            row, column = (int(number) for number in (match["arguments"] or "1;1").split(";"))
        elif match["final"] == "J":
            cells = {}
    rows = {row for row, _ in cells}
    width = max((column for _, column in cells), default=0)
    return ["".join(cells.get((row, column), " ") for column in range(1, width + 1)) for row in sorted(rows)]


def main():
    columns, rows, steps = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    master, slave = pty.openpty()

    def size(columns, rows):
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    size(columns, rows)
    before = termios.tcgetattr(slave)
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for stream in (0, 1, 2):
            os.dup2(slave, stream)
        os.environ["TERM"] = "xterm-256color"
        os.execvp(sys.argv[4], sys.argv[4:])

    written, deadline = b"", time.monotonic() + DEADLINE

    def read():
        nonlocal written
        ready, _, _ = select.select([master], [], [], 0.05)
        if ready:
            written += os.read(master, 65536)

    def fail(message):
        os.kill(child, 9)
        sys.exit("\n".join([message, *screen(written.decode(errors="replace"))]))

    for step, *arguments in steps:
        if step == "expect":
            while not any(arguments[0] in line for line in screen(written.decode(errors="replace"))):
                if time.monotonic() > deadline:
                    fail(f"{arguments[0]!r} was not shown")
                read()
        elif step == "send":
            os.write(master, arguments[0].encode())
        elif step == "size":
            size(*arguments)
        elif step == "signal":
            os.kill(child, arguments[0])
        elif step == "run":
            subprocess.run(arguments[0], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        read()
        if ended:
            break
        if time.monotonic() > deadline:
            fail("the command did not end")
    # Read its last output.
    for _ in range(3):
        read()
    code = os.waitstatus_to_exitcode(status)
    restored = termios.tcgetattr(slave) == before
    print(json.dumps({"written": written.decode(errors="replace"), "code": code, "restored": restored}))


main()
