package oidc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/lineshaft/lineshaft"
)

// SignInLife is how long somebody may take to sign in at the provider.
const SignInLife = 10 * time.Minute

// attempt is one sign-in that has begun. The browser that began it keeps it as a
// ticket: an answer that another browser brings has no ticket, and is refused.
type attempt struct {
	state, nonce, verifier string
	began                  time.Time
}

func (a attempt) ticket() string {
	return strings.Join([]string{a.state, a.nonce, a.verifier, strconv.FormatInt(a.began.Unix(), 10)}, ".")
}

func readTicket(text string) (attempt, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 || len(text) > 512 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return attempt{}, errors.New("no ticket")
	}
	began, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil {
		return attempt{}, errors.New("no time in the ticket")
	}
	return attempt{state: parts[0], nonce: parts[1], verifier: parts[2], began: time.Unix(began, 0)}, nil
}

// Begin starts a sign-in: the address to send the browser to, and the ticket that the
// same browser must bring back.
func (p *Provider) Begin(ctx context.Context) (address, ticket string, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	at, err := p.endpoints(ctx)
	if err != nil {
		return "", "", err
	}
	a := attempt{state: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), began: p.now()}
	return at.oauth.AuthCodeURL(a.state, gooidc.Nonce(a.nonce), oauth2.S256ChallengeOption(a.verifier)), a.ticket(), nil
}

// refused is what people hear when an answer is not to be trusted; the log has the cause.
func refused(cause error) error {
	return &lineshaft.Error{
		Code: lineshaft.CodeAuthenticationRequired, Cause: cause,
		Message: "the answer of the identity provider could not be verified; sign in again, and ask an admin if that does not help",
	}
}

// stale is for answers to no sign-in that this browser has begun.
func stale(cause error) error {
	return &lineshaft.Error{
		Code: lineshaft.CodeAuthenticationRequired, Cause: cause,
		Message: "this sign-in is not the one that your browser began, or it took too long; sign in again",
	}
}

// Finish takes the answer that a browser brought from the provider, and the ticket it
// was given before, and says who that is. An answer counts once.
func (p *Provider) Finish(ctx context.Context, ticket string, answer url.Values) (lineshaft.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	a, err := p.redeem(ticket, answer)
	if err != nil {
		return lineshaft.Identity{}, stale(err)
	}
	at, err := p.endpoints(ctx)
	if err != nil {
		return lineshaft.Identity{}, err
	}
	code, err := p.code(at, answer)
	if err != nil {
		return lineshaft.Identity{}, err
	}
	ctx = gooidc.ClientContext(ctx, p.client)
	tokens, err := at.oauth.Exchange(ctx, code, oauth2.VerifierOption(a.verifier))
	if err != nil {
		return lineshaft.Identity{}, exchangeFailed(err)
	}
	claims, err := p.verify(ctx, at, tokens, a.nonce)
	if err != nil {
		return lineshaft.Identity{}, refused(err)
	}
	if err := p.addUserInfo(ctx, at, tokens, claims); err != nil {
		return lineshaft.Identity{}, refused(err)
	}
	return p.identity(claims)
}

// redeem finds the attempt that an answer belongs to, and lets no second answer have it.
func (p *Provider) redeem(ticket string, answer url.Values) (attempt, error) {
	a, err := readTicket(ticket)
	if err != nil {
		return attempt{}, err
	}
	age := p.now().Sub(a.began)
	if age > SignInLife || age < -time.Minute {
		return attempt{}, errors.New("the ticket is too old")
	}
	state := answer["state"]
	if len(state) != 1 || subtle.ConstantTimeCompare([]byte(state[0]), []byte(a.state)) != 1 {
		return attempt{}, errors.New("the state is another one")
	}
	if !p.used.take(a.state, p.now()) {
		return attempt{}, errors.New("the state was used before")
	}
	return a, nil
}

// code reads the answer, which may be a refusal.
func (p *Provider) code(at *endpoints, answer url.Values) (string, error) {
	if iss := answer["iss"]; len(iss) > 1 || len(iss) == 1 && iss[0] != p.cfg.Issuer || len(iss) == 0 && at.answersWithIssuer {
		return "", refused(errors.New("the answer is another issuer's"))
	}
	if problem := answer.Get("error"); problem != "" {
		message := "the identity provider did not sign you in; try again, or ask its administrator"
		if word(problem) == "access_denied" {
			message = "the sign-in was cancelled at the identity provider; try again, or sign in with a key"
		}
		return "", &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired, Message: message, Cause: errors.New("the provider answered " + word(problem))}
	}
	if code := answer["code"]; len(code) == 1 && code[0] != "" {
		return code[0], nil
	}
	return "", refused(errors.New("the answer has no code"))
}

// exchangeFailed tells a provider that refuses the code from one that is away.
func exchangeFailed(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || answer.Response == nil || answer.Response.StatusCode >= 500 {
		return away(plainError(err))
	}
	return refused(plainError(err))
}

// usedStates remembers which attempts have had their answer, for as long as their
// tickets live. Each node has its own; the provider takes a code once in any case.
type usedStates struct {
	mu    sync.Mutex
	until map[[32]byte]time.Time
	swept time.Time
}

// take is true the first time.
func (u *usedStates) take(state string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.until == nil {
		u.until = map[[32]byte]time.Time{}
	}
	if now.Sub(u.swept) > time.Minute {
		u.swept = now
		for key, until := range u.until {
			if now.After(until) {
				delete(u.until, key)
			}
		}
	}
	key := sha256.Sum256([]byte(state))
	if _, ok := u.until[key]; ok {
		return false
	}
	u.until[key] = now.Add(SignInLife + 2*time.Minute)
	return true
}

// SignOut is the address at which a browser signs out of the provider (OpenID Connect
// RP-Initiated Logout 1.0), which then sends it back; empty when the provider has none, or
// does not answer. The client id says who asks. An ID token would spare people a question
// of the provider, and would have to be kept for as long as the session: it is not.
func (p *Provider) SignOut(ctx context.Context, back string) string {
	ctx, cancel := context.WithTimeout(ctx, signOutWithin)
	defer cancel()
	at, err := p.endpoints(ctx)
	if err != nil || at.signOut == "" {
		return ""
	}
	address, err := url.Parse(at.signOut)
	if err != nil {
		return ""
	}
	query := address.Query()
	query.Set("client_id", p.cfg.ClientID)
	query.Set("post_logout_redirect_uri", back)
	address.RawQuery = query.Encode()
	return address.String()
}
