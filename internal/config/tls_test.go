package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestH12ACMESettings(t *testing.T) {
	t.Parallel()
	var hundred []string
	for i := range 100 {
		hundred = append(hundred, fmt.Sprintf("h%d.example.com", i))
	}
	domains := func(names ...string) func(*Config) { return func(c *Config) { c.ACMEDomains = names } }
	for _, test := range []struct {
		name string
		set  func(*Config)
		want string
	}{
		{"a name", domains("lineshaft.example.com"), ""},
		{"capitals", domains("Lineshaft.Example.com"), ""},
		{"a hundred", domains(hundred...), ""},
		{"a hundred and one", domains(append(hundred, "one.example.com")...), "acme-domain: 101 names are more than 100"},
		{"twice", domains("a.example.com", "A.example.com"), `"A.example.com" appears twice`},
		{"IPv4", domains("192.0.2.1"), `"192.0.2.1" is an address; write the host name`},
		{"IPv6", domains("[2001:db8::1]"), "is an address"},
		{"bare IPv6", domains("2001:db8::1"), "is an address"},
		{"short IPv4", domains("127.1"), "is not a host name"},
		{"every problem", domains("192.0.2.1", "a_b.example.com"), `"a_b.example.com" is not a host name`},
		{"wildcard", domains("*.example.com"), "write each host name"},
		{"inner star", domains("a.*.example.com"), "is not a host name"},
		{"port", domains("a.example.com:443"), "is not a host name"},
		{"URL", domains("https://a.example.com"), "leave out scheme"},
		{"hyphen", domains("-a.example.com"), "is not a host name"},
		{"empty label", domains("a..example.com"), "is not a host name"},
		{"dot at the end", domains("a.example.com."), "is not a host name"},
		{"long label", domains(strings.Repeat("a", 64) + ".example.com"), "is not a host name"},
		{"long", domains(strings.Repeat("abcdefg.", 32) + "com"), "is not a host name"},
		{"umlaut", domains("größe.example.com"), "write other letters as xn--"},
		{"no dot", domains("lineshaft"), "has no dot"},
		{"no dot, own CA", func(c *Config) { c.ACMEDomains, c.ACMEDirectory = []string{"lineshaft"}, "https://ca.internal/dir" }, ""},
		{"with files", func(c *Config) { c.ACMEDomains, c.TLSCert, c.TLSKey = []string{"a.example.com"}, "c", "k" }, "acme-domain and tls-cert: the certificate comes from one place"},
		{"with a key file", func(c *Config) { c.ACMEDomains, c.TLSKey = []string{"a.example.com"}, "k" }, "acme-domain and tls-cert"},
		{"directory without TLS", func(c *Config) { c.ACMEDomains, c.ACMEDirectory = []string{"a.example.com"}, "http://ca.example/dir" }, "acme-directory: write the CA's whole https URL"},
		{"no directory", func(c *Config) { c.ACMEDomains, c.ACMEDirectory = []string{"a.example.com"}, "" }, "acme-directory"},
		{"e-mail", func(c *Config) { c.ACMEDomains, c.ACMEEmail = []string{"a.example.com"}, "ops@example.com" }, ""},
		{"no e-mail", func(c *Config) { c.ACMEDomains, c.ACMEEmail = []string{"a.example.com"}, "Ops <ops@example.com>" }, "acme-email"},
		{"port too large", func(c *Config) { c.ACMEDomains, c.ACMEHTTPPort = []string{"a.example.com"}, 65536 }, "acme-http-port: 65536"},
		{"no domain", func(c *Config) { c.ACMEEmail = "ops@example.com" }, "set acme-domain"},
	} {
		c := Default()
		test.set(&c)
		err := c.Validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	both := Default()
	both.ACMEDomains = []string{"192.0.2.1", "a_b.example.com"}
	if err := both.Validate(); err == nil || strings.Count(err.Error(), "acme-domain:") != 2 {
		t.Errorf("not every name is judged at once: %v", err)
	}
	if c := (Config{ACMEDomains: []string{"a.example.com"}}); !c.TLS() {
		t.Error("a server with a CA speaks no HTTPS")
	}
}
