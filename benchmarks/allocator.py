"""How much torch's allocator keeps beside what a step of training needs, where rows differ in length.

`python benchmarks/allocator.py MODEL kept|checkpointed LAYERS LONGEST SEED|SETS.json [CUT]`
wants the environment of tools/trace_memory.py, and no card. Each length's
step is traced on fake tensors; the allocations of many steps are then replayed over the allocator's own rules (torch c10/cuda/CUDACachingAllocator.cpp,
DeviceCachingAllocator): sizes in steps of 512 bytes, two pools, the smallest free block that is large enough, segments of 2 and 20 MiB or as large as
asked in steps of 2 MiB, blocks split where enough is left and joined with free neighbours. SETS.json holds lists of tokens a row, one
list for each data set, whose longest row (or that of which a share CUT is no longer) becomes LONGEST. What it prints was put into
lint/stablint/fitting/reading.py (_CACHE_MIXED); benchmarks/README.md has the figures.
"""

from __future__ import annotations

import bisect
import json
import math
import random
import statistics
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import trace_memory

MIB = 2**20
Events = list[tuple[int, int]]  # the number of a storage, negative where it is freed, and its bytes
MODELS = {
    "qwen-7b": ("qwen2", {"h": 4096, "i": 11008, "a": 32, "g": 32, "d": 128, "v": 151936}),
    "llama-2-7b": ("llama", {"h": 4096, "i": 11008, "a": 32, "g": 32, "d": 128, "v": 32000}),
    "llama-3-8b": ("llama", {"h": 4096, "i": 14336, "a": 32, "g": 8, "d": 128, "v": 128256}),
}


