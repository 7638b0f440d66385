"""Which column means what."""

from __future__ import annotations

import pytest

from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from tollgate.core.errors import ConfigError


@pytest.fixture
def csv(tmp_path):
    def write(header, *rows):
        path = tmp_path / "trace.csv"
        path.write_text("\n".join((header, *rows)) + "\n")
        return path

    return write


def columns_of(path, **options):
    reading = detect(path, TraceOptions(**options)).reading
    return reading.time_column, reading.tokens_columns, reading.principal_column, reading.duration_column


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("TIMESTAMP,ContextTokens,GeneratedTokens", ("TIMESTAMP", ("ContextTokens", "GeneratedTokens"), None, None)),
        (
            "timestamp,input_length,output_length,session_id",
            ("timestamp", ("input_length", "output_length"), "session_id", None),
        ),
        (
            "ts,prompt_tokens,completion_tokens,total_tokens,team_id",
            ("ts", ("prompt_tokens", "completion_tokens"), "team_id", None),
        ),
        ("app,func,end_timestamp,duration", ("end_timestamp", (), "app", "duration")),
        (
            "Timestamp,Session ID,Elapsed time,Total tokens",
            ("Timestamp", ("Total tokens",), "Session ID", "Elapsed time"),
        ),
        ("user,tenant,arrival_ms,duration_s", ("arrival_ms", (), "tenant", "duration_s")),
    ],
)
def test_columns_are_found_by_the_names_public_traces_use(csv, header, expected):
    assert columns_of(csv(header)) == expected


def test_what_the_user_names_wins_and_an_empty_name_means_none(csv):
    path = csv("timestamp,other,a,b,tenant,duration", "1,2,3,4,x,5")
    found = columns_of(path, time_column="other", tokens_columns=("a",), principal_column="", duration_column="b")
    assert found == ("other", ("a",), None, "b")


def test_every_choice_is_told_and_the_rest_is_listed_as_ignored(csv):
    detection = detect(csv("ts,x,tokens", "1700000000000,2,3"), TraceOptions())
    assert detection.taken == (
        (
            "time (start of the request): 'ts' in ms,"
            " because the first value, 1700000000000, is an instant since 1970 in that unit"
        ),
        "tokens: 'tokens'",
        "principal: none; all rows belong to one",
    )
    assert (detection.ignored, detection.doubts) == (("x",), ())


def test_a_guessed_unit_is_a_doubt_until_the_user_says_it(csv):
    path = csv("ts", "5")
    assert "--time-unit says otherwise" in detect(path, TraceOptions()).doubts[0]
    told = detect(path, TraceOptions(time_unit="us"))
    assert (told.reading.time_unit, told.doubts) == ("us", ())


def test_an_end_time_with_a_duration_is_taken_as_an_end(csv):
    assert detect(csv("end_time,duration", "5,1"), TraceOptions()).reading.time_is == "end"


def test_an_end_time_without_a_duration_is_a_doubt(csv):
    detection = detect(csv("end_time_s", "5"), TraceOptions())
    assert detection.reading.time_is == "start"
    assert "ends are taken for arrivals" in detection.doubts[0]


@pytest.mark.parametrize(
    ("options", "path", "hint"),
    [
        ({"time_column": "timestmp"}, "--time-column", 'did you mean "timestamp"?'),
        ({"tokens_columns": ("tokens", "tokens")}, "--tokens-columns", ""),
        ({"principal_column": "x"}, "--principal-column", ""),
        ({"time_unit": "minutes"}, "--time-unit", ""),
        ({"time_is": "middle"}, "--time-is", ""),
        ({"time_is": "end"}, "--time-is", "name it with --duration-column"),
        ({"duration_unit": "s"}, "--duration-unit", ""),
        ({"format": "clff"}, "--format", 'did you mean "clf"?'),
        ({"segment": 1}, "--segment", ""),
        ({"sort": True, "split_on_step_back": True}, "--sort", ""),
        ({"missing_size": -1}, "--missing-size", ""),
        ({"tokens_columns": (), "missing_size": 0}, "--missing-size", ""),
        ({"split_on_step_back": True, "segment": 0}, "--segment", ""),
        ({"split_on_step_back": True, "segment_gap_seconds": "-1"}, "--segment-gap-seconds", ""),
        ({"split_on_step_back": True, "segment_gap_seconds": "0.0000000001"}, "--segment-gap-seconds", ""),
        ({"split_on_step_back": True, "segment": 1, "segment_gap_seconds": "1"}, "--segment-gap-seconds", ""),
    ],
)
def test_an_option_that_cannot_be_followed_is_named(csv, options, path, hint):
    with pytest.raises(ConfigError) as caught:
        detect(csv("timestamp,tokens", "1,2"), TraceOptions(**options))
    assert (caught.value.path, caught.value.hint) == (path, hint)


