package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// A webhook as the server shows it, with a name that tries to play with the terminal.
func hookJSON(change ...string) string {
	text := `{"uid":"w1","factory_uid":"f1","name":"ci","auth_mode":"token","secret_name":"CI_WEBHOOK_SECRET","enabled":true,"needs_secret":false,"rate_limit":60,` +
		`"max_body_bytes":262144,"replay_guard":false,"ingress_url":"http://server/webhooks/w/w1","created_at":"2026-01-01T04:00:00.000000Z","updated_at":"2026-01-02T03:00:00.000000Z"}`
	for i := 0; i+1 < len(change); i += 2 {
		text = strings.Replace(text, change[i], change[i+1], 1)
	}
	return text
}

const factoriesJSON = `{"factories":[{"uid":"f1","name":"Shop","alias":"shop","mode":"managed"}],"page_info":{"has_next_page":false}}`

// hooked is a server with one factory and two webhooks.
func hooked(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.answer("GET /api/v1/factory", 200, factoriesJSON)
	s.answer("GET /api/v1/factory/f1/webhooks", 200, `{"webhooks":[`+hookJSON()+`,`+
		hookJSON(`"w1"`, `"w2"`, `"ci"`, `"pay \u001b[31m"`, `"token"`, `"signature","signature_scheme":"stripe"`, `"enabled":true,"needs_secret":false`, `"enabled":false,"needs_secret":true`)+`,`+
		hookJSON(`"w1"`, `"w3"`, `"ci"`, `"own"`, `"token"`, `"signature","signature_scheme":"hmac","hmac":{"header":"X-Sig","digest":"sha512"}`, `"rate_limit":60`, `"rate_limit":0`, `"replay_guard":false`, `"replay_guard":true,"old_secret_until":"2026-01-03T04:00:00.000000Z"`)+
		`],"page_info":{"has_next_page":false}}`)
	s.answer("POST /api/v1/factory/f1/webhooks", 201, hookJSON(`}`, `,"secret":"shown-once"}`))
	s.answer("PATCH /api/v1/factory/f1/webhooks/{uid}", 200, hookJSON(`"enabled":true`, `"enabled":false`))
	s.answer("POST /api/v1/factory/f1/webhooks/{uid}/rotate", 200, hookJSON(`}`, `,"secret":"shown-once","old_secret_until":"2026-01-02T05:00:00.000000Z"}`))
	s.answer("DELETE /api/v1/factory/f1/webhooks/{uid}", 204, ``)
	return s
}

func TestI1WebhookGolden(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"webhook-list":        {"webhook", "list"},
		"webhook-list-ndjson": {"webhook", "list", "-o", "ndjson"},
		"webhook-get":         {"webhook", "get", "own", "--factory", "shop"},
		"webhook-get-json":    {"webhook", "get", "w1", "-o", "json"},
		"webhook-create":      {"webhook", "create", "ci", "--factory", "SHOP"},
		"webhook-create-json": {"webhook", "create", "ci", "-o", "json"},
		"webhook-rotate":      {"webhook", "rotate", "ci", "--overlap", "1h"},
		"webhook-update":      {"webhook", "update", "ci", "--rate-limit", "5"},
		"webhook-disable":     {"webhook", "disable", "ci", "own"},
		"webhook-delete":      {"webhook", "delete", "ci", "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, width := range []int{0, 80} {
				s := hooked(t)
				s.terminal(width)
				r := s.run(t.Context(), args...)
				fmt.Fprintf(&text, "$ lineshaft %s   (%s)\n[exit %d]\n[stdout]\n%s[stderr]\n%s\n", strings.Join(args, " "), kindOf(width), r.code, r.out, r.err)
			}
			golden(t, name, strings.ReplaceAll(text.String(), "\x1b", "<ESC>"))
		})
	}
}

