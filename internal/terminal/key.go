package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// KeyName names a key that is no character.
type KeyName string

// The keys that are no characters.
const (
	KeyUp        KeyName = "up"
	KeyDown      KeyName = "down"
	KeyLeft      KeyName = "left"
	KeyRight     KeyName = "right"
	KeyPageUp    KeyName = "page up"
	KeyPageDown  KeyName = "page down"
	KeyHome      KeyName = "home"
	KeyEnd       KeyName = "end"
	KeyEnter     KeyName = "enter"
	KeyEscape    KeyName = "escape"
	KeyBackspace KeyName = "backspace"
	KeyTab       KeyName = "tab"
	// KeyClear and KeyWord delete the line and its last word; KeyRedraw draws again.
	KeyClear  KeyName = "clear"
	KeyWord   KeyName = "word"
	KeyRedraw KeyName = "redraw"
	// KeyOther is one that means nothing here.
	KeyOther KeyName = "other"
)

// Key is a key that was pressed: a character, or one with a name.
type Key struct {
	Name KeyName
	Rune rune
}

// control are the characters that keys send.
var control = map[byte]KeyName{
	'\r': KeyEnter, '\n': KeyEnter, '\t': KeyTab, 0x7f: KeyBackspace, 0x08: KeyBackspace, 0x15: KeyClear, 0x17: KeyWord, 0x0c: KeyRedraw,
	0x02: KeyPageUp, 0x06: KeyPageDown, 0x0e: KeyDown, 0x10: KeyUp,
}

// sequences are what keys send after an escape character.
var sequences = map[string]KeyName{
	"[A": KeyUp, "[B": KeyDown, "[C": KeyRight, "[D": KeyLeft, "OA": KeyUp, "OB": KeyDown, "OC": KeyRight, "OD": KeyLeft,
	"[5~": KeyPageUp, "[6~": KeyPageDown, "[H": KeyHome, "[F": KeyEnd, "OH": KeyHome, "OF": KeyEnd, "[1~": KeyHome, "[4~": KeyEnd,
}

// DecodeKeys takes apart what a terminal sent in one piece. What it cannot finish is
// returned to be tried again with more behind it; with last, there is no more.
func DecodeKeys(data string, last bool) (keys []Key, rest string) {
	for data != "" {
		key, size := decodeKey(data, last)
		if size == 0 {
			return keys, data
		}
		keys = append(keys, key)
		data = data[size:]
	}
	return keys, ""
}

// decodeKey reads one key; size 0 says that its end is missing.
func decodeKey(data string, last bool) (key Key, size int) {
	if data[0] == 0x1b {
		return decodeEscape(data, last)
	}
	if name, ok := control[data[0]]; ok {
		return Key{Name: name}, 1
	}
	if !utf8.FullRuneInString(data) && !last {
		return Key{}, 0
	}
	r, size := utf8.DecodeRuneInString(data)
	if r == utf8.RuneError || unicode.IsControl(r) {
		return Key{Name: KeyOther}, size
	}
	return Key{Rune: r}, size
}

func decodeEscape(data string, last bool) (key Key, size int) {
	if len(data) == 1 {
		if last {
			return Key{Name: KeyEscape}, 1
		}
		return Key{}, 0
	}
	if data[1] != '[' && data[1] != 'O' {
		return Key{Name: KeyEscape}, 1
	}
	end := strings.IndexFunc(data[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	switch {
	case end < 0 && !last && len(data) < 32:
		return Key{}, 0
	case end < 0:
		return Key{Name: KeyOther}, len(data)
	}
	size = 2 + end + 1
	if name, ok := sequences[data[1:size]]; ok {
		return Key{Name: name}, size
	}
	return Key{Name: KeyOther}, size
}
