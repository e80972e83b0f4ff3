"""What every text format is read into: one small tree whose every node knows its place in the text.

Offsets count code points of `Text.text` (byte order mark removed); `text[start:end]` is the token as it is written, quotes included.
Knows nothing of dialects: a key is a string and a value is what the format's own loader would make of it.
"""

from __future__ import annotations

from stablint.base.light import Any, NamedTuple, Union

MARK = "stablint:"  # what a comment says to us begins so


class Unknown(NamedTuple):
    """A value that static reading cannot know, and why: `${VAR}`, `args.lr`, a call. Never the same as absent, and never false.

    `depends`: it is the second where the fact that is named first is true, else the third (`is_bf16_supported()`).
    `there`: whatever it is, it is not null: a function, an object of a class, a text that is put together.
    `ends`: of the path of a program below a variable the words behind it: `/src/train.py`.
    `defined`: another module of the program's own says it, under this name: `config.LR`, `.config.Settings().lr`.
    `key`: it is what an object that the program loads or is given has under this name: `config["lr"]`, `self.config.lr`.
    """

    reason: str
    depends: tuple[str, object, object] | None = None
    there: bool = False
    ends: str = ""
    defined: str = ""
    key: str = ""

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false")


class Verbatim(str):
    """Text to be written as it stands, such as the expression `torch.bfloat16`."""


class Scalar(NamedTuple):
    """One value. `form` is how it is written: plain, quoted, block, flag (no value at all), name (a Python or shell variable),
    default:a,b (what a program takes where its caller sets neither a nor b), attribute (a Python name that can be exchanged for another).
    """

    value: object
    start: int
    end: int
    form: str = "plain"
    editable: bool = True


class Sequence(NamedTuple):
    items: tuple["Node", ...]
    start: int
    end: int
    editable: bool = True


class Entry(NamedTuple):
    """One `key: value`, `"key": value`, `key=value` or `--key value`. A duplicated key gives several entries; the last one wins."""

    key: str
    key_start: int
    key_end: int
    value: "Node"


class Mapping(NamedTuple):
    """`open` says that keys may come from elsewhere (`**kwargs`, `"$@"`, a merge of something unknown)."""

    entries: tuple[Entry, ...]
    start: int
    end: int
    open: bool = False
    editable: bool = True

    def get(self, key: str) -> "Node | None":
        """The value of the last entry called `key`."""
        for entry in reversed(self.entries):
            if entry.key == key:
                return entry.value
        return None


NOBODYS = "-"
"""Among what is late of a call: the object that it makes is given to nobody."""
ONLY_SHOWN = "="  # the same of one that is printed or written down, and used for nothing else


class Call(NamedTuple):
    """A Python call. `name` is resolved through the imports (`trl.SFTConfig`); `target` is the name that it is assigned to.

    `receiver` is the object whose method is called. `parsed`: no call, but an object that a parser of command lines fills; `arguments`
    are then its defaults.
    """

    name: str
    arguments: Mapping
    positional: tuple["Node", ...]
    start: int
    end: int
    name_start: int
    name_end: int
    target: str | None = None
    receiver: "Node | None" = None
    parsed: bool = False
    conditional: bool = False  # a branch or a loop makes it
    own: frozenset[str] = frozenset()  # fields that a class of the program's own adds to the library's; `**` for any
    local: bool = (
        False  # what is called is a class or a function of the same file, whatever it is called and derives from
    )
    switch: "Scalar | None" = (
        None  # whether the branch that makes it is taken, as far as the program says: its own defaults, or unknown
    )
    # Attributes that are set when the object is made already: `*` for any, `args.x` for one of a trainer's arguments.
    late: frozenset[str] = frozenset()
    attempt: bool = False  # a refusal is caught, or another release takes another branch
    doubtful: bool = False  # the same of any call by a dotted name, or it stands in what the file does not use
    methods: frozenset[str] = frozenset()  # those of the program's own classes that it is of
    # The same call can make several objects, which say the same: where the function that contains it is called, or a copy is made of what it made.
    instance: int = -1


Node = Union[Scalar, Sequence, Mapping, Call]


