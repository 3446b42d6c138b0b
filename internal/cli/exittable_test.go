package cli

const (
	whyNothing  = "it names nothing that could be missing"
	whyLocal    = "it asks no server"
	whyStarted  = "it runs until it is stopped; every test here starts one"
	whyInternal = "programs start it; what it does is tested where it is"
	whyEndpoint = "an endpoint needs an address that the server may call; its own tests have one"
	whyReports  = "TestI1ExitCodesOfReports has it, with the variables of an agent"
)

// exitCases are all commands that do something, in an order in which what one makes the
// next can use.
func exitCases() []exitCase {
	var list []exitCase
	for _, part := range [][]exitCase{exitRuns(), exitFactories(), exitDefinitions(), exitWebhooks(), exitThings(), exitServers(), exitOwn()} {
		list = append(list, part...)
	}
	return list
}

func exitRuns() []exitCase {
	return []exitCase{
		{command: "run", ok: "{prompt} --wait", wrong: "", missing: "hello --agent nobody"},
		{command: "runs list", ok: "", wrong: "--state nonsense", missing: "--factory nowhere", reads: true},
		{command: "runs watch", ok: "-", wrong: "", missing: "-o ndjson --factory nowhere", why: "it goes on until it is stopped; its own tests stop it", local: true},
		{command: "runs get", ok: "{ended}", wrong: "", missing: "nope", reads: true},
		{command: "runs logs", ok: "{ended}", wrong: "", missing: "nope", reads: true},
		{command: "runs open", ok: "{ended}", wrong: "", missing: "nope", reads: true},
		{command: "runs rerun", ok: "{ended}", wrong: "", missing: "nope"},
		{command: "runs followup", ok: "{ended} 'and now?'", wrong: "{ended}", missing: "nope hello"},
		{command: "runs interrupt", ok: "{run}", wrong: "", missing: "nope"},
		{command: "runs cancel", ok: "{run} --cascade", wrong: "", missing: "nope"},
		{command: "runs delete", ok: "{over}", wrong: "", missing: "nope"},
	}
}

func exitFactories() []exitCase {
	return []exitCase{
		{command: "factory list", ok: "", wrong: "more", missing: "-", why: whyNothing, reads: true},
		{command: "factory create", ok: "Another", wrong: "", missing: "-", why: whyNothing},
		{command: "factory get", ok: "shop", wrong: "a b", missing: "nowhere", reads: true},
		{command: "factory update", ok: "shop --description x", wrong: "shop", missing: "nowhere --pause"},
		{command: "factory deliveries", ok: "shop", wrong: "shop --status lost", missing: "nowhere", reads: true},
		{command: "factory run", ok: "shop {prompt} --wait", wrong: "shop", missing: "nowhere hello"},
		{command: "factory delete", ok: "Another", wrong: "", missing: "nowhere"},
		{command: "agent list", ok: "", wrong: "more", missing: "--factory nowhere", reads: true},
		{command: "agent create", ok: "second --factory shop", wrong: "", missing: "x --factory nowhere"},
		{command: "agent get", ok: "reviewer", wrong: "", missing: "nobody", reads: true},
		{command: "agent update", ok: "reviewer --description x", wrong: "reviewer", missing: "nobody --description x"},
		{command: "agent delete", ok: "second", wrong: "", missing: "nobody"},
		{command: "automation list", ok: "", wrong: "more", missing: "--factory nowhere", reads: true},
		{command: "automation create", ok: "second --webhook ci --prompt x", wrong: "second", missing: "x --webhook nope --prompt x"},
		{command: "automation get", ok: "triage", wrong: "", missing: "nope", reads: true},
		{command: "automation update", ok: "triage --max-runs-per-hour 9", wrong: "triage", missing: "nope --prompt x"},
		{command: "automation disable", ok: "second", wrong: "", missing: "nope"},
		{command: "automation enable", ok: "second", wrong: "", missing: "nope"},
		{command: "automation delete", ok: "second", wrong: "", missing: "nope"},
	}
}

