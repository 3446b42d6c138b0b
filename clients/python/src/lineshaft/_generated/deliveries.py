"""Calls about deliveries. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Sequence

from typing_extensions import Unpack

from .. import models
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Deliveries(Resource):
    """Calls about deliveries."""

    def list(
        self,
        factory_uid: str,
        webhook_uid: str,
        *,
        received_after: datetime | str | None = None,
        received_before: datetime | str | None = None,
        status: models.DeliveryStatus | Sequence[models.DeliveryStatus] | None = None,
        outcome: models.OutcomeResult | Sequence[models.OutcomeResult] | None = None,
        event: str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.Delivery]:
        """Read the log of a webhook.

        Newest first; also for a deleted webhook. Deliveries that are older than 7 days and not
        among the newest 50 are removed.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          received_after: Inclusive.
          received_before: Exclusive.
          status: One or several.
          outcome: Deliveries for which an automation had this outcome. One or several.
          event: The event that the provider named in its header.
          q: A part of an id, an identity, an address, an automation's name or a reason.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/webhooks/{}/deliveries", factory_uid, webhook_uid),
            query={
                "received_after": received_after,
                "received_before": received_before,
                "status": status,
                "outcome": outcome,
                "event": event,
                "q": q,
                "limit": limit,
                "cursor": cursor,
            },
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "deliveries", models.Delivery)

    def list_all(
        self,
        factory_uid: str,
        *,
        status: models.DeliveryStatus | Sequence[models.DeliveryStatus] | None = None,
        outcome: models.OutcomeResult | Sequence[models.OutcomeResult] | None = None,
        event: str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.LoggedDelivery]:
        """Read the logs of a factory.

        Deliveries to all live webhooks of the factory, newest first.

        Args:
          factory_uid: The uid of a factory.
          status: One or several.
          outcome: Deliveries for which an automation had this outcome. One or several.
          event: The event that the provider named in its header.
          q: A part of an id, an identity, an address, an automation's name or a reason.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/deliveries", factory_uid),
            query={
                "status": status,
                "outcome": outcome,
                "event": event,
                "q": q,
                "limit": limit,
                "cursor": cursor,
            },
            replay=True,
            options=checked(self.list_all, options),
        )
        return self._list(request, "deliveries", models.LoggedDelivery)

    def get(
        self,
        factory_uid: str,
        webhook_uid: str,
        delivery_id: str,
        *,
        explain: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.DeliveryDetail:
        """Get a delivery.

        With its payload, if it was accepted.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          delivery_id: The id of a delivery.
          explain: Adds not_matched_automations.
        """
        request = Request(
            "GET",
            path("/factory/{}/webhooks/{}/deliveries/{}", factory_uid, webhook_uid, delivery_id),
            query={"explain": explain},
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.DeliveryDetail)

    def redeliver(
        self,
        factory_uid: str,
        webhook_uid: str,
        delivery_id: str,
        *,
        dry_run: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RedeliverResponse:
        """Deliver again.

        Evaluates a stored delivery with the current automations, under a new id. The rate limit and
        the identity are not checked, and this works for a disabled webhook. Only accepted
        deliveries can be repeated; for a duplicate, repeat the first one. A dry run, asked for in
        the body or the query, stores and starts nothing.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          delivery_id: The id of a delivery.
          dry_run: Shows what would happen and stores nothing.
        """
        request = Request(
            "POST",
            path(
                "/factory/{}/webhooks/{}/deliveries/{}/redeliver", factory_uid, webhook_uid, delivery_id,
            ),
            body=fields({"dry_run": dry_run}),
            replay=True,
            options=checked(self.redeliver, options),
        )
        return self._call(request, models.RedeliverResponse)


class AsyncDeliveries(AsyncResource):
    """Calls about deliveries, to be awaited."""

    def list(
        self,
        factory_uid: str,
        webhook_uid: str,
        *,
        received_after: datetime | str | None = None,
        received_before: datetime | str | None = None,
        status: models.DeliveryStatus | Sequence[models.DeliveryStatus] | None = None,
        outcome: models.OutcomeResult | Sequence[models.OutcomeResult] | None = None,
        event: str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.Delivery]:
        """Read the log of a webhook.

        Newest first; also for a deleted webhook. Deliveries that are older than 7 days and not
        among the newest 50 are removed.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          received_after: Inclusive.
          received_before: Exclusive.
          status: One or several.
          outcome: Deliveries for which an automation had this outcome. One or several.
          event: The event that the provider named in its header.
          q: A part of an id, an identity, an address, an automation's name or a reason.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/webhooks/{}/deliveries", factory_uid, webhook_uid),
            query={
                "received_after": received_after,
                "received_before": received_before,
                "status": status,
                "outcome": outcome,
                "event": event,
                "q": q,
                "limit": limit,
                "cursor": cursor,
            },
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "deliveries", models.Delivery)

    def list_all(
        self,
        factory_uid: str,
        *,
        status: models.DeliveryStatus | Sequence[models.DeliveryStatus] | None = None,
        outcome: models.OutcomeResult | Sequence[models.OutcomeResult] | None = None,
        event: str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.LoggedDelivery]:
        """Read the logs of a factory.

        Deliveries to all live webhooks of the factory, newest first.

        Args:
          factory_uid: The uid of a factory.
          status: One or several.
          outcome: Deliveries for which an automation had this outcome. One or several.
          event: The event that the provider named in its header.
          q: A part of an id, an identity, an address, an automation's name or a reason.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/deliveries", factory_uid),
            query={
                "status": status,
                "outcome": outcome,
                "event": event,
                "q": q,
                "limit": limit,
                "cursor": cursor,
            },
            replay=True,
            options=checked(self.list_all, options),
        )
        return self._list(request, "deliveries", models.LoggedDelivery)

    async def get(
        self,
        factory_uid: str,
        webhook_uid: str,
        delivery_id: str,
        *,
        explain: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.DeliveryDetail:
        """Get a delivery.

        With its payload, if it was accepted.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          delivery_id: The id of a delivery.
          explain: Adds not_matched_automations.
        """
        request = Request(
            "GET",
            path("/factory/{}/webhooks/{}/deliveries/{}", factory_uid, webhook_uid, delivery_id),
            query={"explain": explain},
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.DeliveryDetail)

    async def redeliver(
        self,
        factory_uid: str,
        webhook_uid: str,
        delivery_id: str,
        *,
        dry_run: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RedeliverResponse:
        """Deliver again.

        Evaluates a stored delivery with the current automations, under a new id. The rate limit and
        the identity are not checked, and this works for a disabled webhook. Only accepted
        deliveries can be repeated; for a duplicate, repeat the first one. A dry run, asked for in
        the body or the query, stores and starts nothing.

        Args:
          factory_uid: The uid of a factory.
          webhook_uid: The uid of a webhook.
          delivery_id: The id of a delivery.
          dry_run: Shows what would happen and stores nothing.
        """
        request = Request(
            "POST",
            path(
                "/factory/{}/webhooks/{}/deliveries/{}/redeliver", factory_uid, webhook_uid, delivery_id,
            ),
            body=fields({"dry_run": dry_run}),
            replay=True,
            options=checked(self.redeliver, options),
        )
        return await self._call(request, models.RedeliverResponse)
