package signature

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// HMAC holds the settings of the scheme hmac, which serves senders that the table
// does not name; it is zero for all other schemes.
type HMAC struct {
	Header          string // carries the signature; required
	Prefix          string // stands before it, such as "sha256="
	Digest          string // sha1, sha256 (also when empty), sha384 or sha512
	Encoding        string // hex (also when empty) or base64
	Template        string // what is signed: "{body}" (also when empty), "{timestamp}.{body}", …
	TimestampHeader string // Unix time in seconds or milliseconds; needed for {timestamp}
	IDHeader        string // the delivery id; needed for {id}
}

// Limits of the settings.
const (
	maxPrefix   = 64
	maxTemplate = 256
	maxName     = 100
)

// Validate checks the settings and says which one is wrong.
func (h HMAC) Validate() error {
	if err := h.validateHeaders(); err != nil {
		return err
	}
	if len(h.Prefix) > maxPrefix || !printable(h.Prefix) {
		return lineshaft.Invalid("hmac.prefix", "the prefix must be printable ASCII of at most %d characters", maxPrefix)
	}
	if !slices.Contains([]Digest{"", SHA1, SHA256, SHA384, SHA512}, Digest(h.Digest)) {
		return lineshaft.Invalid("hmac.digest", "unknown digest; use sha1, sha256, sha384 or sha512")
	}
	if !slices.Contains([]Encoding{"", Hex, Base64}, Encoding(h.Encoding)) {
		return lineshaft.Invalid("hmac.encoding", "unknown encoding; use hex or base64")
	}
	return h.validateTemplate()
}

func (h HMAC) validateHeaders() error {
	if h.Header == "" {
		return lineshaft.Invalid("hmac.header", "name the header that carries the signature")
	}
	seen := map[string]bool{}
	for _, header := range []struct{ field, name string }{
		{"hmac.header", h.Header}, {"hmac.timestamp_header", h.TimestampHeader}, {"hmac.id_header", h.IDHeader},
	} {
		if header.name == "" {
			continue
		}
		if !headerName(header.name) || strings.EqualFold(header.name, "Host") {
			return lineshaft.Invalid(header.field, "not a usable header name; use letters, digits and -")
		}
		canonical := http.CanonicalHeaderKey(header.name)
		if seen[canonical] {
			return lineshaft.Invalid(header.field, "signature, time stamp and id must be in different headers")
		}
		seen[canonical] = true
	}
	return nil
}

func (h HMAC) validateTemplate() error {
	if len(h.Template) > maxTemplate || !printable(h.Template) {
		return lineshaft.Invalid("hmac.template", "the template must be printable ASCII of at most %d characters", maxTemplate)
	}
	parts, err := parseTemplate(h.template())
	if err != nil {
		return lineshaft.Invalid("hmac.template", "%s", err)
	}
	uses := func(field placeholder) bool {
		return slices.ContainsFunc(parts, func(p part) bool { return p.field == field })
	}
	switch {
	case !uses(fieldBody):
		return lineshaft.Invalid("hmac.template", "the signature must cover the body: put {body} in the template")
	case uses(fieldForm) || uses(fieldHashedURL):
		return lineshaft.Invalid("hmac.template", "use {body}, {timestamp}, {id}, {method} and {url} only")
	case uses(fieldStamp) && h.TimestampHeader == "":
		return lineshaft.Invalid("hmac.timestamp_header", "the template has {timestamp}: name the header that carries it")
	case !uses(fieldStamp) && h.TimestampHeader != "":
		return lineshaft.Invalid("hmac.template", "a time stamp that is not signed protects nothing: put {timestamp} in the template, or leave the header out")
	case uses(fieldID) && h.IDHeader == "":
		return lineshaft.Invalid("hmac.id_header", "the template has {id}: name the header that carries it")
	}
	return separated(parts)
}

// separated refuses templates that run an id or a time stamp into its neighbours:
// the border between them could be moved without changing the signed bytes.
func separated(parts []part) error {
	for i := 1; i < len(parts); i++ {
		left, right := parts[i-1], parts[i]
		switch {
		case left.field != fieldNone && right.field != fieldNone && (left.field == fieldID || right.field == fieldID):
			return lineshaft.Invalid("hmac.template", "put a character such as . between {id} and its neighbour")
		case left.field == fieldStamp && right.field == fieldNone && digit(right.literal[0]),
			right.field == fieldStamp && left.field == fieldNone && digit(left.literal[len(left.literal)-1]):
			return lineshaft.Invalid("hmac.template", "there must not be a digit next to {timestamp}")
		}
	}
	return nil
}

func (h HMAC) template() string { return cmp.Or(h.Template, "{body}") }

// generic makes the scheme that some settings describe.
func generic(h HMAC) Scheme {
	s := Scheme{Name: "hmac", Title: "HMAC", SecretFrom: Chosen, Rules: []Rule{{
		Header: h.Header, List: h.list(), Prefix: h.Prefix, Signed: h.template(),
		Digest: cmp.Or(Digest(h.Digest), SHA256), Encoding: cmp.Or(Encoding(h.Encoding), Hex),
	}}}
	rule := &s.Rules[0]
	rule.anyCase = rule.Encoding == Hex
	if h.TimestampHeader != "" {
		rule.Stamp = Stamp{Header: h.TimestampHeader, Window: window} // no unit: either
		rule.guard = clearOfDigits(h.template())
	}
	if h.IDHeader != "" {
		s.Identity = []Source{{Header: h.IDHeader}}
	}
	if strings.Contains(h.template(), "{id}") {
		rule.ID = h.IDHeader
	}
	s.Headers = h.Headers()
	return s
}

// Headers lists the headers that carry the signature and its time stamp, in
// canonical form, as Scheme.Headers does for schemes without settings.
func (h HMAC) Headers() []string {
	return credentials([]Rule{{Header: h.Header, Stamp: Stamp{Header: h.TimestampHeader}}})
}

// list is the separator that the prefix leaves free, if any.
func (h HMAC) list() string {
	switch {
	case !strings.Contains(h.Prefix, ","):
		return ","
	case !strings.Contains(h.Prefix, " "):
		return " "
	}
	return ""
}

// clearOfDigits refuses a body with a digit where the template runs it into the
// time stamp: as the stamp's unit is not known, digits could change sides.
func clearOfDigits(template string) func(*Request) error {
	before := strings.Contains(template, "{timestamp}{body}")
	after := strings.Contains(template, "{body}{timestamp}")
	return func(r *Request) error {
		size := len(r.Body)
		if size > 0 && (before && digit(r.Body[0]) || after && digit(r.Body[size-1])) {
			return errBorder
		}
		return nil
	}
}

func headerName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && !digit(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return true
}