func exitDefinitions() []exitCase {
	return []exitCase{
		{command: "factory init", ok: "{home}/fresh", wrong: "", missing: "-", why: whyLocal, local: true},
		{command: "factory validate", ok: "{folder}", wrong: "/none", missing: "-", why: whyLocal, local: true},
		{command: "factory plan", ok: "{folder}", wrong: "", missing: "{folder} --factory nowhere", reads: true},
		{command: "factory apply", ok: "{folder}", wrong: "", missing: "{folder} --factory nowhere"},
		{command: "factory drift", ok: "{folder}", wrong: "/none", missing: "{folder} --factory nowhere", reads: true},
		{command: "factory export", ok: "{home}/exported --factory Folder", wrong: "", missing: "{home}/x --factory nowhere", reads: true},
		{command: "factory revisions", ok: "Folder", wrong: "a b", missing: "nowhere", reads: true},
		{command: "factory rollback", ok: "Folder 1", wrong: "Folder", missing: "nowhere 1"},
		{command: "factory link", ok: "Folder {repository}", wrong: "Folder", missing: "nowhere https://git.example/a.git"},
		{command: "factory sync", ok: "Folder", wrong: "a b", missing: "nowhere"},
		{command: "factory unlink", ok: "Folder", wrong: "", missing: "nowhere"},
		{command: "factory delete", ok: "Folder", wrong: "", missing: "nowhere"},
	}
}

func exitWebhooks() []exitCase {
	return []exitCase{
		{command: "webhook list", ok: "", wrong: "more", missing: "--factory nowhere", reads: true},
		{command: "webhook create", ok: "second", wrong: "second --scheme githab", missing: "second --factory nowhere"},
		{command: "webhook get", ok: "ci", wrong: "", missing: "nope", reads: true},
		{command: "webhook update", ok: "second --rate-limit 5", wrong: "second", missing: "nope --rate-limit 5"},
		{command: "webhook rotate", ok: "second", wrong: "", missing: "nope"},
		{command: "webhook disable", ok: "second", wrong: "", missing: "nope"},
		{command: "webhook enable", ok: "second", wrong: "", missing: "nope"},
		{command: "webhook send", ok: "ci --secret-file {secret}", wrong: "ci", missing: "nope --secret-file {secret}", reads: true},
		{command: "webhook test", ok: "ci", wrong: "", missing: "nope"},
		{command: "webhook deliveries", ok: "ci", wrong: "", missing: "ci nope", reads: true},
		{command: "webhook redeliver", ok: "ci {delivery} --dry-run", wrong: "ci", missing: "nope x"},
		{command: "webhook test-filter", ok: `--payload '{"a": 1}' --filter '{"a": [1]}'`, wrong: "", missing: `--delivery nope --filter '{"a": [1]}'`, reads: true},
		{command: "webhook delete", ok: "second", wrong: "", missing: "nope"},
	}
}

func exitThings() []exitCase {
	return []exitCase{
		{command: "notification list", ok: "", wrong: "more", missing: "-", why: whyNothing, reads: true},
		{command: "notification create", ok: "-", wrong: "", missing: "-", why: whyEndpoint, local: true},
		{command: "notification get", ok: "-", wrong: "", missing: "nope", why: whyEndpoint, local: true},
		{command: "notification update", ok: "-", wrong: "", missing: "-", why: whyEndpoint, local: true},
		{command: "notification rotate", ok: "-", wrong: "", missing: "nope", why: whyEndpoint, local: true},
		{command: "notification enable", ok: "-", wrong: "", missing: "nope", why: whyEndpoint, local: true},
		{command: "notification disable", ok: "-", wrong: "", missing: "nope", why: whyEndpoint, local: true},
		{command: "notification test", ok: "-", wrong: "", missing: "nope", why: whyEndpoint, local: true},
		{command: "notification deliveries", ok: "-", wrong: "", missing: "nope", why: whyEndpoint, local: true},
		{command: "notification replay", ok: "-", wrong: "", missing: "nope x", why: whyEndpoint, local: true},
		{command: "notification delete", ok: "-", wrong: "", missing: "nope", why: whyEndpoint, local: true},
		{command: "schedule list", ok: "", wrong: "more", missing: "-", why: whyNothing, reads: true},
		{command: "schedule create", ok: "second --cron @daily --prompt x", wrong: "second", missing: "-", why: whyNothing},
		{command: "schedule get", ok: "nightly", wrong: "", missing: "nope", reads: true},
		{command: "schedule update", ok: "nightly --cron @weekly", wrong: "nightly", missing: "nope --cron @weekly"},
		{command: "schedule pause", ok: "nightly", wrong: "", missing: "nope"},
		{command: "schedule resume", ok: "nightly", wrong: "", missing: "nope"},
		{command: "schedule next", ok: "@daily", wrong: "sometimes", missing: "-", why: whyLocal, local: true},
		{command: "schedule delete", ok: "second", wrong: "", missing: "nope"},
		{command: "environment list", ok: "", wrong: "more", missing: "-", why: whyNothing, reads: true},
		{command: "environment create", ok: "second --image node:24", wrong: "", missing: "-", why: whyNothing},
		{command: "environment get", ok: "node", wrong: "", missing: "nope", reads: true},
		{command: "environment update", ok: "node --image node:25", wrong: "node", missing: "nope --image x"},
		{command: "environment prepare", ok: "node", wrong: "", missing: "nope"},
		{command: "environment delete", ok: "second", wrong: "", missing: "nope"},
		{command: "secret list", ok: "", wrong: "more", missing: "-", why: whyNothing, reads: true},
		{command: "secret create", ok: "FRESH --team", wrong: "", missing: "-", why: whyNothing, stdin: "hush"},
		{command: "secret update", ok: "OLD", wrong: "", missing: "NOPE", stdin: "hush"},
		{command: "secret delete", ok: "OLD --team", wrong: "", missing: "NOPE"},
		{command: "skill list", ok: "", wrong: "more", missing: "-", why: "a repository that is missing is asked for at a forge", reads: true},
	}
}

