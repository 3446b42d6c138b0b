package catalog

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

func slack() *provider {
	channel, user := exact("id of a channel, such as C0123456789"), exact("id of a user, such as U0123456789")
	return &provider{
		name: lineshaft.ProviderSlack, kind: slackKind, families: slackFamilies(),
		keys: []key{
			{name: "channel_ids", doc: "Channels, by id.", form: channel},
			{name: "channels", alias: "channel_ids", doc: "Slack channels, by name.", form: channelName()},
			{name: "user_ids", doc: "Who did it, by id.", form: user},
			{name: "users", alias: "user_ids", doc: "Slack users, by name.", form: userName()},
			{name: "emojis", doc: "Names of emojis; colons and skin tones mean nothing.", form: emoji()},
			{name: keyKeywords, doc: "Parts of the text, in any case.", form: keyword()},
			{name: "item_user_ids", doc: "Who wrote what the reaction is to, by id.", form: user},
			{name: "itemUsers", alias: "item_user_ids", doc: "Who wrote what the reaction is to, by name.", form: userName()},
		},
	}
}

// slackKind is the type of the event in an envelope; other requests are no events.
func slackKind(_ string, body filter.Value) string {
	if kind, _ := body.At("type").Text(); kind != "event_callback" {
		return kind
	}
	kind, _ := body.At("event.type").Text()
	return kind
}

func slackFamilies() []*family {
	user := all(text("event.user"), text("event.user_profile.name"), text("event.user_profile.display_name"), text("event.user_profile.real_name"))
	said := reads{
		"channel_ids": text("event.channel"), "channels": text("event.channel"), "user_ids": text("event.user"), "users": user, keyKeywords: slackText,
	}
	message := func(name string, in ...string) *family {
		return &family{name: name, kinds: []string{"message"}, has: said, aside: slackAside, about: func(e *Event) bool {
			return slackPerson(e) && slices.Contains(in, slackChannelType(e))
		}}
	}
	reaction := reads{
		"channel_ids": text("event.item.channel"), "channels": text("event.item.channel"), "user_ids": text("event.user"), "users": user,
		"emojis": reactionName, keyKeywords: none, "item_user_ids": text("event.item_user"), "itemUsers": text("event.item_user"),
	}
	joined := reads{"channel_ids": said["channel_ids"], "channels": said["channels"], "user_ids": said["user_ids"], "users": user}
	return []*family{
		{name: "app_mention", kinds: []string{"app_mention"}, has: said, about: slackPerson, aside: slackAside},
		message("message_dm", "im", "mpim"),
		message("message_im", "im"),
		message("message_mpim", "mpim"),
		message("message_posted", "channel", "group"),
		(&family{name: "reaction_added", kinds: []string{"reaction_added"}, has: reaction, about: slackPerson, aside: slackAside}).
			unseen("Slack does not send the text of what a reaction is to, so a trigger with keywords never fires; leave keywords out", keyKeywords),
		{name: "member_joined_channel", kinds: []string{"member_joined_channel"}, has: joined},
	}
}

// slackAside is what slackPerson leaves out.
const slackAside = "from a program, an edit, or Slack itself: these start nothing"

// slackPerson says whether a person did something new: what programs post, edits and
// remarks of Slack itself start nothing, so that an answer does not start another one.
func slackPerson(e *Event) bool {
	if len(text("event.bot_id")(e)) > 0 || len(text("event.user")(e)) == 0 {
		return false
	}
	kind, _ := e.body.At("event.subtype").Text()
	if kind != "" && !slices.Contains([]string{"file_share", "thread_broadcast", "me_message"}, kind) {
		return false
	}
	user, _ := e.body.At("event.user").Text()
	for own := range e.body.At("authorizations").Elements() {
		if id, _ := own.At("user_id").Text(); id == user && own.At("is_bot").True() {
			return false
		}
	}
	return true
}

// slackChannelType is where a message was posted: im, mpim, group or channel.
func slackChannelType(e *Event) string {
	if kind, ok := e.body.At("event.channel_type").Text(); ok {
		return kind
	}
	if id, _ := e.body.At("event.channel").Text(); strings.HasPrefix(id, "D") {
		return "im"
	}
	return "channel"
}

// slackText reads what was written, without the escapes of Slack's markup.
func slackText(e *Event) []string {
	written, ok := e.body.At("event.text").Text()
	if !ok || written == "" {
		return nil
	}
	return []string{strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(written)}
}

func reactionName(e *Event) []string {
	name, _ := e.body.At("event.reaction").Text()
	if name = plainEmoji(name); name == "" {
		return nil
	}
	return []string{name}
}
