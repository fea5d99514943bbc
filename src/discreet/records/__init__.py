"""Private rows: opened, checked, bounded per person, cut into chunks and summed through an engine."""

from discreet.records.chunk import CHUNK_ROWS, Chunk, Part
from discreet.records.engine import Engine, LocalEngine
from discreet.records.prep import PrepSummary, prepare
from discreet.records.records import Records
from discreet.records.roles import Roles
from discreet.records.sequence_table import SequenceTable, read_sequences
from discreet.records.source import open_records

__all__ = [
    "CHUNK_ROWS",
    "Chunk",
    "Engine",
    "LocalEngine",
    "Part",
    "PrepSummary",
    "Records",
    "Roles",
    "SequenceTable",
    "open_records",
    "prepare",
    "read_sequences",
]