def test_a_file_without_a_column_of_times_says_which_columns_it_has(csv):
    with pytest.raises(ConfigError, match=r"row 1: got 'client, windows'.*name it with --time-column"):
        detect(csv("client,windows", "1,2"), TraceOptions())


def test_durations_that_are_date_times_are_refused(csv):
    with pytest.raises(ConfigError, match="column 'duration': got 'date-times'; allowed: lengths of time"):
        detect(csv("ts,duration", "1,2023-11-16 18:17:03"), TraceOptions())


def test_an_access_log_is_taken_for_what_it_is_and_doubted(fixtures):
    detection = detect(fixtures / "access.log", TraceOptions())
    reading = detection.reading
    assert (reading.format, reading.time_column, reading.time_unit, reading.time_is) == (
        "clf",
        "time",
        "date-time",
        "start",
    )
    assert (reading.tokens_columns, reading.principal_column, detection.status_column) == (("bytes",), "user", "status")
    assert detection.taken[0] == "access log in the combined form"
    assert any("limits on tokens count bytes" in text for text in detection.doubts)
    assert any("nginx when its answer was sent" in text for text in detection.doubts)


def test_without_users_the_hosts_of_an_access_log_are_principals_and_that_is_doubted(fixtures):
    detection = detect(fixtures / "common.log", TraceOptions())
    assert detection.taken[0] == "access log in the common form"
    assert detection.reading.principal_column == "host"
    assert any("addresses stand for principals" in text for text in detection.doubts)
    told = detect(fixtures / "common.log", TraceOptions(principal_column="user", tokens_columns=(), time_is="start"))
    assert told.reading.principal_column == "user"
    assert told.doubts == ()


def test_times_that_nginx_writes_are_ends_and_the_finer_one_is_taken(fixtures):
    detection = detect(fixtures / "access.ndjson", TraceOptions())
    reading = detection.reading
    assert (reading.time_column, reading.time_unit, reading.time_is) == ("msec", "s", "end")
    assert (reading.duration_column, reading.principal_column) == ("request_time", "remote_user")
    assert detection.status_column == "status"


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ("client,windows,mean_rate_per_s,active_share", "a population of clients"),
        ("Type,Name,Request Count,Failure Count,Average Response Time", "totals of a load test"),
        ("Timestamp,User Count,Type,Name,Total Request Count", "the history of a load test"),
        ("start_time,end_time,project_id,num_model_requests,input_tokens", "usage by period"),
        ("metric_name,timestamp,metric_value,check,scenario", "samples of metrics"),
    ],
)
def test_a_file_whose_rows_are_no_requests_is_refused_saying_what_it_is(csv, header, what):
    path = csv(header, ",".join("1" for _ in header.split(",")))
    with pytest.raises(ConfigError, match=f"got '{what}.*allowed: one row for each request, with its time"):
        detect(path, TraceOptions())


def test_who_names_the_time_knows_what_a_row_is(csv):
    path = csv("metric_name,timestamp,metric_value", "http_req_duration,1772953200,212.4")
    options = TraceOptions(time_column="timestamp", duration_column="metric_value", duration_unit="ms")
    assert detect(path, options).reading.duration_column == "metric_value"
