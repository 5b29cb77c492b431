"""Webhooks: who hears of what, how a delivery is signed and repeated, when it is dead, and how it is replayed."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.domain.events import signature
from hibernaut.ports.events.event_bus import BusFailure
from hibernaut.ports.tools.web import WebFailure
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.schemas.errors import Conflict, InvalidArgument, ModelAuthentication, NotFound
from hibernaut.schemas.events.webhook import ReplayDead, RotateSecret, UpdateWebhook
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.events.webhooks import MOST_WEBHOOKS
from hibernaut.services.memory.blocks import Blocks
from hibernaut.services.records import records_over
from hibernaut.wiring.api_services import services_over
from tests.support.scripted_model import USAGE, calls, in_turn, says
from tests.support.tables import all_items
from tests.support.webhook_receiver import Bus, Hooked, Receiver, hooked, raw

DAY = 86_400


def deliveries(world: Hooked, webhook_id: str) -> list[tuple[str, str, int]]:
    found = world.webhooks.deliveries(webhook_id, after=None, state=None, limit=50)
    return [(each.type, each.state, each.tries) for each in found]


def test_the_end_of_a_run_is_told_once_and_signed(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    hook, agent = world.hook(), world.make_agent()
    run_id = world.send(agent, "hello")
    world.relay()
    (call,) = world.receiver.calls
    assert call.event["type"] == "run.finished"
    assert (
        call.event["data"] | {"run_id": run_id, "agent_id": agent, "status": "completed", "stop_reason": "end_turn"}
        == call.event["data"]
    )
    assert (call.event["data"]["steps"], call.event["data"]["total_tokens"]) == (1, USAGE.total_tokens)
    stamp = int(call.headers["webhook-timestamp"])
    assert call.headers["webhook-id"] == call.event["id"]
    assert call.headers["webhook-signature"] == signature([raw(hook.secret)], call.event["id"], stamp, call.body)
    world.later(300)
    assert len(world.receiver.calls) == 1
    assert deliveries(world, hook.id) == [("run.finished", "delivered", 1)]
    assert world.all_stores.due.all() == []


def test_no_event_has_what_was_said(tmp_path: Path) -> None:
    world = hooked(
        tmp_path, script=in_turn(calls(("memory_insert", {"label": "human", "new_string": "SECRET-NOTE"})), says("SECRET-REPLY"))
    )
    world.hook()
    agent = world.make_agent(blocks={"human": "SECRET-BLOCK"}, tools=("memory_insert",))
    world.send(agent, "SECRET-QUESTION")
    world.relay()
    assert world.receiver.types() == ["memory.changed", "run.finished"]
    assert not any(b"SECRET" in call.body for call in world.receiver.calls)


def test_a_tenant_without_webhooks_leaves_nothing_in_the_table(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    world.send(world.make_agent(), "hello")
    assert world.places.kept == []
    assert not any("OUTBOX" in key.pk for key in all_items(world.data.table))


def test_a_webhook_hears_only_of_the_types_and_agents_that_it_asks_for(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    agent, other = world.make_agent(), world.make_agent()
    of_agent, of_memory = world.hook(agent_ids=[agent]), world.hook(types=["memory.changed"])
    for each in (agent, other):
        world.send(each, "hello")
    world.relay()
    assert [call.event["data"]["agent_id"] for call in world.receiver.calls] == [agent]
    assert (len(deliveries(world, of_agent.id)), deliveries(world, of_memory.id)) == (1, [])


def test_a_webhook_for_a_tag_hears_of_the_agents_that_have_it(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    agent, other = world.make_agent(), world.make_agent()
    records = records_over(world.stores, world.clock, world.ids)
    records.change_agent(other, lambda before: (before.model_copy(update={"tags": ["night"]}), []), None)
    world.hook(agent_tags=["night"])
    for each in (agent, other):
        world.send(each, "hello")
    world.relay()
    assert [call.event["data"]["agent_id"] for call in world.receiver.calls] == [other]


def test_a_change_of_a_block_by_the_api_is_told_to_the_webhooks_of_its_agents(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    agent, other = world.make_agent(blocks={"human": "a"}), world.make_agent()
    world.hook(agent_ids=[agent])
    world.hook(agent_ids=[other])
    blocks = Blocks(records_over(world.stores, world.clock, world.ids))
    block = world.block(agent, "human")
    blocks.update(block.id, BlockUpdate(value="b"))
    blocks.delete(block.id)
    world.relay()
    told = [call.event["data"] for call in world.receiver.calls]
    assert [(each["block_id"], each["label"], each["change"], each["by"]) for each in told] == [
        (block.id, "human", "updated", "api"),
        (block.id, "human", "deleted", "api"),
    ]
    assert [(each["agent_id"], each["agent_ids"]) for each in told] == [(None, [agent])] * 2


def test_an_agent_that_gains_or_loses_a_block_is_told_by_the_label(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    agent, other = world.make_agent(), world.make_agent(blocks={"notes": "SECRET"})
    world.hook(agent_ids=[agent])
    block, updates = world.block(other, "notes"), services_over(world.stores, world.host, world.chain).agents.updates
    updates.attach_block(agent, block.id)
    updates.attach_block(agent, block.id)
    updates.detach_block(agent, block.id)
    world.relay()
    told = [call.event["data"] for call in world.receiver.calls]
    assert [(each["label"], each["change"], each["agent_id"], each["by"]) for each in told] == [
        ("notes", "attached", agent, "api"),
        ("notes", "detached", agent, "api"),
    ]


def test_an_approval_is_asked_for_and_the_run_has_finished(tmp_path: Path) -> None:
    world = hooked(tmp_path, script=in_turn(calls(("ring", {"x": "SECRET"}))))
    world.hook()
    agent = world.make_agent(tools=("ring",), rules=[RequiresApprovalToolRule(tool_name="ring")])
    world.send(agent, "hello")
    world.relay()
    asked, finished = sorted((call.event for call in world.receiver.calls), key=lambda event: event["id"])  # sent side by side
    assert (asked["type"], asked["data"]["tools"]) == ("approval.requested", ["ring"])
    assert (finished["type"], finished["data"]["stop_reason"]) == ("run.finished", "requires_approval")


@pytest.mark.parametrize("queued", [True, False])
def test_a_cancelled_run_is_told_whether_it_had_begun_or_not(queued: bool, tmp_path: Path) -> None:
    world = hooked(tmp_path)
    world.hook()
    agent = world.make_agent()
    if queued:
        world.accept(agent, "first")
    run_id = world.accept(agent, "second").run_id
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    world.relay()
    assert [(call.event["data"]["run_id"], call.event["data"]["status"]) for call in world.receiver.calls] == [
        (run_id, "cancelled")
    ]


def test_a_failed_run_is_told_with_the_code_of_its_error(tmp_path: Path) -> None:
    world = hooked(tmp_path, script=in_turn(ModelAuthentication("bad key SECRET")))
    world.hook()
    world.advance(world.accept(world.make_agent(), "hello").run_id)
    world.relay()
    (call,) = world.receiver.calls
    assert (call.event["data"]["status"], call.event["data"]["error"]) == ("failed", "llm_authentication")
    assert b"SECRET" not in call.body


def test_a_crossed_budget_is_told_once_for_each_level(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    world.hook(types=["budget.crossed"])
    agent = world.make_agent()
    world.budgets.set(agent, SetBudget(tokens_per_day=USAGE.total_tokens))
    world.send(agent, "hello")
    world.relay()
    told = [call.event["data"] for call in world.receiver.calls]
    assert {(each["budget"], each["level"], each["agent_id"]) for each in told} == {
        ("tokens_per_day", "limit", agent),
        ("tokens_per_day", "warning", agent),
    }
    assert len(told) == 2


def test_a_failed_delivery_is_repeated_under_the_same_id_and_then_dead(tmp_path: Path) -> None:
    world = hooked(tmp_path, Receiver(WebFailure("no answer within 10 seconds")))
    hook = world.hook()
    world.send(world.make_agent(), "hello")
    world.relay()
    assert deliveries(world, hook.id) == [("run.finished", "pending", 1)]
    for _ in range(60):
        world.later(3600)
    assert deliveries(world, hook.id) == [("run.finished", "dead", 8)]
    assert len(world.receiver.calls) == 8
    assert len(set(world.receiver.ids())) == 1
    (delivery,) = world.webhooks.deliveries(hook.id, after=None, state="dead", limit=5)
    assert (delivery.error, delivery.next_try_at) == ("no answer within 10 seconds", None)


def test_dead_events_of_a_range_are_replayed(tmp_path: Path) -> None:
    receiver = Receiver(500)
    world = hooked(tmp_path, receiver)
    hook, agent = world.hook(), world.make_agent()
    moments = []
    for _ in range(3):
        world.send(agent, "hello")
        world.relay()
        moments.append(world.clock.now())
        world.clock.sleep(60)
    for _ in range(48):
        world.later(3600)
    receiver.answers, before = 200, len(receiver.calls)
    range_of_two = ReplayDead(since=moments[1] - timedelta(seconds=30))
    assert world.webhooks.replay_dead(hook.id, range_of_two.model_copy(update={"limit": 1})).model_dump() == {
        "replayed": 1,
        "more": True,
    }
    assert world.webhooks.replay_dead(hook.id, range_of_two).model_dump() == {"replayed": 1, "more": False}
    world.clock.sleep(3600)
    world.relay()
    assert len(receiver.calls) == before + 2
    assert [state for _, state, _ in deliveries(world, hook.id)] == ["delivered", "delivered", "dead"]


def test_a_delivered_event_may_be_replayed_too(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    hook = world.hook()
    world.send(world.make_agent(), "hello")
    world.relay()
    (event_id,) = world.receiver.ids()
    world.webhooks.replay(hook.id, event_id)
    world.relay()
    assert world.receiver.ids() == [event_id, event_id]
    with pytest.raises(NotFound):
        world.webhooks.replay(hook.id, event_id[:-1] + ("0" if event_id[-1] != "0" else "8"))


def test_a_webhook_that_is_gone_is_disabled_and_the_others_hear_of_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    receiver = Receiver(410)
    world = hooked(tmp_path, receiver)
    gone = world.hook(name="old", types=["run.finished"])
    world.hook(types=["webhook.disabled"])
    with caplog.at_level(logging.WARNING):
        world.send(world.make_agent(), "hello")
        world.places.kept, waiting = [], list(world.places.kept)
        world.relays.of("default").take(waiting[0])
    receiver.answers = 200
    world.relay()
    shown = world.webhooks.retrieve(gone.id)
    assert (shown.enabled, shown.disabled_reason) == (False, "gone")
    assert receiver.calls[-1].event["data"] == {"webhook_id": gone.id, "name": "old", "reason": "gone", "agent_id": None}
    assert "webhook disabled" in caplog.messages
    world.clock.sleep(10)
    world.send(world.make_agent(), "again")
    assert world.places.kept == []
    with pytest.raises(Conflict, match="is disabled"):
        world.webhooks.replay_dead(gone.id, ReplayDead())
    world.webhooks.update(gone.id, UpdateWebhook(enabled=True))
    assert world.webhooks.replay_dead(gone.id, ReplayDead()).replayed == 1


def test_a_webhook_that_fails_for_days_is_disabled(tmp_path: Path) -> None:
    world = hooked(tmp_path, Receiver(500))
    hook, agent = world.hook(), world.make_agent()
    for _ in range(4):
        world.send(agent, "hello")
        world.relay()
        for _ in range(24):
            world.later(3600)
    shown = world.webhooks.retrieve(hook.id)
    assert (shown.enabled, shown.disabled_reason) == (False, "failing")
    world.later(2 * DAY)
    assert {state for _, state, _ in deliveries(world, hook.id)} == {"dead"}


def test_a_webhook_that_fails_in_a_row_is_given_a_rest(tmp_path: Path) -> None:
    receiver = Receiver(WebFailure("no answer within 10 seconds"))
    world = hooked(tmp_path, receiver)
    hook, agent = world.hook(), world.make_agent()
    for _ in range(30):
        world.send(agent, "hello")
        world.relay()
    assert len(receiver.calls) == 5
    assert world.webhooks.retrieve(hook.id).failures == 5
    receiver.answers = 200
    for _ in range(30):
        world.later(600)
    assert {state for _, state, _ in deliveries(world, hook.id)} == {"delivered"}
    assert len(set(receiver.ids())) == 30
    assert (world.webhooks.retrieve(hook.id).failures, world.webhooks.retrieve(hook.id).failing_since) == (0, None)


def test_two_secrets_are_valid_for_a_while_after_a_rotation(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    first, agent = world.hook(), world.make_agent()
    second = world.webhooks.rotate(first.id, RotateSecret(overlap_seconds=3600))
    for wait in (0, 7200):
        world.clock.sleep(wait)
        world.send(agent, "hello")
        world.relay()
    both, one = (call.headers["webhook-signature"].split() for call in world.receiver.calls)
    call = world.receiver.calls[0]
    expected = [
        signature([raw(each.secret)], call.event["id"], int(call.headers["webhook-timestamp"]), call.body)
        for each in (second, first)
    ]
    assert (both, len(one)) == (expected, 1)
    assert first.secret not in world.webhooks.retrieve(first.id).model_dump_json()


def test_a_test_is_sent_at_once_and_never_repeated(tmp_path: Path) -> None:
    receiver = Receiver(302)
    world = hooked(tmp_path, receiver)
    hook = world.hook()
    tested = world.webhooks.test(hook.id)
    assert (tested.delivered, tested.status, tested.error) == (False, 302, "answered 302; redirects are not followed")
    receiver.answers = 200
    assert world.webhooks.test(hook.id).delivered
    assert receiver.types() == ["ping", "ping"]
    world.later(3600)
    assert (len(receiver.calls), deliveries(world, hook.id)) == (2, [])


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://example.com/x", "must begin with https"),
        ("ftp://example.com/x", "must begin with https"),
        ("https://10.0.0.1/x", "private address"),
        ("https://[::1]/x", "private address"),
        ("https://localhost/x", "private address"),
        ("https://169.254.169.254/latest", "private address"),
        ("https://user:pass@example.com/", "user name or a password"),
        ("https://exa mple.com/", "space"),
        ("https://example.com/\r\nx: y", "line break"),
        ("https://example.com:99999/", "not an address like"),
        ("https://", "must begin with https"),
    ],
)
def test_an_address_that_nothing_is_sent_to_is_refused_on_aws(url: str, told: str, tmp_path: Path) -> None:
    world = hooked(tmp_path, public_only=True)
    with pytest.raises(InvalidArgument, match=told):
        world.hook(url=url)
    hook = world.hook()
    with pytest.raises(InvalidArgument, match=told):
        world.webhooks.update(hook.id, UpdateWebhook(url=url))
    assert [each.url for each in world.webhooks.all()] == [hook.url]


def test_there_are_so_many_webhooks_and_no_more(tmp_path: Path) -> None:
    world = hooked(tmp_path)
    for _ in range(MOST_WEBHOOKS):
        world.hook()
    with pytest.raises(InvalidArgument, match="at most 20 webhooks"):
        world.hook()
    world.webhooks.delete(world.webhooks.all()[0].id)
    world.hook()


def test_what_waits_for_a_deleted_webhook_is_dropped(tmp_path: Path) -> None:
    world = hooked(tmp_path, Receiver(500))
    hook = world.hook()
    world.send(world.make_agent(), "hello")
    world.relay()
    world.webhooks.delete(hook.id)
    world.later(3600)
    assert (len(world.receiver.calls), world.all_stores.due.all()) == (1, [])


def test_a_bus_that_takes_nothing_keeps_no_webhook_waiting_and_gets_the_events_later(tmp_path: Path) -> None:
    bus = Bus(down=True)
    world = hooked(tmp_path, bus=bus)
    world.hook()
    world.send(world.make_agent(), "hello")
    with pytest.raises(BusFailure, match="throttled"):
        world.relay()
    assert len(world.receiver.calls) == 1
    bus.down = False
    world.later(120)
    assert world.receiver.ids() == [event.id for event in bus.events]
    assert world.all_stores.due.all() == []
