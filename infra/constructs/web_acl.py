"""The web ACL before the API (AWS WAF): AWS's common rules, tuned for an API whose bodies are texts, and a limit for each
address.

WAF inspects the first 16 KB of a body at API Gateway. The rule group's `SizeRestrictions_BODY` blocks bodies over 8 KB, and the
other `_BODY` rules block texts with HTML, paths and addresses, which are normal in conversations and tools. These rules count and
do not block; the app validates bodies. Rules for headers, paths and queries block. (AWS WAF developer guide, "Core rule set (CRS)
managed rule group" and "Considerations for managing body inspection".)
"""

from __future__ import annotations

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as waf
from constructs import Construct

from infra.endpoint_settings import OWN_WEB_ACL
from infra.settings import Settings

COUNTED = (
    "SizeRestrictions_BODY",
    "EC2MetaDataSSRF_BODY",
    "GenericLFI_BODY",
    "GenericRFI_BODY",
    "CrossSiteScripting_BODY",
    # Lists that name many agents or tags, and cursors, make queries longer than 2 KB.
    "SizeRestrictions_QUERYSTRING",
)
"""Rules of `AWSManagedRulesCommonRuleSet` that only count."""
WINDOW_SECONDS = 300


class WebAcl(Construct):
    """The association of a web ACL with the API's stage; the ACL itself unless the settings name another one."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, rest: apigateway.RestApi) -> None:
        super().__init__(scope, id)
        named = settings.endpoint.web_acl
        arn = self._own(settings).attr_arn if named == OWN_WEB_ACL else named
        waf.CfnWebACLAssociation(self, "Before", resource_arn=rest.deployment_stage.stage_arn, web_acl_arn=arn)

    def _own(self, settings: Settings) -> waf.CfnWebACL:
        kind = waf.CfnWebACL
        common = kind.ManagedRuleGroupStatementProperty(
            vendor_name="AWS",
            name="AWSManagedRulesCommonRuleSet",
            rule_action_overrides=[
                kind.RuleActionOverrideProperty(name=name, action_to_use=kind.RuleActionProperty(count={})) for name in COUNTED
            ],
        )
        # Half of what the stage admits in that time, so that one address cannot use all of it.
        limit = kind.RateBasedStatementProperty(
            aggregate_key_type="IP", limit=max(settings.rate * WINDOW_SECONDS // 2, 10), evaluation_window_sec=WINDOW_SECONDS
        )
        return kind(
            self,
            "Acl",
            scope="REGIONAL",
            default_action=kind.DefaultActionProperty(allow={}),
            visibility_config=_visibility(settings, "all"),
            rules=[
                kind.RuleProperty(
                    name="requests-of-one-address",
                    priority=0,
                    statement=kind.StatementProperty(rate_based_statement=limit),
                    action=kind.RuleActionProperty(block={}),
                    visibility_config=_visibility(settings, "address"),
                ),
                kind.RuleProperty(
                    name="common",
                    priority=1,
                    statement=kind.StatementProperty(managed_rule_group_statement=common),
                    override_action=kind.OverrideActionProperty(none={}),
                    visibility_config=_visibility(settings, "common"),
                ),
            ],
        )


def _visibility(settings: Settings, name: str) -> waf.CfnWebACL.VisibilityConfigProperty:
    """Metrics without samples: a sampled request would show its headers, and with them the API key."""
    return waf.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=f"{settings.stack_name}-{name}", sampled_requests_enabled=False
    )
