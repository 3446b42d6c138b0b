package cron

import (
	"strings"
	"time"
	_ "time/tzdata" // the program works on machines without a zone database; one that is there wins, so that it can be updated alone

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// loadZone finds a time zone by its IANA name; none is UTC.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if !strange(name) {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	hint := "use a name such as Europe/Berlin, or leave it out for UTC"
	if near := nearestZone(name); near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, lineshaft.Invalid("timezone", "%q is not a time zone of the IANA database; %s", lineshaft.Clip(name, 60), hint)
}

// strange are names that some machines have and others not, or have otherwise.
func strange(name string) bool {
	lower := strings.ToLower(name)
	return lower == "local" || lower == "localtime" || strings.HasPrefix(lower, "right/") || strings.HasPrefix(lower, "posix/")
}

// nearestZone guesses what was meant: an abbreviation, a city alone, a misspelt name.
func nearestZone(name string) string {
	if zone := abbreviations[strings.ToUpper(name)]; zone != "" {
		return zone
	}
	lower := strings.ToLower(strings.ReplaceAll(name, " ", "_"))
	whole, cities := make([]string, len(zones)), make([]string, len(zones))
	for i, zone := range zones {
		whole[i] = strings.ToLower(zone)
		cities[i] = whole[i][strings.LastIndex(whole[i], "/")+1:]
	}
	for _, candidates := range [][]string{whole, cities} {
		near := nearest.Word(lower, candidates)
		for i, candidate := range candidates {
			if near != "" && candidate == near {
				return zones[i]
			}
		}
	}
	return ""
}

// abbreviations are what people say for the zone that they live in.
var abbreviations = map[string]string{
	"PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "MDT": "America/Denver", "CST": "America/Chicago",
	"CDT": "America/Chicago", "EDT": "America/New_York", "BST": "Europe/London", "CEST": "Europe/Berlin", "EEST": "Europe/Helsinki",
	"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney",
	"NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland", "BRT": "America/Sao_Paulo", "Z": "UTC", "UTC+0": "UTC",
}

// zones are those to guess from: the well-known ones, as Go lists none.
var zones = []string{
	"UTC", "Africa/Cairo", "Africa/Casablanca", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
	"America/Anchorage", "America/Argentina/Buenos_Aires", "America/Bogota", "America/Chicago", "America/Denver", "America/Halifax",
	"America/Lima", "America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Phoenix", "America/Santiago",
	"America/Sao_Paulo", "America/St_Johns", "America/Toronto", "America/Vancouver",
	"Asia/Bangkok", "Asia/Colombo", "Asia/Dhaka", "Asia/Dubai", "Asia/Ho_Chi_Minh", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem",
	"Asia/Karachi", "Asia/Kathmandu", "Asia/Kolkata", "Asia/Kuala_Lumpur", "Asia/Manila", "Asia/Riyadh", "Asia/Seoul", "Asia/Shanghai",
	"Asia/Singapore", "Asia/Taipei", "Asia/Tashkent", "Asia/Tehran", "Asia/Tokyo", "Atlantic/Azores", "Atlantic/Reykjavik",
	"Australia/Adelaide", "Australia/Brisbane", "Australia/Darwin", "Australia/Lord_Howe", "Australia/Melbourne", "Australia/Perth", "Australia/Sydney",
	"Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Brussels", "Europe/Bucharest", "Europe/Budapest", "Europe/Copenhagen",
	"Europe/Dublin", "Europe/Helsinki", "Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Moscow",
	"Europe/Oslo", "Europe/Paris", "Europe/Prague", "Europe/Rome", "Europe/Sofia", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw",
	"Europe/Zurich", "Pacific/Auckland", "Pacific/Honolulu",
}
