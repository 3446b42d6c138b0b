package signature

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// SecretOrigin says who makes a scheme's secret. Whoever that usually is, a secret
// that is given is taken.
type SecretOrigin string

// The origins. A secret left out when a webhook is made is generated for the first
// two; for Issued the webhook waits for it.
const (
	Generated SecretOrigin = "generated" // by us, and handed to the sender
	Chosen    SecretOrigin = "chosen"    // by the user, who tells it to both sides
	Issued    SecretOrigin = "issued"    // by the provider, perhaps only once it knows our URL
)

// Scheme is one row of the table: how one provider signs.
type Scheme struct {
	Name       string // as in a definition: "github"
	Title      string // as people write it: "GitHub"
	SecretFrom SecretOrigin
	// Headers carry credentials, signatures and their time stamps, in canonical
	// form. None of them can serve as a delivery id.
	Headers []string
	// Rules are the ways the provider may sign. The first whose header was sent,
	// and for which there is a key, decides together with those of the same header.
	Rules []Rule
	// Identity lists where the provider's own delivery id is, best first.
	Identity []Source
	// Handshake says in words which request is answered without starting anything.
	Handshake string

	// trial is what a test sends, where an event has to be named to mean anything.
	trial trialEvent

	read   func(secret string) (key, error)   // nil: the secret's text is the key
	answer func(used key, r *Request) *Answer // nil: no handshake for signed requests
}

// Rule is one way to sign.
type Rule struct {
	Header   string   // carries the signature
	List     string   // separates signatures and a time stamp in the header; empty: there is one signature
	Prefix   string   // stands before each signature, such as "sha256="
	Digest   Digest   // what makes the signature
	Encoding Encoding // how it is written
	Signed   string   // what it covers, with {body}, {timestamp}, {id}, {method}, {url}
	Stamp    Stamp    // where {timestamp} comes from
	ID       string   // the header that {id} comes from

	key     keyKind
	anyCase bool                   // hex may be upper case
	guard   func(r *Request) error // refuses what the signature alone would let through
	sends   func(r *Request) bool  // whether a sender would choose this rule; nil: yes
}

// Digest is what makes a signature.
type Digest string

// The digests. The first four are HMACs keyed with the secret.
const (
	SHA1    Digest = "sha1"
	SHA256  Digest = "sha256"
	SHA384  Digest = "sha384"
	SHA512  Digest = "sha512"
	Salted  Digest = "salted-sha256" // plain SHA-256 with the secret in front
	Ed25519 Digest = "ed25519"       // the secret is a public key
	Token   Digest = "token"         // no digest: the header is the secret itself
)

// Encoding is how a signature is written.
type Encoding string

// The encodings.
const (
	Hex    Encoding = "hex"    // lower case
	Base64 Encoding = "base64" // standard alphabet, padded
	Plain  Encoding = "plain"  // as it is, for Token
)

// Stamp is where a time stamp is and how far from now it may be. The zero Stamp
// means that there is none.
type Stamp struct {
	Header string // a header of its own
	Item   string // an item of the signature header, such as t of "t=1,v1=…"
	Body   string // a member of the signed body
	Unit   time.Duration
	Window time.Duration // in whole seconds
}

// Source is a place where a delivery id may be: a header, or a member of the body.
type Source struct {
	Header string
	Body   string // "event.id" is the member id of the member event

	with string // another header without which this one says nothing
}

// String says where an id came from, for the delivery log.
func (s Source) String() string {
	if s.Header != "" {
		return "header " + s.Header
	}
	return "body " + s.Body
}

// window is how far a time stamp may be from now, if the provider says nothing else.
const window = 300 * time.Second

// Schemes returns the table, sorted by name.
func Schemes() []Scheme { return slices.Clone(table) }

// Find returns the scheme of that name.
func Find(name string) (Scheme, bool) {
	at, found := slices.BinarySearchFunc(table, name, func(s Scheme, name string) int {
		return strings.Compare(s.Name, name)
	})
	if !found {
		return Scheme{}, false
	}
	return table[at], true
}

// table never changes after the program started.
var table = sorted(append(plainSchemes(),
	discord(), generic(HMAC{}), github(), gitlab(), grafana(), hubspot(), linear(), slack(), standardWebhooks(), twilio(), zoom(),
))

func sorted(schemes []Scheme) []Scheme {
	for i := range schemes {
		schemes[i].Headers = credentials(schemes[i].Rules)
	}
	slices.SortFunc(schemes, func(a, b Scheme) int { return strings.Compare(a.Name, b.Name) })
	return schemes
}

// credentials lists the headers that some rules read for more than an id.
func credentials(rules []Rule) []string {
	var headers []string
	for _, rule := range rules {
		for _, name := range []string{rule.Header, rule.Stamp.Header} {
			if name = http.CanonicalHeaderKey(name); name != "" && !slices.Contains(headers, name) {
				headers = append(headers, name)
			}
		}
	}
	return headers
}

// BodyTime is the member of the signed body that has the time of a delivery, in schemes that
// keep it there.
func BodyTime(scheme string) string {
	s, _ := Find(scheme)
	for _, rule := range s.Rules {
		if rule.Stamp.Body != "" {
			return rule.Stamp.Body
		}
	}
	return ""
}
