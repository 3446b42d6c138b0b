package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// Trial is a delivery that people send by hand, to see whether a webhook works.
type Trial struct {
	Scheme   string
	Settings HMAC
	URL      string
	// Secret decides how to sign where a scheme knows several ways; empty means the
	// kind that Generate makes.
	Secret string
	// Told puts the secret into the script; otherwise SecretPlace stands for it.
	Told bool
}

// SecretPlace stands in a script for a secret that people fill in themselves.
const SecretPlace = "PASTE THE SECRET HERE"

// trialEvent is a small event true to the provider's form; %s stands for the id.
type trialEvent struct{ header, name, body string }

// TrialEvent is the event that the script of a scheme sends, as the provider calls it;
// empty where deliveries have no events.
func TrialEvent(scheme string) string {
	s, err := schemeOf(scheme, HMAC{})
	if err != nil {
		return ""
	}
	return s.trial.name
}

// What stands in the text of TrialBody for an id and for the time, which are filled in when
// it is sent: each time it is another delivery.
const (
	TrialID  = "{{id}}"
	TrialNow = "{{now}}"
)

// TrialBody is the text of a small event of a scheme, and the header that names it if the
// scheme has one.
func TrialBody(scheme string) (body, header string) {
	s, err := schemeOf(scheme, HMAC{})
	if err != nil {
		return `{"id":"` + TrialID + `","message":"hello"}`, ""
	}
	if s.trial.body != "" {
		return strings.ReplaceAll(s.trial.body, "%s", TrialID), s.trial.header
	}
	body = s.idMember(TrialID)
	if at := BodyTime(scheme); at != "" {
		body += `,"` + at + `":` + TrialNow
	}
	return "{" + body + `,"message":"hello"}`, ""
}

// FillTrial puts an id and a time into such a text.
func FillTrial(text, id string, now time.Time) []byte {
	return []byte(strings.NewReplacer(TrialID, id, TrialNow, stampText(now, time.Millisecond)).Replace(text))
}

// idMember is the member of a body where the scheme looks for the id of a delivery.
func (s Scheme) idMember(id string) string {
	path := "id"
	for _, place := range s.Identity {
		if place.Body != "" {
			path = place.Body
		}
	}
	names := strings.Split(path, ".")
	return `"` + strings.Join(names, `":{"`) + `":"` + id + `"` + strings.Repeat("}", len(names)-1)
}

// TrialURL is the address that a trial of a scheme goes to: Twilio's has the hash of its body.
func TrialURL(scheme, address string, body []byte) string {
	if scheme != "twilio" {
		return address
	}
	sum := sha256.Sum256(body)
	return address + "?" + hashMember + hex.EncodeToString(sum[:])
}

// ErrNoTrial says that only the provider can sign.
var ErrNoTrial = errors.New("only the holder of the private key can sign")

// Script returns lines for a shell with curl and openssl that sign one delivery as
// the sender would, and send it. Each time it is run it is another delivery.
func (t Trial) Script() (string, error) {
	s, err := schemeOf(t.Scheme, t.Settings)
	if err != nil {
		return "", err
	}
	secret := t.Secret
	if secret == "" {
		secret = Generate(t.Scheme)
	}
	k, err := s.readKey(secret)
	if err != nil || k.kind == keyPublic {
		return "", ErrNoTrial
	}
	json := &Request{}
	for _, rule := range s.Rules {
		if rule.key == k.kind && (rule.sends == nil || rule.sends(json)) {
			return t.script(s, rule)
		}
	}
	return "", ErrNoTrial
}

func (t Trial) script(s Scheme, rule Rule) (string, error) {
	told := SecretPlace
	if t.Told {
		told = t.Secret
	}
	lines := []string{
		"url=" + ShellWord(t.URL),
		"secret=" + ShellWord(told),
		"id=$(openssl rand -hex 8)",
	}
	if rule.Stamp != (Stamp{}) {
		lines = append(lines, "now="+shellTime(rule.Stamp.Unit))
	}
	lines = append(lines, "body="+shellBody(s, rule))
	headers := []string{shellText("Content-Type: application/json")}
	signature := "$secret"
	if rule.Digest != Token {
		steps, err := shellSign(rule)
		if err != nil {
			return "", err
		}
		lines, signature = append(lines, steps...), "$signature"
	}
	if s.trial.name != "" {
		headers = append(headers, shellText(s.trial.header+": "+s.trial.name))
	}
	headers = append(headers, shellHeaders(s, rule, signature)...)
	return strings.Join(lines, "\n") + "\n" + ShellPost(headers), nil
}

