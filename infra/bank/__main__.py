"""The command `python -m infra.bank`: a bank without a local stage.

python -m infra.bank [--host 127.0.0.1] [--port 8583] [--control 8584] [--folder ./bank]
    Run until Ctrl-C. The folder keeps the certificates, and a journal that restores the books after a restart. Without
    a folder the certificates are temporary and the books are lost at the end. `--plain` is TCP without TLS,
    `--client-certificate` asks the service for a certificate.
python -m infra.bank --books [--control 8584]
    Print the books of the running bank.
python -m infra.bank --list 2026-11-21 [--control 8584]
    Print its list of a day as CSV, for `python -m infra.operator reconcile`.
"""

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.bank import books
from infra.bank.bank import Bank, FolderInUseError
from infra.bank.server import HOST, Server, certificates_in, host_context

PORT, CONTROL_PORT = 8583, 8584


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a bank, or print the books of a running one."""
    options = _options(arguments)
    if options.books or options.list:
        try:
            sys.stdout.write(books.read_from(options.control, "/books" if options.books else f"/list/{options.list}"))
        except OSError as reason:
            sys.exit(f"The bank's door at port {options.control}: {reason}.")
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    with ExitStack() as stack:
        _run(stack, options)


def _run(stack: ExitStack, options: argparse.Namespace) -> None:
    tls, trusted = None, "none: plain TCP"
    try:
        bank = Bank(options.folder)
        stack.callback(bank.close)
        if not options.plain:
            folder = options.folder or Path(stack.enter_context(TemporaryDirectory(prefix="bank-")))
            certificates = certificates_in(folder)
            tls = host_context(certificates, asks_for_client=options.client_certificate)
            trusted = str(certificates.ca.absolute())
        server = stack.enter_context(Server(bank, options.host, options.port, tls))
        stack.enter_context(books.serve(bank, options.control))
    except (FolderInUseError, OSError) as refusal:
        sys.exit(f"The bank cannot start: {refusal}")
    print(f"The bank listens on {server.host}:{server.port}. Ctrl-C ends it.")
    print(f"  CA          {trusted}")
    if options.client_certificate and tls:
        print(f"  client      {certificates.client.absolute()}")
    print(f"  its books   python -m infra.bank --books --control {options.control}")
    print(f"  a day       python -m infra.bank --list YYYY-MM-DD --control {options.control}", flush=True)
    threading.Event().wait()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.bank", description="An ISO 8583 host with books of its own.")
    parser.add_argument("--host", default=HOST)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--control", type=int, default=CONTROL_PORT, help="the port of the books, on 127.0.0.1")
    parser.add_argument("--folder", type=Path, help="where certificates and journal are kept")
    parser.add_argument("--plain", action="store_true", help="TCP without TLS")
    parser.add_argument("--client-certificate", action="store_true", help="ask for a certificate of the same CA")
    parser.add_argument("--books", action="store_true", help="print the books of the running bank")
    parser.add_argument("--list", metavar="DATE", help="print its list of a day")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
