"""Calls about webhooks. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from .. import models, params
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Webhooks(Resource):
    """Calls about webhooks."""

    def list(
        self,
        factory_uid: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.Webhook]:
        """List webhooks.

        All of the factory, by name.

        Args:
          factory_uid: The uid of a factory.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/webhooks", factory_uid),
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "webhooks", models.Webhook)

    def create(
        self,
        factory_uid: str,
        *,
        name: str,
        auth_mode: models.WebhookAuthMode | None = None,
        delivery_id_header: str | None = None,
        enabled: bool | None = None,
        hmac: params.WebhookHMAC | models.WebhookHMAC | None = None,
        max_body_bytes: int | None = None,
        rate_limit: int | None = None,
        replay_guard: bool | None = None,
        secret: str | None = None,
        secret_name: str | None = None,
        signature_scheme: models.SignatureScheme | None = None,
        **options: Unpack[CallOptions],
    ) -> models.IssuedWebhook:
        """Create a webhook.

        A secret that the server generates is only in this answer. You may leave out a secret that
        the provider issues: the webhook is then created disabled with needs_secret, and
        webhooks.rotate takes the secret. At most 20 per factory.

        Args:
          factory_uid: The uid of a factory.
          name: Unique in the factory; also a file name of its definition. It cannot be changed.
          auth_mode: token when absent.
          delivery_id_header: The header that identifies a delivery.
          enabled: True when absent.
          hmac: Only for signature_scheme hmac, which requires it.
          max_body_bytes: 262144 when absent.
          rate_limit: Deliveries per minute; 0 means no limit. 60 if absent.
          replay_guard: A body that was accepted before is a duplicate under any delivery id.
          secret: The secret to use. If absent, a new one is generated, that of secret_name is used,
            or the provider's comes later with rotateWebhook.
          secret_name: The managed secret to use or create. If absent, NAME_WEBHOOK_SECRET.
          signature_scheme: Required with auth_mode signature, refused otherwise.
        """
        request = Request(
            "POST",
            path("/factory/{}/webhooks", factory_uid),
            body=fields({
                "name": name,
                "auth_mode": auth_mode,
                "delivery_id_header": delivery_id_header,
                "enabled": enabled,
                "hmac": hmac,
                "max_body_bytes": max_body_bytes,
                "rate_limit": rate_limit,
                "replay_guard": replay_guard,
                "secret": secret,
                "secret_name": secret_name,
                "signature_scheme": signature_scheme,
            }),
            options=checked(self.create, options),
        )
        return self._call(request, models.IssuedWebhook)

    def get(
        self,
        factory_uid: str,
        webhook_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.Webhook:
        """Get a webhook.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
        """
        request = Request(
            "GET",
            path("/factory/{}/webhooks/{}", factory_uid, webhook_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.Webhook)

    def update(
        self,
        factory_uid: str,
        webhook_uid: str,
        *,
        auth_mode: models.WebhookAuthMode | None = None,
        delivery_id_header: str | None = None,
        enabled: bool | None = None,
        hmac: params.WebhookHMAC | models.WebhookHMAC | None = None,
        max_body_bytes: int | None = None,
        name: str | None = None,
        rate_limit: int | None = None,
        replay_guard: bool | None = None,
        secret: Any = None,
        secret_name: str | None = None,
        signature_scheme: models.SignatureScheme | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Webhook:
        """Change a webhook.

        What is absent stays. Senders of a disabled webhook get 404 at once.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          auth_mode: Another mode gets 422.
          delivery_id_header: Empty removes it.
          enabled: Enabling it uses the current value of the managed secret.
          hmac: Replaced as a whole.
          name: Another name gets 422: create a second webhook instead.
          secret: Always gets 400: use rotateWebhook.
          secret_name: Another managed secret, which must exist; its value counts from now on.
          signature_scheme: Another scheme gets 422.
        """
        request = Request(
            "PATCH",
            path("/factory/{}/webhooks/{}", factory_uid, webhook_uid),
            body=fields({
                "auth_mode": auth_mode,
                "delivery_id_header": delivery_id_header,
                "enabled": enabled,
                "hmac": hmac,
                "max_body_bytes": max_body_bytes,
                "name": name,
                "rate_limit": rate_limit,
                "replay_guard": replay_guard,
                "secret": secret,
                "secret_name": secret_name,
                "signature_scheme": signature_scheme,
            }),
            options=checked(self.update, options),
        )
        return self._call(request, models.Webhook)

    def delete(
        self,
        factory_uid: str,
        webhook_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a webhook.

        Senders get 404 at once. Its log stays until it expires; automations that select it stay,
        but do not fire.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
        """
        request = Request(
            "DELETE",
            path("/factory/{}/webhooks/{}", factory_uid, webhook_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)

    def rotate(
        self,
        factory_uid: str,
        webhook_uid: str,
        *,
        overlap_seconds: int | None = None,
        secret: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.IssuedWebhook:
        """Replace the secret of a webhook.

        The old secret ends at once, or after overlap_seconds. A webhook that waits for its
        provider's secret is enabled with it. A webhook that uses a managed secret is answered with
        409: change the value of that secret instead.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          overlap_seconds: How long the old secret stays valid; if absent, it ends at once.
          secret: The new secret; generated when absent. Required for schemes whose provider makes
            it.
        """
        request = Request(
            "POST",
            path("/factory/{}/webhooks/{}/rotate", factory_uid, webhook_uid),
            body=fields({"overlap_seconds": overlap_seconds, "secret": secret}),
            options=checked(self.rotate, options),
        )
        return self._call(request, models.IssuedWebhook)

    def test(
        self,
        factory_uid: str,
        webhook_uid: str,
        *,
        body: str | None = None,
        event: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.TestWebhookResponse:
        """Send a test event.

        The server signs the event with the webhook's own secret and treats it as if its sender had
        sent it: it counts against the rate limit, is in the log, marked as a test, and starts what
        matches.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          body: The text to send as the body. Absent: an example of what the provider sends.
          event: The event in the provider's header, such as issues.
        """
        request = Request(
            "POST",
            path("/factory/{}/webhooks/{}/test", factory_uid, webhook_uid),
            body=fields({"body": body, "event": event}),
            options=checked(self.test, options),
        )
        return self._call(request, models.TestWebhookResponse)


class AsyncWebhooks(AsyncResource):
    """Calls about webhooks, to be awaited."""

    def list(
        self,
        factory_uid: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.Webhook]:
        """List webhooks.

        All of the factory, by name.

        Args:
          factory_uid: The uid of a factory.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/webhooks", factory_uid),
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "webhooks", models.Webhook)

    async def create(
        self,
        factory_uid: str,
        *,
        name: str,
        auth_mode: models.WebhookAuthMode | None = None,
        delivery_id_header: str | None = None,
        enabled: bool | None = None,
        hmac: params.WebhookHMAC | models.WebhookHMAC | None = None,
        max_body_bytes: int | None = None,
        rate_limit: int | None = None,
        replay_guard: bool | None = None,
        secret: str | None = None,
        secret_name: str | None = None,
        signature_scheme: models.SignatureScheme | None = None,
        **options: Unpack[CallOptions],
    ) -> models.IssuedWebhook:
        """Create a webhook.

        A secret that the server generates is only in this answer. You may leave out a secret that
        the provider issues: the webhook is then created disabled with needs_secret, and
        webhooks.rotate takes the secret. At most 20 per factory.

        Args:
          factory_uid: The uid of a factory.
          name: Unique in the factory; also a file name of its definition. It cannot be changed.
          auth_mode: token when absent.
          delivery_id_header: The header that identifies a delivery.
          enabled: True when absent.
          hmac: Only for signature_scheme hmac, which requires it.
          max_body_bytes: 262144 when absent.
          rate_limit: Deliveries per minute; 0 means no limit. 60 if absent.
          replay_guard: A body that was accepted before is a duplicate under any delivery id.
          secret: The secret to use. If absent, a new one is generated, that of secret_name is used,
            or the provider's comes later with rotateWebhook.
          secret_name: The managed secret to use or create. If absent, NAME_WEBHOOK_SECRET.
          signature_scheme: Required with auth_mode signature, refused otherwise.
        """
        request = Request(
            "POST",
            path("/factory/{}/webhooks", factory_uid),
            body=fields({
                "name": name,
                "auth_mode": auth_mode,
                "delivery_id_header": delivery_id_header,
                "enabled": enabled,
                "hmac": hmac,
                "max_body_bytes": max_body_bytes,
                "rate_limit": rate_limit,
                "replay_guard": replay_guard,
                "secret": secret,
                "secret_name": secret_name,
                "signature_scheme": signature_scheme,
            }),
            options=checked(self.create, options),
        )
        return await self._call(request, models.IssuedWebhook)

    async def get(
        self,
        factory_uid: str,
        webhook_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.Webhook:
        """Get a webhook.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
        """
        request = Request(
            "GET",
            path("/factory/{}/webhooks/{}", factory_uid, webhook_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.Webhook)

    async def update(
        self,
        factory_uid: str,
        webhook_uid: str,
        *,
        auth_mode: models.WebhookAuthMode | None = None,
        delivery_id_header: str | None = None,
        enabled: bool | None = None,
        hmac: params.WebhookHMAC | models.WebhookHMAC | None = None,
        max_body_bytes: int | None = None,
        name: str | None = None,
        rate_limit: int | None = None,
        replay_guard: bool | None = None,
        secret: Any = None,
        secret_name: str | None = None,
        signature_scheme: models.SignatureScheme | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Webhook:
        """Change a webhook.

        What is absent stays. Senders of a disabled webhook get 404 at once.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          auth_mode: Another mode gets 422.
          delivery_id_header: Empty removes it.
          enabled: Enabling it uses the current value of the managed secret.
          hmac: Replaced as a whole.
          name: Another name gets 422: create a second webhook instead.
          secret: Always gets 400: use rotateWebhook.
          secret_name: Another managed secret, which must exist; its value counts from now on.
          signature_scheme: Another scheme gets 422.
        """
        request = Request(
            "PATCH",
            path("/factory/{}/webhooks/{}", factory_uid, webhook_uid),
            body=fields({
                "auth_mode": auth_mode,
                "delivery_id_header": delivery_id_header,
                "enabled": enabled,
                "hmac": hmac,
                "max_body_bytes": max_body_bytes,
                "name": name,
                "rate_limit": rate_limit,
                "replay_guard": replay_guard,
                "secret": secret,
                "secret_name": secret_name,
                "signature_scheme": signature_scheme,
            }),
            options=checked(self.update, options),
        )
        return await self._call(request, models.Webhook)

    async def delete(
        self,
        factory_uid: str,
        webhook_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a webhook.

        Senders get 404 at once. Its log stays until it expires; automations that select it stay,
        but do not fire.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
        """
        request = Request(
            "DELETE",
            path("/factory/{}/webhooks/{}", factory_uid, webhook_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)

    async def rotate(
        self,
        factory_uid: str,
        webhook_uid: str,
        *,
        overlap_seconds: int | None = None,
        secret: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.IssuedWebhook:
        """Replace the secret of a webhook.

        The old secret ends at once, or after overlap_seconds. A webhook that waits for its
        provider's secret is enabled with it. A webhook that uses a managed secret is answered with
        409: change the value of that secret instead.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          overlap_seconds: How long the old secret stays valid; if absent, it ends at once.
          secret: The new secret; generated when absent. Required for schemes whose provider makes
            it.
        """
        request = Request(
            "POST",
            path("/factory/{}/webhooks/{}/rotate", factory_uid, webhook_uid),
            body=fields({"overlap_seconds": overlap_seconds, "secret": secret}),
            options=checked(self.rotate, options),
        )
        return await self._call(request, models.IssuedWebhook)

    async def test(
        self,
        factory_uid: str,
        webhook_uid: str,
        *,
        body: str | None = None,
        event: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.TestWebhookResponse:
        """Send a test event.

        The server signs the event with the webhook's own secret and treats it as if its sender had
        sent it: it counts against the rate limit, is in the log, marked as a test, and starts what
        matches.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          body: The text to send as the body. Absent: an example of what the provider sends.
          event: The event in the provider's header, such as issues.
        """
        request = Request(
            "POST",
            path("/factory/{}/webhooks/{}/test", factory_uid, webhook_uid),
            body=fields({"body": body, "event": event}),
            options=checked(self.test, options),
        )
        return await self._call(request, models.TestWebhookResponse)
