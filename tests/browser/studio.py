"""`python -m tests.browser.studio FILE`: the studio on a free port; the first line is its address."""

from __future__ import annotations

import sys
from pathlib import Path

from bitreplay import GBMClassifier
from bitreplay.service import Limits, ServedModel, bound_socket, make_app, run_server, url_of

if __name__ == "__main__":
    served = ServedModel(Path(sys.argv[1]), None, GBMClassifier(random_state=0), undo_steps=20)
    served.warm_up()
    with bound_socket("127.0.0.1", 0) as listening:
        app = make_app(served, page=True)
        run_server(app, listening, Limits(), started=lambda: print(url_of(listening), flush=True))
