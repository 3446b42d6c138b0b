package filter_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
)

// This file says once more, in the plainest way, what a filter means: from decoded
// values, with big numbers, without an index. It shares nothing with the package
// and serves as its judge.

// naiveMatch says whether a filter's text matches a body's. Both must be valid.
func naiveMatch(filter, body string) bool {
	if filter == "" {
		return true
	}
	pattern, _ := naiveDecode(filter).(map[string]any)
	return len(pattern) == 0 || naiveNested(pattern, naiveDecode(body))
}

func naiveDecode(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(fmt.Sprintf("decode %q: %v", text, err))
	}
	return value
}

// naiveNested matches a pattern with an object, or with one object of an array.
func naiveNested(pattern map[string]any, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return naiveObject(pattern, value)
	case []any:
		return slices.ContainsFunc(value, func(element any) bool {
			object, ok := element.(map[string]any)
			return ok && naiveObject(pattern, object)
		})
	}
	return false
}

func naiveObject(pattern, object map[string]any) bool {
	for key, want := range pattern {
		value, present := object[key]
		switch want := want.(type) {
		case []any:
			if !present || !naiveOverlap(want, value) {
				return false
			}
		case map[string]any:
			if naiveOperators(want) {
				if !naiveLeaf(want, value, present) {
					return false
				}
			} else if !present || !naiveNested(want, value) {
				return false
			}
		}
	}
	return true
}

func naiveOperators(object map[string]any) bool {
	for key := range object {
		if key != "in" && key != "not_in" && key != "exists" {
			return false
		}
	}
	return true
}

func naiveLeaf(operators map[string]any, value any, present bool) bool {
	for operator, argument := range operators {
		set, _ := argument.([]any)
		switch operator {
		case "in":
			if !present || !naiveOverlap(set, value) {
				return false
			}
		case "not_in":
			if present && naiveOverlap(set, value) {
				return false
			}
		case "exists":
			if argument != present {
				return false
			}
		}
	}
	return true
}

func naiveOverlap(set []any, value any) bool {
	values, ok := value.([]any)
	if !ok {
		values = []any{value}
	}
	return slices.ContainsFunc(set, func(want any) bool {
		return slices.ContainsFunc(values, func(got any) bool { return naiveEqual(want, got) })
	})
}

// naiveEqual compares scalars; other values equal nothing.
func naiveEqual(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		other, ok := b.(bool)
		return ok && a == other
	case string:
		other, ok := b.(string)
		return ok && a == other
	case json.Number:
		other, ok := b.(json.Number)
		if !ok {
			return false
		}
		digits, exponent := naiveNumber(string(a))
		otherDigits, otherExponent := naiveNumber(string(other))
		return digits.Cmp(otherDigits) == 0 && exponent.Cmp(otherExponent) == 0
	}
	return false
}

// naiveNumber is digits × 10^exponent with digits that do not end in a zero.
func naiveNumber(text string) (digits, exponent *big.Int) {
	text = strings.ToLower(text)
	mantissa, written, _ := strings.Cut(text, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, exponent = new(big.Int), new(big.Int)
	digits.SetString(whole+fraction, 10)
	if written != "" {
		exponent.SetString(strings.TrimPrefix(written, "+"), 10)
	}
	exponent.Sub(exponent, big.NewInt(int64(len(fraction))))
	if digits.Sign() == 0 {
		return digits, new(big.Int)
	}
	ten := big.NewInt(10)
	for {
		quotient, rest := new(big.Int).QuoRem(digits, ten, new(big.Int))
		if rest.Sign() != 0 {
			return digits, exponent
		}
		digits = quotient
		exponent.Add(exponent, big.NewInt(1))
	}
}

// naiveMember is a key of an object whose order and doubles are kept.
type naiveMember struct {
	key   string
	value any
}

var errNaive = errors.New("refused")

// naiveCheck says whether a filter's text may be saved.
func naiveCheck(filter string) error {
	decoder := json.NewDecoder(bytes.NewReader([]byte(filter)))
	decoder.UseNumber()
	value, err := naiveTree(decoder)
	if err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errNaive
	}
	if value == nil {
		return nil
	}
	members, ok := value.([]naiveMember)
	if !ok {
		return errNaive
	}
	leaves := 0
	for _, member := range members {
		if naiveOperators(map[string]any{member.key: nil}) {
			return errNaive
		}
	}
	return naiveCheckObject(members, 1, &leaves)
}

func naiveTree(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := naiveTree(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	case json.Delim('{'):
		members := []naiveMember{}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := naiveTree(decoder)
			if err != nil {
				return nil, err
			}
			members = append(members, naiveMember{fmt.Sprint(key), value})
		}
		_, err := decoder.Token()
		return members, err
	}
	return token, nil
}

func naiveCheckObject(members []naiveMember, depth int, leaves *int) error {
	keys := map[string]bool{}
	for _, member := range members {
		if keys[member.key] || depth > 10 {
			return errNaive
		}
		keys[member.key] = true
		switch value := member.value.(type) {
		case []any:
			*leaves++
			if !naiveSet(value) {
				return errNaive
			}
		case []naiveMember:
			if err := naiveCheckValue(value, depth, leaves); err != nil {
				return err
			}
		default:
			return errNaive
		}
	}
	if *leaves > 64 {
		return errNaive
	}
	return nil
}

func naiveCheckValue(members []naiveMember, depth int, leaves *int) error {
	operators := map[string]any{}
	for _, member := range members {
		if naiveOperators(map[string]any{member.key: nil}) {
			operators[member.key] = member.value
		}
	}
	if len(operators) == 0 && len(members) > 0 {
		return naiveCheckObject(members, depth+1, leaves)
	}
	*leaves++
	in, _ := operators["in"].([]any)
	notIn, _ := operators["not_in"].([]any)
	for operator, value := range operators {
		_, isArray := value.([]any)
		_, isBool := value.(bool)
		if operator == "exists" && !isBool || operator != "exists" && !isArray {
			return errNaive
		}
	}
	if len(members) == 0 || len(operators) != len(members) || !naiveSet(in) || !naiveSet(notIn) ||
		naiveOverlap(in, append([]any{}, notIn...)) || operators["exists"] == false && len(in) > 0 {
		return errNaive
	}
	return nil
}

func naiveSet(values []any) bool {
	limit := big.NewInt(1_000_000_000_000_000)
	for _, value := range values {
		switch value := value.(type) {
		case []any, []naiveMember:
			return false
		case json.Number:
			if _, exponent := naiveNumber(string(value)); exponent.CmpAbs(limit) > 0 {
				return false
			}
		}
	}
	return len(values) <= 32
}