// ShellPost is the command that posts ${body} to ${url} with some headers, which are
// words of a shell, and shows the answer with its status.
func ShellPost(headers []string) string {
	command := `curl -sS -w ' (%{http_code})\n' "$url" --data-binary "$body"`
	for _, header := range headers {
		command += " \\\n  -H " + header
	}
	return command
}

func shellTime(unit time.Duration) string {
	if unit == time.Millisecond {
		return "$(date +%s)000"
	}
	return "$(date +%s)"
}

// shellBody writes a small body. The id in it makes each delivery another one, also
// where the scheme has its id elsewhere or nowhere.
func shellBody(s Scheme, rule Rule) string {
	if s.trial.body != "" {
		return "$(printf " + shellText(s.trial.body) + ` "$id")`
	}
	body := s.idMember("%s")
	values := ` "$id"`
	if rule.Stamp.Body != "" {
		body += `,"` + rule.Stamp.Body + `":%s`
		values += ` "$now"`
	}
	return "$(printf '{" + body + `,"message":"hello"}'` + values + ")"
}

// shellSign makes ${signature}.
func shellSign(rule Rule) ([]string, error) {
	parts, err := parseTemplate(rule.Signed)
	if err != nil {
		return nil, err
	}
	var steps []string
	var signed strings.Builder
	for _, p := range parts {
		switch p.field {
		case fieldNone:
			signed.WriteString(shellText(p.literal))
		case fieldBody:
			signed.WriteString(`"$body"`)
		case fieldStamp:
			signed.WriteString(`"$now"`)
		case fieldID:
			signed.WriteString(`"$id"`)
		case fieldMethod:
			signed.WriteString("POST")
		case fieldURL:
			signed.WriteString(`"$url"`)
		case fieldHashedURL:
			steps = append(steps, `hash=$(printf %s "$body" | openssl dgst -sha256 -r | cut -d' ' -f1)`)
			signed.WriteString(`"$url?` + hashMember + `$hash"`)
		case fieldForm:
			return nil, ErrNoTrial
		}
	}
	key := `-hmac "$secret"`
	if rule.key == keyShared {
		steps = append(steps, `key=$(printf %s "${secret#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')`)
		key = `-mac HMAC -macopt "hexkey:$key"`
	}
	written := " -r | cut -d' ' -f1"
	if rule.Encoding == Base64 {
		written = " -binary | openssl base64 -A"
	}
	return append(steps, "signature=$(printf %s "+signed.String()+" | openssl dgst -"+string(rule.Digest)+" "+key+written+")"), nil
}

// shellHeaders are what the sender adds: the signature, its time, and the id.
func shellHeaders(s Scheme, rule Rule, signature string) []string {
	var headers []string
	if rule.ID != "" {
		headers = append(headers, shellText(rule.ID+": ")+`"$id"`)
	} else {
		for _, place := range s.Identity {
			if place.Header != "" && place.with == "" {
				headers = append(headers, shellText(place.Header+": ")+`"$id"`)
				break
			}
		}
	}
	if rule.Stamp.Header != "" {
		headers = append(headers, shellText(rule.Stamp.Header+": ")+`"$now"`)
	}
	before, value := rule.Header+": "+rule.Prefix, ""
	if rule.Stamp.Item != "" {
		value = shellText(rule.Header+": "+rule.Stamp.Item+"=") + `"$now"`
		before = rule.List + rule.Prefix
	}
	return append(headers, value+shellText(before)+`"`+signature+`"`)
}

// shellText quotes a part of a word.
func shellText(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// ShellWord quotes text for a shell if it needs it.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=+@%,", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return shellText(text)
}
