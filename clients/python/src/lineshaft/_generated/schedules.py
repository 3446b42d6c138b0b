"""Calls about schedules. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing import Mapping

from typing_extensions import Literal, Unpack

from .. import models, params
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Schedules(Resource):
    """Calls about schedules."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.ScheduledAgentItem]:
        """List schedules.

        All of them, ordered by name.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/agent/schedules",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "schedules", models.ScheduledAgentItem)

    def create(
        self,
        *,
        cron_schedule: str,
        name: str,
        agent_config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        agent_uid: str | None = None,
        enabled: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        mode: Literal["normal"] | None = None,
        overlap: Literal["", "skip", "queue"] | None = None,
        prompt: str | None = None,
        team: bool | None = None,
        timezone: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Create a schedule.

        Starts a run at set times, from now on. One run makes up for times that pass while the
        server is down. Beyond the limit, the answer is 409.

        Args:
          cron_schedule: Five cron fields, @daily and the like, or @every 1h.
          agent_uid: The agent for its runs.
          enabled: True when absent.
          metadata: Given to its runs.
          mode: Only normal is supported; plan and orchestrate get 422.
          overlap: skip or queue: what happens while the last run is live. If absent, the next one
            starts anyway. Not together with agent_config.concurrency.
          prompt: Required unless agent_config names a skill.
          team: Accepted; every schedule belongs to the team.
          timezone: An IANA name such as Europe/Berlin; UTC when absent.
        """
        request = Request(
            "POST",
            "/agent/schedules",
            body=fields({
                "cron_schedule": cron_schedule,
                "name": name,
                "agent_config": agent_config,
                "agent_uid": agent_uid,
                "enabled": enabled,
                "metadata": metadata,
                "mode": mode,
                "overlap": overlap,
                "prompt": prompt,
                "team": team,
                "timezone": timezone,
            }),
            options=checked(self.create, options),
        )
        return self._call(request, models.ScheduledAgentItem)

    def get(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Get a schedule.

        Args:
          schedule_id: The id of a schedule.
        """
        request = Request(
            "GET",
            path("/agent/schedules/{}", schedule_id),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.ScheduledAgentItem)

    def update(
        self,
        schedule_id: str,
        *,
        cron_schedule: str,
        enabled: bool,
        name: str,
        agent_config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        agent_uid: str | None = None,
        metadata: Mapping[str, str] | None = None,
        mode: Literal["normal"] | None = None,
        overlap: Literal["", "skip", "queue"] | None = None,
        prompt: str | None = None,
        timezone: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Replace a schedule.

        What is absent is cleared. Another cron_schedule or timezone counts from now on.

        Args:
          schedule_id: The id of a schedule.
          metadata: Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values
            of at most 256 bytes.
          mode: Only normal is supported; plan and orchestrate get 422.
          overlap: skip or queue.
        """
        request = Request(
            "PUT",
            path("/agent/schedules/{}", schedule_id),
            body=fields({
                "cron_schedule": cron_schedule,
                "enabled": enabled,
                "name": name,
                "agent_config": agent_config,
                "agent_uid": agent_uid,
                "metadata": metadata,
                "mode": mode,
                "overlap": overlap,
                "prompt": prompt,
                "timezone": timezone,
            }),
            replay=True,
            options=checked(self.update, options),
        )
        return self._call(request, models.ScheduledAgentItem)

    def delete(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a schedule.

        Its runs stay.

        Args:
          schedule_id: The id of a schedule.
        """
        request = Request(
            "DELETE",
            path("/agent/schedules/{}", schedule_id),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)

    def pause(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Pause a schedule.

        Args:
          schedule_id: The id of a schedule.
        """
        request = Request(
            "POST",
            path("/agent/schedules/{}/pause", schedule_id),
            options=checked(self.pause, options),
        )
        return self._call(request, models.ScheduledAgentItem)

    def resume(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Resume a schedule.

        It fires from now on; times missed during the pause are skipped.

        Args:
          schedule_id: The id of a schedule.
        """
        request = Request(
            "POST",
            path("/agent/schedules/{}/resume", schedule_id),
            options=checked(self.resume, options),
        )
        return self._call(request, models.ScheduledAgentItem)


class AsyncSchedules(AsyncResource):
    """Calls about schedules, to be awaited."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.ScheduledAgentItem]:
        """List schedules.

        All of them, ordered by name.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/agent/schedules",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "schedules", models.ScheduledAgentItem)

    async def create(
        self,
        *,
        cron_schedule: str,
        name: str,
        agent_config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        agent_uid: str | None = None,
        enabled: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        mode: Literal["normal"] | None = None,
        overlap: Literal["", "skip", "queue"] | None = None,
        prompt: str | None = None,
        team: bool | None = None,
        timezone: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Create a schedule.

        Starts a run at set times, from now on. One run makes up for times that pass while the
        server is down. Beyond the limit, the answer is 409.

        Args:
          cron_schedule: Five cron fields, @daily and the like, or @every 1h.
          agent_uid: The agent for its runs.
          enabled: True when absent.
          metadata: Given to its runs.
          mode: Only normal is supported; plan and orchestrate get 422.
          overlap: skip or queue: what happens while the last run is live. If absent, the next one
            starts anyway. Not together with agent_config.concurrency.
          prompt: Required unless agent_config names a skill.
          team: Accepted; every schedule belongs to the team.
          timezone: An IANA name such as Europe/Berlin; UTC when absent.
        """
        request = Request(
            "POST",
            "/agent/schedules",
            body=fields({
                "cron_schedule": cron_schedule,
                "name": name,
                "agent_config": agent_config,
                "agent_uid": agent_uid,
                "enabled": enabled,
                "metadata": metadata,
                "mode": mode,
                "overlap": overlap,
                "prompt": prompt,
                "team": team,
                "timezone": timezone,
            }),
            options=checked(self.create, options),
        )
        return await self._call(request, models.ScheduledAgentItem)

    async def get(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Get a schedule.

        Args:
          schedule_id: The id of a schedule.
        """
        request = Request(
            "GET",
            path("/agent/schedules/{}", schedule_id),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.ScheduledAgentItem)

    async def update(
        self,
        schedule_id: str,
        *,
        cron_schedule: str,
        enabled: bool,
        name: str,
        agent_config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        agent_uid: str | None = None,
        metadata: Mapping[str, str] | None = None,
        mode: Literal["normal"] | None = None,
        overlap: Literal["", "skip", "queue"] | None = None,
        prompt: str | None = None,
        timezone: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Replace a schedule.

        What is absent is cleared. Another cron_schedule or timezone counts from now on.

        Args:
          schedule_id: The id of a schedule.
          metadata: Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values
            of at most 256 bytes.
          mode: Only normal is supported; plan and orchestrate get 422.
          overlap: skip or queue.
        """
        request = Request(
            "PUT",
            path("/agent/schedules/{}", schedule_id),
            body=fields({
                "cron_schedule": cron_schedule,
                "enabled": enabled,
                "name": name,
                "agent_config": agent_config,
                "agent_uid": agent_uid,
                "metadata": metadata,
                "mode": mode,
                "overlap": overlap,
                "prompt": prompt,
                "timezone": timezone,
            }),
            replay=True,
            options=checked(self.update, options),
        )
        return await self._call(request, models.ScheduledAgentItem)

    async def delete(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a schedule.

        Its runs stay.

        Args:
          schedule_id: The id of a schedule.
        """
        request = Request(
            "DELETE",
            path("/agent/schedules/{}", schedule_id),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)

    async def pause(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Pause a schedule.

        Args:
          schedule_id: The id of a schedule.
        """
        request = Request(
            "POST",
            path("/agent/schedules/{}/pause", schedule_id),
            options=checked(self.pause, options),
        )
        return await self._call(request, models.ScheduledAgentItem)

    async def resume(
        self,
        schedule_id: str,
        **options: Unpack[CallOptions],
    ) -> models.ScheduledAgentItem:
        """Resume a schedule.

        It fires from now on; times missed during the pause are skipped.

        Args:
          schedule_id: The id of a schedule.
        """
        request = Request(
            "POST",
            path("/agent/schedules/{}/resume", schedule_id),
            options=checked(self.resume, options),
        )
        return await self._call(request, models.ScheduledAgentItem)
