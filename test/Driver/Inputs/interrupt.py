"""interrupt.py FOLDER COMMAND...: sends SIGINT after a second; the folder stays empty."""
import os
import signal
import subprocess
import sys
import time

folder, command = sys.argv[1], sys.argv[2:]
# A parent in the background ignores the signal, and its children would too.
process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(1)
assert process.poll() is None, "expected a run that takes longer"
process.send_signal(signal.SIGINT)
try:
    code = process.wait(timeout=20)
finally:
    process.kill()
assert code in (-signal.SIGINT, 130), code
assert os.listdir(folder) == [], os.listdir(folder)
