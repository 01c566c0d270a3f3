"""Sizes and times as commands put them."""

from looping import looping

from mvsim.base.echo import bytes_text
from mvsim.cli.dispatch import message
from mvsim.cli.output import seconds_text, span_text


@looping(
    ("count", "text"),
    [(2**20, "1 MiB"), (300.4 * 2**20, "300 MiB"), (2**30, "1 GiB"), (1.2 * 2**30, "1.2 GiB"), (64 * 2**30, "64 GiB"), (128 * 2**30, "128 GiB")],
)
def test_sizes_are_in_mebibytes_up_to_a_gibibyte(count, text):
    assert bytes_text(count) == text


@looping(("seconds", "text"), [(45.0, "45 s"), (2.5, "2.5 s"), (0.0231, "23 ms"), (0.0023, "2.3 ms"), (4e-6, "4.0 us")])
def test_short_times_have_two_digits(seconds, text):
    assert seconds_text(seconds) == text


@looping(
    ("seconds", "text"),
    [((2.0, 60.0), "2 s to 60 s"), ((0.1, 0.9), "1 s"), ((100.0, 7200.0), "2 min to 2 hours"), ((36000.0, 3.0 * 86400.0), "10 hours to 3 days")],
)
def test_a_range_of_times_is_told_once_if_its_ends_read_alike(seconds, text):
    assert span_text(seconds) == text


def test_names_of_options_stand_in_messages_as_they_were_typed(mvsim):
    assert "mvsim: --t-end=-5.0: must be" in mvsim("simulate", "--k", "3", "--t-end", "-5").err
    assert "mvsim: t_end=-5.0: must be" in mvsim("simulate", "--k", "3", "--t_end=-5").err


def test_an_interrupted_command_does_not_say_that_nothing_is_saved():
    assert message(KeyboardInterrupt(), ["verify", "midpoint/4.6"]).startswith("interrupted; runs that are saved stay")
