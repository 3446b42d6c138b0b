package definition

import (
	"fmt"
	"reflect"
)

// difference says where two values differ first, or nothing.
func difference(got, want any) string {
	return differ("", reflect.ValueOf(got), reflect.ValueOf(want))
}

func differ(path string, got, want reflect.Value) string {
	if got.Kind() == reflect.Slice || got.Kind() == reflect.Map || got.Kind() == reflect.Pointer {
		if got.IsNil() != want.IsNil() {
			return fmt.Sprintf("%s is nil: %v, want %v", path, got.IsNil(), want.IsNil())
		}
	}
	switch got.Kind() {
	case reflect.Pointer:
		if got.IsNil() {
			return ""
		}
		return differ(path, got.Elem(), want.Elem())
	case reflect.Slice:
		if got.Len() != want.Len() {
			return fmt.Sprintf("%s has %v, want %v", path, got, want)
		}
		for i := range got.Len() {
			if d := differ(fmt.Sprintf("%s[%d]", path, i), got.Index(i), want.Index(i)); d != "" {
				return d
			}
		}
	case reflect.Map:
		for _, key := range want.MapKeys() {
			if !got.MapIndex(key).IsValid() {
				return fmt.Sprintf("%s has no %q", path, key)
			}
			if d := differ(fmt.Sprintf("%s[%q]", path, key), got.MapIndex(key), want.MapIndex(key)); d != "" {
				return d
			}
		}
		if got.Len() != want.Len() {
			return fmt.Sprintf("%s has %v, want %v", path, got, want)
		}
	case reflect.Struct:
		for i := range got.NumField() {
			if d := differ(path+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i)); d != "" {
				return d
			}
		}
	default:
		if !got.Equal(want) {
			return fmt.Sprintf("%s is %#v, want %#v", path, got, want)
		}
	}
	return ""
}
