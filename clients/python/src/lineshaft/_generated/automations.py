"""Calls about automations. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing import Sequence

from typing_extensions import Unpack

from .. import models, params
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Automations(Resource):
    """Calls about automations."""

    def events(
        self,
        provider: str,
        **options: Unpack[CallOptions],
    ) -> models.ListTriggerEventsResponse:
        """List the events that triggers of a provider may name.

        By name, with the keys that their filters may have.

        Args:
          provider: Such as github or slack.
        """
        request = Request(
            "GET",
            path("/factory/automations/events/{}", provider),
            replay=True,
            options=checked(self.events, options),
        )
        return self._call(request, models.ListTriggerEventsResponse)

    def list(
        self,
        factory_uid: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.Automation]:
        """List automations.

        Ordered by name.

        Args:
          factory_uid: The uid of a factory.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/automations", factory_uid),
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "automations", models.Automation)

    def create(
        self,
        factory_uid: str,
        *,
        name: str,
        prompt: str,
        triggers: Sequence[params.Trigger],
        agent: str | None = None,
        concurrency: params.Concurrency | models.Concurrency | None = None,
        config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        enabled: bool | None = None,
        max_runs_per_hour: int | None = None,
        title: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Automation:
        """Create an automation.

        Starts a run of its agent for each delivery that one of its triggers matches.

        Args:
          factory_uid: The uid of a factory.
          name: Unique in the factory; also a file name of its definition.
          agent: The name of an agent of the factory; the foreman when absent.
          concurrency: Its key may contain {{payload.path}}, filled in from each delivery.
          config: Takes precedence over the agent and the factory.
          enabled: True when absent.
          max_runs_per_hour: 0 means no limit.
          title: The title of its runs; may contain {{payload.path}}. If absent, it comes from the
            sending provider, or is the name.
        """
        request = Request(
            "POST",
            path("/factory/{}/automations", factory_uid),
            body=fields({
                "name": name,
                "prompt": prompt,
                "triggers": triggers,
                "agent": agent,
                "concurrency": concurrency,
                "config": config,
                "enabled": enabled,
                "max_runs_per_hour": max_runs_per_hour,
                "title": title,
            }),
            options=checked(self.create, options),
        )
        return self._call(request, models.Automation)

    def get(
        self,
        factory_uid: str,
        automation_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.Automation:
        """Get an automation.

        Args:
          factory_uid: The uid of a factory.
          automation_uid: The uid of an automation.
        """
        request = Request(
            "GET",
            path("/factory/{}/automations/{}", factory_uid, automation_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.Automation)

    def update(
        self,
        factory_uid: str,
        automation_uid: str,
        *,
        agent: str | None = None,
        concurrency: params.ConcurrencyUpdate | None = None,
        config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        enabled: bool | None = None,
        max_runs_per_hour: int | None = None,
        name: str | None = None,
        prompt: str | None = None,
        title: str | None = None,
        triggers: Sequence[params.Trigger] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Automation:
        """Change an automation.

        What is absent stays; triggers and config are replaced as a whole.

        Args:
          factory_uid: The uid of a factory.
          automation_uid: The uid of an automation.
          agent: Empty means the foreman.
          title: If empty, it comes from the provider, or is the name.
        """
        request = Request(
            "PATCH",
            path("/factory/{}/automations/{}", factory_uid, automation_uid),
            body=fields({
                "agent": agent,
                "concurrency": concurrency,
                "config": config,
                "enabled": enabled,
                "max_runs_per_hour": max_runs_per_hour,
                "name": name,
                "prompt": prompt,
                "title": title,
                "triggers": triggers,
            }),
            options=checked(self.update, options),
        )
        return self._call(request, models.Automation)

    def delete(
        self,
        factory_uid: str,
        automation_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an automation.

        Its runs stay.

        Args:
          factory_uid: The uid of a factory.
          automation_uid: The uid of an automation.
        """
        request = Request(
            "DELETE",
            path("/factory/{}/automations/{}", factory_uid, automation_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)


class AsyncAutomations(AsyncResource):
    """Calls about automations, to be awaited."""

    async def events(
        self,
        provider: str,
        **options: Unpack[CallOptions],
    ) -> models.ListTriggerEventsResponse:
        """List the events that triggers of a provider may name.

        By name, with the keys that their filters may have.

        Args:
          provider: Such as github or slack.
        """
        request = Request(
            "GET",
            path("/factory/automations/events/{}", provider),
            replay=True,
            options=checked(self.events, options),
        )
        return await self._call(request, models.ListTriggerEventsResponse)

    def list(
        self,
        factory_uid: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.Automation]:
        """List automations.

        Ordered by name.

        Args:
          factory_uid: The uid of a factory.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/automations", factory_uid),
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "automations", models.Automation)

    async def create(
        self,
        factory_uid: str,
        *,
        name: str,
        prompt: str,
        triggers: Sequence[params.Trigger],
        agent: str | None = None,
        concurrency: params.Concurrency | models.Concurrency | None = None,
        config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        enabled: bool | None = None,
        max_runs_per_hour: int | None = None,
        title: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Automation:
        """Create an automation.

        Starts a run of its agent for each delivery that one of its triggers matches.

        Args:
          factory_uid: The uid of a factory.
          name: Unique in the factory; also a file name of its definition.
          agent: The name of an agent of the factory; the foreman when absent.
          concurrency: Its key may contain {{payload.path}}, filled in from each delivery.
          config: Takes precedence over the agent and the factory.
          enabled: True when absent.
          max_runs_per_hour: 0 means no limit.
          title: The title of its runs; may contain {{payload.path}}. If absent, it comes from the
            sending provider, or is the name.
        """
        request = Request(
            "POST",
            path("/factory/{}/automations", factory_uid),
            body=fields({
                "name": name,
                "prompt": prompt,
                "triggers": triggers,
                "agent": agent,
                "concurrency": concurrency,
                "config": config,
                "enabled": enabled,
                "max_runs_per_hour": max_runs_per_hour,
                "title": title,
            }),
            options=checked(self.create, options),
        )
        return await self._call(request, models.Automation)

    async def get(
        self,
        factory_uid: str,
        automation_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.Automation:
        """Get an automation.

        Args:
          factory_uid: The uid of a factory.
          automation_uid: The uid of an automation.
        """
        request = Request(
            "GET",
            path("/factory/{}/automations/{}", factory_uid, automation_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.Automation)

    async def update(
        self,
        factory_uid: str,
        automation_uid: str,
        *,
        agent: str | None = None,
        concurrency: params.ConcurrencyUpdate | None = None,
        config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        enabled: bool | None = None,
        max_runs_per_hour: int | None = None,
        name: str | None = None,
        prompt: str | None = None,
        title: str | None = None,
        triggers: Sequence[params.Trigger] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Automation:
        """Change an automation.

        What is absent stays; triggers and config are replaced as a whole.

        Args:
          factory_uid: The uid of a factory.
          automation_uid: The uid of an automation.
          agent: Empty means the foreman.
          title: If empty, it comes from the provider, or is the name.
        """
        request = Request(
            "PATCH",
            path("/factory/{}/automations/{}", factory_uid, automation_uid),
            body=fields({
                "agent": agent,
                "concurrency": concurrency,
                "config": config,
                "enabled": enabled,
                "max_runs_per_hour": max_runs_per_hour,
                "name": name,
                "prompt": prompt,
                "title": title,
                "triggers": triggers,
            }),
            options=checked(self.update, options),
        )
        return await self._call(request, models.Automation)

    async def delete(
        self,
        factory_uid: str,
        automation_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an automation.

        Its runs stay.

        Args:
          factory_uid: The uid of a factory.
          automation_uid: The uid of an automation.
        """
        request = Request(
            "DELETE",
            path("/factory/{}/automations/{}", factory_uid, automation_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)
