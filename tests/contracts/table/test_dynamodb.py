"""How the DynamoDB engine asks, and what it makes of the answers that no emulator gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hibernaut.adapters.table.dynamodb import DynamoDbTable, one_attempt
from hibernaut.ports.storage.table import (
    Check,
    ConditionFailed,
    Contended,
    Delete,
    Index,
    Key,
    OutcomeUnknown,
    PartlyRead,
    Put,
    Query,
    Table,
    TableError,
    TooLarge,
    Update,
    eq,
)
from tests.support.spoken_aws import Says, SpokenAws, error, spoken_aws

A, B = Key("T#a", "1"), Key("T#a", "2")
ONE = [Put({"pk": "T#a", "sk": "1"})]
TWO = [Put({"pk": "T#a", "sk": "1"}), Check(B, eq(n=1))]
STANDING = {"pk": {"S": "T#a"}, "sk": {"S": "2"}, "n": {"N": "7"}}


@pytest.fixture(scope="module")
def server() -> Iterator[SpokenAws]:
    with spoken_aws() as server:
        yield server


@pytest.fixture(scope="module")
def client(server: SpokenAws) -> Iterator[Any]:
    import boto3

    client = boto3.session.Session().client("dynamodb", endpoint_url=server.endpoint, config=one_attempt())
    yield client
    client.close()


@pytest.fixture(scope="module")
def impatient(server: SpokenAws) -> Iterator[Any]:
    """A client for answers that never come. For all others it would be a race with a busy machine."""
    import boto3
    from botocore.config import Config

    config = one_attempt().merge(Config(read_timeout=0.2))
    client = boto3.session.Session().client("dynamodb", endpoint_url=server.endpoint, config=config)
    yield client
    client.close()


@pytest.fixture
def aws(server: SpokenAws) -> SpokenAws:
    server.answers, server.asked = [Says()], []
    return server


@pytest.fixture
def table(request: pytest.FixtureRequest) -> Table:
    """An answer that hangs, if the test's parameters have one, is asked for by the impatient client."""
    answer = getattr(request.node, "callspec", None) and request.node.callspec.params.get("answer")
    hangs = isinstance(answer, Says) and answer.hangs
    return DynamoDbTable("records", client=request.getfixturevalue("impatient" if hangs else "client"))


def cancelled(*codes: str, **more: Any) -> Says:
    reasons = [{"Code": code, **(more if code == "ConditionalCheckFailed" else {})} for code in codes]
    return error("TransactionCanceledException", "cancelled", CancellationReasons=reasons)


LOST = [
    error("InternalServerError", status=500),
    error("ServiceUnavailable", status=503),
    error("TransactionInProgressException"),
    error("InternalServerError", status=500).cut_off(),
    Says(text='{"Item": {"pk": {"S": "T#a"}, "sk": {"').cut_off(),
    Says(hangs=True),
]
BUSY = [
    error("ThrottlingException"),
    error("ProvisionedThroughputExceededException"),
    error("RequestLimitExceeded"),
    error("TransactionConflictException"),
]


@pytest.mark.parametrize("answer", LOST, ids=str)
@pytest.mark.parametrize("changes", [ONE, TWO])
def test_a_write_whose_answer_is_lost_has_an_unknown_outcome_and_is_sent_once(
    table: Table, aws: SpokenAws, answer: Says, changes: list[Put]
) -> None:
    aws.answers = [answer]
    with pytest.raises(OutcomeUnknown):
        table.write(*changes)
    assert aws.received(1) == 1


@pytest.mark.parametrize("answer", [*LOST[:2], *LOST[3:], *BUSY], ids=str)
def test_a_read_that_may_be_done_again_is_contended_and_is_sent_once(table: Table, aws: SpokenAws, answer: Says) -> None:
    aws.answers = [answer]
    for read in (lambda: table.get(A), lambda: table.get_many([A]), lambda: table.query("T#a")):
        with pytest.raises(Contended):
            read()
    assert aws.received(3) == 3


@pytest.mark.parametrize("answer", BUSY, ids=str)
@pytest.mark.parametrize("changes", [ONE, TWO])
def test_a_write_that_met_another_one_is_contended_and_is_sent_once(
    table: Table, aws: SpokenAws, answer: Says, changes: list[Put]
) -> None:
    aws.answers = [answer]
    with pytest.raises(Contended):
        table.write(*changes)
    assert len(aws.asked) == 1


