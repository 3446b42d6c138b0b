"""Calls about factories. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing import Any

from typing_extensions import Literal, Unpack

from .. import models, params
from .._options import NOT_GIVEN, CallOptions, NotGiven, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Factories(Resource):
    """Calls about factories."""

    def list(
        self,
        *,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.Factory]:
        """List factories.

        Those that the key reaches, oldest first.

        Args:
          search: A part of the name or alias, in any case.
          cursor: From page_info.next_cursor, with the same search.
        """
        request = Request(
            "GET",
            "/factory",
            query={"search": search, "limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "factories", models.Factory)

    def create(
        self,
        *,
        name: str,
        alias: str | None = None,
        description: str | None = None,
        repository: params.RepositorySource | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Factory:
        """Create a factory.

        It starts with a foreman. If you name a repository, it follows that: its definition is
        applied as soon as it has been read. A key that is limited to factories cannot create one.

        Args:
          alias: Letters, digits, spaces, '.', '_' and '-'; unique whatever its case.
          repository: What the factory follows; without it the factory is edited here. Its
            definition is applied as soon as it has been read.
        """
        request = Request(
            "POST",
            "/factory",
            body=fields({
                "name": name,
                "alias": alias,
                "description": description,
                "repository": repository,
            }),
            options=checked(self.create, options),
        )
        return self._call(request, models.Factory)

    def get(
        self,
        factory_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.Factory:
        """Get a factory.

        Args:
          factory_uid: The uid of a factory.
        """
        request = Request(
            "GET",
            path("/factory/{}", factory_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.Factory)

    def update(
        self,
        factory_uid: str,
        *,
        alias: str | None = None,
        daily_budget: params.Budget | None | NotGiven = NOT_GIVEN,
        description: str | None = None,
        name: str | None = None,
        paused: bool | None = None,
        repository: params.RepositorySource | None | NotGiven = NOT_GIVEN,
        **options: Unpack[CallOptions],
    ) -> models.Factory:
        """Change a factory.

        What is absent stays; an empty alias or description is removed. A factory that follows a
        repository is edited there: only paused and repository can be changed here, and null for
        repository makes it a managed one.

        Args:
          factory_uid: The uid of a factory.
          alias: Empty removes it.
          daily_budget: The whole new budget; null or an empty object removes it.
          description: Empty removes it.
          paused: Stops or resumes the factory's automations.
          repository: What the factory follows from now on; null makes it a managed one with the
            definition that is in force.
        """
        request = Request(
            "PATCH",
            path("/factory/{}", factory_uid),
            body=fields({
                "alias": alias,
                "daily_budget": daily_budget,
                "description": description,
                "name": name,
                "paused": paused,
                "repository": repository,
            }, nullable=["daily_budget", "repository"]),
            options=checked(self.update, options),
        )
        return self._call(request, models.Factory)

    def delete(
        self,
        factory_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a factory.

        With its agents, automations and webhooks, and the secrets that were made for these. Its
        runs and the log of its deliveries stay.

        Args:
          factory_uid: The uid of a factory.
        """
        request = Request(
            "DELETE",
            path("/factory/{}", factory_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)

    def run(
        self,
        factory_uid: str,
        *,
        prompt: str,
        ticket_ref: str | None = None,
        ticket_url: str | None = None,
        title: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.FactoryRunResponse:
        """Give work to a factory.

        Starts a run of the foreman, even while the factory is paused: only its automations are
        paused. The ticket becomes metadata: ticket_source, ticket_id, ticket_url.

        Args:
          factory_uid: The uid of a factory.
          prompt: What to do; the foreman gets it as it is.
          ticket_ref: What the work is for, as source:id, such as linear:ENG-42. Made when absent.
          title: Made from the prompt when absent.
        """
        request = Request(
            "POST",
            path("/factory/{}/runs", factory_uid),
            body=fields({
                "prompt": prompt,
                "ticket_ref": ticket_ref,
                "ticket_url": ticket_url,
                "title": title,
            }),
            replay=True,
            options=checked(self.run, options),
        )
        return self._call(request, models.FactoryRunResponse)

    def sync(
        self,
        factory_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.Factory:
        """Read the repository of a factory now.

        Applies what the branch has and answers with the result; a commit that was tried before is
        tried again. Problems of the definition and a repository that cannot be read are reported in
        repository, with 200. A managed factory is answered with 409.

        Args:
          factory_uid: The uid of a factory.
        """
        request = Request(
            "POST",
            path("/factory/{}/repository/sync", factory_uid),
            options=checked(self.sync, options),
        )
        return self._call(request, models.Factory)

    def test_filter(
        self,
        factory_uid: str,
        *,
        filter: params.TriggerFilter | models.TriggerFilter,
        delivery_id: str | None = None,
        event: str | None = None,
        payload: Any = None,
        payload_event: str | None = None,
        provider: Literal["", "webhook", "github", "gitlab", "linear", "slack", "jira"] | None = None,
        webhook_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.TestFilterResponse:
        """Try a filter.

        Against a stored delivery or a given payload. Nothing is stored or started.

        Args:
          factory_uid: The uid of a factory.
          filter: As in a trigger. If it names no webhooks, it listens to all of them.
          delivery_id: A stored delivery of the factory. This or payload.
          event: The trigger's event, such as issue_opened.
          payload: Any JSON value. This or delivery_id.
          payload_event: The event in the provider's header with this payload, such as issues for
            GitHub; a stored delivery has its own.
          provider: The trigger's provider: webhook if absent, github, gitlab, linear, slack or
            jira.
          webhook_id: The webhook that gets the payload; if absent, the webhook check passes.
        """
        request = Request(
            "POST",
            path("/factory/{}/test-filter", factory_uid),
            body=fields({
                "filter": filter,
                "delivery_id": delivery_id,
                "event": event,
                "payload": payload,
                "payload_event": payload_event,
                "provider": provider,
                "webhook_id": webhook_id,
            }),
            options=checked(self.test_filter, options),
        )
        return self._call(request, models.TestFilterResponse)


class AsyncFactories(AsyncResource):
    """Calls about factories, to be awaited."""

    def list(
        self,
        *,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.Factory]:
        """List factories.

        Those that the key reaches, oldest first.

        Args:
          search: A part of the name or alias, in any case.
          cursor: From page_info.next_cursor, with the same search.
        """
        request = Request(
            "GET",
            "/factory",
            query={"search": search, "limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "factories", models.Factory)

    async def create(
        self,
        *,
        name: str,
        alias: str | None = None,
        description: str | None = None,
        repository: params.RepositorySource | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Factory:
        """Create a factory.

        It starts with a foreman. If you name a repository, it follows that: its definition is
        applied as soon as it has been read. A key that is limited to factories cannot create one.

        Args:
          alias: Letters, digits, spaces, '.', '_' and '-'; unique whatever its case.
          repository: What the factory follows; without it the factory is edited here. Its
            definition is applied as soon as it has been read.
        """
        request = Request(
            "POST",
            "/factory",
            body=fields({
                "name": name,
                "alias": alias,
                "description": description,
                "repository": repository,
            }),
            options=checked(self.create, options),
        )
        return await self._call(request, models.Factory)

    async def get(
        self,
        factory_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.Factory:
        """Get a factory.

        Args:
          factory_uid: The uid of a factory.
        """
        request = Request(
            "GET",
            path("/factory/{}", factory_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.Factory)

    async def update(
        self,
        factory_uid: str,
        *,
        alias: str | None = None,
        daily_budget: params.Budget | None | NotGiven = NOT_GIVEN,
        description: str | None = None,
        name: str | None = None,
        paused: bool | None = None,
        repository: params.RepositorySource | None | NotGiven = NOT_GIVEN,
        **options: Unpack[CallOptions],
    ) -> models.Factory:
        """Change a factory.

        What is absent stays; an empty alias or description is removed. A factory that follows a
        repository is edited there: only paused and repository can be changed here, and null for
        repository makes it a managed one.

        Args:
          factory_uid: The uid of a factory.
          alias: Empty removes it.
          daily_budget: The whole new budget; null or an empty object removes it.
          description: Empty removes it.
          paused: Stops or resumes the factory's automations.
          repository: What the factory follows from now on; null makes it a managed one with the
            definition that is in force.
        """
        request = Request(
            "PATCH",
            path("/factory/{}", factory_uid),
            body=fields({
                "alias": alias,
                "daily_budget": daily_budget,
                "description": description,
                "name": name,
                "paused": paused,
                "repository": repository,
            }, nullable=["daily_budget", "repository"]),
            options=checked(self.update, options),
        )
        return await self._call(request, models.Factory)

    async def delete(
        self,
        factory_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a factory.

        With its agents, automations and webhooks, and the secrets that were made for these. Its
        runs and the log of its deliveries stay.

        Args:
          factory_uid: The uid of a factory.
        """
        request = Request(
            "DELETE",
            path("/factory/{}", factory_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)

    async def run(
        self,
        factory_uid: str,
        *,
        prompt: str,
        ticket_ref: str | None = None,
        ticket_url: str | None = None,
        title: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.FactoryRunResponse:
        """Give work to a factory.

        Starts a run of the foreman, even while the factory is paused: only its automations are
        paused. The ticket becomes metadata: ticket_source, ticket_id, ticket_url.

        Args:
          factory_uid: The uid of a factory.
          prompt: What to do; the foreman gets it as it is.
          ticket_ref: What the work is for, as source:id, such as linear:ENG-42. Made when absent.
          title: Made from the prompt when absent.
        """
        request = Request(
            "POST",
            path("/factory/{}/runs", factory_uid),
            body=fields({
                "prompt": prompt,
                "ticket_ref": ticket_ref,
                "ticket_url": ticket_url,
                "title": title,
            }),
            replay=True,
            options=checked(self.run, options),
        )
        return await self._call(request, models.FactoryRunResponse)

    async def sync(
        self,
        factory_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.Factory:
        """Read the repository of a factory now.

        Applies what the branch has and answers with the result; a commit that was tried before is
        tried again. Problems of the definition and a repository that cannot be read are reported in
        repository, with 200. A managed factory is answered with 409.

        Args:
          factory_uid: The uid of a factory.
        """
        request = Request(
            "POST",
            path("/factory/{}/repository/sync", factory_uid),
            options=checked(self.sync, options),
        )
        return await self._call(request, models.Factory)

    async def test_filter(
        self,
        factory_uid: str,
        *,
        filter: params.TriggerFilter | models.TriggerFilter,
        delivery_id: str | None = None,
        event: str | None = None,
        payload: Any = None,
        payload_event: str | None = None,
        provider: Literal["", "webhook", "github", "gitlab", "linear", "slack", "jira"] | None = None,
        webhook_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.TestFilterResponse:
        """Try a filter.

        Against a stored delivery or a given payload. Nothing is stored or started.

        Args:
          factory_uid: The uid of a factory.
          filter: As in a trigger. If it names no webhooks, it listens to all of them.
          delivery_id: A stored delivery of the factory. This or payload.
          event: The trigger's event, such as issue_opened.
          payload: Any JSON value. This or delivery_id.
          payload_event: The event in the provider's header with this payload, such as issues for
            GitHub; a stored delivery has its own.
          provider: The trigger's provider: webhook if absent, github, gitlab, linear, slack or
            jira.
          webhook_id: The webhook that gets the payload; if absent, the webhook check passes.
        """
        request = Request(
            "POST",
            path("/factory/{}/test-filter", factory_uid),
            body=fields({
                "filter": filter,
                "delivery_id": delivery_id,
                "event": event,
                "payload": payload,
                "payload_event": payload_event,
                "provider": provider,
                "webhook_id": webhook_id,
            }),
            options=checked(self.test_filter, options),
        )
        return await self._call(request, models.TestFilterResponse)