// TestW3WebhookRequests: what the flags make of the requests.
func TestW3WebhookRequests(t *testing.T) {
	t.Parallel()
	secret := file(t, "secret", "s3cret\r\n")
	for _, tc := range []struct{ name, line, method, path, want string }{
		{"plain", "create ci", "POST", "", `{"name":"ci"}`},
		{"scheme", "create ci --scheme github", "POST", "", `{"name":"ci","auth_mode":"signature","signature_scheme":"github"}`},
		{
			"everything", "create ci --mode url_token --secret-name N --delivery-id-header X-Id --rate-limit 0 --max-body-bytes 9 --replay-guard --disabled --secret-file " + secret, "POST", "",
			`{"name":"ci","auth_mode":"url_token","secret":"s3cret","secret_name":"N","delivery_id_header":"X-Id","rate_limit":0,"max_body_bytes":9,"replay_guard":true,"enabled":false}`,
		},
		{
			"hmac", "create ci --scheme hmac --hmac-header H --hmac-prefix p= --hmac-digest sha1 --hmac-encoding base64 --hmac-template {id}.{body} --hmac-id-header I --hmac-timestamp-header T", "POST", "",
			`{"name":"ci","auth_mode":"signature","signature_scheme":"hmac","hmac":{"header":"H","prefix":"p=","digest":"sha1","encoding":"base64","template":"{id}.{body}","timestamp_header":"T","id_header":"I"}}`,
		},
		{"standard input", "create ci --secret-file -", "POST", "", `{"name":"ci","secret":"from stdin"}`},
		{"enable", "enable ci", "PATCH", "/w1", `{"enabled":true}`},
		{"disable by uid", "disable w3", "PATCH", "/w3", `{"enabled":false}`},
		{"clear header", "update ci --delivery-id-header=", "PATCH", "/w1", `{"delivery_id_header":""}`},
		{"settings", "update ci --replay-guard=false --max-body-bytes 5 --secret-name N", "PATCH", "/w1", `{"replay_guard":false,"max_body_bytes":5,"secret_name":"N"}`},
		{"one of hmac", "update own --hmac-prefix v1=", "PATCH", "/w3", `{"hmac":{"header":"X-Sig","digest":"sha512","prefix":"v1="}}`},
		{"rotate", "rotate ci", "POST", "/w1/rotate", `{}`},
		{"rotate with all", "rotate w2 --overlap 3d --secret-file " + secret, "POST", "/w2/rotate", `{"secret":"s3cret","overlap_seconds":259200}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := hooked(t)
			s.deps.Stdin = strings.NewReader("from stdin\n")
			r := s.run(t.Context(), append([]string{"webhook"}, strings.Fields(tc.line)...)...)
			if r.code != 0 || strings.Contains(r.out+r.err, "s3cret") {
				t.Fatalf("%+v", r)
			}
			last := s.requests()[len(s.requests())-1]
			var got, want any
			if err := json.Unmarshal([]byte(last.body), &got); err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal([]byte(tc.want), &want)
			if !reflect.DeepEqual(got, want) || last.method != tc.method || last.path != "/api/v1/factory/f1/webhooks"+tc.path {
				t.Errorf("sent %s %s %s\nwant %s", last.method, last.path, last.body, tc.want)
			}
		})
	}
}

// The lines to try a new webhook with, by mode.
func TestW3LinesToCopy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change []string
		want   string
	}{
		{"token", []string{`}`, `,"secret":"abc"}`}, `curl -X POST http://server/webhooks/w/w1 -H 'Authorization: Bearer abc' -H X-Lineshaft-Delivery-Id:$(date +%s%N) -d '{"hello": "world"}'`},
		{"url token", []string{`"token"`, `"url_token"`, `w/w1"`, `w/w1/abc","secret":"abc"`}, `curl -X POST http://server/webhooks/w/w1/abc -H X-Lineshaft-Delivery-Id:$(date +%s%N) -d '{"hello": "world"}'`},
		{"own id header", []string{`}`, `,"secret":"abc","delivery_id_header":"X-$(a)"}`}, `curl -X POST http://server/webhooks/w/w1 -H 'Authorization: Bearer abc' -H 'X-$(a):'$(date +%s%N) -d '{"hello": "world"}'`},
		{
			"signature",
			[]string{`"token"`, `"signature","signature_scheme":"github"`, `}`, `,"secret":"abc"}`},
			`echo abc | lineshaft webhook send ci --factory f1 --secret-file - --data '{"hello": "world"}'`,
		},
		{"given secret", nil, `lineshaft webhook send ci --factory f1 --secret-file FILE --data '{"hello": "world"}'`},
		{"needs secret", []string{`"enabled":true,"needs_secret":false`, `"enabled":false,"needs_secret":true`}, `lineshaft webhook rotate ci --factory f1 --secret-file FILE`},
		{
			"needs secret first",
			[]string{`"token"`, `"signature","signature_scheme":"slack"`, `"enabled":true,"needs_secret":false`, `"enabled":false,"needs_secret":true`},
			"-- So get the secret from Slack first, run this, and then enter the URL\nlineshaft webhook rotate ci --factory f1 --secret-file FILE",
		},
		{"disabled", []string{`"enabled":true`, `"enabled":false`, `"ci"`, `"a b'c"`}, `lineshaft webhook enable 'a b'\''c' --factory f1`},
	} {
		s := newStage(t)
		s.answer("GET /api/v1/factory", 200, factoriesJSON)
		s.answer("POST /api/v1/factory/f1/webhooks", 201, hookJSON(tc.change...))
		if r := s.run(t.Context(), "webhook", "create", "ci"); r.code != 0 || strings.Contains(r.err, "abc") {
			t.Errorf("%s: a log gets the secret: %+v", tc.name, r)
		}
		s.terminal(200)
		if r := s.run(t.Context(), "webhook", "create", "ci"); r.code != 0 || !strings.Contains(r.err, "\n"+tc.want+"\n") {
			t.Errorf("%s: %+v\nwant %s", tc.name, r, tc.want)
		}
		if strings.HasPrefix(tc.want, "curl ") {
			checkFreshIDs(t, tc.want)
		}
	}
}

