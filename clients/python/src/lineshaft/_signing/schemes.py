"""The table of schemes: one row for each way to sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from typing_extensions import Literal

Digest = Literal["sha1", "sha256", "sha384", "sha512", "salted-sha256", "ed25519", "token"]
Encoding = Literal["hex", "base64", "plain"]
KeyKind = Literal["text", "shared", "private"]


@dataclass(frozen=True)
class Rule:
    """One way to sign."""

    header: str
    """Carries the signature."""
    signed: str = "{body}"
    """What is signed, with {body}, {timestamp}, {id}, {method} and {url}."""
    prefix: str = ""
    digest: Digest = "sha256"
    encoding: Encoding = "hex"
    stamp_header: str = ""
    """A header of its own for the time."""
    stamp_item: str = ""
    """The time's name in the signature header, as t of "t=1,v1=…"."""
    stamp_body: str = ""
    """The member of the body that has the time, in milliseconds; it must be there."""
    milliseconds: bool = False
    id_header: str = ""
    """Carries the id that is signed."""
    key: KeyKind = "text"
    form: bool = False
    """For bodies that are forms."""


@dataclass(frozen=True)
class Scheme:
    """How one provider signs. The first rule that fits the secret and the body is used."""

    rules: tuple[Rule, ...]
    id_header: str = ""
    """Carries the delivery id where it is not signed."""


def standard(digest: Digest = "sha256") -> Rule:
    """A signature of Standard Webhooks."""
    private = digest == "ed25519"
    return Rule(
        "webhook-signature",
        "{id}.{timestamp}.{body}",
        prefix="v1a," if private else "v1,",
        digest=digest,
        encoding="base64",
        stamp_header="webhook-timestamp",
        id_header="webhook-id",
        key="private" if private else "shared",
    )


def _stamped(header: str, item: str, prefix: str) -> Scheme:
    """Time and signature in one header."""
    return Scheme((Rule(header, "{timestamp}.{body}", prefix=prefix, stamp_item=item),))


SCHEMES: Mapping[str, Scheme] = {
    "bitbucket": Scheme((Rule("X-Hub-Signature", prefix="sha256="),), id_header="X-Request-UUID"),
    "buildkite": _stamped("X-Buildkite-Signature", "timestamp", "signature="),
    "calendly": _stamped("Calendly-Webhook-Signature", "t", "v1="),
    "circleci": Scheme((Rule("Circleci-Signature", prefix="v1="),)),
    "discord": Scheme(
        (
            Rule(
                "X-Signature-Ed25519",
                "{timestamp}{body}",
                digest="ed25519",
                stamp_header="X-Signature-Timestamp",
                key="private",
            ),
        )
    ),
    "dropbox": Scheme((Rule("X-Dropbox-Signature"),)),
    "github": Scheme((Rule("X-Hub-Signature-256", prefix="sha256="),), id_header="X-GitHub-Delivery"),
    "gitlab": Scheme(
        (standard(), Rule("X-Gitlab-Token", digest="token", encoding="plain")),
        id_header="Idempotency-Key",
    ),
    "grafana": Scheme(
        (Rule("X-Grafana-Alerting-Signature", "{timestamp}:{body}", stamp_header="X-Grafana-Alerting-Timestamp"),)
    ),
    "hubspot": Scheme(
        (
            Rule(
                "X-HubSpot-Signature-v3",
                "{method}{url}{body}{timestamp}",
                encoding="base64",
                stamp_header="X-HubSpot-Request-Timestamp",
                milliseconds=True,
            ),
        )
    ),
    "intercom": Scheme((Rule("X-Hub-Signature", prefix="sha1=", digest="sha1"),)),
    "jira": Scheme((Rule("X-Hub-Signature", prefix="sha256="),), id_header="X-Atlassian-Webhook-Identifier"),
    "linear": Scheme((Rule("Linear-Signature", stamp_body="webhookTimestamp"),), id_header="Linear-Delivery"),
    "pagerduty": Scheme((Rule("X-PagerDuty-Signature", prefix="v1="),), id_header="X-Webhook-Id"),
    "sentry": Scheme((Rule("Sentry-Hook-Signature"),)),
    "shopify": Scheme((Rule("X-Shopify-Hmac-Sha256", encoding="base64"),), id_header="X-Shopify-Webhook-Id"),
    "slack": Scheme(
        (Rule("X-Slack-Signature", "v0:{timestamp}:{body}", prefix="v0=", stamp_header="X-Slack-Request-Timestamp"),)
    ),
    "square": Scheme((Rule("X-Square-Hmacsha256-Signature", "{url}{body}", encoding="base64"),)),
    "standard_webhooks": Scheme((standard(), standard("ed25519"))),
    "stripe": _stamped("Stripe-Signature", "t", "v1="),
    "twilio": Scheme(
        (
            Rule("X-Twilio-Signature", "{url}{form}", digest="sha1", encoding="base64", form=True),
            Rule("X-Twilio-Signature", "{hashed_url}", digest="sha1", encoding="base64"),
        ),
        id_header="I-Twilio-Idempotency-Token",
    ),
    "typeform": Scheme((Rule("Typeform-Signature", prefix="sha256=", encoding="base64"),)),
    "vercel": Scheme((Rule("X-Vercel-Signature", digest="sha1"),)),
    "zoom": Scheme(
        (Rule("X-Zm-Signature", "v0:{timestamp}:{body}", prefix="v0=", stamp_header="X-Zm-Request-Timestamp"),)
    ),
}
"""Every scheme of the server but hmac, whose rule its settings make."""