func exitServers() []exitCase {
	return []exitCase{
		{command: "worker list", ok: "", wrong: "more", missing: "-", why: whyNothing, reads: true},
		{command: "apikey list", ok: "", wrong: "more", missing: "-", why: whyNothing},
		{command: "apikey create", ok: "second", wrong: "second --role king", missing: "second --factory nowhere"},
		{command: "apikey revoke", ok: "{key}", wrong: "", missing: "nope"},
		{command: "audit list", ok: "", wrong: "--limit 0", missing: "-", why: whyNothing},
		{command: "model list", ok: "", wrong: "more", missing: "-", why: whyNothing, reads: true},
		{command: "whoami", ok: "", wrong: "more", missing: "--context nope", reads: true},
		{command: "init", ok: "--yes --factory shop --webhook greeting", wrong: "--kind nonsense", missing: "-", why: "it makes what is missing"},
		{command: "serve", ok: "-", wrong: "here", missing: "-", why: whyStarted, local: true},
		{command: "demo", ok: "-", wrong: "--port nonsense", missing: "-", why: whyStarted, local: true},
		{command: "worker", ok: "-", wrong: "--id a/b", missing: "-", why: whyStarted, local: true},
		{command: "migrate", ok: "--data-dir {home}/migrated", wrong: "--database mysql://x", missing: "-", why: whyLocal, local: true},
		{command: "backup", ok: "{home}/backup.file --data-dir {home}/data", wrong: "", missing: "-", why: whyLocal, local: true},
		{command: "restore", ok: "{home}/backup.file --data-dir {home}/restored", wrong: "", missing: "-", why: whyLocal, local: true},
		{command: "migrate-database", ok: "-", wrong: "--from {home}/x.db", missing: "-", why: "it needs both engines; its own tests have them", local: true},
		{command: "doctor", ok: "-", wrong: "--listen nonsense", missing: "-", why: "what it finds depends on the machine", local: true},
	}
}

func exitOwn() []exitCase {
	list := []exitCase{
		{command: "context add", ok: "second --url http://127.0.0.1:1 --key-env X --no-check", wrong: "second", missing: "-", why: whyNothing, local: true},
		{command: "context list", ok: "", wrong: "more", missing: "-", why: whyNothing, local: true},
		{command: "context show", ok: "prod", wrong: "a b", missing: "nope", local: true},
		{command: "context use", ok: "prod", wrong: "", missing: "nope", local: true},
		{command: "context remove", ok: "second", wrong: "", missing: "nope", local: true},
		{command: "version", ok: "", wrong: "more", missing: "-", why: whyLocal, local: true},
		{command: "openapi", ok: "", wrong: "more", missing: "-", why: whyLocal, local: true},
		{command: "docs man", ok: "--dir {home}/man", wrong: "", missing: "-", why: whyLocal, local: true},
		{command: "docs html", ok: "--dir {home}/site", wrong: "", missing: "-", why: whyLocal, local: true},
		{command: "help", ok: "runs list", wrong: "nonsense", missing: "-", why: whyLocal, local: true},
		{command: "supervise", ok: "-", wrong: "", missing: "-", why: whyInternal, local: true},
		{command: "forward", ok: "-", wrong: "", missing: "-", why: whyInternal, local: true},
		{command: "execute", ok: "-", wrong: "more", missing: "-", why: whyInternal, local: true},
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		list = append(list, exitCase{command: "completion " + shell, ok: "", wrong: "more", missing: "-", why: whyLocal, local: true})
	}
	for _, report := range []string{"artifact", "pull-request", "reference", "message", "notice", "plan"} {
		list = append(list, exitCase{command: "report " + report, ok: "-", wrong: "", missing: "-", why: whyReports, local: true})
	}
	return list
}
