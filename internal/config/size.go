package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
