package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
)

// pageCase is a page that is measured.
type pageCase struct {
	name, path string
	// limited says that a key of one factory asks.
	limited bool
	// status is what the answer has; 200 when it is 0.
	status int
}

func (p pageCase) browser(of *pageSide) *http.Client {
	if p.limited {
		return of.limited
	}
	return of.boss
}

// deepPages is how far down the list of runs the deep page is.
const deepPages = 40

// cases lists the pages.
func (p *pageSide) cases(ctx context.Context) ([]pageCase, error) {
	deep, err := p.deepPage(ctx)
	if err != nil {
		return nil, err
	}
	delivery, err := p.linked(ctx, "/deliveries", oneDelivery)
	if err != nil {
		return nil, err
	}
	r, t := p.recent, p.recent.team
	factory := "/factories/" + t.factories[0]
	long := "/runs/" + r.id(1)
	return slices.Concat(p.runCases(deep, long), []pageCase{
		{name: "overview, 1 hour", path: "/?range=1h"},
		{name: "overview, 24 hours", path: "/"},
		{name: "overview, 7 days", path: "/?range=7d"},
		{name: "overview, 1 hour, one factory", path: "/?range=1h", limited: true},
		{name: "overview, 24 hours, one factory", path: "/", limited: true},
		{name: "overview, 7 days, one factory", path: "/?range=7d", limited: true},
		{name: "search for an id", path: "/search?q=" + r.id(5), status: http.StatusFound},
		{name: "search for words", path: "/search?q=failing+module42"},
		{name: "search, one factory", path: "/search?q=failing+module42", limited: true},
		{name: "factories", path: "/factories"},
		{name: "factory", path: factory},
		{name: "agents", path: "/agents"},
		{name: "agent", path: "/agents/" + t.agent},
		{name: "automations", path: "/automations"},
		{name: "automation", path: factory + "/automations/" + t.automation},
		{name: "automation editor", path: factory + "/automations/" + t.automation + "/edit"},
		{name: "webhooks", path: "/webhooks"},
		{name: "webhook with deliveries", path: factory + "/webhooks/" + t.webhooks[0]},
		{name: "schedules", path: "/schedules"},
		{name: "environments", path: "/environments"},
		{name: "environment", path: "/environments/" + t.environment},
		{name: "secrets", path: "/secrets"},
		{name: "workers", path: "/workers"},
		{name: "keys", path: "/keys"},
		{name: "audit", path: "/audit"},
		{name: "audit, filtered", path: "/audit?by=action&value=webhook.rotate"},
		{name: "sessions", path: "/sessions"},
		{name: "settings", path: "/settings"},
		{name: "costs, 30 days", path: "/costs?days=30"},
		{name: "deliveries", path: "/deliveries"},
		{name: "deliveries that were not matched", path: "/deliveries?only=unmatched"},
		{name: "deliveries with a word", path: "/deliveries?q=" + webhookName(0)},
		{name: "delivery", path: delivery},
		{name: "notifications", path: "/notifications"},
		{name: "start", path: "/start"},
		{name: "worker", path: "/workers/hosted/runs"},
		{name: "revisions", path: factory + "/revisions"},
		{name: "revision", path: factory + "/revisions/1"},
	}), nil
}

// runCases are the list of runs in its views, and the pages of a run.
func (p *pageSide) runCases(deep, long string) []pageCase {
	r, t := p.recent, p.recent.team
	return []pageCase{
		{name: "runs", path: "/runs"},
		{name: "runs, one factory", path: "/runs", limited: true},
		{name: "runs that failed", path: "/runs?state=FAILED"},
		{name: "runs that failed in a factory", path: "/runs?factory=" + t.factories[1] + "&state=ERROR&state=FAILED"},
		{name: "runs with a word", path: "/runs?q=module42"},
		{name: "runs, a deep page", path: deep},
		{name: "run", path: "/runs/" + r.id(2)},
		{name: "run with a long log", path: long},
		{name: "runs with an error code", path: "/runs?error=run_timeout"},
		{name: "runs of an automation", path: "/runs?automation=" + t.automation},
		{name: "runs of a webhook", path: "/runs?webhook=" + t.webhooks[0]},
		{name: "runs by title", path: "/runs?sort=title"},
		{name: "time of a run", path: long + "/time"},
		{name: "changes of a run", path: long + "/changes"},
		{name: "run beside another", path: "/runs/" + r.id(2) + "/compare?with=" + r.id(3)},
		{name: "run beside the one before", path: "/runs/" + r.id(r.added-1) + "/compare"},
		{name: "outline of a run", path: long + "/outline"},
		{name: "search in a run", path: long + "/find?q=Test4996", status: http.StatusSeeOther},
	}
}

// oneDelivery finds the link to the newest delivery in a log.
var oneDelivery = regexp.MustCompile(`href="(/factories/[^"/]*/webhooks/[^"/]*/deliveries/[^"/?]*)"`)

// linked is the first address on a page that fits.
func (p *pageSide) linked(ctx context.Context, path string, link *regexp.Regexp) (string, error) {
	text, err := fetch(ctx, p.boss, p.server.url+path, http.StatusOK)
	if err != nil {
		return "", fmt.Errorf("look for a link: %w", err)
	}
	found := link.FindStringSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("look for a link: %s has none to %s", path, link)
	}
	return html.UnescapeString(found[1]), nil
}

// nextPage finds the link to the next page of the list of runs.
var nextPage = regexp.MustCompile(`href="(/runs\?[^"]*cursor=[^"]*)"`)

// deepPage goes down the list as a person would, link by link.
func (p *pageSide) deepPage(ctx context.Context) (string, error) {
	path := "/runs"
	for range min(deepPages, (p.recent.runs+p.recent.added)/100) {
		text, err := fetch(ctx, p.boss, p.server.url+path, http.StatusOK)
		if err != nil {
			return "", fmt.Errorf("go down the list: %w", err)
		}
		found := nextPage.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			return "", errors.New("go down the list: there is no next page")
		}
		path = html.UnescapeString(found[len(found)-1][1])
	}
	return path, nil
}
