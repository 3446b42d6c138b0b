package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/nearest"
)

// value is one field of a Config as text. set is given at least one text, and
// takes what text returns.
type value interface {
	set(texts []string) error
	text() string
	kind() string
}

// one is a value that is given by one text. What read says must not quote a secret.
type one[T any] struct {
	to    *T
	is    string
	read  func(string) (T, error)
	write func(T) string
}

// set refuses a list where one value belongs.
func (v one[T]) set(texts []string) error {
	if len(texts) != 1 {
		return errors.New("give one value, not a list")
	}
	read, err := v.read(texts[0])
	if err == nil {
		*v.to = read
	}
	return err
}

func (v one[T]) text() string { return v.write(*v.to) }

func (v one[T]) kind() string { return v.is }

// several is a list; one text may have several of its items.
type several[T comparable] struct {
	to    *[]T
	split func(string) []string
	read  func(string) (T, error)
	write func(T) string
	// between stands between the items of the text.
	between string
	// once leaves out what is there already.
	once bool
}

func (v several[T]) set(texts []string) error {
	list := []T{}
	for _, text := range texts {
		for _, part := range v.split(text) {
			if part == "" {
				continue
			}
			item, err := v.read(part)
			if err != nil {
				return err
			}
			if !v.once || !slices.Contains(list, item) {
				list = append(list, item)
			}
		}
	}
	*v.to = list
	return nil
}

func (v several[T]) text() string {
	var parts []string
	for _, item := range *v.to {
		parts = append(parts, v.write(item))
	}
	return strings.Join(parts, v.between)
}

func (v several[T]) kind() string { return "list" }

// byCommas splits a text at its commas; blank space around them does not count.
func byCommas(text string) []string {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func asItIs(text string) string { return text }

func plain(to *string, allowed []string) value {
	return one[string]{to, "text", func(text string) (string, error) {
		if allowed != nil && !slices.Contains(allowed, text) {
			return "", noneOf(text, slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" }))
		}
		return text, nil
	}, asItIs}
}

func noneOf(word string, known []string) error {
	hint := ""
	if near := nearest.Word(word, known); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("%q is not one of %s%s", word, strings.Join(known, ", "), hint)
}

func secret(to *Secret) value {
	return one[Secret]{to, "text", func(text string) (Secret, error) { return Secret(text), nil }, Secret.Reveal}
}

func flip(to *bool) value {
	return one[bool]{to, "switch", func(text string) (bool, error) {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return false, fmt.Errorf("%q is neither true nor false", text)
		}
		return b, nil
	}, strconv.FormatBool}
}

func number(to *int) value {
	return one[int]{to, "number", func(text string) (int, error) {
		n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	}, strconv.Itoa}
}

func fraction(to *float64) value {
	return one[float64]{to, "number", func(text string) (float64, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, fmt.Errorf("%q is not a number such as 1.5", text)
		}
		return f, nil
	}, func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }}
}

// list takes words, several in one text with commas or spaces between them.
func list(to *[]string) value {
	words := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	}
	read := func(text string) (string, error) { return text, nil }
	return several[string]{to: to, split: words, read: read, write: asItIs, between: ","}
}

// prefixes takes addresses and networks, several in one text with commas between them.
func prefixes(to *[]netip.Prefix) value {
	return several[netip.Prefix]{to: to, split: byCommas, between: ",", write: netip.Prefix.String, read: readPrefix}
}

func readPrefix(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
		prefix, err = addr.Unmap().Prefix(addr.Unmap().BitLen())
	}
	if err != nil {
		return prefix, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
	}
	return prefix.Masked(), nil
}

func duration(to *time.Duration) value {
	return one[time.Duration]{to, "duration", ParseDuration, writeDuration}
}

func writeDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	if day := 24 * time.Hour; d > 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// ParseDuration reads a time such as 90s, 12h, 30d or 1d12h.
func ParseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a time such as 90s, 12h or 30d", text)
	days, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, bad
		}
		return d, nil
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 0 || n > 100_000 {
		return 0, bad
	}
	total := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, bad
	}
	return total + d, nil
}