def test_where_nobody_answers_nothing_was_done() -> None:
    import boto3

    client = boto3.session.Session().client("dynamodb", endpoint_url="http://127.0.0.1:1", config=one_attempt())
    with pytest.raises(Contended):
        DynamoDbTable("records", client=client).write(*ONE)
    client.close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (cancelled("None", "TransactionConflict"), Contended),
        (cancelled("ThrottlingError", "None"), Contended),
        (cancelled("ProvisionedThroughputExceeded", "TransactionConflict"), Contended),
        (cancelled("None", "ItemCollectionSizeLimitExceeded"), TooLarge),
        (cancelled("None", "None"), TableError),
        (error("ItemCollectionSizeLimitExceededException"), TooLarge),
        (error("RequestEntityTooLarge", status=413), TooLarge),
        (error("ValidationException", "Item size has exceeded the maximum allowed size"), TooLarge),
        (error("ValidationException", "Invalid UpdateExpression"), ValueError),
        (error("ResourceNotFoundException", "no such table"), TableError),
        (error("AccessDeniedException", "not you"), TableError),
    ],
    ids=str,
)
def test_every_other_refusal_has_its_error(table: Table, aws: SpokenAws, answer: Says, expected: type[Exception]) -> None:
    aws.answers = [answer]
    with pytest.raises(expected) as failure:
        table.write(*TWO)
    assert type(failure.value) is expected


def test_a_false_condition_says_more_than_a_conflict(table: Table, aws: SpokenAws) -> None:
    aws.answers = [cancelled("TransactionConflict", "ConditionalCheckFailed", Item=STANDING)]
    with pytest.raises(ConditionFailed) as failure:
        table.write(*TWO)
    assert failure.value.failed == {1: {"pk": "T#a", "sk": "2", "n": 7}}


def test_reads_of_the_table_are_consistent_and_of_an_index_are_not(table: Table, aws: SpokenAws) -> None:
    aws.answers = [Says({"Items": [], "Responses": {"records": []}})]
    table.get(A)
    table.get_many([A])
    table.query("T#a")
    table.query("D", index=Index.DUE)
    (_, get), (_, many), (_, query), (_, index) = aws.asked
    assert get["ConsistentRead"]
    assert many["RequestItems"]["records"]["ConsistentRead"]
    assert query["ConsistentRead"]
    assert "ConsistentRead" not in index


def test_a_single_change_is_a_plain_write_and_several_or_a_check_are_a_transaction(table: Table, aws: SpokenAws) -> None:
    table.write(*ONE)
    table.write(Update(A, set={"n": 1}))
    table.write(Delete(A))
    table.write(Check(A, eq(n=1)))
    table.write(*TWO)
    assert [verb for verb, _ in aws.asked] == ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "TransactWriteItems"]


def test_keys_that_an_answer_leaves_over_are_asked_for_again(table: Table, aws: SpokenAws) -> None:
    first = {"pk": {"S": "T#a"}, "sk": {"S": "1"}}
    left = {"records": {"Keys": [{"pk": {"S": "T#a"}, "sk": {"S": "2"}}]}}
    aws.answers = [
        Says({"Responses": {"records": [first]}, "UnprocessedKeys": left}),
        Says({"Responses": {"records": [STANDING]}}),
    ]
    assert set(table.get_many([A, B])) == {A, B}
    assert aws.asked[1][1]["RequestItems"]["records"]["Keys"] == left["records"]["Keys"]


def test_an_answer_that_leaves_all_keys_over_is_contended(table: Table, aws: SpokenAws) -> None:
    left = {"records": {"Keys": [{"pk": {"S": "T#a"}, "sk": {"S": "2"}}]}}
    aws.answers = [Says({"Responses": {}, "UnprocessedKeys": left})]
    with pytest.raises(Contended):
        table.get_many([A, B])
    assert len(aws.asked) == 1


def test_a_page_without_items_is_not_the_end(table: Table, aws: SpokenAws) -> None:
    aws.answers = [Says({"Items": [], "LastEvaluatedKey": STANDING}), Says({"Items": [STANDING]})]
    assert table.query("T#a", limit=1) == [{"pk": "T#a", "sk": "2", "n": 7}]
    assert aws.asked[1][1]["ExclusiveStartKey"] == STANDING


def test_a_range_asks_for_no_more_than_its_limit_and_its_two_ends(table: Table, aws: SpokenAws) -> None:
    aws.answers = [Says({"Items": []})]
    table.query("T#a", after="1", before="9", limit=3)
    table.query("T#a", after="1")
    (_, both), (_, after) = aws.asked
    assert both["Limit"] == 5
    assert after["KeyConditionExpression"].endswith("#n1 > :v1")


def test_queries_that_are_sent_together_fail_one_by_one(table: Table, aws: SpokenAws) -> None:
    aws.answers = [error("ThrottlingException"), Says({"Items": [STANDING], "Count": 1})]
    with pytest.raises(PartlyRead) as failure:
        table.query_many([Query("T#a"), Query("T#b")])
    assert list(failure.value.found.values()) == [[{"pk": "T#a", "sk": "2", "n": 7}]]
