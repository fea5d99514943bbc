import numpy as np
import pytest

from discreet.errors import DataError, ParameterError, TooLargeError
from discreet.records.chunk import CHUNK_ROWS, LIMIT_BYTES, Rule, check_width, cut

RULE = Rule(("a", "b"))
DROP = Rule(("a", "b"), "drop")


def block(*columns):
    return np.array(columns, dtype=float)


def test_good_rows_pass_as_they_are():
    values = block([1, 2], [3, 4])
    assert RULE.admit(values, None).values is values


def test_sums_that_overflow_are_no_fault_of_the_rows():
    values = block([1e308, 1e308], [1e308, -1e308])
    assert RULE.admit(values, None).values is values


@pytest.mark.parametrize("rule", [RULE, DROP])
@pytest.mark.parametrize("other", [0.0, np.nan, -np.inf])
def test_infinite_numbers_are_always_refused(rule, other):
    with pytest.raises(DataError, match="column 'b' holds infinite"):
        rule.admit(block([1, 2], [np.inf, other]), None)


def test_missing_values_are_refused_by_default():
    with pytest.raises(DataError, match=r"column 'a' has missing values.*missing='drop'"):
        RULE.admit(block([1, np.nan], [3, 4]), None)


def test_errors_name_the_column_but_no_row_value_or_number():
    with pytest.raises(DataError) as caught:
        RULE.admit(block([731.25, np.nan, np.nan], [731.25, 1, 1]), None)
    assert not any(character.isdigit() for character in str(caught.value))


def test_drop_leaves_incomplete_rows_out_with_their_weights():
    chunk = DROP.admit(block([1, np.nan, 3, 5], [3, 4, np.nan, 6]), np.array([0.1, 0.2, 0.3, 0.4]))
    assert chunk.values.tolist() == [[1, 5], [3, 6]]
    assert chunk.weights.tolist() == [0.1, 0.4]
    assert chunk.values.flags.c_contiguous


def test_a_chunk_without_complete_rows_vanishes():
    assert DROP.admit(block([np.nan], [1]), None) is None


def test_an_unknown_rule_is_refused():
    with pytest.raises(ParameterError, match="'error' or 'drop'"):
        Rule(("a",), "mean")  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [1, CHUNK_ROWS, CHUNK_ROWS + 1, 3 * CHUNK_ROWS - 1])
def test_no_chunk_has_more_rows_than_statistic_proves_exact(rows):
    column = np.arange(rows)
    chunks = list(cut([column, column.astype(np.float32)], RULE))
    assert max(chunk.values.shape[1] for chunk in chunks) <= CHUNK_ROWS == 8192
    assert np.concatenate([chunk.values[0] for chunk in chunks]).tolist() == column.tolist()
    assert all(chunk.values.flags.c_contiguous and chunk.values.dtype == np.float64 for chunk in chunks)


def test_a_chunk_shows_neither_values_nor_counts():
    assert repr(RULE.admit(block([1, 2], [3, 4]), None)) == "Chunk(2 columns)"


def test_rows_too_wide_for_one_chunk_are_refused():
    check_width(LIMIT_BYTES // (CHUNK_ROWS * 8))
    with pytest.raises(TooLargeError, match="too wide"):
        check_width(LIMIT_BYTES // (CHUNK_ROWS * 8) + 1)