func size(to *int64) value { return one[int64]{to, "size", parseSize, writeSize} }

// writeSize uses the largest unit that leaves a whole number.
func writeSize(n int64) string {
	best := sizeUnit{"", 1}
	for _, u := range sizeUnits() {
		if n > 0 && n%u.bytes == 0 && u.bytes > best.bytes {
			best = u
		}
	}
	return strconv.FormatInt(n/best.bytes, 10) + best.name
}

type sizeUnit struct {
	name  string
	bytes int64
}

// sizeUnits has the longest names first, which parsing needs. A bare letter counts in 1024s, as container
// tools do.
func sizeUnits() []sizeUnit {
	return []sizeUnit{
		{"TiB", 1 << 40},
		{"GiB", 1 << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"TB", 1e12},
		{"GB", 1e9},
		{"MB", 1e6},
		{"KB", 1e3},
		{"T", 1 << 40},
		{"G", 1 << 30},
		{"M", 1 << 20},
		{"K", 1 << 10},
		{"B", 1},
	}
}

func parseSize(text string) (int64, error) {
	bad := fmt.Errorf("%q is not a size such as 512MiB or 4GB", text)
	digits, factor := strings.ReplaceAll(text, "_", ""), int64(1)
	for _, u := range sizeUnits() {
		if len(digits) > len(u.name) && strings.EqualFold(digits[len(digits)-len(u.name):], u.name) {
			digits, factor = strings.TrimSpace(digits[:len(digits)-len(u.name)]), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return 0, bad
	}
	return n * factor, nil
}

// folders takes absolute paths, several in one text with colons between them, as in PATH.
func folders(to *[]string) value {
	byColons := func(text string) []string { return strings.Split(text, ":") }
	return several[string]{to: to, split: byColons, between: ":", write: asItIs, read: func(text string) (string, error) {
		return filepath.Clean(text), checkFolder(text)
	}}
}

// checkFolder refuses what holds more than programs: agents would see the files of
// others, or lose what the sandbox has in that place.
func checkFolder(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not an absolute path; write the whole path of the folder", path)
	}
	path = filepath.Clean(path)
	shared := []string{"/", "/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/tmp", "/var", "/workspace"}
	if slices.Contains(shared, path) || strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/") || strings.HasPrefix(path, "/dev/") {
		return fmt.Errorf("%q holds more than agents may see; name the folder that the agents are installed in", path)
	}
	return nil
}

// hosts takes names of hosts, several in one text with commas between them.
func hosts(to *[]string) value {
	return several[string]{to: to, split: byCommas, between: ",", write: asItIs, read: func(text string) (string, error) {
		host := strings.ToLower(text)
		if !isHost(host) {
			return "", fmt.Errorf("%q is not a host such as example.com, *.example.com, example.com:8443, 192.0.2.1 or [2001:db8::1]:443", host)
		}
		return host, nil
	}}
}

// isHost checks a pattern of the list of hosts: a name, *.name or an address, each
// with a port or without.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	host, port, ported := text, "", false
	if i := strings.LastIndex(text, ":"); i >= 0 && !strings.HasSuffix(text, "]") {
		host, port, ported = text[:i], text[i+1:], true
	}
	if n, err := strconv.ParseUint(port, 10, 16); ported && (err != nil || n == 0) {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		_, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && strings.HasSuffix(inner, "]")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.TrimPrefix(host, "*.")
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	last := host[strings.LastIndex(host, ".")+1:] // what looks like an address must be a whole one
	return len(host) <= 253 && strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// origins takes origins, several in one text with commas between them.
func origins(to *[]string) value {
	return several[string]{to: to, split: byCommas, read: parseOrigin, write: asItIs, between: ",", once: true}
}

// parseOrigin writes an origin as browsers do.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Host, "*") {
		return "", fmt.Errorf("%q is not an origin such as https://app.example.com: scheme, host and port alone", text)
	}
	host := strings.ToLower(u.Host)
	if u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	return u.Scheme + "://" + host, nil
}
