"""What schemathesis cannot read in the document. Each part says why it is here."""

import copy
import functools
import json
import os
import urllib.request

import schemathesis
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode


def factories():
    """The factories of the server under test."""
    return os.environ["LINESHAFT_FACTORIES"].split()


ADDRESSES = st.from_regex(
    r"https://[a-z][a-z0-9-]{0,9}[a-z0-9](\.[a-z]{2,8}){1,3}(:[1-9][0-9]{0,3})?(/([!$&-.0-;=@-Z_a-z~]|%[0-9A-F]{2}){1,9}){0,3}(\?[a-z]{1,8}=[A-Za-z0-9]{0,9})?",
    fullmatch=True,
)

# A schema can say the form of a value, and the document does. It cannot say which things a
# server has: these are those of tests/openapi/run, or the empty text, which means none.
# Nor can it say that a time is in the future, that a cron expression comes true, which time
# zones there are, what a cursor holds, what an address may be made of, or that a skill without an owner needs a factory or
# an environment that has it; and a webhook's scheme decides what its secret is.
FORMATS = {
    "agent-name": st.just(""),
    "agent-uid": st.just(""),
    "conversation-id": st.just(""),
    "cron": st.sampled_from(["30 2 * * 1-5", "@daily", "@every 1h"]),
    "cursor": st.just(""),
    "date-time": st.just("2999-01-01T00:00:00Z"),
    "environment-id": st.just(""),
    "existing-factory-uid": st.integers(1, 100).map(lambda n: factories()[n - 1]),
    "factory-uid": st.just(""),
    "http-url": ADDRESSES,
    "http-url-or-none": ADDRESSES | st.just(""),
    "run-id": st.just(""),
    "runner-id": st.just(""),
    "secret-name": st.integers(1, 20).map(lambda n: f"FROM_THE_TESTS_{n}"),
    "secret-name-or-none": st.sampled_from(["FROM_THE_TESTS_1", ""]),
    "skill": st.from_regex(r"[a-z]{3,8}/[a-z]{3,8}:[a-z]{3,8}", fullmatch=True),
    "timezone": st.sampled_from(["Europe/Berlin", "UTC", ""]),
    # Long enough for all, and what Discord has: a public key in hex.
    "webhook-secret": st.just("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"),
}
for name, values in FORMATS.items():
    schemathesis.openapi.format(name, values)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    schemas = raw_schema["components"]["schemas"]
    # No forge is there to ask for the skills of a repository.
    skills = raw_schema["paths"]["/agent"]["get"]
    skills["parameters"] = [one for one in skills["parameters"] if one.get("name") != "repo"]
    for item in raw_schema["paths"].values():
        for operation in item.values():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                # Examples name things of a server that has been used; Go tests send them.
                media.pop("example", None)
                if "schema" in media:
                    media["schema"] = in_requests(media["schema"], schemas)


