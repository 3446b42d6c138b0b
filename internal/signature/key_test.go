package signature

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestW8SecretsThatProtectNothing(t *testing.T) {
	t.Parallel()
	short := base64.StdEncoding.EncodeToString(make([]byte, 23))
	public, _ := pair()
	for _, c := range []struct{ scheme, secret string }{
		{"github", " padded"},
		{"github", "padded\n"},
		{"github", strings.Repeat("x", 5000)},
		{"standard_webhooks", "whsec_"},
		{"standard_webhooks", "whsec_" + short},
		{"standard_webhooks", "not base64 at all!"},
		{"standard_webhooks", "whsec_!!!!" + short},
		{"standard_webhooks", "whpk_"},
		{"standard_webhooks", "whpk_???"},
		{"standard_webhooks", "whpk_" + short},
		{"standard_webhooks", "whpk_" + base64.StdEncoding.EncodeToString(make([]byte, 32))},
		{"standard_webhooks", "whsk_" + base64.StdEncoding.EncodeToString(public)},
		{"gitlab", "whsec_"},
		{"gitlab", "whsec_" + short},
		{"discord", "not hex"},
		{"discord", "abcd"},
		{"discord", strings.Repeat("0", 64)},
		{"discord", hex.EncodeToString(public) + "00"},
	} {
		_, err := New(c.scheme, HMAC{}, c.secret)
		refused(t, c.scheme, err, "secret", c.secret)
		_, err = New(c.scheme, HMAC{}, Generate("standard_webhooks"), c.secret)
		if err == nil {
			t.Errorf("%s: a bad second secret is taken", c.scheme)
		}
	}
	for _, s := range Schemes() {
		settings := HMAC{}
		if s.Name == "hmac" {
			settings.Header = "X-Sig"
		}
		_, err := New(s.Name, settings, "")
		refused(t, s.Name, err, "secret", "")
		_, err = New(s.Name, settings)
		refused(t, s.Name, err, "secret", "")
	}
	_, err := New("nobody", HMAC{}, "x")
	refused(t, "nobody", err, "signature_scheme", "")
	_, err = New("github", HMAC{Header: "X-Sig"}, "x")
	refused(t, "github", err, "hmac", "")
}

// refused wants an error that blames a field and does not repeat the secret.
func refused(t *testing.T, what string, err error, field, secret string) {
	t.Helper()
	public, ok := errors.AsType[*lineshaft.Error](err)
	if !ok || public.Code != lineshaft.CodeInvalidRequest || public.Field != field {
		t.Errorf("%s: %v", what, err)
		return
	}
	if len(secret) > 6 && strings.Contains(err.Error(), strings.TrimSpace(secret)) {
		t.Errorf("%s: the error repeats the secret: %v", what, err)
	}
}

func TestW8StandardKeysInAllSpellings(t *testing.T) {
	t.Parallel()
	const padded = "whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q="
	r := Request{Body: []byte(testBody), Now: testNow}
	if err := Sign("standard_webhooks", HMAC{}, padded, &r, "m"); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{padded, strings.TrimSuffix(padded, "="), strings.TrimPrefix(padded, "whsec_")} {
		v, err := New("standard_webhooks", HMAC{}, secret)
		if err != nil || v.Verify(r) != nil {
			t.Errorf("a spelling of the key is refused: %v", err)
		}
	}
}

// Every key that weak refuses can indeed be signed for without a private key, and an
// ordinary one cannot.
func TestW8WeakPublicKeys(t *testing.T) {
	t.Parallel()
	forgeable := func(public []byte) bool {
		signature := make([]byte, ed25519.SignatureSize)
		signature[0] = 1 // R is the neutral element, S is zero
		for i := range 200 {
			if ed25519.Verify(public, []byte{byte(i)}, signature) {
				return true
			}
		}
		return false
	}
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		public, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if !weak(public) || !forgeable(public) {
			t.Errorf("%s: weak %v, forgeable %v", text, weak(public), forgeable(public))
		}
	}
	if public, _ := pair(); weak(public) || forgeable(public) {
		t.Error("an ordinary key is weak")
	}
}

func TestW4Generate(t *testing.T) {
	t.Parallel()
	urlSafe := regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
	seen := map[string]bool{}
	names := []string{""}
	for _, s := range Schemes() {
		names = append(names, s.Name)
	}
	for _, name := range names {
		secret := Generate(name)
		if seen[secret] {
			t.Errorf("%s: the same secret twice", name)
		}
		seen[secret] = true
		if name != "standard_webhooks" {
			if !urlSafe.MatchString(secret) {
				t.Errorf("%s: %d characters", name, len(secret))
			}
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(raw) != 32 || !strings.HasPrefix(secret, "whsec_") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := New(name, HMAC{}, secret); err != nil {
			t.Error(err)
		}
	}
}

func TestW9SignRefuses(t *testing.T) {
	t.Parallel()
	public, _ := pair()
	for _, c := range []struct{ scheme, secret, field string }{
		{"nobody", "x", "signature_scheme"},
		{"github", "", "secret"},
		{"hmac", "x", "hmac.header"},
		{"discord", "zz", "secret"},
		{"discord", "abcd", "secret"},
		{"standard_webhooks", "whsk_abcd", "secret"},
	} {
		r := Request{Body: []byte(testBody), Now: testNow}
		refused(t, c.scheme, Sign(c.scheme, HMAC{}, c.secret, &r, "m"), c.field, c.secret)
	}
	// A public key can check, not sign.
	r := Request{Body: []byte(testBody), Now: testNow}
	err := Sign("standard_webhooks", HMAC{}, "whpk_"+base64.StdEncoding.EncodeToString(public), &r, "m")
	refused(t, "public key", err, "secret", "")
}
