package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is one field of a Config as text. set is given at least one text, and
// takes what text returns.
type value interface {
	set(texts []string) error
	text() string
	kind() string
}

// single refuses a list where one value belongs.
func single(texts []string) (string, error) {
	if len(texts) != 1 {
		return "", errors.New("give one value, not a list")
	}
	return texts[0], nil
}

type plain struct {
	to      *string
	allowed []string
}

func (v plain) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	if v.allowed != nil && !slices.Contains(v.allowed, text) {
		hint := ""
		if near := Nearest(text, v.allowed); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return fmt.Errorf("%q is none of %s%s", text, strings.Join(slices.DeleteFunc(slices.Clone(v.allowed), func(s string) bool { return s == "" }), ", "), hint)
	}
	*v.to = text
	return nil
}

func (v plain) text() string { return *v.to }

func (v plain) kind() string { return "text" }

type secret struct{ to *Secret }

// set does not quote the value in its errors.
func (v secret) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	*v.to = Secret(text)
	return nil
}

func (v secret) text() string { return v.to.Reveal() }

func (v secret) kind() string { return "text" }

type flip struct{ to *bool }

func (v flip) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*v.to = b
	return nil
}

func (v flip) text() string { return strconv.FormatBool(*v.to) }

func (v flip) kind() string { return "switch" }

type number struct{ to *int }

func (v number) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if err != nil {
		return fmt.Errorf("%q is not a whole number", text)
	}
	*v.to = n
	return nil
}

func (v number) text() string { return strconv.Itoa(*v.to) }

func (v number) kind() string { return "number" }

type fraction struct{ to *float64 }

func (v fraction) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%q is not a number such as 1.5", text)
	}
	*v.to = f
	return nil
}

func (v fraction) text() string { return strconv.FormatFloat(*v.to, 'f', -1, 64) }

func (v fraction) kind() string { return "number" }

type duration struct{ to *time.Duration }

func (v duration) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	d, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*v.to = d
	return nil
}

func (v duration) text() string {
	if *v.to == 0 {
		return "0"
	}
	text := v.to.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (v duration) kind() string { return "duration" }

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

type size struct{ to *int64 }

func (v size) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	n, err := parseSize(text)
	if err != nil {
		return err
	}
	*v.to = n
	return nil
}

// text uses the largest unit that leaves a whole number.
func (v size) text() string {
	best := sizeUnit{"", 1}
	for _, u := range sizeUnits() {
		if *v.to > 0 && *v.to%u.bytes == 0 && u.bytes > best.bytes {
			best = u
		}
	}
	return strconv.FormatInt(*v.to/best.bytes, 10) + best.name
}

func (v size) kind() string { return "size" }

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

type prefixes struct{ to *[]netip.Prefix }

// set takes addresses and networks, several in one text with commas between them.
func (v prefixes) set(texts []string) error {
	list := []netip.Prefix{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			prefix, err := netip.ParsePrefix(part)
			if addr, addrErr := netip.ParseAddr(part); addrErr == nil {
				prefix, err = addr.Unmap().Prefix(addr.Unmap().BitLen())
			}
			if err != nil {
				return fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", part)
			}
			list = append(list, prefix.Masked())
		}
	}
	*v.to = list
	return nil
}

func (v prefixes) text() string {
	var list []string
	for _, prefix := range *v.to {
		list = append(list, prefix.String())
	}
	return strings.Join(list, ",")
}

func (v prefixes) kind() string { return "list" }