class Function(NamedTuple):
    """A function that a Python file defines; `owner` is the class that it is a method of. `open`: it takes any keyword, or is wrapped by a
    decorator. `gives`: text, list or mapping where every return is known to give that."""

    name: str
    owner: str
    parameters: tuple[str, ...]
    open: bool
    gives: str
    start: int  # of the name
    end: int


class Notes(dict[object, Any]):
    """What was made out of a module, so that it is made out once. It lives as long as the module does, and goes to no other process."""

    def __reduce__(self) -> tuple[type[Notes], tuple[()]]:
        return Notes, ()


class Module(NamedTuple):
    """What is read of a Python file: its calls in order of appearance, and its constants (names assigned exactly once at top level).
    `tests`: it holds the tests of some program, whose settings are there to be tried out. `alone`: where only one process of several comes.
    `classes`: its classes, and objects of them that it makes at its top, by name, with the attributes that they have and their defaults."""

    calls: tuple[Call, ...]
    names: Mapping
    notes: Notes
    tests: bool = False
    functions: tuple[Function, ...] = ()
    alone: tuple[tuple[int, int], ...] = ()
    classes: tuple[Entry, ...] = ()


NO_FOLDER = "?"  # of a command behind `cd "$SOMEWHERE"`


class Command(NamedTuple):
    """One logical shell command. `words` is the program with the words before its first flag, as values (`accelerate`, `launch`).

    `flags` holds the flags in order, keys without their leading dashes; `positionals` the words that belong to no flag;
    `environment` the assignments in front of it and the exports before it; `folder` where the script has gone to by then (`cd`), from its own.
    `idle`: the script as it stands never runs it, or goes on where it fails.
    """

    words: tuple[str, ...]
    flags: Mapping
    positionals: tuple[Scalar, ...]
    environment: Mapping
    start: int
    end: int
    folder: str = ""
    idle: bool = False


class Script(NamedTuple):
    """`header` holds the options of `#SBATCH` lines, short ones under their long names; `brought` are the files that it reads into itself."""

    commands: tuple[Command, ...]
    names: Mapping
    header: Mapping = Mapping((), 0, 0)
    brought: tuple[Text, ...] = ()


class Problem(NamedTuple):
    """Something wrong with the text itself. `kind` is the id of the hazard file that explains it (knowledge/hazards/file/)."""

    kind: str
    message: str
    start: int
    end: int


class Text(NamedTuple):
    """A decoded file. `path` is absolute, `name` what the user sees (relative, forward slashes)."""

    path: str
    name: str
    text: str
    encoding: str = "utf-8"
    bom: bool = False


class Piece(NamedTuple):
    """`source[start:end]` of a view stands at `text[at:till]` of its file. Where the lengths differ it is one thing: an escape, a word put in."""

    start: int
    end: int
    at: int
    till: int


class View(NamedTuple):
    """A text within a text: the code cells of a notebook, a here-document. See syntax/embedded.py."""

    source: str  # what is read, as if it were a file of its own
    pieces: tuple[Piece, ...]  # all of `source`, in order
    host: str  # notebook | databricks | shell: how the file writes such a text down
    name: str = ""  # of the file that it becomes when the host runs (`%%writefile ds.json`), as spelled


class Seen(NamedTuple):
    """A place as whoever opens the notebook sees it: the cell (all cells counted from one), its text, and offsets in that."""

    cell: int
    source: str
    start: int
    end: int


class Document(NamedTuple):
    """One YAML document, JSON file, Python module or shell script. `root` is None when it could not be read (then `problems` says why).

    Offsets in `root` and `problems` are those of `text`, of a view as well.
    """

    text: Text
    format: str  # yaml | json | python | shell; of a view that of the view
    number: int  # of the document in its file
    root: Union[Mapping, Sequence, Scalar, Module, Script, None]
    problems: tuple[Problem, ...] = ()
    view: View | None = None

    @property
    def path(self) -> str:
        """Of the file, or of the one that a view becomes: no real path, but one of its own."""
        return f"{self.text.path}\0{self.view.name}" if self.view is not None and self.view.name else self.text.path


class Edit(NamedTuple):
    """Replace `text[start:end]` by `new_text`; an insertion has start == end."""

    start: int
    end: int
    new_text: str
    inside: Edit | None = None  # the same in the view through which it was made, at the places of its source
