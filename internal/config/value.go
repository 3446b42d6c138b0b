package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft/internal/nearest"
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
		if near := nearest.Word(text, v.allowed); near != "" {
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