class Recorder(trace_memory.Ledger):
    """The ledger of the traces, with each storage's beginning and end."""

    def __init__(self) -> None:
        super().__init__()
        self.events: Events = []
        self.count = 0

    def _add(self, tensor: trace_memory.torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata in self.seen:
            return
        self.seen.add(storage._cdata)
        self.count += 1
        self.live += storage.nbytes()
        self.events.append((self.count, storage.nbytes()))
        weakref.finalize(storage, self._ends, storage._cdata, storage.nbytes(), self.count)

    def _ends(self, key: int, size: int, number: int) -> None:
        self.seen.discard(key)
        self.live -= size
        self.events.append((-number, size))


class Allocator:
    """Blocks by address: bytes, whether free, the neighbours in their segment, and their pool."""

    def __init__(self, room: float = math.inf) -> None:
        self.room = room
        self.blocks: dict[int, list] = {}
        self.pools: dict[bool, list[tuple[int, int]]] = {
            True: [],
            False: [],
        }  # small or not: bytes and address of what is free
        self.end = self.reserved = 0

    def allocate(self, size: int) -> int:
        size = max(512, -(-size // 512) * 512)
        small = size <= MIB
        free = self.pools[small]
        at = bisect.bisect_left(free, (size, -1))
        if at < len(free):
            address = free.pop(at)[1]
        else:
            segment = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
            if self.reserved + segment > self.room:
                self.give_back()
            if self.reserved + segment > self.room:
                raise MemoryError
            address, self.end = self.end, self.end + segment + 1
            self.blocks[address] = [segment, False, None, None, small]
            self.reserved += segment
        block = self.blocks[address]
        rest = block[0] - size
        if rest >= 512 if small else rest > MIB:
            self.blocks[address + size] = [rest, True, address, block[3], small]
            if block[3] is not None:
                self.blocks[block[3]][2] = address + size
            block[0], block[3] = size, address + size
            bisect.insort(free, (rest, address + size))
        block[1] = False
        return address

    def give_back(self) -> None:
        """Segments of which nothing is used (release_cached_blocks); a segment that still holds something stays whole."""
        for pool in self.pools.values():
            for size, address in list(pool):
                if self.blocks[address][2] is None and self.blocks[address][3] is None:
                    pool.remove((size, address))
                    del self.blocks[address]
                    self.reserved -= size

    def free(self, address: int) -> None:
        block = self.blocks[address]
        block[1] = True
        for neighbour in (block[3], block[2]):
            if neighbour is None or not self.blocks[neighbour][1]:
                continue
            self.pools[block[4]].remove((self.blocks[neighbour][0], neighbour))
            first, second = sorted((address, neighbour))
            left, right = self.blocks[first], self.blocks.pop(second)
            left[0], left[3] = left[0] + right[0], right[3]
            if right[3] is not None:
                self.blocks[right[3]][2] = first
            address, block = first, left
        block[1] = True
        bisect.insort(self.pools[block[4]], (block[0], address))


def traced(kind: str, dims: trace_memory.Dims, variant: trace_memory.Variant, layers: int) -> tuple[Events, int]:
    """One step's events, with everything freed at its end, and the most that was alive."""
    trace_memory.Ledger = Recorder
    events = list(trace_memory.step(kind, dims, variant, layers).events)
    alive: dict[int, int] = {}
    live = most = 0
    for number, size in events:
        live += size if number > 0 else -size
        most = max(most, live)
        alive.pop(-number, None) if number < 0 else alive.update({number: size})
    return events + [(-number, size) for number, size in alive.items()], most


def replayed(steps: list[Events], room: float = math.inf) -> int:
    """Bytes that the allocator has reserved after these steps. MemoryError where a card with this room is too small for them."""
    allocator = Allocator(room)
    for events in steps:
        where: dict[int, int] = {}
        for number, size in events:
            if number > 0:
                where[number] = allocator.allocate(size)
            else:
                allocator.free(where.pop(-number))
    return allocator.reserved


def least_room(steps: list[Events], peak: int, most: int) -> int:
    """The smallest card, to within a hundredth of what is between, on which these steps run: what is free and whole is given back before memory runs out."""
    small, large = peak - 1, most
    while large - small > max((most - peak) / 100, 20 * MIB):
        middle = (small + large) // 2
        try:
            replayed(steps, middle)
        except MemoryError:
            small = middle
        else:
            large = middle
    return large


def of_sets(
    sets: list[list[int]], cut: float, longest: int, trace: Callable[[int], tuple[Events, int]], words: int
) -> None:
    """300 rows of each set, twice, in steps of a fortieth of the longest."""
    lengths = sorted({max(16, round(longest * part / 40)) for part in range(1, 41)})
    traces = {one: trace(one) for one in lengths}
    peak, logits, found = traces[longest][1], 12 * longest * words, []
    for rows in sets:
        top, each = sorted(rows)[int((len(rows) - 1) * cut)], []
        for seed in range(2):
            draw = random.Random(seed)
            wanted = [*(min(one, top) for one in draw.sample(rows, min(300, len(rows)))), top]
            draw.shuffle(wanted)
            order = [min(lengths, key=lambda length, x=one / top * longest: abs(length - x)) for one in wanted]
            each.append((replayed([traces[one][0] for one in order]) - peak) / logits)
        found.append(statistics.mean(each))
        print(f"  {found[-1]:.2f}", flush=True)
    low, high = (statistics.quantiles(found, n=10)[part] for part in (0, -1))
    print(f"{len(found)} sets: median {statistics.median(found):.2f}, nine of ten above {low:.2f} and below {high:.2f}")


def main() -> None:
    name, kept, layers, longest = sys.argv[1], sys.argv[2] == "kept", *map(int, sys.argv[3:5])
    kind, dims = MODELS[name]
    variant = trace_memory.Variant("lora-all", False, "bf16", not kept, "sdpa")
    if sys.argv[5].endswith(".json"):
        sets, cut = json.loads(Path(sys.argv[5]).read_text()), float(sys.argv[6]) if len(sys.argv) > 6 else 1.0
        of_sets(
            sets,
            cut,
            longest,
            lambda one: traced(kind, trace_memory.Dims(**dims, r=8, b=1, s=one), variant, layers),
            dims["v"],
        )
        return
    draw = random.Random(int(sys.argv[5]))
    lengths = sorted({longest, *(draw.randrange(longest // 32, longest) for _ in range(23))})
    traces = {one: traced(kind, trace_memory.Dims(**dims, r=8, b=1, s=one), variant, layers) for one in lengths}
    peak, logits = traces[longest][1], 12 * longest * dims["v"]
    alike = replayed([traces[longest][0]] * 5)
    print(f"{' '.join(sys.argv[1:])}: rows of one length: {(alike - peak) / logits:.2f} of the logits")

    def spread(median: float) -> Callable[[], float]:
        return lambda: math.exp(draw.gauss(math.log(longest * median), 0.8))

    drawn = {"uniform": lambda: draw.uniform(longest / 32, longest)} | {
        f"median {share:.2f} of the longest": spread(share) for share in (1 / 6, 1 / 3, 1.0, 1.6)
    }
    for words, length in drawn.items():
        found, least = [], []
        for _ in range(4):
            wanted = [length() for _ in range(100)] + [longest]
            order = [min(lengths, key=lambda one, x=x: abs(one - x)) for x in wanted]
            steps = [traces[one][0] for one in order]
            most = replayed(steps)
            found.append((most - peak) / logits)
            least.append((least_room(steps, peak, most) - peak) / logits)
        print(
            f"  {words}: {statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f}), on the smallest card that is enough "
            f"{statistics.median(least):.2f} ({min(least):.2f} to {max(least):.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
