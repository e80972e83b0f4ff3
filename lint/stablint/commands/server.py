"""`stablint server`."""

from __future__ import annotations

from stablint.base.language import gettext
from stablint.config.options import Wrong
from stablint.config.spec import CLEAN
from stablint.secrets import exit
from stablint.server import protocol


def run_server() -> int:
    """Until the editor ends it. Raises Wrong where the packages that it needs are not installed."""
    try:
        protocol.serve()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise Wrong(gettext("the language server needs pygls: pip install 'pygls>=2'")) from error
    exit.flush()
    return CLEAN