def in_requests(schema, schemas):
    """A copy of a schema for requests. There null is the same as leaving a member out, as the
    introduction of the document says; in answers the schemas hold as they are."""
    if isinstance(schema, list):
        return [in_requests(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = copy.copy(schema)
    if schema.get("format") in FORMATS:
        # Otherwise names that fit the pattern are sent, which this server does not have.
        schema.pop("pattern", None)
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        schema["$ref"] += "InRequests"
        if f"{name}InRequests" not in schemas:
            schemas[f"{name}InRequests"] = {}
            schemas[f"{name}InRequests"] = in_requests(schemas[name], schemas)
    for keyword, value in schema.items():
        if keyword == "properties":
            schema[keyword] = {name: in_requests(member, schemas) for name, member in value.items()}
        elif keyword not in ("$ref", "enum", "const", "example", "examples", "default"):
            schema[keyword] = in_requests(value, schemas)
    # Only cancelRuns takes no null. It is the one that takes no unknown members either.
    if "type" in schema and schema.get("additionalProperties") is not False:
        for name, member in schema.get("properties", {}).items():
            texts = member.get("additionalProperties")
            if name == "files":  # each is a text: one that is left out has no name either
                continue
            if isinstance(texts, dict) and texts.get("type") == "string":
                member["additionalProperties"] = or_null(texts)
            if name not in schema.get("required", []):
                schema["properties"][name] = or_null(member)
    return schema


def or_null(schema):
    return {"anyOf": [schema, {"type": "null"}]}


# What the files of a folder have to say is in the schemas of the files, and these name
# each other: no schema of a request can ask for a folder without mistakes.
FOLDER = {
    "factory.yaml": "schemaVersion: v1alpha1\nname: From the tests\n",
    "agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nYou take all work.\n",
}

sent = set()


@schemathesis.hook
def before_call(context, case, kwargs):
    positive = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    # A key may come again only with the body that it came with: what is wrong in a request may be something that the server ignores.
    key = (case.headers or {}).get("Idempotency-Key")
    if positive and key in sent:
        del case.headers["Idempotency-Key"]
    elif key is not None:
        sent.add(key)
    if not positive:
        return
    if isinstance(case.body, dict):
        case.body = whole(case.body)
        if case.path.endswith("/test-filter"):
            case.body["filter"] = {"payload": {"action": ["opened"]}}  # which keys there are depends on the event
            case.body.pop("event", None)  # and which events on the provider
            case.body.pop("provider", None)
        if case.path.endswith("/webhooks") and case.body.get("secret_name"):
            del case.body["secret_name"]  # the scheme decides which values are secrets of it
        if case.path == "/factory-files/plan" or "/definition/" in case.path and "files" in case.body:
            case.body["files"] = FOLDER
        if isinstance(case.body.get("files"), list):
            tell_apart(case.body["files"], "path")
        tell_apart(case.body.get("attachments"), "file_name")
        tell_apart((case.body.get("config") or {}).get("github_repos"), "repo")
        for config in (case.body, case.body.get("config") or {}, case.body.get("agent_config") or {}):
            say_skill_once(config)
            if isinstance(config.get("mcp_servers"), list):
                tell_apart(config["mcp_servers"], "name")
            elif config.get("mcp_servers"):  # a name has at most 128 bytes, which a schema cannot count
                config["mcp_servers"] = {name[:32]: server for name, server in config["mcp_servers"].items()}
            name_once(config)
        for trigger in case.body.get("triggers") or []:
            fit_filter(trigger)
        fit_template(case.body.get("hmac"))


def whole(value):
    """Writes whole numbers as such. To a schema 5.0 is an integer; the API takes 5 only."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: whole(member) for name, member in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return value


def name_once(config):
    """Leaves each secret once: uniqueItems also compares what else their items have."""
    secrets = config.get("secrets")
    if isinstance(secrets, list):
        config["secrets"] = list({item["name"] if isinstance(item, dict) else item: item for item in secrets}.values())


def say_skill_once(config):
    """Leaves out one of two fields that say the same in two ways: that they agree is not for a schema to ask."""
    if config.get("skill_spec") and config.get("skills"):
        del config["skill_spec"]


@functools.cache
def keys_of(provider, event):
    """The keys of an event's filters, as the server lists them. All of them together would
    be a document that nobody reads, so the schema of triggers has those of a provider."""
    address = f"{os.environ['LINESHAFT_ADDRESS']}/api/v1/factory/automations/events/{provider}"
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {os.environ['LINESHAFT_ADMIN_KEY']}"})
    with urllib.request.urlopen(request) as answer:
        events = {one["event"]: one["filter_field_specs"] for one in json.load(answer)["events"]}
    return {key["name"]: key.get("alias_of") for key in events[event if event in events else "*"]}


def fit_filter(trigger):
    """Leaves a filter the keys that its event has, of an alias and its key one, and of a value
    that is both in in and in not_in the first."""
    if trigger["provider"] == "webhook":  # which has to name one
        trigger.update(provider="run", event="finished", filter={"states": ["FAILED"]})
    filter_, keys = trigger.get("filter") or {}, keys_of(trigger["provider"], trigger["event"])
    if filter_.get("payload"):
        filter_["payload"] = {"action": ["opened"]}  # conditions may nest, and each has operators of its own
    for name in ("automations", "webhook_ids", "webhooks"):  # a new factory has none to name
        filter_.pop(name, None)
    for name in list(filter_):
        if name == "payload":
            continue
        if name not in keys or name == "factories" or keys[name] in filter_ or len(json.dumps(filter_[name], ensure_ascii=False).encode()) > 256:
            del filter_[name]  # factories are there or not, and values have at most 256 bytes, which a schema cannot count
        elif isinstance(filter_[name], dict) and filter_[name].get("in") and filter_[name].get("not_in"):
            del filter_[name]["not_in"]


def fit_template(hmac):
    """Gives each header of a signature another name, and a template with several parts a character
    between them: a schema cannot compare, and its pattern cannot say that each is there once."""
    if not hmac:
        return
    for number, name in enumerate(("header", "timestamp_header", "id_header")):
        if hmac.get(name):
            hmac[name] = f"X{number}-{hmac[name][:90]}"
    parts = [part for part in ("{timestamp}", "{id}", "{method}", "{url}") if part in (hmac.get("template") or "")]
    if parts:
        hmac["template"] = ".".join([*parts, "{body}"])
    elif hmac.get("template"):
        hmac["template"] = hmac["template"].split("{body}")[0] + "{body}"


def tell_apart(items, name):
    """Gives each item another name, whatever its case: uniqueItems cannot ask for that."""
    for number, item in enumerate(items or []):
        if len(items) > 1:
            item[name] = f"{item[name][:30]}{number}"
