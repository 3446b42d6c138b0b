"""Calls about conversations. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing import Sequence

from typing_extensions import Literal, Unpack

from .. import models, params
from .._download import AsyncDownload, Download
from .._options import CallOptions, checked
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Conversations(Resource):
    """Calls about conversations."""

    def get(
        self,
        conversation_id: str,
        *,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ConversationResponse:
        """Get a conversation.

        Of the newest run that belongs to it.

        Args:
          conversation_id: The id of a conversation.
          cursor: From page_info.next_cursor: continues a conversation that was too long for one
            answer.
        """
        request = Request(
            "GET",
            path("/agent/conversations/{}", conversation_id),
            query={"cursor": cursor},
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.ConversationResponse)

    def transcript(
        self,
        conversation_id: str,
        **options: Unpack[CallOptions],
    ) -> Download:
        """Download the log of a conversation.

        Redirects to a file with one JSON object per event and line.

        Args:
          conversation_id: The id of a conversation.
        """
        request = Request(
            "GET",
            path("/agent/conversations/{}/transcript", conversation_id),
            replay=True,
            options=checked(self.transcript, options),
        )
        return self._download(request)

    def followup(
        self,
        conversation_id: str,
        *,
        attachments: Sequence[params.FollowupAttachmentInput] | None = None,
        message: str | None = None,
        mode: Literal["normal"] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ConversationFollowupResponse:
        """Send a follow-up to a conversation.

        Args:
          conversation_id: The id of a conversation.
          message: The message to the agent. May be empty when there is an attachment.
          mode: Only normal is supported; plan and orchestrate get 422.
        """
        request = Request(
            "POST",
            path("/agent/conversations/{}/followups", conversation_id),
            body=fields({"attachments": attachments, "message": message, "mode": mode}),
            replay=True,
            options=checked(self.followup, options),
        )
        return self._call(request, models.ConversationFollowupResponse)

    def interrupt(
        self,
        conversation_id: str,
        **options: Unpack[CallOptions],
    ) -> models.RunReference:
        """Interrupt a conversation.

        Args:
          conversation_id: The id of a conversation.
        """
        request = Request(
            "POST",
            path("/agent/conversations/{}/interrupt", conversation_id),
            options=checked(self.interrupt, options),
        )
        return self._call(request, models.RunReference)


class AsyncConversations(AsyncResource):
    """Calls about conversations, to be awaited."""

    async def get(
        self,
        conversation_id: str,
        *,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ConversationResponse:
        """Get a conversation.

        Of the newest run that belongs to it.

        Args:
          conversation_id: The id of a conversation.
          cursor: From page_info.next_cursor: continues a conversation that was too long for one
            answer.
        """
        request = Request(
            "GET",
            path("/agent/conversations/{}", conversation_id),
            query={"cursor": cursor},
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.ConversationResponse)

    def transcript(
        self,
        conversation_id: str,
        **options: Unpack[CallOptions],
    ) -> AsyncDownload:
        """Download the log of a conversation.

        Redirects to a file with one JSON object per event and line.

        Args:
          conversation_id: The id of a conversation.
        """
        request = Request(
            "GET",
            path("/agent/conversations/{}/transcript", conversation_id),
            replay=True,
            options=checked(self.transcript, options),
        )
        return self._download(request)

    async def followup(
        self,
        conversation_id: str,
        *,
        attachments: Sequence[params.FollowupAttachmentInput] | None = None,
        message: str | None = None,
        mode: Literal["normal"] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ConversationFollowupResponse:
        """Send a follow-up to a conversation.

        Args:
          conversation_id: The id of a conversation.
          message: The message to the agent. May be empty when there is an attachment.
          mode: Only normal is supported; plan and orchestrate get 422.
        """
        request = Request(
            "POST",
            path("/agent/conversations/{}/followups", conversation_id),
            body=fields({"attachments": attachments, "message": message, "mode": mode}),
            replay=True,
            options=checked(self.followup, options),
        )
        return await self._call(request, models.ConversationFollowupResponse)

    async def interrupt(
        self,
        conversation_id: str,
        **options: Unpack[CallOptions],
    ) -> models.RunReference:
        """Interrupt a conversation.

        Args:
          conversation_id: The id of a conversation.
        """
        request = Request(
            "POST",
            path("/agent/conversations/{}/interrupt", conversation_id),
            options=checked(self.interrupt, options),
        )
        return await self._call(request, models.RunReference)
