"""Calls about notifications. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing import Sequence

from typing_extensions import Unpack

from .. import models
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Notifications(Resource):
    """Calls about notifications."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.Notification]:
        """List notifications.

        All that your key may see, oldest first.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/notifications",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "notifications", models.Notification)

    def create(
        self,
        *,
        url: str,
        all_factories: bool | None = None,
        description: str | None = None,
        enabled: bool | None = None,
        factory_uids: Sequence[str] | None = None,
        name: str | None = None,
        run_name: str | None = None,
        secret: str | None = None,
        states: Sequence[models.RunState] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.IssuedNotification:
        """Create a notification.

        An endpoint that gets the state changes of runs as signed requests (Standard Webhooks). It
        gets every change from now on. A secret that the server generates is only in this answer. At
        most 50 in all.

        Args:
          url: Where callbacks are sent: https and a public address, unless the server runs with
            --callback-allow-private. Callers who may not manage factories see only its host.
          all_factories: True in place of factory_uids: all runs, as when both are absent.
          enabled: True when absent.
          factory_uids: Runs of these factories; if absent, all runs. A key that is limited to
            factories must name some of them.
          name: The host of the URL when absent.
          run_name: Runs with this configuration name.
          secret: The secret to sign with: whsec_ and base64. Generated when absent.
          states: Changes to these states; if absent, every state.
        """
        request = Request(
            "POST",
            "/notifications",
            body=fields({
                "url": url,
                "all_factories": all_factories,
                "description": description,
                "enabled": enabled,
                "factory_uids": factory_uids,
                "name": name,
                "run_name": run_name,
                "secret": secret,
                "states": states,
            }),
            options=checked(self.create, options),
        )
        return self._call(request, models.IssuedNotification)

    def get(
        self,
        notification_id: str,
        **options: Unpack[CallOptions],
    ) -> models.Notification:
        """Get a notification.

        Args:
          notification_id: The id of a notification.
        """
        request = Request(
            "GET",
            path("/notifications/{}", notification_id),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.Notification)

    def update(
        self,
        notification_id: str,
        *,
        all_factories: bool | None = None,
        description: str | None = None,
        enabled: bool | None = None,
        factory_uids: Sequence[str] | None = None,
        name: str | None = None,
        run_name: str | None = None,
        states: Sequence[models.RunState] | None = None,
        url: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Notification:
        """Change a notification.

        What is absent stays. While disabled, it gets nothing, and changes that happen meanwhile are
        not kept for it; when enabled again, it gets earlier pending deliveries that are younger
        than 72 hours.

        Args:
          notification_id: The id of a notification.
          all_factories: True in place of factory_uids: all runs from now on.
          enabled: When it is enabled again, it gets at once the pending deliveries that are younger
            than 72 hours.
          factory_uids: Replaced as a whole.
          run_name: Empty means any.
          states: Replaced as a whole; empty means every state.
          url: Pending deliveries also go there.
        """
        request = Request(
            "PATCH",
            path("/notifications/{}", notification_id),
            body=fields({
                "all_factories": all_factories,
                "description": description,
                "enabled": enabled,
                "factory_uids": factory_uids,
                "name": name,
                "run_name": run_name,
                "states": states,
                "url": url,
            }),
            options=checked(self.update, options),
        )
        return self._call(request, models.Notification)

    def delete(
        self,
        notification_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a notification.

        Nothing more is sent. Its log is deleted with it.

        Args:
          notification_id: The id of a notification.
        """
        request = Request(
            "DELETE",
            path("/notifications/{}", notification_id),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)

    def rotate(
        self,
        notification_id: str,
        *,
        overlap_seconds: int | None = None,
        secret: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.IssuedNotification:
        """Replace the secret of a notification.

        The old secret ends at once, or after overlap_seconds: until then, callbacks carry a
        signature with each.

        Args:
          notification_id: The id of a notification.
          overlap_seconds: How long callbacks are also signed with the old secret; if absent, it
            ends at once.
          secret: The new secret: whsec_ and base64. Generated when absent.
        """
        request = Request(
            "POST",
            path("/notifications/{}/rotate", notification_id),
            body=fields({"overlap_seconds": overlap_seconds, "secret": secret}),
            options=checked(self.rotate, options),
        )
        return self._call(request, models.IssuedNotification)

    def test(
        self,
        notification_id: str,
        **options: Unpack[CallOptions],
    ) -> models.NotificationDelivery:
        """Send a test.

        Sends a callback of type notification.test, as state changes are sent. Watch it with
        notifications.delivery.

        Args:
          notification_id: The id of a notification.
        """
        request = Request(
            "POST",
            path("/notifications/{}/test", notification_id),
            options=checked(self.test, options),
        )
        return self._call(request, models.NotificationDelivery)

    def deliveries(
        self,
        notification_id: str,
        *,
        status: models.NotificationStatus | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.NotificationDelivery]:
        """Read the log of a notification.

        Newest first. Deliveries older than 30 days are removed.

        Args:
          notification_id: The id of a notification.
          status: Only these.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/notifications/{}/deliveries", notification_id),
            query={"status": status, "limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.deliveries, options),
        )
        return self._list(request, "deliveries", models.NotificationDelivery)

    def delivery(
        self,
        notification_id: str,
        delivery_id: str,
        **options: Unpack[CallOptions],
    ) -> models.NotificationDeliveryDetail:
        """Get a delivery to a notification.

        With its attempts and its payload.

        Args:
          notification_id: The id of a notification.
          delivery_id: The id of a delivery.
        """
        request = Request(
            "GET",
            path("/notifications/{}/deliveries/{}", notification_id, delivery_id),
            replay=True,
            options=checked(self.delivery, options),
        )
        return self._call(request, models.NotificationDeliveryDetail)

    def replay(
        self,
        notification_id: str,
        delivery_id: str,
        **options: Unpack[CallOptions],
    ) -> models.NotificationDelivery:
        """Send a delivery again.

        Makes it pending, with the same webhook-id and payload and another 72 hours. A receiver
        recognises a repeat by its webhook-id.

        Args:
          notification_id: The id of a notification.
          delivery_id: The id of a delivery.
        """
        request = Request(
            "POST",
            path("/notifications/{}/deliveries/{}/replay", notification_id, delivery_id),
            options=checked(self.replay, options),
        )
        return self._call(request, models.NotificationDelivery)


class AsyncNotifications(AsyncResource):
    """Calls about notifications, to be awaited."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.Notification]:
        """List notifications.

        All that your key may see, oldest first.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/notifications",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "notifications", models.Notification)

    async def create(
        self,
        *,
        url: str,
        all_factories: bool | None = None,
        description: str | None = None,
        enabled: bool | None = None,
        factory_uids: Sequence[str] | None = None,
        name: str | None = None,
        run_name: str | None = None,
        secret: str | None = None,
        states: Sequence[models.RunState] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.IssuedNotification:
        """Create a notification.

        An endpoint that gets the state changes of runs as signed requests (Standard Webhooks). It
        gets every change from now on. A secret that the server generates is only in this answer. At
        most 50 in all.

        Args:
          url: Where callbacks are sent: https and a public address, unless the server runs with
            --callback-allow-private. Callers who may not manage factories see only its host.
          all_factories: True in place of factory_uids: all runs, as when both are absent.
          enabled: True when absent.
          factory_uids: Runs of these factories; if absent, all runs. A key that is limited to
            factories must name some of them.
          name: The host of the URL when absent.
          run_name: Runs with this configuration name.
          secret: The secret to sign with: whsec_ and base64. Generated when absent.
          states: Changes to these states; if absent, every state.
        """
        request = Request(
            "POST",
            "/notifications",
            body=fields({
                "url": url,
                "all_factories": all_factories,
                "description": description,
                "enabled": enabled,
                "factory_uids": factory_uids,
                "name": name,
                "run_name": run_name,
                "secret": secret,
                "states": states,
            }),
            options=checked(self.create, options),
        )
        return await self._call(request, models.IssuedNotification)

    async def get(
        self,
        notification_id: str,
        **options: Unpack[CallOptions],
    ) -> models.Notification:
        """Get a notification.

        Args:
          notification_id: The id of a notification.
        """
        request = Request(
            "GET",
            path("/notifications/{}", notification_id),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.Notification)

    async def update(
        self,
        notification_id: str,
        *,
        all_factories: bool | None = None,
        description: str | None = None,
        enabled: bool | None = None,
        factory_uids: Sequence[str] | None = None,
        name: str | None = None,
        run_name: str | None = None,
        states: Sequence[models.RunState] | None = None,
        url: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Notification:
        """Change a notification.

        What is absent stays. While disabled, it gets nothing, and changes that happen meanwhile are
        not kept for it; when enabled again, it gets earlier pending deliveries that are younger
        than 72 hours.

        Args:
          notification_id: The id of a notification.
          all_factories: True in place of factory_uids: all runs from now on.
          enabled: When it is enabled again, it gets at once the pending deliveries that are younger
            than 72 hours.
          factory_uids: Replaced as a whole.
          run_name: Empty means any.
          states: Replaced as a whole; empty means every state.
          url: Pending deliveries also go there.
        """
        request = Request(
            "PATCH",
            path("/notifications/{}", notification_id),
            body=fields({
                "all_factories": all_factories,
                "description": description,
                "enabled": enabled,
                "factory_uids": factory_uids,
                "name": name,
                "run_name": run_name,
                "states": states,
                "url": url,
            }),
            options=checked(self.update, options),
        )
        return await self._call(request, models.Notification)

    async def delete(
        self,
        notification_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a notification.

        Nothing more is sent. Its log is deleted with it.

        Args:
          notification_id: The id of a notification.
        """
        request = Request(
            "DELETE",
            path("/notifications/{}", notification_id),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)

    async def rotate(
        self,
        notification_id: str,
        *,
        overlap_seconds: int | None = None,
        secret: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.IssuedNotification:
        """Replace the secret of a notification.

        The old secret ends at once, or after overlap_seconds: until then, callbacks carry a
        signature with each.

        Args:
          notification_id: The id of a notification.
          overlap_seconds: How long callbacks are also signed with the old secret; if absent, it
            ends at once.
          secret: The new secret: whsec_ and base64. Generated when absent.
        """
        request = Request(
            "POST",
            path("/notifications/{}/rotate", notification_id),
            body=fields({"overlap_seconds": overlap_seconds, "secret": secret}),
            options=checked(self.rotate, options),
        )
        return await self._call(request, models.IssuedNotification)

    async def test(
        self,
        notification_id: str,
        **options: Unpack[CallOptions],
    ) -> models.NotificationDelivery:
        """Send a test.

        Sends a callback of type notification.test, as state changes are sent. Watch it with
        notifications.delivery.

        Args:
          notification_id: The id of a notification.
        """
        request = Request(
            "POST",
            path("/notifications/{}/test", notification_id),
            options=checked(self.test, options),
        )
        return await self._call(request, models.NotificationDelivery)

    def deliveries(
        self,
        notification_id: str,
        *,
        status: models.NotificationStatus | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.NotificationDelivery]:
        """Read the log of a notification.

        Newest first. Deliveries older than 30 days are removed.

        Args:
          notification_id: The id of a notification.
          status: Only these.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/notifications/{}/deliveries", notification_id),
            query={"status": status, "limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.deliveries, options),
        )
        return self._list(request, "deliveries", models.NotificationDelivery)

    async def delivery(
        self,
        notification_id: str,
        delivery_id: str,
        **options: Unpack[CallOptions],
    ) -> models.NotificationDeliveryDetail:
        """Get a delivery to a notification.

        With its attempts and its payload.

        Args:
          notification_id: The id of a notification.
          delivery_id: The id of a delivery.
        """
        request = Request(
            "GET",
            path("/notifications/{}/deliveries/{}", notification_id, delivery_id),
            replay=True,
            options=checked(self.delivery, options),
        )
        return await self._call(request, models.NotificationDeliveryDetail)

    async def replay(
        self,
        notification_id: str,
        delivery_id: str,
        **options: Unpack[CallOptions],
    ) -> models.NotificationDelivery:
        """Send a delivery again.

        Makes it pending, with the same webhook-id and payload and another 72 hours. A receiver
        recognises a repeat by its webhook-id.

        Args:
          notification_id: The id of a notification.
          delivery_id: The id of a delivery.
        """
        request = Request(
            "POST",
            path("/notifications/{}/deliveries/{}/replay", notification_id, delivery_id),
            options=checked(self.replay, options),
        )
        return await self._call(request, models.NotificationDelivery)