// checkFreshIDs pastes a line twice: the ids of the two deliveries differ.
func checkFreshIDs(t *testing.T, line string) {
	t.Helper()
	for _, program := range []string{"sh", "bash"} {
		script := `curl() { printf '%s|' "$@"; echo; }` + "\n" + line + "\n" + line // curl is replaced by one that shows its arguments
		out, err := exec.CommandContext(t.Context(), program, "-euc", script).CombinedOutput()
		sent := strings.Split(string(out), "\n")
		if err != nil || len(sent) != 3 || sent[0] == sent[1] || !regexp.MustCompile(`\|X-[^|]*:\d+\|`).MatchString(sent[0]) {
			t.Errorf("%s: %s: %v\n%s", program, line, err, out)
		}
	}
}

// TestW4ProvidersThatAsk: they cannot be given the URL of a webhook without a secret.
func TestW4ProvidersThatAsk(t *testing.T) {
	t.Parallel()
	r := newStage(t).run(t.Context(), "webhook", "create", "--help")
	told := strings.Join(strings.Fields(r.out), " ")
	if !strings.Contains(told, "Discord, Dropbox, Slack and Zoom send a request to the address") || !strings.Contains(told, "first and pass it with --secret-file") {
		t.Error(r.out)
	}
}

func TestI1WebhookMistakes(t *testing.T) {
	t.Parallel()
	empty := file(t, "empty", "\n")
	for _, tc := range []mistake{
		{"no name", "webhook create", "needs a name", "Run: lineshaft webhook create NAME"},
		{"unknown mode", "webhook create ci --mode tokne", `--mode "tokne"`, "Did you mean token?"},
		{"unknown scheme", "webhook create ci --scheme guthub", `--scheme "guthub"`, "Did you mean github?"},
		{"no secret file", "webhook create ci --secret-file /not/there", "cannot read the secret", "--secret-file"},
		{"empty secret", "webhook create ci --secret-file " + empty, "the secret is empty", "--secret-file"},
		{"nothing to change", "webhook update ci", "nothing to change", "--rate-limit"},
		{"bad overlap", "webhook rotate ci --overlap soon", "--overlap soon", "30m"},
		{"long overlap", "webhook rotate ci --overlap 4d", "--overlap 4d is more than 3d", "three days at most"},
		{"large body", "webhook create ci --max-body-bytes 2000000", "--max-body-bytes 2000000 is not between 1 and 1048576", "in that range"},
		{"no body limit", "webhook update ci --max-body-bytes 0", "--max-body-bytes 0 is not between 1 and 1048576", "in that range"},
		{"negative rate", "webhook update ci --rate-limit -1", "--rate-limit -1 is not between 0 and 60000", "in that range"},
		{"rate in words", "webhook create ci --rate-limit x", `--rate-limit "x" is not a whole number`, "lineshaft webhook create --help"},
		{"hmac without header", "webhook create ci --scheme hmac", "needs the header that carries the signature", "--hmac-header HEADER"},
		{"hmac without scheme", "webhook create ci --hmac-header X", "need --scheme hmac", "add --scheme hmac"},
		{"hmac digest", "webhook create ci --scheme hmac --hmac-header X --hmac-digest sha265", `--hmac-digest "sha265" is not known`, "Did you mean sha256?"},
		{"sent hmac without header", "webhook send https://x.example/w --scheme hmac", "needs the header that carries the signature", "--hmac-header HEADER"},
		{"no webhook", "webhook get", "needs the name or uid", "Run: "},
		{"both from stdin", "webhook send ci --secret-file - --data -", "standard input", "file"},
		{"mode of a webhook", "webhook send ci --mode token", "are for addresses", "Leave them out"},
		{"signature without scheme", "webhook send https://x.example/w --mode signature", "needs a scheme", "--scheme"},
		{"no secret", "webhook send https://x.example/w --mode token", "the secret is missing", "--secret-file"},
		{"no secret for the mark", "webhook send https://x.example/w/{token}", "the secret is missing", "--secret-file"},
		{"no body", "webhook send https://x.example/w --data @/not/there", "cannot read the body", "--data"},
		{"bad header", "webhook send https://x.example/w --header nonsense", "is not a header", "Name: value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
	s := hooked(t)
	if r := s.run(t.Context(), "webhook", "send", "w2", "--secret-file", file(t, "s", "s3cret")); r.code != shell.ExitNotFound || !strings.Contains(r.err, "is waiting for its provider's secret") ||
		!strings.Contains(r.err, "lineshaft webhook rotate pay --secret-file FILE") || strings.Contains(r.err, "enable") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "webhook", "get", "nobody"); r.code != shell.ExitNotFound || !strings.Contains(r.err, "lineshaft webhook list") {
		t.Errorf("%+v", r)
	}
	s.mux.HandleFunc("GET /api/v1/factory/f1/webhooks/{rest...}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	s.deps.Stdin = io.LimitReader(neverEnding('x'), 64<<10+1)
	if r := s.run(t.Context(), "webhook", "create", "ci", "--secret-file", "-"); r.code != shell.ExitUsage {
		t.Errorf("%+v", r)
	}
}
