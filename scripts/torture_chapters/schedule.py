"""Which case comes when: decided by the seed, in proportion in any prefix."""

import functools
import random

from . import imports, journals, kills, names
from .databases import Application, Commands
from .places import Denials, Limits

CHAPTERS = (kills, Limits, Denials, Application, Commands, journals, imports, names)
BLOCK = sum(chapter.SHARE for chapter in CHAPTERS)


def named(name):
    for chapter in CHAPTERS:
        if chapter.NAME == name:
            return chapter
    raise KeyError(name)


@functools.lru_cache(maxsize=2)
def block(seed, number):
    """[(chapter's name, number of the case)]: each chapter evenly over the block, beginning at a place of its own."""
    chooser = random.Random(f"{seed}/block/{number}")
    places = []
    for chapter in CHAPTERS:
        phase = chooser.random()
        for i in range(chapter.SHARE):
            places.append(((i + phase) / chapter.SHARE, chapter.NAME, number * chapter.SHARE + i))
    return [(name, case) for _, name, case in sorted(places)]


def at(seed, index):
    return block(seed, index // BLOCK)[index % BLOCK]
