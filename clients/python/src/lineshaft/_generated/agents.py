"""Calls about agents. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from typing_extensions import Literal, Unpack

from .. import models, params
from .._options import NOT_GIVEN, CallOptions, NotGiven, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Agents(Resource):
    """Calls about agents."""

    def list(
        self,
        *,
        factory_uid: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.AgentResponse]:
        """List agents.

        All that your key may see, by factory and name.

        Args:
          factory_uid: Only those of this factory.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/agent/identities",
            query={"factory_uid": factory_uid, "limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "agents", models.AgentResponse)

    def create(
        self,
        *,
        name: str,
        agent_type: models.AgentType | None = None,
        base_model: str | None = None,
        credential_strategy: Literal["EXECUTOR"] | None | NotGiven = NOT_GIVEN,
        default_runner_uid: str | None = None,
        description: str | None = None,
        environment_id: str | None = None,
        factory_uid: str | None = None,
        harness: params.Harness | models.Harness | None = None,
        mcp_servers: Mapping[str, params.MCPServerConfig] | Sequence[Any] | None = None,
        memory: params.AgentMemoryRequest | None = None,
        prompt: str | None = None,
        secrets: Sequence[params.SecretRef] | None = None,
        skills: Sequence[str] | None = None,
        worker_host: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.AgentResponse:
        """Create an agent.

        In a factory, or for the whole team. Runs that name it with agent_identity_uid take its
        configuration and factory.

        Args:
          name: Unique in the factory, or among the agents that belong to no factory.
          base_model: The language model for the built-in agent; not together with another harness.
          credential_strategy: Whose credentials are used; this server offers EXECUTOR only, CREATOR
            is 422.
          default_runner_uid: A runner of its factory.
          environment_id: The environment of its runs.
          factory_uid: The factory it belongs to; without one it belongs to the whole team.
          mcp_servers: Tool servers by name, or a list of them in which each has a name.
          prompt: Put before the prompt of each of its runs.
          secrets: Managed secrets that its runs get as variables.
          skills: Skills of its runs in order: owner/repo:name, owner/repo:path, or the name of one
            of its factory's.
          worker_host: The worker for its runs.
        """
        request = Request(
            "POST",
            "/agent/identities",
            body=fields({
                "name": name,
                "agent_type": agent_type,
                "base_model": base_model,
                "credential_strategy": credential_strategy,
                "default_runner_uid": default_runner_uid,
                "description": description,
                "environment_id": environment_id,
                "factory_uid": factory_uid,
                "harness": harness,
                "mcp_servers": mcp_servers,
                "memory": memory,
                "prompt": prompt,
                "secrets": secrets,
                "skills": skills,
                "worker_host": worker_host,
            }, nullable=["credential_strategy"]),
            options=checked(self.create, options),
        )
        return self._call(request, models.AgentResponse)

    def get(
        self,
        agent_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.AgentResponse:
        """Get an agent.

        Args:
          agent_uid: The uid of an agent.
        """
        request = Request(
            "GET",
            path("/agent/identities/{}", agent_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.AgentResponse)

    def update(
        self,
        agent_uid: str,
        *,
        agent_type: models.AgentType | None = None,
        base_model: str | None = None,
        credential_strategy: Literal["EXECUTOR"] | None | NotGiven = NOT_GIVEN,
        default_runner_uid: str | None = None,
        description: str | None = None,
        environment_id: str | None = None,
        harness: params.Harness | models.Harness | None = None,
        mcp_servers: Mapping[str, params.MCPServerConfig] | Sequence[Any] | None = None,
        memory: params.AgentMemoryRequest | None = None,
        name: str | None = None,
        prompt: str | None = None,
        secrets: Sequence[params.SecretRef] | None = None,
        skills: Sequence[str] | None = None,
        worker_host: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.AgentResponse:
        """Change an agent.

        What is absent or null stays; an empty value is removed. FOREMAN as agent_type replaces the
        current foreman.

        Args:
          agent_uid: The uid of an agent.
          agent_type: FOREMAN replaces the current foreman.
          base_model: The language model for the built-in agent; not together with another harness.
          credential_strategy: Whose credentials are used; this server offers EXECUTOR only, CREATOR
            is 422.
          default_runner_uid: A runner of its factory.
          environment_id: The environment of its runs.
          mcp_servers: Tool servers by name, or a list of them in which each has a name.
          name: References to the old name in the factory follow.
          prompt: Put before the prompt of each of its runs.
          secrets: Managed secrets that its runs get as variables.
          skills: Skills of its runs in order: owner/repo:name, owner/repo:path, or the name of one
            of its factory's.
          worker_host: The worker for its runs.
        """
        request = Request(
            "PUT",
            path("/agent/identities/{}", agent_uid),
            body=fields({
                "agent_type": agent_type,
                "base_model": base_model,
                "credential_strategy": credential_strategy,
                "default_runner_uid": default_runner_uid,
                "description": description,
                "environment_id": environment_id,
                "harness": harness,
                "mcp_servers": mcp_servers,
                "memory": memory,
                "name": name,
                "prompt": prompt,
                "secrets": secrets,
                "skills": skills,
                "worker_host": worker_host,
            }, nullable=["credential_strategy"]),
            replay=True,
            options=checked(self.update, options),
        )
        return self._call(request, models.AgentResponse)

    def delete(
        self,
        agent_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an agent.

        You cannot delete the foreman (400), or one that an automation or a schedule names (409).
        Its runs stay.

        Args:
          agent_uid: The uid of an agent.
        """
        request = Request(
            "DELETE",
            path("/agent/identities/{}", agent_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)


class AsyncAgents(AsyncResource):
    """Calls about agents, to be awaited."""

    def list(
        self,
        *,
        factory_uid: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.AgentResponse]:
        """List agents.

        All that your key may see, by factory and name.

        Args:
          factory_uid: Only those of this factory.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/agent/identities",
            query={"factory_uid": factory_uid, "limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "agents", models.AgentResponse)

    async def create(
        self,
        *,
        name: str,
        agent_type: models.AgentType | None = None,
        base_model: str | None = None,
        credential_strategy: Literal["EXECUTOR"] | None | NotGiven = NOT_GIVEN,
        default_runner_uid: str | None = None,
        description: str | None = None,
        environment_id: str | None = None,
        factory_uid: str | None = None,
        harness: params.Harness | models.Harness | None = None,
        mcp_servers: Mapping[str, params.MCPServerConfig] | Sequence[Any] | None = None,
        memory: params.AgentMemoryRequest | None = None,
        prompt: str | None = None,
        secrets: Sequence[params.SecretRef] | None = None,
        skills: Sequence[str] | None = None,
        worker_host: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.AgentResponse:
        """Create an agent.

        In a factory, or for the whole team. Runs that name it with agent_identity_uid take its
        configuration and factory.

        Args:
          name: Unique in the factory, or among the agents that belong to no factory.
          base_model: The language model for the built-in agent; not together with another harness.
          credential_strategy: Whose credentials are used; this server offers EXECUTOR only, CREATOR
            is 422.
          default_runner_uid: A runner of its factory.
          environment_id: The environment of its runs.
          factory_uid: The factory it belongs to; without one it belongs to the whole team.
          mcp_servers: Tool servers by name, or a list of them in which each has a name.
          prompt: Put before the prompt of each of its runs.
          secrets: Managed secrets that its runs get as variables.
          skills: Skills of its runs in order: owner/repo:name, owner/repo:path, or the name of one
            of its factory's.
          worker_host: The worker for its runs.
        """
        request = Request(
            "POST",
            "/agent/identities",
            body=fields({
                "name": name,
                "agent_type": agent_type,
                "base_model": base_model,
                "credential_strategy": credential_strategy,
                "default_runner_uid": default_runner_uid,
                "description": description,
                "environment_id": environment_id,
                "factory_uid": factory_uid,
                "harness": harness,
                "mcp_servers": mcp_servers,
                "memory": memory,
                "prompt": prompt,
                "secrets": secrets,
                "skills": skills,
                "worker_host": worker_host,
            }, nullable=["credential_strategy"]),
            options=checked(self.create, options),
        )
        return await self._call(request, models.AgentResponse)

    async def get(
        self,
        agent_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.AgentResponse:
        """Get an agent.

        Args:
          agent_uid: The uid of an agent.
        """
        request = Request(
            "GET",
            path("/agent/identities/{}", agent_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.AgentResponse)

    async def update(
        self,
        agent_uid: str,
        *,
        agent_type: models.AgentType | None = None,
        base_model: str | None = None,
        credential_strategy: Literal["EXECUTOR"] | None | NotGiven = NOT_GIVEN,
        default_runner_uid: str | None = None,
        description: str | None = None,
        environment_id: str | None = None,
        harness: params.Harness | models.Harness | None = None,
        mcp_servers: Mapping[str, params.MCPServerConfig] | Sequence[Any] | None = None,
        memory: params.AgentMemoryRequest | None = None,
        name: str | None = None,
        prompt: str | None = None,
        secrets: Sequence[params.SecretRef] | None = None,
        skills: Sequence[str] | None = None,
        worker_host: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.AgentResponse:
        """Change an agent.

        What is absent or null stays; an empty value is removed. FOREMAN as agent_type replaces the
        current foreman.

        Args:
          agent_uid: The uid of an agent.
          agent_type: FOREMAN replaces the current foreman.
          base_model: The language model for the built-in agent; not together with another harness.
          credential_strategy: Whose credentials are used; this server offers EXECUTOR only, CREATOR
            is 422.
          default_runner_uid: A runner of its factory.
          environment_id: The environment of its runs.
          mcp_servers: Tool servers by name, or a list of them in which each has a name.
          name: References to the old name in the factory follow.
          prompt: Put before the prompt of each of its runs.
          secrets: Managed secrets that its runs get as variables.
          skills: Skills of its runs in order: owner/repo:name, owner/repo:path, or the name of one
            of its factory's.
          worker_host: The worker for its runs.
        """
        request = Request(
            "PUT",
            path("/agent/identities/{}", agent_uid),
            body=fields({
                "agent_type": agent_type,
                "base_model": base_model,
                "credential_strategy": credential_strategy,
                "default_runner_uid": default_runner_uid,
                "description": description,
                "environment_id": environment_id,
                "harness": harness,
                "mcp_servers": mcp_servers,
                "memory": memory,
                "name": name,
                "prompt": prompt,
                "secrets": secrets,
                "skills": skills,
                "worker_host": worker_host,
            }, nullable=["credential_strategy"]),
            replay=True,
            options=checked(self.update, options),
        )
        return await self._call(request, models.AgentResponse)

    async def delete(
        self,
        agent_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an agent.

        You cannot delete the foreman (400), or one that an automation or a schedule names (409).
        Its runs stay.

        Args:
          agent_uid: The uid of an agent.
        """
        request = Request(
            "DELETE",
            path("/agent/identities/{}", agent_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)
