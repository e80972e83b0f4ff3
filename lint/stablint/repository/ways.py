"""What the options and modules of a program say of its training, where nothing else does: how it trains and what for, its rate, batch, length and model.

Asked only where a file is shown: of what is presumed here nobody is told anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.assemble.files import Files, Told
from stablint.frameworks import own
from stablint.frameworks.fragment import Fragment
from stablint.repository import method, named
from stablint.repository.given import given_by, said_by, stated
from stablint.repository.goal import OF_A_HEAD, goal, judges
from stablint.repository.lengths import length, of_trainer
from stablint.repository.lines import uncommented
from stablint.repository.loaded import model
from stablint.repository.sources import Sources
from stablint.repository.worth import Program
from stablint.run.fact import Statement

# What another dtype than float32 may come by.
_CASTS = re.compile(
    r"autocast|\.half\(|float16|\bfp16|bf16|\bamp\b|GradScaler|dtype(?!\s*=\s*(?:torch|np|numpy)\.(?:float32|float\b(?!16)|long|u?int\d*|bool))|load_in_|mixed_precision|from_pretrained\([^()]*\*\*|deepspeed|accelerat",
    re.IGNORECASE,
)

_LOADS = re.compile(r"(?<!Tokenizer)(?<!TokenizerFast)(?<!Processor)(?<!Config)\.from_pretrained\(")


class Ways:
    def __init__(self, files: Files, sources: Sources) -> None:
        self._files = files
        self._sources = sources

    def told(self, program: str, fragments: list[Fragment], settings: Table[str, object]) -> Told:
        given = given_by(fragments)
        sources, whole = self._sources.closure(program)
        texts = [uncommented(one.text) for one in sources]
        options = self._sources.options(sources, given)
        read = {name: one for name, one in given.items() if any(own.reads(text, name) for text in texts)}
        is_frozen = method.frozen(texts, {**read, **options})
        way = method.way(texts, {**method.switches(given, options, texts), **options}, whole and not is_frozen)
        document = next(iter(self._files.documents(program)), None)
        plain = whole and _CASTS.search("".join(texts)) is None
        partly = whole and is_frozen and way is None and not method.adapts(texts)
        made_of = Program(
            [one.text for one in sources],
            lambda name: said_by(name, given, options),
            settings,
            self._sources.settings_of(program),
        )
        found = length(made_of, document, sources[0].text, given, options) if document is not None else None
        return Told(
            method.said(way, document) if way is not None and (way.option is not None or way.word != "full") else None,
            (way is not None and way.option is None and way.word == "full") or partly,
            stated("training.max_length", found[2], *found[:2], found[3]) if found is not None else None,
            method.freezes(texts) and not is_frozen,
            (
                *named.by_prefix(options),
                *named.divided(texts[0], options),
                *self._measures(program, texts[0]),
                *named.of_section(program, fragments),
                *named.base(given),
                *named.quantised({**options, **given}, texts),
                *(
                    (*named.of_steps(made_of, document), *named.accumulated(made_of, document))
                    if document is not None
                    else ()
                ),
                *(
                    (stated("model.name_or_path", name, document, None),)
                    if document is not None and (name := model(made_of))
                    else ()
                ),
                *named.by_own_names(options, texts),
                *(
                    (stated("model.dtype", "float32", document, None),)
                    if document is not None and plain and not any(map(_LOADS.search, texts))
                    else ()
                ),
                *(
                    one
                    for one in goal(program, texts, given, options, document)
                    if not is_frozen or one.value in OF_A_HEAD
                ),
                *((stated("model.partly_frozen", True, document, None),) if partly and document is not None else ()),
            ),
            (*named.given_or_default(options, given, texts[0]), *named.by_own_names(options, texts)),
            of_trainer(texts[0]),
            plain,
            way is not None and way.option is None and not way.either,
            method.makes(texts),
        )

    def _measures(self, program: str, text: str) -> Iterator[Statement]:
        document = next(iter(self._files.documents(program)), None)
        if document is not None and judges(text):
            yield stated("launch.trains", False, document, None)
            yield stated("launch.phase", "evaluation", document, None)
