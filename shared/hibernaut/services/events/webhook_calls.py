"""One call of a webhook: an event is signed and sent, and the answer judged (Standard Webhooks, standardwebhooks.com).

Whatever the receiver does is an outcome and no error: it hangs, redirects, answers ten megabytes. Only the status of its answer
is read.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.events import OutboundEvent, signature
from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.ports.tools.web import Web, WebFailure
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.events.webhook import SealedSecret, StoredWebhook
from hibernaut.schemas.immutable import immutable
from hibernaut.store.table.tenant_seals import SealPurpose, TenantSeals

SECONDS = 10.0
"""The time limit of a call in seconds, from the look-up of the name to the status of the answer."""
GONE = 410
USER_AGENT = "hibernaut-webhooks"
logger = logging.getLogger(__name__)


@immutable
class WebhookOutcome:
    """The outcome of a call. `error` None: the receiver has taken the event. `final`: no further call makes sense."""

    status: int | None
    error: str | None
    duration_ms: int
    final: bool = False


class WebhookVault:
    """Seals and opens the secrets of a tenant's webhooks."""

    def __init__(self, seals: TenantSeals) -> None:
        self._seals = seals

    def seal(self, webhook_id: str, secret: bytes) -> str:
        """The sealed secret in base64. Raises: MasterKeyUnavailable, NotImplementedHere."""
        return self._seals.seal(secret, SealPurpose.WEBHOOK, webhook_id)

    def open(self, webhook_id: str, secrets: Sequence[SealedSecret], now: datetime) -> list[bytes]:
        """The secrets that are valid now. Raises: SealBroken, MasterKeyUnavailable, NotImplementedHere."""
        valid = (each for each in secrets if each.until is None or each.until > now)
        return [self._seals.open(each.sealed, SealPurpose.WEBHOOK, webhook_id) for each in valid]


class WebhookCalls:
    """Calls the webhooks of one tenant."""

    def __init__(self, vault: WebhookVault, web: Web, clock: Clock) -> None:
        self._vault = vault
        self._web = web
        self._clock = clock

    def send(self, webhook: StoredWebhook, event: OutboundEvent) -> WebhookOutcome:
        """Send the event once. Raises: nothing of the receiver's, and no secret that cannot be opened."""
        started_at = self._clock.monotonic()
        try:
            status, error = self._sent(webhook, event), None
        except WebFailure as failure:
            status, error = None, str(failure)
        except (HibernautError, SealBroken) as failure:
            logger.warning(
                "secret of a webhook cannot be opened", extra={"webhook_id": webhook.id, "error": type(failure).__name__}
            )
            status, error = None, "the secret of the webhook cannot be decrypted; rotate it"
        elapsed_ms = int((self._clock.monotonic() - started_at) * 1000)
        return WebhookOutcome(status, error or _fault(status), elapsed_ms, final=status == GONE)

    def _sent(self, webhook: StoredWebhook, event: OutboundEvent) -> int:
        now, body = self._clock.now(), event.body()
        secrets = self._vault.open(webhook.id, webhook.secrets, now)
        timestamp = int(now.timestamp())
        headers = {
            "content-type": "application/json",
            "user-agent": USER_AGENT,
            "webhook-id": event.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(secrets, event.id, timestamp, body),
        }
        return self._web.deliver(webhook.url, body, headers, seconds=SECONDS)


def _fault(status: int | None) -> str | None:
    if status is None or 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"answered {status}; redirects are not followed"
    return f"answered {status}"
