"""`bitreplay serve` and `bitreplay studio`: a model over HTTP, and the page on which anybody teaches it classes."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import webbrowser
from pathlib import Path

from rich.console import Console

from bitreplay.classifier import GBMClassifier
from bitreplay.commands._models import counted
from bitreplay.errors import InputError

TOKEN = "BITREPLAY_TOKEN"  # the variable: an argument would be seen by everybody who lists processes
UNDO_STEPS = 20  # ours: more than a slip, and a few hundred kilobytes
SEED = 0


def serve(
    model: Path,
    *,
    address: str = "127.0.0.1",
    port: int = 8000,
    host: list[str] | None = None,
    token_file: Path | None = None,
    encoder: str | None = None,
    new: bool = False,
) -> None:
    """Answer requests over HTTP: predict, learn, forget; see /docs there, and docs/studio.md.

    The file is saved after every change. Only this machine is served unless another address is given, which needs a
    token: BITREPLAY_TOKEN, or a file.

    Parameters
    ----------
    model : Path
        A model, as written by `bitreplay learn` or the studio.
    address : str
        Where to listen: 0.0.0.0 for all of the machine's addresses.
    port : int
        Which port; 0 takes a free one.
    host : list of str, optional
        Further names under which clients reach it; requests for other names are refused.
    token_file : Path, optional
        A file with the token that clients send as `Authorization: Bearer`.
    encoder : str, optional
        The encoder, if it cannot be found by the name in the file, or of a new model.
    new : bool
        Begin with an empty model if there is no such file.
    """
    if not new and not model.is_file():
        raise InputError(
            f"there is no model {model}; `bitreplay learn {model} FOLDER` creates one, and --new begins an empty one"
        )
    _run(model, address, port, host, _token(token_file), encoder, page=False, browser=False)


def studio(
    model: Path = Path("studio.bitreplay"),
    *,
    address: str = "127.0.0.1",
    port: int = 8080,
    host: list[str] | None = None,
    token_file: Path | None = None,
    encoder: str | None = None,
    no_browser: bool = False,
) -> None:
    """Teach classes on a page: show things to the camera, or drop pictures; nothing leaves this machine.

    Parameters
    ----------
    model : Path
        The model; a missing one is begun, and saved with the first class.
    address : str
        Where to listen; another address needs a token, which is made if there is none.
    port : int
        Which port; another one if it is taken.
    host : list of str, optional
        Further names under which browsers reach it.
    token_file : Path, optional
        A file with the token.
    encoder : str, optional
        The encoder, if it cannot be found by the name in the file, or of a new model.
    no_browser : bool
        Print the page's address and open nothing.
    """
    from bitreplay.service import is_loopback

    token = _token(token_file)
    if token is None and not is_loopback(address):
        token = secrets.token_urlsafe(24)
    _run(model, address, port, host, token, encoder, page=True, browser=not no_browser)


def _run(
    model: Path,
    address: str,
    port: int,
    hosts: list[str] | None,
    token: str | None,
    encoder: str | None,
    *,
    page: bool,
    browser: bool,
) -> None:
    try:
        from bitreplay.service import Limits, ServedModel, bound_socket, make_app, run_server, url_of
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("bitreplay"):
            raise
        raise InputError(f"the service needs {error.name}: pip install 'bitreplay[serve]'") from None

    console, limits = Console(highlight=False, markup=False, soft_wrap=True), Limits()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    names = [*(hosts or ()), socket.gethostname()]
    served = ServedModel(model, encoder, GBMClassifier(random_state=SEED), undo_steps=UNDO_STEPS if page else 0)
    app = make_app(served, address=address, names=names, token=token, limits=limits, page=page)
    with bound_socket(address, port, or_any=page) as listening:
        url = url_of(listening)
        opened = f"{url}/#token={token}" if page and token else f"{url}/"
        known = counted(len(served.now.labels), "class", "classes")

        def started() -> None:
            console.print(f"{served.path.name}: {known}; {served.now.model.encoder_.name}")
            console.print(
                f"{'the page' if page else 'the service'}: {opened if page else url + '/docs'}   (Ctrl-C ends it)"
            )
            console.file.flush()  # for whoever waits for this line in a pipe
            if browser:
                threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()

        served.warm_up()
        run_server(app, listening, limits, started=started)
    console.print("ended; every change is saved")


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(TOKEN) or None
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the token from {file}: {error}") from None
