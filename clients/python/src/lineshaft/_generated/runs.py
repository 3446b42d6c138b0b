"""Calls about runs. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Mapping, Sequence

from typing_extensions import Literal, Unpack

from .. import models, params
from .._download import AsyncDownload, Download
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource
from .._stream import AsyncEventStream, EventStream


class Runs(Resource):
    """Calls about runs."""

    def create(
        self,
        *,
        agent_identity_uid: str | None = None,
        attachments: Sequence[params.AttachmentInput] | None = None,
        config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        conversation_id: str | None = None,
        interactive: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        mode: Literal["normal"] | None = None,
        parent_run_id: str | None = None,
        prompt: str | None = None,
        skill: str | None = None,
        team: bool | None = None,
        title: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunAgentResponse:
        """Start a run.

        Queues a run and answers once it is durable. Watch it with runs.get or runs.events.

        Args:
          agent_identity_uid: An agent: the run takes its configuration and belongs to its factory.
          attachments: Files for the workspace, at most 10 MB in total.
          conversation_id: Continues a conversation.
          interactive: Accepted; it changes nothing: every run takes follow-ups while it works.
          metadata: Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values
            of at most 256 bytes.
          mode: Only normal is supported; plan and orchestrate get 422.
          prompt: What to do, at most 1 MiB. Required unless a skill or conversation_id is given.
          skill: A skill, owner/repo:name or owner/repo:path; takes precedence over those in config.
            You may leave out the owner of a repository in the run's environment or factory.
          team: Accepted; every run belongs to the team.
          title: Made from the prompt when absent.
        """
        request = Request(
            "POST",
            "/agent/runs",
            body=fields({
                "agent_identity_uid": agent_identity_uid,
                "attachments": attachments,
                "config": config,
                "conversation_id": conversation_id,
                "interactive": interactive,
                "metadata": metadata,
                "mode": mode,
                "parent_run_id": parent_run_id,
                "prompt": prompt,
                "skill": skill,
                "team": team,
                "title": title,
            }),
            replay=True,
            options=checked(self.create, options),
        )
        return self._call(request, models.RunAgentResponse)

    def list(
        self,
        *,
        state: models.RunState | Sequence[models.RunState] | None = None,
        task_status: models.TaskStatus | Sequence[models.TaskStatus] | None = None,
        name: str | None = None,
        model_id: str | None = None,
        creator: str | None = None,
        executor: str | None = None,
        source: models.RunSourceType | Sequence[models.RunSourceType] | None = None,
        execution_location: Literal["LOCAL", "REMOTE"] | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        updated_after: datetime | str | None = None,
        updated_before: datetime | str | None = None,
        environment_id: str | None = None,
        skill: str | None = None,
        schedule_id: str | None = None,
        factory_uid: str | Sequence[str] | None = None,
        factory_only: bool | None = None,
        automation_id: str | None = None,
        webhook_id: str | None = None,
        delivery_id: str | None = None,
        parent_run_id: str | None = None,
        ancestor_run_id: str | None = None,
        worker_host: str | None = None,
        metadata: Mapping[str, str] | None = None,
        artifact_type: models.ArtifactType | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        sort_by: models.RunSortBy | None = None,
        sort_order: Literal["asc", "desc"] | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.RunItem]:
        """List runs.

        All conditions must hold. Newest change first, unless sort_by says otherwise.

        Args:
          state: One or several.
          task_status: One or several.
          name: Equals config.name.
          creator: The uid of a principal.
          executor: The uid of a principal.
          source: One or several.
          created_after: Inclusive.
          created_before: Exclusive.
          updated_after: Inclusive.
          updated_before: Exclusive.
          environment_id: empty-environment selects runs without one.
          skill: owner/repo:path or owner/repo:name; finds runs that were started with either.
          factory_uid: One or several.
          factory_only: Only runs of a factory.
          parent_run_id: Children of this run.
          ancestor_run_id: All descendants of this run.
          worker_host: hosted for the server's own workers.
          metadata: metadata[KEY]=VALUE, at most 5; exact, all must hold.
          artifact_type: Runs that have such an artifact.
          q: Words of title, name, skill and the start of the prompt; also an exact run id.
          cursor: From page_info.next_cursor, with the same filters and order.
        """
        request = Request(
            "GET",
            "/agent/runs",
            query={
                "state": state,
                "task_status": task_status,
                "name": name,
                "model_id": model_id,
                "creator": creator,
                "executor": executor,
                "source": source,
                "execution_location": execution_location,
                "created_after": created_after,
                "created_before": created_before,
                "updated_after": updated_after,
                "updated_before": updated_before,
                "environment_id": environment_id,
                "skill": skill,
                "schedule_id": schedule_id,
                "factory_uid": factory_uid,
                "factory_only": factory_only,
                "automation_id": automation_id,
                "webhook_id": webhook_id,
                "delivery_id": delivery_id,
                "parent_run_id": parent_run_id,
                "ancestor_run_id": ancestor_run_id,
                "worker_host": worker_host,
                "metadata": metadata,
                "artifact_type": artifact_type,
                "q": q,
                "limit": limit,
                "cursor": cursor,
                "sort_by": sort_by,
                "sort_order": sort_order,
            },
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "runs", models.RunItem)

    def get(
        self,
        run_id: str,
        *,
        explain: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunItem:
        """Get a run.

        Args:
          run_id: The id of a run.
          explain: Adds agent_config_origins.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}", run_id),
            query={"explain": explain},
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.RunItem)

    def delete(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a run.

        Removes an ended run with its log and artifacts. A live run is answered with 409: cancel it
        first.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "DELETE",
            path("/agent/runs/{}", run_id),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)

    def cancel(
        self,
        run_id: str,
        *,
        cascade: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> str:
        """Cancel a run.

        The run is CANCELLED when this answers; its processes are gone within 10 seconds. A run that
        has ended is answered with 400.

        Args:
          run_id: The id of a run.
          cascade: Also cancels the descendants.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/cancel", run_id),
            query={"cascade": cascade},
            replay=True,
            options=checked(self.cancel, options),
        )
        return self._call(request, str)

    def cancel_all(
        self,
        *,
        filter: params.CancelFilter,
        dry_run: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.CancelRunsResponse:
        """Cancel runs by filter.

        Cancels every live run that the filter selects.

        Args:
          filter: The conditions of the list; at least one. Runs that have ended are left alone.
          dry_run: Answers with the runs that would be cancelled, and cancels none.
        """
        request = Request(
            "POST",
            "/agent/runs/cancel",
            body=fields({"filter": filter, "dry_run": dry_run}),
            options=checked(self.cancel_all, options),
        )
        return self._call(request, models.CancelRunsResponse)

    def followup(
        self,
        run_id: str,
        *,
        attachments: Sequence[params.FollowupAttachmentInput] | None = None,
        message: str | None = None,
        mode: Literal["normal"] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunFollowupResponse:
        """Send a follow-up.

        Adds a message to a run: before it starts, while it works, or after it has ended (which
        reopens it).

        Args:
          run_id: The id of a run.
          message: The message to the agent. May be empty when there is an attachment.
          mode: Only normal is supported; plan and orchestrate get 422.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/followups", run_id),
            body=fields({"attachments": attachments, "message": message, "mode": mode}),
            replay=True,
            options=checked(self.followup, options),
        )
        return self._call(request, models.RunFollowupResponse)

    def interrupt(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Interrupt the current turn.

        Stops what the agent is doing now; the run stays INPROGRESS, and a follow-up continues it.
        One that is CLAIMED is interrupted as soon as its agent begins.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/interrupt", run_id),
            options=checked(self.interrupt, options),
        )
        self._run(request)

    def rerun(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> models.RunAgentResponse:
        """Run again.

        Starts a new run with the same request.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/rerun", run_id),
            options=checked(self.rerun, options),
        )
        return self._call(request, models.RunAgentResponse)

    def events(
        self,
        run_id: str,
        *,
        after: int | None = None,
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.RunEvent]:
        """Read or follow the log of a run.

        As JSON: a page of events. With Accept: text/event-stream: the events after Last-Event-ID
        (or after), then live ones; the id of each is its sequence, a comment comes every 15
        seconds, and the stream ends when the run has ended and everything was sent.

        Args:
          run_id: The id of a run.
          after: Only events with a greater sequence.
          limit: For the JSON form.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/events", run_id),
            query={"after": after, "limit": limit},
            replay=True,
            options=checked(self.events, options),
        )
        return self._list(request, "events", models.RunEvent)

    def stream_states(
        self,
        *,
        state: models.RunState | Sequence[models.RunState] | None = None,
        task_status: models.TaskStatus | Sequence[models.TaskStatus] | None = None,
        name: str | None = None,
        model_id: str | None = None,
        creator: str | None = None,
        executor: str | None = None,
        source: models.RunSourceType | Sequence[models.RunSourceType] | None = None,
        execution_location: Literal["LOCAL", "REMOTE"] | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        updated_after: datetime | str | None = None,
        updated_before: datetime | str | None = None,
        environment_id: str | None = None,
        skill: str | None = None,
        schedule_id: str | None = None,
        factory_uid: str | Sequence[str] | None = None,
        factory_only: bool | None = None,
        automation_id: str | None = None,
        webhook_id: str | None = None,
        delivery_id: str | None = None,
        parent_run_id: str | None = None,
        ancestor_run_id: str | None = None,
        worker_host: str | None = None,
        metadata: Mapping[str, str] | None = None,
        artifact_type: models.ArtifactType | None = None,
        q: str | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> EventStream:
        """Follow the state changes of all runs.

        Server-Sent Events with the filters of the list; the id of each is a cursor to resume after.

        Args:
          state: One or several.
          task_status: One or several.
          name: Equals config.name.
          creator: The uid of a principal.
          executor: The uid of a principal.
          source: One or several.
          created_after: Inclusive.
          created_before: Exclusive.
          updated_after: Inclusive.
          updated_before: Exclusive.
          environment_id: empty-environment selects runs without one.
          skill: owner/repo:path or owner/repo:name; finds runs that were started with either.
          factory_uid: One or several.
          factory_only: Only runs of a factory.
          parent_run_id: Children of this run.
          ancestor_run_id: All descendants of this run.
          worker_host: hosted for the server's own workers.
          metadata: metadata[KEY]=VALUE, at most 5; exact, all must hold.
          artifact_type: Runs that have such an artifact.
          q: Words of title, name, skill and the start of the prompt; also an exact run id.
          cursor: Resumes after this change; without it, the stream begins now.
        """
        request = Request(
            "GET",
            "/agent/events/stream",
            query={
                "state": state,
                "task_status": task_status,
                "name": name,
                "model_id": model_id,
                "creator": creator,
                "executor": executor,
                "source": source,
                "execution_location": execution_location,
                "created_after": created_after,
                "created_before": created_before,
                "updated_after": updated_after,
                "updated_before": updated_before,
                "environment_id": environment_id,
                "skill": skill,
                "schedule_id": schedule_id,
                "factory_uid": factory_uid,
                "factory_only": factory_only,
                "automation_id": automation_id,
                "webhook_id": webhook_id,
                "delivery_id": delivery_id,
                "parent_run_id": parent_run_id,
                "ancestor_run_id": ancestor_run_id,
                "worker_host": worker_host,
                "metadata": metadata,
                "artifact_type": artifact_type,
                "q": q,
                "cursor": cursor,
            },
            replay=True,
            options=checked(self.stream_states, options),
        )
        return self._states(request)

    def conversation(
        self,
        run_id: str,
        *,
        cursor: int | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ConversationResponse:
        """Get the conversation of a run.

        Args:
          run_id: The id of a run.
          cursor: From page_info.next_cursor: continues a conversation that was too long for one
            answer.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/conversation", run_id),
            query={"cursor": cursor},
            replay=True,
            options=checked(self.conversation, options),
        )
        return self._call(request, models.ConversationResponse)

    def transcript(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> Download:
        """Download the log of a run.

        Redirects to a file with one JSON object per event and line.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/transcript", run_id),
            replay=True,
            options=checked(self.transcript, options),
        )
        return self._download(request)

    def timeline(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> models.TimelineResponse:
        """Get the state changes of a run.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/timeline", run_id),
            replay=True,
            options=checked(self.timeline, options),
        )
        return self._call(request, models.TimelineResponse)

    def attachments(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> models.HandoffAttachmentsResponse:
        """List the files that were attached to a run.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/handoff/attachments", run_id),
            replay=True,
            options=checked(self.attachments, options),
        )
        return self._call(request, models.HandoffAttachmentsResponse)

    def by_reference(
        self,
        *,
        url: str,
        **options: Unpack[CallOptions],
    ) -> models.RunReference:
        """Find a run by what it produced.

        The newest run that reported this address as an artifact.

        Args:
          url: The address of an external reference that a run reported.
        """
        request = Request(
            "GET",
            "/agent/run-by-external-reference",
            query={"url": url},
            replay=True,
            options=checked(self.by_reference, options),
        )
        return self._call(request, models.RunReference)

    def report(
        self,
        run_id: str,
        *,
        type: Literal["message", "notice", "plan", "pull_request", "reference"],
        level: Literal["info", "warning", "error"] | None = None,
        steps: Sequence[params.RunReportStep] | None = None,
        text: str | None = None,
        url: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunReportResponse:
        """Report on your own run.

        For agents: puts a message, notice, plan or address into the log of the run whose run token
        the caller has, while its execution is active. Values of the run's secrets are masked. An
        address becomes an artifact.

        Args:
          run_id: The id of a run.
          level: Of notice; info by default.
          steps: Of a plan: all of them, each time.
          text: Of message and notice.
          url: Of pull_request and reference.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/reports", run_id),
            body=fields({"type": type, "level": level, "steps": steps, "text": text, "url": url}),
            options=checked(self.report, options),
        )
        return self._call(request, models.RunReportResponse)

    def report_artifact(
        self,
        run_id: str,
        *,
        content: bytes,
        filename: str,
        type: Literal["FILE", "SCREENSHOT", "PLAN"] | None = None,
        mime_type: str | None = None,
        title: str | None = None,
        description: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunReportResponse:
        """Report a file of your own run.

        For agents: the body is the content, of at most 100 MB. Files in $LINESHAFT_ARTIFACTS are
        stored at the end of a turn without this.

        Args:
          run_id: The id of a run.
          filename: The name of the file, without folders.
          type: FILE by default.
          mime_type: Its type; if absent, it follows from the file name.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/artifacts", run_id),
            query={
                "filename": filename,
                "type": type,
                "mime_type": mime_type,
                "title": title,
                "description": description,
            },
            content=content,
            options=checked(self.report_artifact, options),
        )
        return self._call(request, models.RunReportResponse)


class AsyncRuns(AsyncResource):
    """Calls about runs, to be awaited."""

    async def create(
        self,
        *,
        agent_identity_uid: str | None = None,
        attachments: Sequence[params.AttachmentInput] | None = None,
        config: params.AmbientAgentConfig | models.AmbientAgentConfig | None = None,
        conversation_id: str | None = None,
        interactive: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        mode: Literal["normal"] | None = None,
        parent_run_id: str | None = None,
        prompt: str | None = None,
        skill: str | None = None,
        team: bool | None = None,
        title: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunAgentResponse:
        """Start a run.

        Queues a run and answers once it is durable. Watch it with runs.get or runs.events.

        Args:
          agent_identity_uid: An agent: the run takes its configuration and belongs to its factory.
          attachments: Files for the workspace, at most 10 MB in total.
          conversation_id: Continues a conversation.
          interactive: Accepted; it changes nothing: every run takes follow-ups while it works.
          metadata: Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values
            of at most 256 bytes.
          mode: Only normal is supported; plan and orchestrate get 422.
          prompt: What to do, at most 1 MiB. Required unless a skill or conversation_id is given.
          skill: A skill, owner/repo:name or owner/repo:path; takes precedence over those in config.
            You may leave out the owner of a repository in the run's environment or factory.
          team: Accepted; every run belongs to the team.
          title: Made from the prompt when absent.
        """
        request = Request(
            "POST",
            "/agent/runs",
            body=fields({
                "agent_identity_uid": agent_identity_uid,
                "attachments": attachments,
                "config": config,
                "conversation_id": conversation_id,
                "interactive": interactive,
                "metadata": metadata,
                "mode": mode,
                "parent_run_id": parent_run_id,
                "prompt": prompt,
                "skill": skill,
                "team": team,
                "title": title,
            }),
            replay=True,
            options=checked(self.create, options),
        )
        return await self._call(request, models.RunAgentResponse)

    def list(
        self,
        *,
        state: models.RunState | Sequence[models.RunState] | None = None,
        task_status: models.TaskStatus | Sequence[models.TaskStatus] | None = None,
        name: str | None = None,
        model_id: str | None = None,
        creator: str | None = None,
        executor: str | None = None,
        source: models.RunSourceType | Sequence[models.RunSourceType] | None = None,
        execution_location: Literal["LOCAL", "REMOTE"] | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        updated_after: datetime | str | None = None,
        updated_before: datetime | str | None = None,
        environment_id: str | None = None,
        skill: str | None = None,
        schedule_id: str | None = None,
        factory_uid: str | Sequence[str] | None = None,
        factory_only: bool | None = None,
        automation_id: str | None = None,
        webhook_id: str | None = None,
        delivery_id: str | None = None,
        parent_run_id: str | None = None,
        ancestor_run_id: str | None = None,
        worker_host: str | None = None,
        metadata: Mapping[str, str] | None = None,
        artifact_type: models.ArtifactType | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        sort_by: models.RunSortBy | None = None,
        sort_order: Literal["asc", "desc"] | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.RunItem]:
        """List runs.

        All conditions must hold. Newest change first, unless sort_by says otherwise.

        Args:
          state: One or several.
          task_status: One or several.
          name: Equals config.name.
          creator: The uid of a principal.
          executor: The uid of a principal.
          source: One or several.
          created_after: Inclusive.
          created_before: Exclusive.
          updated_after: Inclusive.
          updated_before: Exclusive.
          environment_id: empty-environment selects runs without one.
          skill: owner/repo:path or owner/repo:name; finds runs that were started with either.
          factory_uid: One or several.
          factory_only: Only runs of a factory.
          parent_run_id: Children of this run.
          ancestor_run_id: All descendants of this run.
          worker_host: hosted for the server's own workers.
          metadata: metadata[KEY]=VALUE, at most 5; exact, all must hold.
          artifact_type: Runs that have such an artifact.
          q: Words of title, name, skill and the start of the prompt; also an exact run id.
          cursor: From page_info.next_cursor, with the same filters and order.
        """
        request = Request(
            "GET",
            "/agent/runs",
            query={
                "state": state,
                "task_status": task_status,
                "name": name,
                "model_id": model_id,
                "creator": creator,
                "executor": executor,
                "source": source,
                "execution_location": execution_location,
                "created_after": created_after,
                "created_before": created_before,
                "updated_after": updated_after,
                "updated_before": updated_before,
                "environment_id": environment_id,
                "skill": skill,
                "schedule_id": schedule_id,
                "factory_uid": factory_uid,
                "factory_only": factory_only,
                "automation_id": automation_id,
                "webhook_id": webhook_id,
                "delivery_id": delivery_id,
                "parent_run_id": parent_run_id,
                "ancestor_run_id": ancestor_run_id,
                "worker_host": worker_host,
                "metadata": metadata,
                "artifact_type": artifact_type,
                "q": q,
                "limit": limit,
                "cursor": cursor,
                "sort_by": sort_by,
                "sort_order": sort_order,
            },
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "runs", models.RunItem)

    async def get(
        self,
        run_id: str,
        *,
        explain: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunItem:
        """Get a run.

        Args:
          run_id: The id of a run.
          explain: Adds agent_config_origins.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}", run_id),
            query={"explain": explain},
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.RunItem)

    async def delete(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a run.

        Removes an ended run with its log and artifacts. A live run is answered with 409: cancel it
        first.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "DELETE",
            path("/agent/runs/{}", run_id),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)

    async def cancel(
        self,
        run_id: str,
        *,
        cascade: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> str:
        """Cancel a run.

        The run is CANCELLED when this answers; its processes are gone within 10 seconds. A run that
        has ended is answered with 400.

        Args:
          run_id: The id of a run.
          cascade: Also cancels the descendants.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/cancel", run_id),
            query={"cascade": cascade},
            replay=True,
            options=checked(self.cancel, options),
        )
        return await self._call(request, str)

    async def cancel_all(
        self,
        *,
        filter: params.CancelFilter,
        dry_run: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.CancelRunsResponse:
        """Cancel runs by filter.

        Cancels every live run that the filter selects.

        Args:
          filter: The conditions of the list; at least one. Runs that have ended are left alone.
          dry_run: Answers with the runs that would be cancelled, and cancels none.
        """
        request = Request(
            "POST",
            "/agent/runs/cancel",
            body=fields({"filter": filter, "dry_run": dry_run}),
            options=checked(self.cancel_all, options),
        )
        return await self._call(request, models.CancelRunsResponse)

    async def followup(
        self,
        run_id: str,
        *,
        attachments: Sequence[params.FollowupAttachmentInput] | None = None,
        message: str | None = None,
        mode: Literal["normal"] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunFollowupResponse:
        """Send a follow-up.

        Adds a message to a run: before it starts, while it works, or after it has ended (which
        reopens it).

        Args:
          run_id: The id of a run.
          message: The message to the agent. May be empty when there is an attachment.
          mode: Only normal is supported; plan and orchestrate get 422.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/followups", run_id),
            body=fields({"attachments": attachments, "message": message, "mode": mode}),
            replay=True,
            options=checked(self.followup, options),
        )
        return await self._call(request, models.RunFollowupResponse)

    async def interrupt(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Interrupt the current turn.

        Stops what the agent is doing now; the run stays INPROGRESS, and a follow-up continues it.
        One that is CLAIMED is interrupted as soon as its agent begins.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/interrupt", run_id),
            options=checked(self.interrupt, options),
        )
        await self._run(request)

    async def rerun(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> models.RunAgentResponse:
        """Run again.

        Starts a new run with the same request.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/rerun", run_id),
            options=checked(self.rerun, options),
        )
        return await self._call(request, models.RunAgentResponse)

    def events(
        self,
        run_id: str,
        *,
        after: int | None = None,
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.RunEvent]:
        """Read or follow the log of a run.

        As JSON: a page of events. With Accept: text/event-stream: the events after Last-Event-ID
        (or after), then live ones; the id of each is its sequence, a comment comes every 15
        seconds, and the stream ends when the run has ended and everything was sent.

        Args:
          run_id: The id of a run.
          after: Only events with a greater sequence.
          limit: For the JSON form.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/events", run_id),
            query={"after": after, "limit": limit},
            replay=True,
            options=checked(self.events, options),
        )
        return self._list(request, "events", models.RunEvent)

    def stream_states(
        self,
        *,
        state: models.RunState | Sequence[models.RunState] | None = None,
        task_status: models.TaskStatus | Sequence[models.TaskStatus] | None = None,
        name: str | None = None,
        model_id: str | None = None,
        creator: str | None = None,
        executor: str | None = None,
        source: models.RunSourceType | Sequence[models.RunSourceType] | None = None,
        execution_location: Literal["LOCAL", "REMOTE"] | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        updated_after: datetime | str | None = None,
        updated_before: datetime | str | None = None,
        environment_id: str | None = None,
        skill: str | None = None,
        schedule_id: str | None = None,
        factory_uid: str | Sequence[str] | None = None,
        factory_only: bool | None = None,
        automation_id: str | None = None,
        webhook_id: str | None = None,
        delivery_id: str | None = None,
        parent_run_id: str | None = None,
        ancestor_run_id: str | None = None,
        worker_host: str | None = None,
        metadata: Mapping[str, str] | None = None,
        artifact_type: models.ArtifactType | None = None,
        q: str | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncEventStream:
        """Follow the state changes of all runs.

        Server-Sent Events with the filters of the list; the id of each is a cursor to resume after.

        Args:
          state: One or several.
          task_status: One or several.
          name: Equals config.name.
          creator: The uid of a principal.
          executor: The uid of a principal.
          source: One or several.
          created_after: Inclusive.
          created_before: Exclusive.
          updated_after: Inclusive.
          updated_before: Exclusive.
          environment_id: empty-environment selects runs without one.
          skill: owner/repo:path or owner/repo:name; finds runs that were started with either.
          factory_uid: One or several.
          factory_only: Only runs of a factory.
          parent_run_id: Children of this run.
          ancestor_run_id: All descendants of this run.
          worker_host: hosted for the server's own workers.
          metadata: metadata[KEY]=VALUE, at most 5; exact, all must hold.
          artifact_type: Runs that have such an artifact.
          q: Words of title, name, skill and the start of the prompt; also an exact run id.
          cursor: Resumes after this change; without it, the stream begins now.
        """
        request = Request(
            "GET",
            "/agent/events/stream",
            query={
                "state": state,
                "task_status": task_status,
                "name": name,
                "model_id": model_id,
                "creator": creator,
                "executor": executor,
                "source": source,
                "execution_location": execution_location,
                "created_after": created_after,
                "created_before": created_before,
                "updated_after": updated_after,
                "updated_before": updated_before,
                "environment_id": environment_id,
                "skill": skill,
                "schedule_id": schedule_id,
                "factory_uid": factory_uid,
                "factory_only": factory_only,
                "automation_id": automation_id,
                "webhook_id": webhook_id,
                "delivery_id": delivery_id,
                "parent_run_id": parent_run_id,
                "ancestor_run_id": ancestor_run_id,
                "worker_host": worker_host,
                "metadata": metadata,
                "artifact_type": artifact_type,
                "q": q,
                "cursor": cursor,
            },
            replay=True,
            options=checked(self.stream_states, options),
        )
        return self._states(request)

    async def conversation(
        self,
        run_id: str,
        *,
        cursor: int | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ConversationResponse:
        """Get the conversation of a run.

        Args:
          run_id: The id of a run.
          cursor: From page_info.next_cursor: continues a conversation that was too long for one
            answer.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/conversation", run_id),
            query={"cursor": cursor},
            replay=True,
            options=checked(self.conversation, options),
        )
        return await self._call(request, models.ConversationResponse)

    def transcript(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> AsyncDownload:
        """Download the log of a run.

        Redirects to a file with one JSON object per event and line.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/transcript", run_id),
            replay=True,
            options=checked(self.transcript, options),
        )
        return self._download(request)

    async def timeline(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> models.TimelineResponse:
        """Get the state changes of a run.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/timeline", run_id),
            replay=True,
            options=checked(self.timeline, options),
        )
        return await self._call(request, models.TimelineResponse)

    async def attachments(
        self,
        run_id: str,
        **options: Unpack[CallOptions],
    ) -> models.HandoffAttachmentsResponse:
        """List the files that were attached to a run.

        Args:
          run_id: The id of a run.
        """
        request = Request(
            "GET",
            path("/agent/runs/{}/handoff/attachments", run_id),
            replay=True,
            options=checked(self.attachments, options),
        )
        return await self._call(request, models.HandoffAttachmentsResponse)

    async def by_reference(
        self,
        *,
        url: str,
        **options: Unpack[CallOptions],
    ) -> models.RunReference:
        """Find a run by what it produced.

        The newest run that reported this address as an artifact.

        Args:
          url: The address of an external reference that a run reported.
        """
        request = Request(
            "GET",
            "/agent/run-by-external-reference",
            query={"url": url},
            replay=True,
            options=checked(self.by_reference, options),
        )
        return await self._call(request, models.RunReference)

    async def report(
        self,
        run_id: str,
        *,
        type: Literal["message", "notice", "plan", "pull_request", "reference"],
        level: Literal["info", "warning", "error"] | None = None,
        steps: Sequence[params.RunReportStep] | None = None,
        text: str | None = None,
        url: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunReportResponse:
        """Report on your own run.

        For agents: puts a message, notice, plan or address into the log of the run whose run token
        the caller has, while its execution is active. Values of the run's secrets are masked. An
        address becomes an artifact.

        Args:
          run_id: The id of a run.
          level: Of notice; info by default.
          steps: Of a plan: all of them, each time.
          text: Of message and notice.
          url: Of pull_request and reference.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/reports", run_id),
            body=fields({"type": type, "level": level, "steps": steps, "text": text, "url": url}),
            options=checked(self.report, options),
        )
        return await self._call(request, models.RunReportResponse)

    async def report_artifact(
        self,
        run_id: str,
        *,
        content: bytes,
        filename: str,
        type: Literal["FILE", "SCREENSHOT", "PLAN"] | None = None,
        mime_type: str | None = None,
        title: str | None = None,
        description: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.RunReportResponse:
        """Report a file of your own run.

        For agents: the body is the content, of at most 100 MB. Files in $LINESHAFT_ARTIFACTS are
        stored at the end of a turn without this.

        Args:
          run_id: The id of a run.
          filename: The name of the file, without folders.
          type: FILE by default.
          mime_type: Its type; if absent, it follows from the file name.
        """
        request = Request(
            "POST",
            path("/agent/runs/{}/artifacts", run_id),
            query={
                "filename": filename,
                "type": type,
                "mime_type": mime_type,
                "title": title,
                "description": description,
            },
            content=content,
            options=checked(self.report_artifact, options),
        )
        return await self._call(request, models.RunReportResponse)
