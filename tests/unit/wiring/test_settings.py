"""Settings as they are read from the environment: what is asked for, and what is refused with the variable's name."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Literal

import pytest

from hibernaut.services.host import Retention
from hibernaut.services.schedules.schedules import MOST_OF_TENANT
from hibernaut.wiring.aws_functions.sockets import callers_in
from hibernaut.wiring.configuration.retention_settings import RetentionSettings
from hibernaut.wiring.configuration.variables import LARGEST_DIMENSION
from hibernaut.wiring.engines.memory_index import index_of
from hibernaut.wiring.settings import AwsSettings, BadSetting, EmbeddedSettings
from hibernaut.wiring.tenant_budget import tenant_budget_of


def test_without_anything_set_the_deployment_chooses_its_embedding() -> None:
    settings = EmbeddedSettings.from_environment({})
    assert (settings.default_embedding, settings.embedding_dimension) == (None, None)


@pytest.mark.parametrize("handle", ["openai/text-embedding-3-small", "openai/BAAI/bge-m3", "none"])
def test_a_handle_or_none_names_the_embedding_of_either_profile(handle: str) -> None:
    variables = {"HIBERNAUT_TABLE": "t", "HIBERNAUT_DEFAULT_EMBEDDING": handle, "HIBERNAUT_EMBEDDING_DIMENSION": "512"}
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        assert (settings.default_embedding, settings.embedding_dimension) == (handle, 512)


@pytest.mark.parametrize("handle", ["minilm", "/minilm", "openai/", "/"])
def test_an_embedding_that_is_no_handle_is_refused(handle: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_DEFAULT_EMBEDDING must be a handle"):
        EmbeddedSettings.from_environment({"HIBERNAUT_DEFAULT_EMBEDDING": handle})


@pytest.mark.parametrize("dimension", ["0", "-1", "1.5", "many", str(LARGEST_DIMENSION + 1), "²"])
def test_a_dimension_that_is_no_number_of_dimensions_is_refused(dimension: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_EMBEDDING_DIMENSION must be a number from 1 to 16000"):
        EmbeddedSettings.from_environment({"HIBERNAUT_EMBEDDING_DIMENSION": dimension})


def test_hosts_and_origins_are_read_without_regard_to_case_and_space() -> None:
    variables = {"HIBERNAUT_TABLE": "t", "HIBERNAUT_ALLOWED_HOSTS": "API.example.com, [::1]:8443"}
    variables["HIBERNAUT_CORS_ORIGINS"] = "https://App.example.com,http://localhost:3000"
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        assert settings.allowed_hosts == ("api.example.com", "[::1]:8443")
        assert settings.cors_origins == ("https://app.example.com", "http://localhost:3000")


@pytest.mark.parametrize("host", ["*", "*.example.com", "https://example.com", "example.com/path", "example.com:http", "a b"])
def test_a_host_that_no_header_names_is_refused(host: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_ALLOWED_HOSTS must be names"):
        EmbeddedSettings.from_environment({"HIBERNAUT_ALLOWED_HOSTS": host})


@pytest.mark.parametrize("origin", ["*", "null", "https://", "app.example.com", "https://*.example.com", "https://example.com/"])
def test_an_origin_that_names_no_one_site_is_refused(origin: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_CORS_ORIGINS must be origins"):
        EmbeddedSettings.from_environment({"HIBERNAUT_CORS_ORIGINS": origin})


@pytest.mark.parametrize("address", ["/var/index.db", "index.example:9200", "file:///var/index.db"])
def test_an_index_is_named_by_an_address_and_by_nothing_else(address: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_OPENSEARCH must be an address"):
        AwsSettings.from_environment({"HIBERNAUT_TABLE": "t", "HIBERNAUT_OPENSEARCH": address})


@pytest.mark.parametrize(("given", "life"), [(None, "5m"), ("", "5m"), ("5m", "5m"), ("1h", "1h")])
def test_the_prompt_cache_of_either_profile_lives_five_minutes_or_an_hour(given: str | None, life: str) -> None:
    variables = {"HIBERNAUT_TABLE": "t"} | ({} if given is None else {"HIBERNAUT_PROMPT_CACHE": given})
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        assert settings.prompt_cache == life


@pytest.mark.parametrize("life", ["1H", "60m", "0", "yes"])
def test_another_life_of_the_prompt_cache_is_refused(life: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_PROMPT_CACHE must be 5m or 1h, not"):
        EmbeddedSettings.from_environment({"HIBERNAUT_PROMPT_CACHE": life})


def test_on_aws_bedrock_is_that_of_the_functions_own_region() -> None:
    variables = {"HIBERNAUT_TABLE": "t", "AWS_REGION": "eu-central-1", "BEDROCK_REGION": "us-east-1"}
    assert AwsSettings.from_environment(variables).bedrock_region == ""
    told = AwsSettings.from_environment(variables | {"BEDROCK_MODELS": "eu.anthropic.*"})
    assert (told.bedrock_region, told.bedrock_models) == ("eu-central-1", "eu.anthropic.*")


@pytest.mark.parametrize(
    ("given", "mode"), [(None, "frozen"), ("", "frozen"), ("frozen", "frozen"), ("recompiled", "recompiled")]
)
def test_the_system_message_of_either_profile_is_frozen_or_recompiled(given: str | None, mode: str) -> None:
    variables = {"HIBERNAUT_TABLE": "t"} | ({} if given is None else {"HIBERNAUT_SYSTEM_PROMPT": given})
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        assert settings.system_prompt == mode


@pytest.mark.parametrize(("given", "days"), [(None, 90), ("", 90), ("1", 1), ("3650", 3650)])
def test_versions_of_memory_are_kept_for_days_that_a_setting_names(given: str | None, days: int) -> None:
    variables = {"HIBERNAUT_TABLE": "t"} | ({} if given is None else {"HIBERNAUT_HISTORY_DAYS": given})
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        assert settings.history.days == days


@pytest.mark.parametrize(("given", "days"), [(None, None), ("", None), ("90", 90)])
def test_agents_rest_after_days_that_a_setting_names_or_never(given: str | None, days: int | None) -> None:
    variables = {"HIBERNAUT_TABLE": "t"} | ({} if given is None else {"HIBERNAUT_REST_DAYS": given})
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        assert settings.retention == RetentionSettings(timedelta(days=days) if days else None)


@pytest.mark.parametrize(("days", "mode", "kept"), [("", "", None), ("30", "", "archive"), ("30", "delete", "delete")])
def test_old_messages_stay_or_are_packed_or_deleted_as_settings_say(
    days: str, mode: str, kept: Literal["archive", "delete"] | None
) -> None:
    variables = {"HIBERNAUT_TABLE": "t", "HIBERNAUT_RETENTION_DAYS": days, "HIBERNAUT_RETENTION": mode}
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        assert settings.retention.messages == (Retention(timedelta(days=30), kept) if kept else None)
        assert EmbeddedSettings.from_environment(settings.retention.variables()).retention == settings.retention


def test_a_retention_is_refused_without_an_age_or_of_another_kind() -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_RETENTION needs HIBERNAUT_RETENTION_DAYS, the age in days"):
        EmbeddedSettings.from_environment({"HIBERNAUT_RETENTION": "delete"})
    with pytest.raises(BadSetting, match="HIBERNAUT_RETENTION must be archive or delete, not 'shred'"):
        EmbeddedSettings.from_environment({"HIBERNAUT_RETENTION_DAYS": "3", "HIBERNAUT_RETENTION": "shred"})


@pytest.mark.parametrize("given", ["0", "3651", "-1", "1.5", "soon", "9" * 100])
def test_another_number_of_days_is_refused(given: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_HISTORY_DAYS must be a whole number of days from 1 to 3650"):
        EmbeddedSettings.from_environment({"HIBERNAUT_HISTORY_DAYS": given})


@pytest.mark.parametrize("mode", ["Frozen", "off", "thawed"])
def test_another_kind_of_system_message_is_refused(mode: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_SYSTEM_PROMPT must be frozen or recompiled, not"):
        EmbeddedSettings.from_environment({"HIBERNAUT_SYSTEM_PROMPT": mode})


def test_a_region_of_bedrock_must_be_one() -> None:
    assert EmbeddedSettings.from_environment({"BEDROCK_REGION": "eu-central-1"}).providers == {"BEDROCK_REGION": "eu-central-1"}
    with pytest.raises(BadSetting, match="BEDROCK_REGION must be an AWS region like eu-central-1, not 'Frankfurt'"):
        EmbeddedSettings.from_environment({"BEDROCK_REGION": "Frankfurt"})


def test_a_location_of_vertex_ai_must_be_one() -> None:
    assert EmbeddedSettings.from_environment({"GOOGLE_CLOUD_LOCATION": "eu"}).providers == {"GOOGLE_CLOUD_LOCATION": "eu"}
    with pytest.raises(BadSetting, match="GOOGLE_CLOUD_LOCATION must be a location like europe-west4, or global, not 'x/'"):
        EmbeddedSettings.from_environment({"GOOGLE_CLOUD_LOCATION": "x/"})


def test_the_budget_of_tenants_is_read_in_either_profile() -> None:
    text = "tokens_per_day=1000000, cost_per_month=12.50, warn_at=0.5"
    variables = {"HIBERNAUT_TABLE": "t", "HIBERNAUT_TENANT_BUDGET": text}
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        budget = tenant_budget_of(settings.tenant_budget)
        assert budget is not None
        assert budget.limits() == {"tokens_per_day": 1_000_000, "cost_per_month": Decimal("12.5")}
        assert budget.warn_at == 0.5
    assert tenant_budget_of(EmbeddedSettings.from_environment({}).tenant_budget) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("tokens_per_day", "'tokens_per_day' is not a limit"),
        ("tokens_per_day=1,tokens_per_day=2", "occurs twice"),
        ("tokens_per_day=0", "tokens_per_day: Input should be greater"),
        ("tokens_per_week=5", "tokens_per_week"),
        ("warn_at=0.5", "at least one limit"),
    ],
)
def test_a_budget_of_tenants_that_cannot_be_is_refused(text: str, named: str) -> None:
    with pytest.raises(BadSetting, match="HIBERNAUT_TENANT_BUDGET must be limits like") as refused:
        EmbeddedSettings.from_environment({"HIBERNAUT_TENANT_BUDGET": text})
    assert named in str(refused.value)


def test_the_index_is_in_a_domain_unless_it_is_said_to_be_in_a_collection() -> None:
    given = {"HIBERNAUT_TABLE": "t", "HIBERNAUT_OPENSEARCH": "https://it.aoss.eu-central-1.on.aws"}
    assert AwsSettings.from_environment(given).opensearch_service == "es"
    late = index_of(AwsSettings.from_environment({**given, "HIBERNAUT_OPENSEARCH_SERVICE": "aoss"}))
    domain = index_of(AwsSettings.from_environment(given))
    assert late is not None
    assert domain is not None
    assert (domain.visible_after, late.visible_after) == (0, 120)
    with pytest.raises(BadSetting, match="must be es or aoss, not 's3'"):
        AwsSettings.from_environment({**given, "HIBERNAUT_OPENSEARCH_SERVICE": "s3"})


def test_the_addresses_that_may_open_web_sockets_are_nobody_unless_they_are_named() -> None:
    assert (callers_in(""), callers_in("none"), callers_in("public")) == ((), (), None)
    found = callers_in("203.0.113.0/24, 2001:db8::/32")
    assert found is not None
    assert [str(each) for each in found] == ["203.0.113.0/24", "2001:db8::/32"]
    with pytest.raises(BadSetting, match="HIBERNAUT_CALLERS"):
        callers_in("203.0.113.7/24")


def test_the_time_for_a_reply_of_another_agent_is_an_hour_and_at_most_half_a_day() -> None:
    variables = {"HIBERNAUT_TABLE": "t", "HIBERNAUT_AGENT_REPLY": "43200"}
    for kind in (EmbeddedSettings, AwsSettings):
        assert kind.from_environment({"HIBERNAUT_TABLE": "t"}).agent_reply == 3600
        assert kind.from_environment(variables).agent_reply == 43_200
        with pytest.raises(BadSetting, match="HIBERNAUT_AGENT_REPLY must be a number of seconds from 0 to 43200"):
            kind.from_environment({**variables, "HIBERNAUT_AGENT_REPLY": "43201"})


def test_eventbridge_fires_all_schedules_of_a_tenant_unless_a_number_is_set() -> None:
    assert AwsSettings.from_environment({"HIBERNAUT_TABLE": "t"}).schedules.most == MOST_OF_TENANT
    assert AwsSettings.from_environment({"HIBERNAUT_TABLE": "t", "HIBERNAUT_MOST_ALARMS": "0"}).schedules.most == 0
    for text in ("-1", "1.5", "many", "1000001"):
        with pytest.raises(BadSetting, match="HIBERNAUT_MOST_ALARMS must be a whole number from 0 to 1000000"):
            AwsSettings.from_environment({"HIBERNAUT_TABLE": "t", "HIBERNAUT_MOST_ALARMS": text})


def test_at_home_this_machine_is_named_and_on_aws_nothing() -> None:
    home, aws = EmbeddedSettings.from_environment({}), AwsSettings.from_environment({"HIBERNAUT_TABLE": "t"})
    assert home.outward.clients.admits("localhost", "127.0.0.1")
    assert not home.outward.pages.private
    assert (aws.outward.clients.private, aws.outward.pages.private) == (False, False)
    assert (home.outward.clients.setting, aws.outward.clients.setting) == ("HIBERNAUT_PRIVATE_ADDRESSES", "")


def test_private_hosts_and_networks_are_named_for_either_profile() -> None:
    variables = {
        "HIBERNAUT_TABLE": "t",
        "HIBERNAUT_PRIVATE_ADDRESSES": "NAS.local., 192.168.1.7/24",
        "HIBERNAUT_PRIVATE_PAGES": "fd12::/64",
    }
    for settings in (EmbeddedSettings.from_environment(variables), AwsSettings.from_environment(variables)):
        clients, pages = settings.outward.clients, settings.outward.pages
        assert (clients.admits("nas.local", "10.0.0.1"), clients.admits("other", "192.168.1.200")) == (True, True)
        assert (clients.admits("localhost", "127.0.0.1"), pages.admits("other", "fd12::7")) == (False, True)
    assert not EmbeddedSettings.from_environment({"HIBERNAUT_PRIVATE_ADDRESSES": "none"}).outward.clients.private


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("169.254.0.0/16", "never are"),
        ("0.0.0.0/0", "private networks"),
        ("8.8.8.8", "reached anyway"),
        ("::ffff:127.0.0.1", "private networks"),
        ("fe80::/10", "private networks"),
        ("ex ample", "host names and networks"),
        ("10.0.0.300", "host names and networks"),
        ("http://nas.local", "host names and networks"),
        ("none,nas.local", "host names and networks"),
        ("*.local", "host names and networks"),
    ],
)
@pytest.mark.parametrize("name", ["HIBERNAUT_PRIVATE_ADDRESSES", "HIBERNAUT_PRIVATE_PAGES"])
def test_what_is_no_private_address_is_refused_with_its_variable(name: str, text: str, why: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} must .*{why}"):
        EmbeddedSettings.from_environment({name: text})


@pytest.mark.parametrize("name", ["OPENAI_WIRE", "AZURE_WIRE"])
def test_a_wire_is_one_of_two_apis(name: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} must be responses or chat, not 'completions'"):
        EmbeddedSettings.from_environment({name: "completions"})
