"""One text in, the report and the patch of all repairs out: the playground's Python, which runs in the browser."""

import json
import os

from stablint.base import knowledge
from stablint.config.options import Wrong
from stablint.engine.inspect import inspect
from stablint.engine.repair import repair
from stablint.fix.patch import patch
from stablint.integrate.texts import Asked, settled
from stablint.report import full
from stablint.secrets import exit

FOLDER = "/work"


def answer(text: str, name: str, gpu: str) -> str:
    """JSON of two texts. A file name chooses the format; an empty GPU is none."""
    name = os.path.basename(name.strip()) or "train.yaml"
    os.makedirs(FOLDER, exist_ok=True)
    for old in os.listdir(FOLDER):
        os.unlink(os.path.join(FOLDER, old))
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        file.write(text)
    try:
        asked = settled(Asked((gpu,) if gpu else ()))
    except Wrong as error:
        return json.dumps([str(error), ""])
    found = inspect([name], asked, base=FOLDER)
    secrets = found.secrets
    exit.learn(secrets)
    report = full.render(found.report, knowledge.rows("texts"), secrets=secrets)
    done = repair([name], asked, unsafe=True, base=FOLDER)
    changes = patch(done.texts, done.before, lambda line: exit.masked(line) != line)
    return json.dumps([exit.masked(report) or "No findings.", changes.data.decode("utf-8", "replace")])
