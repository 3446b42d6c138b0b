// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { Transport } from "../transport.js";
import { Agents } from "./agents.js";
import { Apikeys } from "./apikeys.js";
import { Artifacts } from "./artifacts.js";
import { Audit } from "./audit.js";
import { Automations } from "./automations.js";
import { Conversations } from "./conversations.js";
import { Definitions } from "./definitions.js";
import { Deliveries } from "./deliveries.js";
import { Environments } from "./environments.js";
import { Factories } from "./factories.js";
import { Models } from "./models.js";
import { Notifications } from "./notifications.js";
import { Runs } from "../runs.js";
import { Schedules } from "./schedules.js";
import { Secrets } from "./secrets.js";
import { Server } from "./server.js";
import { Skills } from "./skills.js";
import { Webhooks } from "./webhooks.js";
import { Workers } from "./workers.js";

/** Everything that a server has. */
export class Resources {
  readonly agents: Agents;
  readonly apikeys: Apikeys;
  readonly artifacts: Artifacts;
  readonly audit: Audit;
  readonly automations: Automations;
  readonly conversations: Conversations;
  readonly definitions: Definitions;
  readonly deliveries: Deliveries;
  readonly environments: Environments;
  readonly factories: Factories;
  readonly models: Models;
  readonly notifications: Notifications;
  readonly runs: Runs;
  readonly schedules: Schedules;
  readonly secrets: Secrets;
  readonly server: Server;
  readonly skills: Skills;
  readonly webhooks: Webhooks;
  readonly workers: Workers;

  constructor(transport: Transport) {
    this.agents = new Agents(transport);
    this.apikeys = new Apikeys(transport);
    this.artifacts = new Artifacts(transport);
    this.audit = new Audit(transport);
    this.automations = new Automations(transport);
    this.conversations = new Conversations(transport);
    this.definitions = new Definitions(transport);
    this.deliveries = new Deliveries(transport);
    this.environments = new Environments(transport);
    this.factories = new Factories(transport);
    this.models = new Models(transport);
    this.notifications = new Notifications(transport);
    this.runs = new Runs(transport);
    this.schedules = new Schedules(transport);
    this.secrets = new Secrets(transport);
    this.server = new Server(transport);
    this.skills = new Skills(transport);
    this.webhooks = new Webhooks(transport);
    this.workers = new Workers(transport);
  }
}
