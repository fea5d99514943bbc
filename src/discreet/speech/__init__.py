"""Sound to features: files read, cut into frames, turned into cepstra. One recording at a time, no rows."""

from discreet.speech.activity import voiced
from discreet.speech.features import Normalise, cepstra
from discreet.speech.frames import RATES, frame_count
from discreet.speech.front import Front, Range, Sound
from discreet.speech.sound import read_one, read_sound

__all__ = [
    "RATES",
    "Front",
    "Normalise",
    "Range",
    "Sound",
    "cepstra",
    "frame_count",
    "read_one",
    "read_sound",
    "voiced",
]
