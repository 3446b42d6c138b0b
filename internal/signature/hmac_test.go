package signature

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestW9HMACSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings HMAC
		field    string
	}{
		{HMAC{Header: "X-Sig"}, ""},
		{HMAC{Header: "X-Sig", Template: "v0:{timestamp}:{body}", TimestampHeader: "X-Time"}, ""},
		{HMAC{Header: "X-Sig", Template: "{body}{timestamp}", TimestampHeader: "X-Time"}, ""},
		{HMAC{Header: "X-Sig", Template: "{method}{url}{body}"}, ""},
		{HMAC{Header: "X-Sig", IDHeader: "X-Id"}, ""},
		{HMAC{}, "hmac.header"},
		{HMAC{Header: "X Sig"}, "hmac.header"},
		{HMAC{Header: "X-Sig:"}, "hmac.header"},
		{HMAC{Header: "Host"}, "hmac.header"},
		{HMAC{Header: "ä"}, "hmac.header"},
		{HMAC{Header: strings.Repeat("x", 101)}, "hmac.header"},
		{HMAC{Header: "X-Sig", Prefix: "a\nb"}, "hmac.prefix"},
		{HMAC{Header: "X-Sig", Prefix: strings.Repeat("x", 65)}, "hmac.prefix"},
		{HMAC{Header: "X-Sig", Digest: "md5"}, "hmac.digest"},
		{HMAC{Header: "X-Sig", Digest: "ed25519"}, "hmac.digest"},
		{HMAC{Header: "X-Sig", Digest: "token"}, "hmac.digest"},
		{HMAC{Header: "X-Sig", Encoding: "plain"}, "hmac.encoding"},
		{HMAC{Header: "X-Sig", Template: "fixed"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{url}"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{body}{body}"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{body}{secret}"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{body}{form}"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{body}{hashed_url}"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{body"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "body}"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{body}\n"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{body}" + strings.Repeat(".", 256)}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{timestamp}.{body}"}, "hmac.timestamp_header"},
		{HMAC{Header: "X-Sig", TimestampHeader: "X-Time"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{timestamp}0{body}", TimestampHeader: "X-Time"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "v1{timestamp}{body}", TimestampHeader: "X-Time"}, "hmac.template"},
		{HMAC{Header: "X-Sig", TimestampHeader: "x-sig", Template: "{timestamp}.{body}"}, "hmac.timestamp_header"},
		{HMAC{Header: "X-Sig", TimestampHeader: "a b", Template: "{timestamp}.{body}"}, "hmac.timestamp_header"},
		{HMAC{Header: "X-Sig", Template: "{id}.{body}"}, "hmac.id_header"},
		{HMAC{Header: "X-Sig", Template: "{id}{body}", IDHeader: "X-Id"}, "hmac.template"},
		{HMAC{Header: "X-Sig", Template: "{body}{id}", IDHeader: "X-Id"}, "hmac.template"},
		{HMAC{Header: "X-Sig", IDHeader: "X-SIG"}, "hmac.id_header"},
	} {
		err := c.settings.Validate()
		if c.field == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.settings, err)
			}
			continue
		}
		public, ok := errors.AsType[*lineshaft.Error](err)
		if !ok || public.Field != c.field {
			t.Errorf("%+v: %v, want %s", c.settings, err, c.field)
		}
		if _, err := New("hmac", c.settings, testSecret); err == nil {
			t.Errorf("%+v: a verifier with bad settings", c.settings)
		}
	}
}

func TestW9HMACHeaders(t *testing.T) {
	t.Parallel()
	got := HMAC{Header: "x-sig", TimestampHeader: "x-time", IDHeader: "x-id"}.Headers()
	if !slices.Equal(got, []string{"X-Sig", "X-Time"}) {
		t.Error(got)
	}
}

// Senders in the wild write times in two units, hex in two cases and lists.
func TestW9HMACSpellings(t *testing.T) {
	t.Parallel()
	timed := HMAC{Header: "X-Sig", Template: "{timestamp}.{body}", TimestampHeader: "X-Time"}
	good := plainHMAC(testSecret, testBody)
	for _, c := range []struct {
		name     string
		settings HMAC
		stamp    string
		value    string
		want     bool
	}{
		{"lower case", HMAC{Header: "X-Sig"}, "", good, true},
		{"upper case", HMAC{Header: "X-Sig"}, "", strings.ToUpper(good), true},
		{"mixed case", HMAC{Header: "X-Sig"}, "", strings.ToUpper(good[:32]) + good[32:], false},
		{"list", HMAC{Header: "X-Sig", Prefix: "v1="}, "", "v1=00, v1=" + good, true},
		{"list by space", HMAC{Header: "X-Sig", Prefix: "v1,"}, "", "v1,00 v1," + good, true},
		{"no list", HMAC{Header: "X-Sig", Prefix: "a, b "}, "", "a, b " + good, true},
		{"words", HMAC{Header: "Authorization", Prefix: "HMAC "}, "", "HMAC " + good, true},
		{"without prefix", HMAC{Header: "X-Sig", Prefix: "v1="}, "", good, false},
		{"seconds", timed, "1700000000", plainHMAC(testSecret, "1700000000."+testBody), true},
		{"milliseconds", timed, "1700000300999", plainHMAC(testSecret, "1700000300999."+testBody), true},
		{"late milliseconds", timed, "1700000301000", plainHMAC(testSecret, "1700000301000."+testBody), false},
		{"base64", HMAC{Header: "X-Sig", Encoding: "base64"}, "", good, false},
	} {
		v, err := New("hmac", c.settings, testSecret)
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Header: http.Header{}, Body: []byte(testBody), Now: testNow}
		r.Header.Set(c.settings.Header, c.value)
		r.Header.Set("X-Time", c.stamp)
		if err := v.Verify(r); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The borders between id, time and body stay where the sender put them.
func TestW9HMACBorders(t *testing.T) {
	t.Parallel()
	touching := HMAC{Header: "X-Sig", Template: "{timestamp}{body}", TimestampHeader: "X-Time"}
	v, err := New("hmac", touching, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Header: http.Header{}, Body: []byte("000{}"), Now: testNow}
	r.Header.Set("X-Time", "1700000000")
	r.Header.Set("X-Sig", plainHMAC(testSecret, "1700000000000{}"))
	if err := v.Verify(r); !errors.Is(err, errBorder) {
		t.Errorf("zeros moved from the time into the body: %v", err)
	}
	r.Body = []byte("{}")
	r.Header.Set("X-Time", "1700000000000")
	if err := v.Verify(r); err != nil {
		t.Errorf("as it was sent: %v", err)
	}

	named := HMAC{Header: "X-Sig", Template: "id:{id};{body}", IDHeader: "X-Id"}
	if v, err = New("hmac", named, testSecret); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"did-7": true, "a;b": false, "a:b": false, strings.Repeat("x", 257): false} {
		r := Request{Header: http.Header{}, Body: []byte(testBody), Now: testNow}
		r.Header.Set("X-Id", id)
		r.Header.Set("X-Sig", plainHMAC(testSecret, "id:"+id+";"+testBody))
		if err := v.Verify(r); (err == nil) != want {
			t.Errorf("id %.20s: %v", id, err)
		}
	}
}
