// Command sign signs webhook requests with the providers' own Go libraries. It
// reads one order as JSON on standard input and writes the headers of each request
// to standard output; a request that has headers already is checked instead, and the
// answer reports whether the library takes them. It is a module of its own so that the house's go.mod, vet and
// lint do not carry Stripe's client.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	stripe "github.com/stripe/stripe-go/v85/webhook"
	svix "github.com/svix/svix-webhooks/go"
)

// order is what is to be signed, and by whom.
type order struct {
	Library  string    `json:"library"`
	Requests []request `json:"requests"`
}

type request struct {
	Secret string `json:"secret"`
	ID     string `json:"id"`
	Time   int64  `json:"time"`
	Body   string `json:"body"`
	// Headers are those to check; nil signs.
	Headers map[string]string `json:"headers"`
}

// answer has the headers in the order of the requests.
type answer struct {
	Version string              `json:"version"`
	Headers []map[string]string `json:"headers"`
}

// signer returns headers that the library itself has accepted.
type signer func(request) (map[string]string, error)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var wanted order
	if err := json.NewDecoder(os.Stdin).Decode(&wanted); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	libraries := map[string]struct {
		module string
		sign   signer
	}{
		"svix":             {"github.com/svix/svix-webhooks", signSvix},
		"standardwebhooks": {"github.com/standard-webhooks/standard-webhooks/libraries", signStandard},
		"stripe":           {"github.com/stripe/stripe-go/v85", signStripe},
	}
	library, ok := libraries[wanted.Library]
	if !ok {
		return fmt.Errorf("there is no library %q here", wanted.Library)
	}
	out := answer{Version: version(library.module)}
	for _, r := range wanted.Requests {
		headers, err := library.sign(r)
		if err != nil {
			return fmt.Errorf("sign with %s: %w", wanted.Library, err)
		}
		out.Headers = append(out.Headers, headers)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func signSvix(r request) (map[string]string, error) {
	webhook, err := svix.NewWebhook(r.Secret)
	if err != nil {
		return nil, err
	}
	signature, err := webhook.Sign(r.ID, time.Unix(r.Time, 0), []byte(r.Body))
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"svix-id": r.ID, "svix-timestamp": strconv.FormatInt(r.Time, 10), "svix-signature": signature}
	return headers, webhook.Verify([]byte(r.Body), canonical(headers))
}

func signStandard(r request) (map[string]string, error) {
	webhook, err := standardwebhooks.NewWebhook(r.Secret)
	if err != nil {
		return nil, err
	}
	if r.Headers != nil {
		if err := webhook.Verify([]byte(r.Body), canonical(r.Headers)); err != nil {
			return map[string]string{"refused": err.Error()}, nil
		}
		return map[string]string{}, nil
	}
	signature, err := webhook.Sign(r.ID, time.Unix(r.Time, 0), []byte(r.Body))
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"webhook-id": r.ID, "webhook-timestamp": strconv.FormatInt(r.Time, 10), "webhook-signature": signature}
	return headers, webhook.Verify([]byte(r.Body), canonical(headers))
}

func signStripe(r request) (map[string]string, error) {
	signed := stripe.GenerateTestSignedPayload(&stripe.UnsignedPayload{Payload: []byte(r.Body), Secret: r.Secret, Timestamp: time.Unix(r.Time, 0)})
	return map[string]string{"stripe-signature": signed.Header}, stripe.ValidatePayload([]byte(r.Body), signed.Header, r.Secret)
}

func canonical(headers map[string]string) http.Header {
	out := http.Header{}
	for name, value := range headers {
		out.Set(name, value)
	}
	return out
}

// version is what of a module was built in.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return ""
}
