"""python3 terminal.py <command…>: runs a command in a terminal of its own. Copies what it prints to standard output and types what
standard input says. The end of standard input closes the terminal, as a person closes its window. Ends with the exit code of the command."""

import os
import pty
import select
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
print(pid, file=sys.stderr, flush=True)
while True:
    ready, _, _ = select.select([terminal, 0], [], [])
    try:
        if terminal in ready:
            os.write(1, os.read(terminal, 65536))
        if 0 in ready:
            typed = os.read(0, 1024)
            if not typed:
                break
            os.write(terminal, typed)
    except OSError:  # Every process has closed the terminal.
        break
os.close(terminal)
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
