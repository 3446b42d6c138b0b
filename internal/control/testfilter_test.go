package control_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// checks writes a verdict's checks in a form that a test can list.
func checks(v factories.FilterVerdict) []string {
	var list []string
	for _, c := range v.Checks {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%v %s %s %s %s", c.Passed, c.Path, c.Operator, c.Expected, c.Seen)))
	}
	return list
}

func TestW16TestFilter(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		d, other := w.deliver("1", opened), w.second()
		named := func(payload string, names ...string) lineshaft.TriggerFilter {
			return lineshaft.TriggerFilter{Webhooks: names, Payload: json.RawMessage(payload)}
		}
		byID := func(ids ...string) lineshaft.TriggerFilter { return lineshaft.TriggerFilter{WebhookIDs: ids} }
		hook := w.hook.UID
		for name, tc := range map[string]struct {
			test factories.FilterTest
			want []string
		}{
			"stored": {factories.FilterTest{Filter: named(`{"action":["opened"],"issue":{"number":{"in":[7.0],"not_in":[8]}}}`, "issues"), DeliveryID: d.ID}, []string{
				`true webhook in ["issues"] "issues"`, `true payload.action in ["opened"] "opened"`,
				`true payload.issue.number in [7.0] 7`, `true payload.issue.number not_in [8] 7`,
			}},
			"stored, no match": {factories.FilterTest{Filter: named(`{"action":["closed"],"gone":{"exists":true}}`, "issues"), DeliveryID: d.ID}, []string{
				`true webhook in ["issues"] "issues"`, `false payload.action in ["closed"] "opened"`, `false payload.gone exists true`,
			}},
			"stored, another webhook": {factories.FilterTest{Filter: named("", "second"), DeliveryID: d.ID}, []string{`false webhook in ["second"] "issues"`}},
			"by uid":                  {factories.FilterTest{Filter: byID(hook), DeliveryID: d.ID, WebhookID: hook}, []string{`true webhook in ["` + hook + `"] "` + hook + `"`}},
			"by wrong uid":            {factories.FilterTest{Filter: byID(other), DeliveryID: d.ID}, []string{`false webhook in ["` + other + `"] "` + hook + `"`}},
			"no webhooks":             {factories.FilterTest{DeliveryID: d.ID}, []string{`true webhook in [] "` + hook + `"`}},
			"bare payload":            {factories.FilterTest{Filter: named(`{"a":[null]}`, "second"), Payload: json.RawMessage(`{"a":null}`)}, []string{`true webhook in ["second"]`, `true payload.a in [null] null`}},
			"payload null":            {factories.FilterTest{Filter: named(`{"a":{"not_in":[1]}}`), Payload: json.RawMessage(`null`)}, []string{`true webhook in []`, `false payload object {"a":{"not_in":[1]}} null`, `true payload.a not_in [1]`}},
			"payload at a webhook":    {factories.FilterTest{Filter: named("", "issues"), Payload: json.RawMessage(`1`), WebhookID: other}, []string{`false webhook in ["issues"] "second"`}},
		} {
			verdict, err := w.s.TestFilter(w.Context(), w.admin, w.factory, tc.test)
			if err != nil {
				w.Errorf("%s: %v", name, err)
				continue
			}
			failed := slices.ContainsFunc(tc.want, func(line string) bool { return strings.HasPrefix(line, "false") })
			if got := checks(verdict); !slices.Equal(got, tc.want) || verdict.WouldTrigger == failed {
				w.Errorf("%s: %v\ngot  %q\nwant %q", name, verdict.WouldTrigger, got, tc.want)
			}
		}
		if n := len(w.log()); n != 1 {
			w.Errorf("%d rows", n)
		}
	})
}

func TestW16WhatCannotBeTested(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		d := w.deliver("1", opened)
		again := w.deliver("1", opened)
		other := must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "other"})).UID
		one := json.RawMessage("1")
		for name, tc := range map[string]struct {
			factory string
			c       lineshaft.Caller
			test    factories.FilterTest
			code    lineshaft.Code
			field   string
		}{
			"neither":             {w.factory, w.admin, factories.FilterTest{}, lineshaft.CodeInvalidRequest, "delivery_id"},
			"both":                {w.factory, w.admin, factories.FilterTest{DeliveryID: d.ID, Payload: one}, lineshaft.CodeInvalidRequest, "delivery_id"},
			"bad filter":          {w.factory, w.admin, factories.FilterTest{Filter: lineshaft.TriggerFilter{Payload: json.RawMessage(`{"a":{"b":5}}`)}, Payload: one}, lineshaft.CodeInvalidRequest, "filter.payload.a.b"},
			"unknown delivery":    {w.factory, w.admin, factories.FilterTest{DeliveryID: "x"}, lineshaft.CodeNotFound, ""},
			"of another factory":  {other, w.admin, factories.FilterTest{DeliveryID: d.ID}, lineshaft.CodeNotFound, ""},
			"duplicate":           {w.factory, w.admin, factories.FilterTest{DeliveryID: again.ID}, lineshaft.CodeConflict, ""},
			"webhooks differ":     {w.factory, w.admin, factories.FilterTest{DeliveryID: d.ID, WebhookID: "x"}, lineshaft.CodeInvalidRequest, "webhook_id"},
			"unknown webhook":     {w.factory, w.admin, factories.FilterTest{Payload: one, WebhookID: "x"}, lineshaft.CodeNotFound, ""},
			"foreign webhook":     {other, w.admin, factories.FilterTest{Payload: one, WebhookID: w.hook.UID}, lineshaft.CodeNotFound, ""},
			"payload is not JSON": {w.factory, w.admin, factories.FilterTest{Payload: json.RawMessage("{")}, lineshaft.CodeInvalidRequest, "payload"},
			"key is limited":      {w.factory, w.caller(lineshaft.RoleAdmin, other), factories.FilterTest{Payload: one}, lineshaft.CodeNotFound, ""},
		} {
			_, err := w.s.TestFilter(w.Context(), tc.c, tc.factory, tc.test)
			if pub := asPublic(err); pub == nil || pub.Code != tc.code || pub.Field != tc.field {
				w.Errorf("%s: %v", name, err)
			}
		}
	})
}
